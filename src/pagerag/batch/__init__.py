"""The same work in chunks on the processes of this machine, or on a Ray cluster, with a journal.

A chunk is a module's function with plain arguments; it depends on nothing else, so that whoever does it, and
however often, the result is the same. ``Processes`` and ``Cluster`` take chunks and give futures; ``Journal``
keeps finished ones on this machine's disk, so that work goes on after this process was killed.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from pagerag.batch.journal import Journal, OtherWorkError
from pagerag.batch.processes import Processes
from pagerag.errors import InputError

if TYPE_CHECKING:
    from pagerag.batch.cluster import Cluster

__all__ = ["ENGINES", "Hands", "Journal", "OtherWorkError", "Processes", "in_order", "open_hands"]

ENGINES = ("local", "ray")
Hands: TypeAlias = "Processes | Cluster"
"""Who does pieces of work somewhere else, ``count`` at once. A lost process or machine is either made good
without the caller noticing, or told by ``result`` as a WorkerLostError."""
Item = TypeVar("Item")
Row = dict[str, Any]


def open_hands(engine: str = "local", workers: int | None = None, address: str | None = None) -> Hands:
    """Return the engine of this name; nothing is started before it is needed.

    ``workers`` is how many pieces are done at once: by default one for each core, or each CPU of the cluster.
    ``address`` is a running Ray cluster's; without one, ``ray`` starts a cluster on this machine.
    """
    if engine not in ENGINES:
        raise InputError(f"there is no engine {engine!r}; one of: {', '.join(ENGINES)}")
    if workers is not None and workers < 1:
        raise InputError(f"--workers is {workers}; it must be at least 1")
    if engine == "local":
        if address is not None:
            raise InputError("--address is a Ray cluster's: add --engine ray, or leave it out")
        return Processes(workers)
    from pagerag.batch.cluster import Cluster

    return Cluster(workers, address)


def in_order(
    hands: Hands | None,
    function: Callable[[Any, Sequence[Item]], list[Row]],
    task: Any,
    chunks: Iterable[Sequence[Item]],
    *,
    journal: Journal | None = None,
    say: Callable[[str], None] = lambda _: None,
) -> Iterator[tuple[Sequence[Item], list[Row]]]:
    """Yield each chunk with ``function(task, chunk)``, one row an item, in the order of the chunks.

    Without ``hands`` the work is done here. A chunk that ``journal`` holds is not done again; ``say`` hears
    of those that were damaged. Two chunks for each worker are in flight: enough to keep it busy, and memory
    stays flat.
    """
    pending: deque[tuple[int, Sequence[Item], Future[list[Row]] | None]] = deque()

    def first() -> tuple[Sequence[Item], list[Row]]:
        number, chunk, future = pending.popleft()
        if future is None and journal is not None and journal.file(number).exists():
            return chunk, [json.loads(line) for line in journal.lines(number)]
        rows = function(task, chunk) if future is None or hands is None else hands.result(future)
        if journal is not None:
            journal.write(number, rows)
        return chunk, rows

    try:
        for number, chunk in enumerate(chunks):
            finished = False
            if journal is not None and journal.file(number).exists():
                fault = journal.fault(number, len(chunk))
                finished = fault is None
                if fault is not None:
                    say(f"{journal.file(number)} {fault}: these {len(chunk)} are done again")
                    journal.file(number).unlink()
            future = None if finished or hands is None else hands.submit(function, task, chunk)
            pending.append((number, chunk, future))
            if hands is None or len(pending) >= 2 * hands.count:
                yield first()
        while pending:
            yield first()
    finally:
        for _, _, future in pending:
            if future is not None:
                future.cancel()
