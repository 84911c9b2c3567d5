"""Optional packages: imported where they are used, and named when they are missing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from pagerag.errors import MissingExtraError

# modules of the extra "app" without which nothing can be indexed or asked, and their packages
_APP = {"wordllama": "wordllama", "markdown_it": "markdown-it-py"}


def need(module: str, package: str, extra: str, purpose: str = "") -> Any:
    """Import ``module``, or raise an error that names the extra that brings ``package``."""
    try:
        return import_module(module)
    except ModuleNotFoundError as missing:
        if missing.name is not None and missing.name.split(".")[0] != module.split(".", maxsplit=1)[0]:
            raise  # the package is there and one of its own needs is not: say that, not this
        raise MissingExtraError(package, extra, purpose) from missing


def need_app(*modules: str, purpose: str) -> None:
    """Say at once what a bare installation lacks, instead of one package after another."""
    if not all(map(find_spec, modules)):
        missing = [package for module, package in _APP.items() if find_spec(module) is None]
        raise MissingExtraError(" and ".join(missing), "app", purpose)


@contextmanager
def app_named(purpose: str) -> Iterator[None]:
    """Name the extra ``app`` where the default encoder is missing inside: alone it reads few documents."""
    try:
        yield
    except MissingExtraError as missing:
        if missing.extra != "wordllama":
            raise
        need_app("wordllama", purpose=purpose)
        raise MissingExtraError(missing.package, "app", purpose) from missing
