"""One writer at a time, over as many commits as a run of indexing makes."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pagerag.errors import StoreError

LOCK_NAME = ".writer.lock"


@contextmanager
def writer_lock(folder: Path) -> Iterator[None]:
    """Hold the store's writer lock, or say at once that somebody else does.

    The lock is the operating system's: it goes with its process, however that ends. On systems without
    ``flock`` SQLite's own lock remains, which is held for one commit at a time.
    """
    try:
        import fcntl
    except ImportError:
        yield
        return
    handle = os.open(folder / LOCK_NAME, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as held:
            owner = os.pread(handle, 32, 0).decode("ascii", "replace").strip() or "unknown"
            raise StoreError(
                f"another process (id {owner}) is writing to the store {folder}; wait for it to finish"
            ) from held
        os.ftruncate(handle, 0)
        os.pwrite(handle, str(os.getpid()).encode(), 0)
        yield
    finally:
        os.close(handle)
