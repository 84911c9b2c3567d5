"""Where built models and embeddings are kept between runs."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from pagerag.errors import StoreError

__all__ = ["cache_folder"]


def cache_folder(*parts: str) -> Path:
    """Return the user's cache folder for pagerag, or a folder inside it; made when it is missing.

    ``PAGERAG_CACHE`` overrides the place; otherwise it is the system's own: ``$XDG_CACHE_HOME`` or
    ``~/.cache``, ``~/Library/Caches`` on macOS, ``%LOCALAPPDATA%`` on Windows.
    """
    folder = _root().joinpath(*parts)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise StoreError(
            f"the cache folder {folder} cannot be made ({problem.strerror or problem}); "
            "set PAGERAG_CACHE to a folder that can be written"
        ) from problem
    return folder


def _root() -> Path:
    if chosen := os.environ.get("PAGERAG_CACHE"):
        return Path(chosen).expanduser()
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "pagerag"
    variable = "LOCALAPPDATA" if os.name == "nt" else "XDG_CACHE_HOME"
    if base := os.environ.get(variable):
        return Path(base) / "pagerag"
    return Path.home() / ".cache" / "pagerag"
