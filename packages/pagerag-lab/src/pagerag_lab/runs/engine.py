"""Run a task in chunks through a pool of processes, one atomically renamed file per chunk.

Killed at any moment and started again, a run ends in the same bytes: a chunk's content depends on its
items and on the task's settings alone, a chunk file is whole or absent, and what differs between two runs
of the same thing (times) is kept apart, in ``timings.json``.

The first line of a chunk file says how many rows follow and what their SHA-256 is. A chunk that was emptied,
cut short, edited or exchanged for another is noticed when the run is resumed or finished, and done again.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import threading
import time
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack, contextmanager
from functools import lru_cache
from itertools import count, islice
from multiprocessing import get_context, parent_process
from pathlib import Path
from typing import Any, Protocol

from pagerag.errors import InputError, PageRAGError
from pagerag_lab.product import write_atomic

__all__ = ["OtherRunError", "Progress", "Row", "Say", "Task", "TaskWorker", "Workers", "execute"]

Row = dict[str, Any]
"""One JSON-able object per item."""

Progress = Callable[[int, int], None]
"""Called with (items done, items in all) as chunks come in."""

Say = Callable[[str], None]
"""Called with a line for a person, such as which chunk is done again."""

_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")
_FINAL = ("run.json", "result.json", "predictions.jsonl", "timings.json")


class OtherRunError(InputError):
    """The folder holds the work of a run with other settings, data or code."""


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
    workers: int | Workers | None = None,
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
    with ExitStack() as stack:
        hands = workers if isinstance(workers, Workers) else stack.enter_context(Workers(workers))
        if not (folder / "result.json").exists():
            hands.start()  # they import while the file is read
        total = sum(1 for _ in task.items())
        described = task.identity() | {"n": total}
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as problem:
            raise InputError(
                f"--out {folder} cannot be used ({problem.strerror}); name a folder"
            ) from problem
        stack.enter_context(_locked(folder))
        described = _claim(folder, described, fresh=fresh)
        chunks = folder / "chunks"
        chunks.mkdir(exist_ok=True)
        seconds: dict[str, float] = {}
        done = now = 0
        for size, new, spent in _work(task, chunks, hands, say or (lambda _: None)):
            done += size
            now += size if new else 0
            for stage, value in spent.items():
                seconds[stage] = seconds.get(stage, 0.0) + value
            if progress is not None:
                progress(done, total)
        result = task.finish(folder, described, _lines(chunks, -(-total // task.chunk)))
        _account(folder, started, hands.count, now, seconds)
    return result


class Workers:
    """A pool of processes that several runs may share; the processes start with the first piece of work.

    They are fresh ones (no fork: model runtimes have threads) with one thread of arithmetic each, and they
    leave when this process dies, however it dies.
    """

    def __init__(self, count: int | None = None) -> None:
        if count is not None and count < 1:
            raise InputError(f"--workers is {count}; it must be at least 1")
        self.count = count or _cores()
        self._pool: ProcessPoolExecutor | None = None

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, *_: object) -> None:
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)
            self._pool = None

    def submit(self, task: Task, file: Path, items: Sequence[Any]) -> Future[dict[str, float]]:
        """Do one chunk and write its file; the future gives the seconds by stage."""
        return self.start().submit(_chunk, task, file, items)

    def start(self) -> ProcessPoolExecutor:
        """Return the processes, started if they are not yet; does not wait for them."""
        if self._pool is None:
            self._pool = self._started()
        return self._pool

    def _started(self) -> ProcessPoolExecutor:
        before = {name: os.environ.get(name) for name in _THREADS}
        os.environ.update(dict.fromkeys(_THREADS, "1"))
        try:
            pool = ProcessPoolExecutor(self.count, mp_context=get_context("spawn"), initializer=_start)
            # Processes start with the first tasks; give them one each while the environment is set.
            for _ in range(self.count):
                pool.submit(_ready)
        finally:
            for name, value in before.items():
                if value is None:
                    os.environ.pop(name, None)
                else:
                    os.environ[name] = value
        return pool


def _work(
    task: Task, chunks: Path, workers: Workers, say: Say
) -> Iterator[tuple[int, bool, dict[str, float]]]:
    """Do every chunk that has no sound file yet; yields (items, whether now, seconds by stage)."""
    items = task.items()
    pending: dict[Future[dict[str, float]], int] = {}
    try:
        for number in count():
            part = list(islice(items, task.chunk))
            if not part:
                break
            file = _chunk_file(chunks, number)
            if file.exists():
                fault = _fault(file, len(part))
                if fault is None:
                    yield len(part), False, {}
                    continue
                say(f"{file} {fault}: these {len(part)} questions are done again")
            pending[workers.submit(task, file, part)] = len(part)
            # Two chunks a worker in flight: enough to keep it busy, and memory stays flat.
            while len(pending) >= 2 * workers.count:
                yield from _collect(pending)
        while pending:
            yield from _collect(pending)
    except BrokenProcessPool as problem:
        raise PageRAGError(
            "a worker process died (out of memory, or killed); what is finished is kept: run the same "
            "command again, with fewer --workers if memory is short"
        ) from problem
    finally:
        for future in pending:
            future.cancel()


def _collect(pending: dict[Future[dict[str, float]], int]) -> Iterator[tuple[int, bool, dict[str, float]]]:
    finished, _ = wait(pending, return_when=FIRST_COMPLETED)
    for future in finished:
        size = pending.pop(future)
        yield size, True, future.result()


def _start() -> None:
    threading.Thread(target=_leave_with_parent, daemon=True).start()


def _leave_with_parent() -> None:
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _ready() -> None:
    time.sleep(0.02)  # long enough that every process of the pool is started


@lru_cache(maxsize=2)
def _worker(task: Task) -> TaskWorker:
    """Return this process's worker for a task; the last two are kept, as runs follow each other."""
    return task.worker()


