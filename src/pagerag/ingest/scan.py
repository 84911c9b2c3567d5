"""Which files there are to read."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from pagerag.errors import FormatError, InputError
from pagerag.ingest.documents import IngestSettings, SourceFile
from pagerag.ingest.formats import FORMATS, Format, format_of
from pagerag.store.sqlite import FILE_NAME

_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]{1,20}://")


@dataclass(slots=True)
class Found:
    """What a look at the given paths found, in order of name.

    ``missing`` names what is not there, ``lost`` the given paths among them whose folder is not there either.
    """

    files: dict[str, tuple[SourceFile, Format]] = field(default_factory=dict)
    unsupported: list[str] = field(default_factory=list)
    outside: list[str] = field(default_factory=list)
    problems: list[FormatError] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)
    roots: list[str] = field(default_factory=list)

    def covers(self, name: str) -> bool:
        """Return whether a stored path lies among the paths that were looked at."""
        return _below(name, self.roots)

    def lacks(self, name: str) -> bool:
        """Return whether a stored path was looked for and is not there.

        What could not be looked at may be there.
        """
        unseen = [str(problem.file) for problem in self.problems]
        return self.covers(name) and name not in self.files and not _below(name, unseen)

    def away(self, stored: Collection[str]) -> str | None:
        """Return a given path that is away with its files: a folder, or a file together with its folder.

        A file alone whose folder is there was deleted; a disk that is not mounted takes more with it.
        """
        for name in filter(set(self.missing).__contains__, self.roots):
            if any(one.startswith(f"{name}/") or (one == name and name in self.lost) for one in stored):
                return name
        return None


def _below(name: str, folders: Iterable[str]) -> bool:
    return any(folder in (".", name) or name.startswith(f"{folder.rstrip('/')}/") for folder in folders)


def _absolute(path: Path | str) -> Path:
    return Path(os.path.abspath(path))  # noqa: PTH100 - resolve() would follow links away from the name


def stored_name(path: Path, settings: IngestSettings) -> str:
    """Return the path as the store knows it: absolute, or relative to ``settings.base``."""
    whole = _absolute(path)
    if settings.base is None:
        return whole.as_posix()
    try:
        return whole.relative_to(_absolute(settings.base)).as_posix()
    except ValueError as outside:
        raise InputError(f"{whole} is not inside {settings.base}, which --relative-to names") from outside


def local_paths(paths: Iterable[str | os.PathLike[str]]) -> list[Path]:
    """Return the paths; an address of the web is none, whatever a path would make of it."""
    for given in map(str, paths := list(paths)):
        if _ADDRESS.match(given) and not Path(given).exists():
            raise InputError(
                f"{given} is an address, and only files and folders can be indexed; download it first"
            )
    return [Path(given).expanduser() for given in paths]


def scan(
    paths: Iterable[str | os.PathLike[str]], settings: IngestSettings, *, leave_out: Path | None = None
) -> Found:
    """Return every readable file below the paths; hidden ones and the folder ``leave_out`` are passed over.

    A file that was named is read as text when its format is unknown; in a folder it is listed as
    unsupported. Links in a folder that lead out of it are not followed, unless the settings say so.
    """
    found = Found()
    store = None if leave_out is None else _absolute(leave_out)
    for path in local_paths(paths):
        name = stored_name(path, settings)
        found.roots.append(name)
        if path.is_dir():
            for inner in _walk(path, store, found, settings):
                if not settings.follow_links and _leads_outside(inner, path):
                    found.outside.append(stored_name(inner, settings))
                else:
                    _add(found, inner, settings, named=False)
        else:
            _add(found, path, settings, named=True)
            if name in found.missing and not path.parent.is_dir():
                found.lost.append(name)
    found.files = dict(sorted(found.files.items()))
    found.unsupported.sort()
    return found


def _leads_outside(path: Path, folder: Path) -> bool:
    """Return whether a path is a link to something that is not in the folder."""
    try:
        return path.is_symlink() and path.exists() and not path.resolve().is_relative_to(folder.resolve())
    except (OSError, RuntimeError):
        return True


def _walk(folder: Path, store: Path | None, found: Found, settings: IngestSettings) -> Iterator[Path]:
    def unreadable(problem: OSError) -> None:
        place = stored_name(Path(problem.filename or folder), settings)
        why = f"cannot be listed ({problem.strerror}); check its permissions"
        found.problems.append(FormatError(why, file=place))

    seen: set[Path] = set()
    for root, folders, names in os.walk(folder, onerror=unreadable, followlinks=settings.follow_links):
        here = Path(root)
        if settings.follow_links:
            if (real := here.resolve()) in seen:  # links can lead round in a circle
                folders.clear()
                continue
            seen.add(real)
        folders[:] = sorted(n for n in folders if not n.startswith(".") and _absolute(here / n) != store)
        own = FILE_NAME if _absolute(here) == store else "."  # documents may lie beside the store's own files
        yield from (here / name for name in sorted(names) if not name.startswith((".", own)))


def _add(found: Found, path: Path, settings: IngestSettings, *, named: bool) -> None:
    name = stored_name(path, settings)
    shown = name.encode("utf-8", "backslashreplace").decode()
    if shown != name:
        found.problems.append(FormatError("its name is not valid UTF-8: rename it", file=shown))
        return
    file = SourceFile(path, name)
    known = format_of(file)
    if known is None and not named:
        found.unsupported.append(name)
        return  # before it is looked at: a link to nothing is no error where it would not be read
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        found.missing.append(name)
        return
    except OSError as problem:
        found.problems.append(file.bad(f"cannot be read ({problem.strerror})"))
        return
    regular = stat.S_ISREG(mode)  # reading a pipe or a device could wait for ever
    if named and not regular:
        found.problems.append(file.bad("is not a regular file"))
    elif regular:
        found.files[name] = (file, known or FORMATS[0])
    else:
        found.unsupported.append(name)
