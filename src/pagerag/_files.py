"""Files that are either whole or absent: written beside their place, synced, then renamed."""

from __future__ import annotations

import hashlib
import os
import tempfile
from pathlib import Path

__all__ = ["sha256_file", "write_atomic"]


def write_atomic(path: str | os.PathLike[str], content: bytes | str) -> None:
    """Write ``content`` so that a reader, or a crash at any moment, sees the old file or the new one."""
    target = Path(path)
    data = content.encode("utf-8") if isinstance(content, str) else content
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=".part")
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.chmod(0o666 & ~_umask())
        temporary.replace(target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    sync_folder(target.parent)


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
    """The file's SHA-256, read in blocks."""
    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _umask() -> int:
    # There is no way to read the umask but to set it; mkstemp's 0600 would surprise other readers.
    current = os.umask(0)
    os.umask(current)
    return current
