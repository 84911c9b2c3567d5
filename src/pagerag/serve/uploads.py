"""Files from the page into a store: checked, written beside the store, indexed by ``pagerag.ingest``."""

from __future__ import annotations

import re
import threading
from collections.abc import Mapping
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any

from pagerag._extras import app_named
from pagerag._files import write_atomic
from pagerag.errors import InputError, PageRAGError, StoreError
from pagerag.ingest import FORMATS, IngestSettings, index_paths
from pagerag.serve.problems import Unusable
from pagerag.serve.stores import Held
from pagerag.serve.streams import END, News, event
from pagerag.settings import Settings

_ODD = re.compile(r"[\x00-\x1f\x7f<>:\"|?*]+")
_LONGEST = 150
_WRITERS: dict[str, threading.Lock] = {}
_WRITERS_LOCK = threading.Lock()


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
        news.put(END)


def _opened_for_writing(held: Held, settings: Settings) -> Any:
    """Return the store opened with its own encoder; a new one gets the setting's."""
    from pagerag.retrieve.encoders import DEFAULT_ENCODER, encoder
    from pagerag.store import open_store

    if held.exists:
        pipeline = held.pipeline()
        if pipeline.encoder is None:
            raise InputError(f"the store {held.name!r} has no encoder; files cannot be indexed into it")
        return open_store(held.path, pipeline.encoder)
    with app_named("to index documents"):
        made = encoder(settings.store.encoder or DEFAULT_ENCODER)
    return open_store(held.path, made, create=True)
