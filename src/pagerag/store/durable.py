"""What LanceDB leaves to its caller on a local disk: syncing what it wrote, and one writer at a time."""

from __future__ import annotations

import atexit
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from pagerag._files import sync_folder
from pagerag.errors import StoreError

__all__ = ["Syncer", "local_folder", "settle_at_exit", "writer_lock"]

LOCK_NAME = ".writer.lock"


def local_folder(uri: str) -> Path | None:
    """The folder of a local store; None when ``uri`` is an object store's."""
    if "://" not in uri:
        return Path(uri)
    scheme, _, rest = uri.partition("://")
    return Path(rest) if scheme == "file" else None


class Syncer:
    """Makes what was written below a folder survive a power cut, and readable by whom the umask allows.

    LanceDB never changes a data file in place, so each path needs one fsync in its life; only its hint of
    the latest version (JSON) is rewritten. The first call syncs everything: whoever wrote it may have been
    killed before its own sync. LanceDB also creates most files for their owner alone, so that another
    user's process could open a store and then fail in the middle of a search.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._synced: set[str] = set()
        self._mode = 0o666 & ~_umask()

    def sync(self) -> int:
        """Sync files that are new since the last call, and their folders; returns how many files."""
        present: set[str] = set()
        fresh_folders: set[str] = set()
        count = 0
        for folder, _, names in os.walk(self.folder):
            for name in names:
                path = f"{folder}{os.sep}{name}"
                present.add(path)
                if path in self._synced and not name.endswith(".json"):
                    continue
                if self._sync_file(path):
                    fresh_folders.add(folder)
                    count += 1
        for folder in fresh_folders | ({str(self.folder)} if fresh_folders else set()):
            sync_folder(Path(folder))
            # A new table or index folder is an entry of its parent.
            sync_folder(Path(folder).parent)
        self._synced = present
        return count

    def _sync_file(self, path: str) -> bool:
        try:
            handle = os.open(path, os.O_RDONLY)
        except FileNotFoundError:
            return False  # a temporary file that has been renamed since, or was cleaned up
        try:
            status = os.fstat(handle)
            if os.name != "nt" and status.st_uid == os.geteuid():
                os.fchmod(handle, self._mode)
            os.fsync(handle)
        finally:
            os.close(handle)
        return True


@cache
def settle_at_exit() -> None:
    """Let LanceDB's threads come to rest before the interpreter goes.

    They hand a result over and let go of Python objects a moment later; one that does so while the
    interpreter is being taken down aborts the process, after its work is done, with an exit code of 134 or
    139. Seen in 2 of 5 runs of a busy machine without this pause, which lets go of the interpreter's lock.
    """
    atexit.register(time.sleep, 0.2)


@contextmanager
def writer_lock(folder: Path | None) -> Iterator[None]:
    """Hold the store's writer lock, or say at once that somebody else does.

    The lock is the operating system's: it goes with its process, however that ends. Where there is none
    (object stores, systems without ``flock``) LanceDB's own conflict check remains.
    """
    try:
        import fcntl
    except ImportError:
        fcntl = None  # type: ignore[assignment]
    if folder is None or fcntl is None:
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


def _umask() -> int:
    current = os.umask(0)
    os.umask(current)
    return current
