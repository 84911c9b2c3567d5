"""The style of pictures and pages: light and dark, one typeface that every system has."""

from __future__ import annotations

from functools import cache
from pathlib import Path

__all__ = ["asset", "drawing"]


@cache
def asset(name: str) -> str:
    """Return one of the files that pages are made of."""
    return (Path(__file__).with_name("assets") / name).read_text(encoding="utf-8")


def drawing() -> str:
    """Return the style that a picture needs to stand alone."""
    return asset("drawing.css")