def _chunk(task: Task, file: Path, items: Sequence[Any]) -> dict[str, float]:
    worker = _worker(task)
    before = dict(worker.seconds)
    rows = worker.rows(items)
    write_atomic(file, _packed(file, rows))
    return {stage: value - before.get(stage, 0.0) for stage, value in worker.seconds.items()}


def _chunk_file(folder: Path, number: int) -> Path:
    return folder / f"{number:06d}.jsonl"


def _packed(file: Path, rows: Sequence[Row]) -> bytes:
    """Return a chunk file's content: a line that says what follows, then the rows."""
    body = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode("utf-8")
    return _head(file, len(rows), body) + body


def _head(file: Path, rows: int, body: bytes) -> bytes:
    told = {"chunk": file.stem, "rows": rows, "sha256": hashlib.sha256(body).hexdigest()}
    return (json.dumps(told) + "\n").encode()


def _fault(file: Path, rows: int) -> str | None:
    """Return what is wrong with a chunk file that should hold this many rows; None when it is whole."""
    try:
        head, newline, body = file.read_bytes().partition(b"\n")
    except OSError as problem:
        return f"cannot be read ({problem.strerror})"
    if not newline:
        return "is empty or cut short"
    held = body.count(b"\n")
    if held != rows:
        return f"holds {held} of {rows} rows"
    return None if head + b"\n" == _head(file, rows, body) else "was changed after it was written"


def _lines(folder: Path, chunks: int) -> Iterator[str]:
    """Yield the rows of all chunks, as they were verified; stray files in the folder are not read."""
    for number in range(chunks):
        with _chunk_file(folder, number).open(encoding="utf-8", newline="\n") as stream:
            next(stream)
            yield from stream


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Hold the folder for one process at a time; the lock dies with its holder."""
    try:
        import fcntl
    except ImportError:  # not on Windows
        yield
        return
    with (folder / ".lock").open("w") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as problem:
            raise InputError(
                f"another process is running in {folder}; wait for it or choose another --out"
            ) from problem
        yield


def _claim(folder: Path, described: dict[str, Any], *, fresh: bool) -> dict[str, Any]:
    """Make the folder this run's, or find that it is; returns the identity it was first started with.

    The commit may have moved on since: as long as no code that matters changed, the first one stands.
    """
    file = folder / "run.json"
    if fresh:
        shutil.rmtree(folder / "chunks", ignore_errors=True)
        for name in _FINAL:
            (folder / name).unlink(missing_ok=True)
    known = _read_json(file)
    if known is not None:
        if known | {"commit": None} == described | {"commit": None}:
            for part in (folder / "chunks").glob(".*.part"):
                part.unlink(missing_ok=True)  # left by a killed process
            return described | {"commit": known.get("commit")}
        raise OtherRunError(
            f"{folder} holds another run (it differs in: {', '.join(_differences(known, described))}); "
            "choose another --out, or discard it with --fresh"
        )
    if (folder / "chunks").exists():
        raise OtherRunError(f"{folder} has chunks of an unknown run; choose another --out or use --fresh")
    write_atomic(file, json.dumps(described, ensure_ascii=False, indent=2, sort_keys=True) + "\n")
    return described


def _read_json(file: Path) -> dict[str, Any] | None:
    if not file.is_file():
        return None
    try:
        value = json.loads(file.read_text(encoding="utf-8"))
    except ValueError as problem:
        raise InputError(f"{file} is not ours (not JSON); choose another --out or use --fresh") from problem
    if not isinstance(value, dict):
        raise InputError(f"{file} is not ours (not an object); choose another --out or use --fresh")
    return value


def _differences(known: dict[str, Any], described: dict[str, Any], prefix: str = "") -> list[str]:
    names: list[str] = []
    for name in sorted({*known, *described} - {"commit"}):
        before, after = known.get(name), described.get(name)
        if isinstance(before, dict) and isinstance(after, dict):
            names.extend(_differences(before, after, f"{prefix}{name}."))
        elif before != after:
            names.append(f"{prefix}{name}")
    return names


def _account(folder: Path, started: float, workers: int, items: int, seconds: dict[str, float]) -> None:
    """Add this session to timings.json."""
    file = folder / "timings.json"
    known = _read_json(file) or {}
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
    write_atomic(file, json.dumps({"sessions": sessions}, indent=2) + "\n")


def _cores() -> int:
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on Linux
        return os.cpu_count() or 1
