"""Small drawing words for SVG: escaped text, wrapped lines, curves; and the files that pages are made of."""

from __future__ import annotations

import textwrap
import unicodedata
from collections.abc import Sequence
from functools import cache
from html import escape
from pathlib import Path


@cache
def asset(name: str) -> str:
    """Return a style, a script or a piece of a page."""
    return (Path(__file__).with_name("assets") / name).read_text(encoding="utf-8")


def clip(text: str, most: int) -> str:
    """Return one line of at most ``most`` characters."""
    flat = " ".join(text.split())
    return flat if len(flat) <= most else flat[: most - 1].rstrip() + "…"


def width_of(text: str, size: float) -> float:
    """Return about how wide ``text`` is at this font size: wide characters count double, narrow ones less."""
    units = 0.0
    for letter in text:
        if unicodedata.east_asian_width(letter) in "WF":
            units += 1.0
        elif letter in "iljtf.,;:'|!()[] ":
            units += 0.34
        elif letter.isupper() or letter in "mwMW":
            units += 0.74 if letter in "mwMW" else 0.68
        else:
            units += 0.575
    return units * size


def lines_of(text: str, room: float, size: float, most: int) -> list[str]:
    """Return ``text`` wrapped to ``room`` pixels, at most ``most`` lines, the last ending in … when cut."""
    columns = max(4, int(room / (size * 0.5)))
    words = [piece for word in text.split() for piece in textwrap.wrap(word, columns)]
    lines = [""]
    for word in words:
        longer = f"{lines[-1]} {word}".strip()
        if lines[-1] and width_of(longer, size) > room:
            lines.append(word)
        else:
            lines[-1] = longer
    if len(lines) > most:
        lines = lines[:most]
        while lines[-1] and width_of(lines[-1] + "…", size) > room:
            lines[-1] = lines[-1][:-1].rstrip()
        lines[-1] += "…"
    return lines


def text_lines(
    lines: Sequence[str], x: float, y: float, *, size: float, step: float, kind: str = "", anchor: str = ""
) -> str:
    """Draw lines of text under one another; ``y`` is the first baseline."""
    place = f' text-anchor="{anchor}"' if anchor else ""
    spans = "".join(
        f'<tspan x="{x:.1f}" y="{y + step * number:.1f}">{escape(line)}</tspan>'
        for number, line in enumerate(lines)
    )
    return f'<text class="{kind}" font-size="{size:g}"{place}>{spans}</text>'


def curve(x1: float, y1: float, x2: float, y2: float, kind: str, width: float = 1.5, title: str = "") -> str:
    """Draw a horizontal S-curve from one point to another, with what a hover shows."""
    bend = max(30.0, abs(x2 - x1) * 0.5)
    told = f"<title>{escape(title)}</title>" if title else ""
    return (
        f'<path class="link {kind}" stroke-width="{width:.1f}" fill="none" '
        f'd="M{x1:.1f},{y1:.1f} C{x1 + bend:.1f},{y1:.1f} {x2 - bend:.1f},{y2:.1f} {x2:.1f},{y2:.1f}">'
        f"{told}</path>"
    )
