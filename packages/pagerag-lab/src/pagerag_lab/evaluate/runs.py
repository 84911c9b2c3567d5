"""A run: questions in chunks through a pool of processes, one atomically renamed file per chunk.

Killed at any moment and started again, a run ends in the same bytes: a chunk's content depends on its
questions and on the settings alone, a chunk file is whole or absent, and what differs between two runs
of the same thing (times) is kept apart, in ``timings.json``.
"""

from __future__ import annotations

import json
import os
import shutil
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack, contextmanager
from functools import lru_cache
from itertools import count, islice
from multiprocessing import get_context, parent_process
from pathlib import Path
from typing import Any

from pagerag._files import write_atomic
from pagerag.errors import InputError, PageRAGError
from pagerag_lab.evaluate.config import RunConfig
from pagerag_lab.evaluate.datasets import read_questions
from pagerag_lab.evaluate.questions import Question
from pagerag_lab.evaluate.results import finish
from pagerag_lab.evaluate.versions import identity
from pagerag_lab.evaluate.worker import Worker

__all__ = ["Progress", "Workers", "run"]

Progress = Callable[[int, int], None]
"""Called with (questions done, questions in all) as chunks come in."""

_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")


def run(
    config: RunConfig,
    out: str | os.PathLike[str],
    *,
    workers: int | Workers | None = None,
    fresh: bool = False,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Run or resume ``config`` in the folder ``out`` and return the content of its result.json.

    The whole data file is read first, so that a malformed record is told before any work. A folder with
    another run's files is refused unless ``fresh`` discards them.
    """
    folder = Path(out)
    started = time.time()
    with ExitStack() as stack:
        hands = workers if isinstance(workers, Workers) else stack.enter_context(Workers(workers))
        if not (folder / "result.json").exists():
            hands.start()  # they import while the file is read
        total = sum(1 for _ in read_questions(config.dataset, config.data, limit=config.limit))
        described = identity(config) | {"n": total}
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
        for size, new, spent in _work(config, chunks, hands):
            done += size
            now += size if new else 0
            for stage, value in spent.items():
                seconds[stage] = seconds.get(stage, 0.0) + value
            if progress is not None:
                progress(done, total)
        result = finish(config, folder, described)
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

    def submit(
        self, config: RunConfig, file: Path, questions: Sequence[Question]
    ) -> Future[dict[str, float]]:
        """Do one chunk and write its file; gives the seconds by stage."""
        return self.start().submit(_chunk, config, file, questions)

    def start(self) -> ProcessPoolExecutor:
        """The processes, started if they are not yet; does not wait for them."""
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


def _work(config: RunConfig, chunks: Path, workers: Workers) -> Iterator[tuple[int, bool, dict[str, float]]]:
    """Do every chunk that has no file yet; yields (questions, whether now, seconds by stage)."""
    questions = read_questions(config.dataset, config.data, limit=config.limit)
    pending: dict[Future[dict[str, float]], int] = {}
    try:
        for number in count():
            part = list(islice(questions, config.chunk))
            if not part:
                break
            file = chunks / f"{number:06d}.jsonl"
            if file.is_file():
                yield len(part), False, {}
                continue
            pending[workers.submit(config, file, part)] = len(part)
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
def _worker(config: RunConfig) -> Worker:
    """This process's worker for a run; the last two are kept, as runs follow each other."""
    return Worker(config)


def _chunk(config: RunConfig, file: Path, questions: Sequence[Question]) -> dict[str, float]:
    worker = _worker(config)
    before = dict(worker.seconds)
    rows = worker.rows(questions)
    write_atomic(file, "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))
    return {stage: value - before[stage] for stage, value in worker.seconds.items()}


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """One process at a time in a folder; the lock dies with its holder."""
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
        for name in ("run.json", "result.json", "predictions.jsonl", "timings.json"):
            (folder / name).unlink(missing_ok=True)
    known = _read_json(file)
    if known is not None:
        if known | {"commit": None} == described | {"commit": None}:
            for part in (folder / "chunks").glob(".*.part"):
                part.unlink(missing_ok=True)  # left by a killed process
            return described | {"commit": known.get("commit")}
        raise InputError(
            f"{folder} holds another run (it differs in: {', '.join(_differences(known, described))}); "
            "choose another --out, or discard it with --fresh"
        )
    if (folder / "chunks").exists():
        raise InputError(f"{folder} has chunks of an unknown run; choose another --out or use --fresh")
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


def _account(folder: Path, started: float, workers: int, questions: int, seconds: dict[str, float]) -> None:
    """Add this session to timings.json."""
    file = folder / "timings.json"
    sessions: list[Any] = (_read_json(file) or {}).get("sessions", [])
    wall = time.time() - started
    sessions.append(
        {
            "started": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(started)),
            "wall_seconds": round(wall, 3),
            "workers": workers,
            "questions": questions,
            "questions_per_second": round(questions / wall, 2) if wall else None,
            "stage_seconds": {stage: round(value, 3) for stage, value in seconds.items()},
        }
    )
    write_atomic(file, json.dumps({"sessions": sessions}, indent=2) + "\n")


def _cores() -> int:
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on Linux
        return os.cpu_count() or 1
