"""The user's folders for settings, state and caches, where the system wants them."""

from __future__ import annotations

import os
from importlib.util import find_spec
from pathlib import Path

from pagerag._extras import need
from pagerag.errors import StoreError


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
