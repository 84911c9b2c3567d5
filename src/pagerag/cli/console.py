"""What every command shares: exit codes, colour, progress, JSON output."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TextIO, TypeVar

__all__ = [
    "BROKEN_PIPE",
    "FAILED",
    "INTERRUPTED",
    "OK",
    "PARTIAL",
    "USAGE",
    "error",
    "note",
    "paint",
    "print_json",
    "progress",
]

OK = 0
FAILED = 1  # nothing was produced; the message says why
USAGE = 2  # the command line itself is wrong (argparse's own code)
PARTIAL = 3  # some items failed; each is named and counted in the output
INTERRUPTED = 130
BROKEN_PIPE = 141

_STYLES = {
    "bold": "1",
    "dim": "2",
    "red": "31",
    "green": "32",
    "yellow": "33",
    "blue": "34",
    "magenta": "35",
    "cyan": "36",
}

T = TypeVar("T")


def _coloured(stream: TextIO) -> bool:
    if os.environ.get("NO_COLOR"):
        return False
    return bool(os.environ.get("FORCE_COLOR")) or stream.isatty()


def paint(text: str, *styles: str, stream: TextIO | None = None) -> str:
    """``text`` in colour where the stream shows colour; NO_COLOR and FORCE_COLOR are honoured."""
    if not _coloured(stream or sys.stdout):
        return text
    codes = ";".join(_STYLES[style] for style in styles)
    return f"\033[{codes}m{text}\033[0m"


def error(message: str) -> None:
    """One line on stderr."""
    print(paint("error: ", "red", "bold", stream=sys.stderr) + message, file=sys.stderr)


def note(message: str) -> None:
    """A remark on stderr, so that stdout stays clean for pipes."""
    print(paint(message, "dim", stream=sys.stderr), file=sys.stderr)


def print_json(value: Mapping[str, Any] | list[Any]) -> None:
    """``value`` on stdout as JSON; text in any language stays readable."""
    json.dump(value, sys.stdout, ensure_ascii=False, indent=2, default=str)
    print()


def progress(items: Iterable[T], *, total: int | None, label: str, unit: str = "it") -> Iterator[T]:
    """Pass ``items`` through; show count, rate and time left on stderr.

    A terminal gets one line that rewrites itself; a log gets a line every ten seconds.
    """
    stream = sys.stderr
    live = stream.isatty()
    pause = 0.1 if live else 10.0
    start = shown = time.monotonic()
    done = 0
    for item in items:
        yield item
        done += 1
        now = time.monotonic()
        if now - shown >= pause:
            shown = now
            _show(stream, live, label, unit, done, total, now - start)
    if done and (live or time.monotonic() - start >= pause):
        _show(stream, live, label, unit, done, total, time.monotonic() - start)
        if live:
            stream.write("\n")


def _show(
    stream: TextIO, live: bool, label: str, unit: str, done: int, total: int | None, seconds: float
) -> None:
    rate = done / max(seconds, 1e-9)
    text = f"{label}: {done:,}{f'/{total:,}' if total else ''} {unit} · {rate:,.1f} {unit}/s"
    if total and done < total:
        text += f" · {_clock((total - done) / rate)} left"
    elif total:
        text += f" · {_clock(seconds)}"
    stream.write(f"\r\033[K{text}" if live else f"{text}\n")
    stream.flush()


def _clock(seconds: float) -> str:
    whole = round(seconds)
    return f"{whole // 60}:{whole % 60:02d}"
