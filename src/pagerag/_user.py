"""What is the user's: folders for settings, state and caches, and the project settings files they trust.

``./pagerag.toml`` comes with whatever folder one happens to be in. It may say how many units are read; it may
not say where questions, documents and keys are sent, until the user has trusted that very file once, by its
path and content. A file that changes must be trusted again.
"""

from __future__ import annotations

import hashlib
import json
import os
from importlib.util import find_spec
from pathlib import Path

from pagerag._extras import need
from pagerag._files import write_atomic
from pagerag.errors import SettingsError, StoreError


def config_file() -> Path | None:
    """Return where the user's settings file lies, whether or not there is one.

    None in an installation without platformdirs (the extra ``cli``): the library with NumPy alone reads
    settings files only where they are named.
    """
    return _user("config") / "config.toml" if find_spec("platformdirs") is not None else None


def state_folder() -> Path:
    """Return the folder for what pagerag remembers of the user's decisions; made when it is missing."""
    return _made(_user("state"), "set XDG_STATE_HOME to a folder that can be written")


def cache_folder(*parts: str) -> Path:
    """Return the user's cache folder for pagerag, or a folder inside it; made when it is missing.

    ``PAGERAG_CACHE`` overrides the place.
    """
    chosen = os.environ.get("PAGERAG_CACHE")
    root = Path(chosen).expanduser() if chosen else _user("cache")
    return _made(root.joinpath(*parts), "set PAGERAG_CACHE to a folder that can be written")


def _user(kind: str) -> Path:
    folders = need("platformdirs", "platformdirs", "cli", "to find your settings and cache folders")
    return Path(getattr(folders, f"user_{kind}_path")("pagerag", appauthor=False))


def _made(folder: Path, remedy: str) -> Path:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise StoreError(
            f"the folder {folder} cannot be made ({problem.strerror or problem}); {remedy}"
        ) from problem
    return folder


def is_trusted(path: Path, content: bytes) -> bool:
    """Return whether the user trusted the file at ``path`` with exactly this content."""
    # without a place for the user's files there is none to remember it in
    return config_file() is not None and _known().get(str(path.resolve())) == _digest(content)


def trust(path: Path, content: bytes) -> None:
    """Remember that the user trusts the file at ``path`` with this content."""
    _write({**_known(), str(path.resolve()): _digest(content)})


def untrust(path: Path) -> bool:
    """Forget a file; return whether it was known."""
    known = _known()
    if known.pop(str(path.resolve()), None) is None:
        return False
    _write(known)
    return True


def _known() -> dict[str, str]:
    file = state_folder() / "trusted.json"
    try:
        held = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    except (OSError, ValueError, RecursionError):
        return {}  # what cannot be read trusts nothing; the next trust writes it again
    return {str(k): str(v) for k, v in held.items()} if isinstance(held, dict) else {}


def _write(known: dict[str, str]) -> None:
    file = state_folder() / "trusted.json"
    try:
        write_atomic(file, json.dumps(known, indent=1, sort_keys=True) + "\n")
    except OSError as problem:
        raise SettingsError(f"{file} cannot be written: {problem.strerror or problem}") from problem


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
