"""Run a task in chunks, on processes of this machine or on a Ray cluster, with a journal of finished ones.

Killed at any moment and started again, a run ends in the same bytes: a chunk's content depends on its
items and on the task's settings alone, a chunk file is whole or absent (``pagerag.batch.Journal``), and what
differs between two runs of the same thing (times) is kept apart, in ``timings.json``.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import ExitStack
from functools import lru_cache
from itertools import count, islice
from pathlib import Path
from typing import Any, Protocol

from pagerag.batch import Hands, Journal, OtherWorkError, Processes
from pagerag_lab.product import write_atomic

__all__ = ["OtherRunError", "Progress", "Row", "Say", "Task", "TaskWorker", "Workers", "execute"]

OtherRunError = OtherWorkError
"""The folder holds the work of a run with other settings, data or code."""

Workers = Processes
"""Processes of this machine that several runs may share."""

Row = dict[str, Any]
"""One JSON-able object per item."""

Progress = Callable[[int, int], None]
"""Called with (items done, items in all) as chunks come in."""

Say = Callable[[str], None]
"""Called with a line for a person, such as which chunk is done again."""

_FINAL = ("result.json", "predictions.jsonl", "timings.json")
_Chunk = tuple[list[Row], dict[str, float]]  # rows, and seconds by stage


class TaskWorker(Protocol):
    """Turns items into rows, inside one process; ``seconds`` sums the time of each stage."""

    seconds: dict[str, float]

    def rows(self, items: Sequence[Any]) -> list[Row]:
        """Return one row per item, in order; an item that fails is a row that says so."""
        ...


class Task(Hashable, Protocol):
    """What a run does. Tasks are hashable and can be pickled: every process makes its own worker of them."""

    @property
    def chunk(self) -> int:
        """Return how many items a file of finished work holds."""
        ...

    def items(self) -> Iterator[Any]:
        """Yield what is to be done, always in the same order."""
        ...

    def identity(self) -> dict[str, Any]:
        """Return all that the rows depend on; two runs with equal identities have equal rows."""
        ...

    def worker(self) -> TaskWorker:
        """Return what does the work in one process."""
        ...

    def finish(self, folder: Path, described: Mapping[str, Any], lines: Iterator[str]) -> dict[str, Any]:
        """Write the final files from the rows, one JSON line each, and return the result."""
        ...


def execute(
    task: Task,
    out: str | os.PathLike[str],
    *,
    workers: int | Hands | None = None,
    fresh: bool = False,
    progress: Progress | None = None,
    say: Say | None = None,
) -> dict[str, Any]:
    """Run or resume ``task`` in the folder ``out`` and return its result.

    All items are read first, so that a malformed record is told before any work. A folder with another
    run's files is refused unless ``fresh`` discards them.
    """
    folder = Path(out)
    started = time.time()
    journal = Journal(folder)
    with ExitStack() as stack:
        hands: Hands = (
            stack.enter_context(Processes(workers))
            if workers is None or isinstance(workers, int)
            else workers
        )
        if not (folder / "result.json").exists():
            hands.start()  # they import while the file is read
        total = sum(1 for _ in task.items())
        described = task.identity() | {"n": total}
        stack.enter_context(journal.held())
        if fresh:
            journal.discard()
            for name in _FINAL:
                (folder / name).unlink(missing_ok=True)
        described = journal.claim(described)
        seconds: dict[str, float] = {}
        done = now = 0
        for size, new, spent in _work(task, journal, hands, say or (lambda _: None)):
            done += size
            now += size if new else 0
            for stage, value in spent.items():
                seconds[stage] = seconds.get(stage, 0.0) + value
            if progress is not None:
                progress(done, total)
        # Stray files in the folder are not read.
        lines = (line for number in range(-(-total // task.chunk)) for line in journal.lines(number))
        result = task.finish(folder, described, lines)
        _account(journal, started, hands.count, now, seconds)
    return result


def _work(
    task: Task, journal: Journal, hands: Hands, say: Say
) -> Iterator[tuple[int, bool, dict[str, float]]]:
    """Do every chunk that has no sound file yet; yields (items, whether now, seconds by stage)."""
    items = task.items()
    pending: dict[Future[_Chunk], tuple[int, int]] = {}

    def collect() -> Iterator[tuple[int, bool, dict[str, float]]]:
        finished, _ = wait(pending, return_when=FIRST_COMPLETED)
        for future in finished:
            number, size = pending.pop(future)
            rows, spent = hands.result(future)
            journal.write(number, rows)
            yield size, True, spent

    try:
        for number in count():
            part = list(islice(items, task.chunk))
            if not part:
                break
            if journal.file(number).exists():
                fault = journal.fault(number, len(part))
                if fault is None:
                    yield len(part), False, {}
                    continue
                say(f"{journal.file(number)} {fault}: these {len(part)} questions are done again")
            pending[hands.submit(_chunk, task, part)] = number, len(part)
            # Two chunks a worker in flight: enough to keep it busy, and memory stays flat.
            while len(pending) >= 2 * hands.count:
                yield from collect()
        while pending:
            yield from collect()
    finally:
        for future in pending:
            future.cancel()


@lru_cache(maxsize=2)
def _worker(task: Task) -> TaskWorker:
    """Return this process's worker for a task; the last two are kept, as runs follow each other."""
    return task.worker()


def _chunk(task: Task, items: Sequence[Any]) -> _Chunk:
    worker = _worker(task)
    before = dict(worker.seconds)
    rows = worker.rows(items)
    return rows, {stage: value - before.get(stage, 0.0) for stage, value in worker.seconds.items()}


def _account(journal: Journal, started: float, workers: int, items: int, seconds: dict[str, float]) -> None:
    """Add this session to timings.json."""
    known = journal.read_json("timings.json") or {}
    sessions = list(known["sessions"]) if isinstance(known.get("sessions"), list) else []
    wall = time.time() - started
    sessions.append(
        {
            "started": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(started)),
            "wall_seconds": round(wall, 3),
            "workers": workers,
            "questions": items,
            "questions_per_second": round(items / wall, 2) if wall else None,
            "stage_seconds": {stage: round(value, 3) for stage, value in seconds.items()},
        }
    )
    write_atomic(journal.folder / "timings.json", json.dumps({"sessions": sessions}, indent=2) + "\n")
