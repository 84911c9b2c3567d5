"""Server-sent events: answers as their words come, files as they are indexed, told by threads to the loop."""

from __future__ import annotations

import asyncio
import re
import threading
from collections.abc import AsyncIterable, AsyncIterator, Callable, Mapping
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any

import orjson
from starlette.responses import StreamingResponse

from pagerag._files import write_atomic
from pagerag.errors import InputError, PageRAGError, StoreError
from pagerag.ingest import FORMATS, IngestSettings, index_paths
from pagerag.pipeline import PageRAG, Result, Stage
from pagerag.serve.problems import FAULT, Problem, Unusable, problem_of
from pagerag.serve.service import Service
from pagerag.serve.stores import Held
from pagerag.serve.telemetry import LOG
from pagerag.settings import Settings

_END = object()
_ODD = re.compile(r"[\x00-\x1f\x7f<>:\"|?*]+")
_LONGEST = 150
_WRITERS: dict[str, threading.Lock] = {}
_WRITERS_LOCK = threading.Lock()


def event(body: Any, name: str = "") -> bytes:
    """Return one server-sent event; without a name, its data alone."""
    data = b"data: %s\n\n" % orjson.dumps(body, option=orjson.OPT_SERIALIZE_NUMPY)
    return b"event: %s\n%s" % (name.encode(), data) if name else data


def event_stream(events: AsyncIterable[bytes]) -> StreamingResponse:
    """Return events as a response that nothing on its way keeps back."""
    headers = {"Cache-Control": "no-cache", "X-Accel-Buffering": "no"}
    return StreamingResponse(events, media_type="text/event-stream", headers=headers)


class News:
    """What a thread tells the event loop, item by item; ``gone`` says that nobody listens any more."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._items: asyncio.Queue[Any] = asyncio.Queue()
        self.gone = False

    def put(self, item: object) -> None:
        """Tell one item; from any thread."""
        try:
            self._loop.call_soon_threadsafe(self._items.put_nowait, item)
        except RuntimeError:
            self.gone = True  # the loop is closed: the server has stopped

    async def __aiter__(self) -> AsyncIterator[Any]:
        try:
            while (item := await self._items.get()) is not _END:
                yield item
        finally:
            self.gone = True


class AnswerStream:
    """Stages, words and the result of one question; a failure ends it as a Problem.

    The work is started, or refused with 429, when this is made: before a response has begun.
    """

    def __init__(self, service: Service, make: Callable[[], PageRAG], question: str) -> None:
        self._news = News()
        self._seconds = service.settings.serve.ask_timeout
        self._job = service.asks.submit(self._work, make, question)

    def _work(self, make: Callable[[], PageRAG], question: str) -> None:
        try:
            for item in make().stream(question):
                if self._news.gone:
                    return
                self._news.put(item)
        except Exception as error:  # noqa: BLE001 - a thread of the server: the client must hear of it
            problem = problem_of(error)
            if problem is FAULT:
                LOG.exception("stream")
            self._news.put(problem)
        finally:
            self._news.put(_END)

    async def __aiter__(self) -> AsyncIterator[Stage | str | Result | Problem]:
        """Yield what comes, for at most the time that a question may take."""
        try:
            async with asyncio.timeout(self._seconds):
                async for item in self._news:
                    yield item
        except TimeoutError:
            yield Problem(504, "timeout", f"no result within {self._seconds:g} s (setting serve.ask_timeout)")
        finally:
            self._news.gone = True
            self._job.cancel()


# -- files from the page: checked, written beside the store, indexed


def safe_name(given: str) -> str:
    """Return a file name that stays inside its folder and has a known format."""
    name = PurePosixPath(PureWindowsPath(given).name).name
    name = _ODD.sub("_", name).strip().lstrip(".")
    suffixes = sorted({suffix for known in FORMATS for suffix in known.suffixes})
    if not name or Path(name).suffix.lower() not in suffixes:
        raise Unusable(f"{given[:80]!r} has no known format; known are: {' '.join(suffixes)}", field="files")
    if len(name.encode()) > _LONGEST:
        raise Unusable(f"the name {name[:40]!r}… is too long; {_LONGEST} bytes are the limit", field="files")
    return name


def indexed(held: Held, files: Mapping[str, bytes], settings: Settings) -> News:
    """Index ``files``; events tell of the progress, of each file as it is on disk, then the report.

    The work goes on in a thread of its own to its end, whether or not somebody listens.
    """
    news = News()
    threading.Thread(target=_index, args=(held, files, settings, news), name="pagerag-index").start()
    return news


def _index(held: Held, files: Mapping[str, bytes], settings: Settings, news: News) -> None:
    with _WRITERS_LOCK:
        lock = _WRITERS.setdefault(held.path, threading.Lock())
    try:
        with lock:  # one run at a time in this process; the store's own lock covers the others
            if "://" in held.path:
                words = f"the store {held.name!r} is not on this machine"
                raise StoreError(f"{words}; index into it with: pagerag index")
            # beside the store, where the next ``index`` finds them
            folder = Path(f"{held.path.rstrip('/')}.files")
            folder.mkdir(parents=True, exist_ok=True)
            paths = []
            for name, content in files.items():
                write_atomic(folder / name, content)
                paths.append(folder / name)
            with _opened_for_writing(held, settings) as store:
                options = IngestSettings(base=str(folder))
                report = index_paths(
                    paths, store, options, listener=lambda step: news.put(event(step, "progress"))
                )
            news.put(event({**report.to_dict(), "store": held.describe()}, "report"))
    except PageRAGError as problem:
        news.put(event({"error_type": type(problem).__name__, "message": str(problem)}, "error"))
    except OSError as problem:
        told = {"error_type": "StoreError", "message": f"cannot write: {problem.strerror}"}
        news.put(event(told, "error"))
    finally:
        news.put(_END)


def _opened_for_writing(held: Held, settings: Settings) -> Any:
    """Return the store opened with its own encoder; a new one gets the setting's."""
    from pagerag.retrieve.encoders import DEFAULT_ENCODER, encoder
    from pagerag.store import open_store

    if held.exists:
        pipeline = held.pipeline()
        if pipeline.encoder is None:
            raise InputError(f"the store {held.name!r} has no encoder; files cannot be indexed into it")
        return open_store(held.path, pipeline.encoder)
    return open_store(held.path, encoder(settings.store.encoder or DEFAULT_ENCODER), create=True)
