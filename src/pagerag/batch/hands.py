"""Who does the work: the contract of engines, and the choice of one by name."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future
from typing import Any, Protocol, Self, TypeVar

from pagerag.batch.journal import Journal
from pagerag.batch.processes import Processes
from pagerag.errors import InputError

ENGINES = ("local", "ray")
Result = TypeVar("Result")
Item = TypeVar("Item")
Row = dict[str, Any]


class Hands(Protocol):
    """Does pieces of work somewhere else.

    ``count`` is how many pieces are done at once. A lost process or machine is either made good without the
    caller noticing, or told by ``result`` as a WorkerLostError.
    """

    count: int

    def start(self) -> None:
        """Begin to start processes; does not wait for them."""
        ...

    def submit(self, function: Callable[..., Result], /, *arguments: Any) -> Future[Result]:
        """Have a module's function called with these arguments."""
        ...

    def result(self, future: Future[Result]) -> Result:
        """Return what the function returned, or raise what it raised; waits."""
        ...

    def close(self) -> None:
        """Let the processes go."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(self, *_: object) -> None: ...


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
    from pagerag.batch.cluster import Cluster  # needs an extra

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
