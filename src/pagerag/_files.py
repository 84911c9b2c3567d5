"""Files that are either whole or absent (written beside their place, synced, then renamed), and locks."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO


def write_atomic(path: str | os.PathLike[str], content: bytes | str) -> None:
    """Write ``content`` so that a reader, or a crash at any moment, sees the old file or the new one."""
    with replacing(path) as file:
        file.write(content.encode("utf-8") if isinstance(content, str) else content)


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """Open a new file that takes the place of ``path`` when the block ends without an error.

    A new file gets the permissions that the process's umask leaves, as any other file that is opened for
    writing; a file that is replaced keeps its own.
    """
    target = Path(path)
    temporary = target.with_name(f".{target.name}.{os.urandom(6).hex()}.part")
    # The umask is applied by the system when the file is made: reading it would mean setting it, for every
    # thread of the process.
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666)
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        if target.exists():
            temporary.chmod(stat.S_IMODE(target.stat().st_mode))
        temporary.replace(target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    sync_folder(target.parent)


@contextmanager
def locked(file: Path, busy: Callable[[str], Exception] | None = None) -> Iterator[None]:
    """Hold a lock between processes; wait for it, or raise ``busy`` of the id of the process that holds it.

    The lock is the operating system's: it goes with its process, however that ends. On systems without
    ``flock`` nothing is held.
    """
    try:
        import fcntl
    except ImportError:
        yield
        return
    # UTF-8 is built in; any other codec is a module, which a process with few rights may not be able to load.
    with file.open("a+", encoding="utf-8", errors="replace") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX if busy is None else fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as held:
            if busy is None:
                raise
            handle.seek(0)
            raise busy(handle.read(32).strip() or "unknown") from held
        if busy is not None:  # whoever waits asks nobody, and a full disk must not keep a reader away
            handle.truncate(0)
            handle.write(str(os.getpid()))
            handle.flush()
        yield


def sync_folder(folder: Path) -> None:
    """Make a rename in ``folder`` survive a power cut, where the system can."""
    if os.name == "nt":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def sha256_file(path: str | os.PathLike[str]) -> str:
    """Return the file's SHA-256 in hexadecimal digits, read in blocks."""
    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
