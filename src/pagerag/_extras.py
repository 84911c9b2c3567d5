"""Optional packages: imported where they are used, and named when they are missing."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from pagerag.errors import MissingExtraError


def need(module: str, package: str, extra: str, purpose: str = "") -> Any:
    """Import ``module``, or raise an error that names the extra that brings ``package``."""
    try:
        return import_module(module)
    except ModuleNotFoundError as missing:
        if missing.name is not None and missing.name.split(".")[0] != module.split(".", maxsplit=1)[0]:
            raise  # the package is there and one of its own needs is not: say that, not this
        raise MissingExtraError(package, extra, purpose) from missing
