"""What every command shares: exit codes, the terminal, colour, progress, JSON output.

Commands print titles, texts, file names and model replies that strangers wrote. ``CleanStream`` is the one
place where they reach the terminal: for the time of a command it stands in for stdout and stderr and spells
control characters (escape sequences, C1 codes, carriage returns), bidirectional controls, invisible tags and
lone surrogates out as JSON does, a backslash, a u and four digits. Our own colours and links to files pass,
because they carry a mark that is drawn at random for each process.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any, TextIO, TypeVar

from pagerag.errors import InputError, SettingsError

OK = 0
FAILED = 1  # nothing was produced; the message says why
USAGE = 2  # the command line itself is wrong (argparse's own code): see UsageError
PARTIAL = 3  # some items failed; each is named and counted in the output
INTERRUPTED = 130
BROKEN_PIPE = 141

_STYLES = {"bold": 1, "dim": 2, "red": 31, "green": 32, "yellow": 33, "blue": 34, "cyan": 36}

T = TypeVar("T")


class UsageError(InputError):
    """The command line itself is wrong, whatever files and stores there are."""


@contextmanager
def as_usage() -> Iterator[None]:
    """Count what is refused inside as wrong usage: it looks at nothing but what options were given."""
    try:
        yield
    except (InputError, SettingsError) as problem:
        raise UsageError(str(problem)) from problem


_MARK = f"\x1b{secrets.token_hex(8)}"
"""Begins a control sequence of our own; nobody outside this process can know it."""
_URL = "[A-Za-z0-9%/:._~#-]*"  # what a percent-encoded file address is made of
_LINK = rf"\]8;;{_URL}\x1b\\"  # OSC 8, up to its string terminator
_OWN = rf"{_MARK}(?P<own>{_LINK}|\r?(?:\[[0-9;]*[mK])?)"
# C0 but tab and line feed, DEL, C1; line separators; bidirectional embeddings, overrides and isolates; lone
# surrogates; tags. Left-to-right and right-to-left marks stay: texts need them, and they order spaces alone.
_HOSTILE = "[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff\U000e0000-\U000e007f]"
_CLEANED = re.compile(f"{_OWN}|(?P<hostile>{_HOSTILE})")


class CleanStream:
    """A text stream that spells out what could steer a terminal, except what ``paint`` makes."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream

    def write(self, text: str) -> int:
        """Write ``text``, cleaned; return its length, as streams do."""
        self.stream.write(_CLEANED.sub(_spelled, text))
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        """Write each line, cleaned."""
        self.write("".join(lines))

    def __getattr__(self, name: str) -> Any:
        # Everything else (flush, isatty, fileno, encoding…) is the stream's own.
        return getattr(self.stream, name)


def _spelled(found: re.Match[str]) -> str:
    return json.dumps(found["hostile"])[1:-1] if found["own"] is None else _escaped(found["own"])


@contextmanager
def clean_output() -> Iterator[None]:
    """Send everything that is printed inside the block through a CleanStream."""
    with redirect_stdout(CleanStream(sys.stdout)), redirect_stderr(CleanStream(sys.stderr)):
        yield


def _control(sequence: str, stream: TextIO | CleanStream) -> str:
    """Return a control sequence (given without its escape character) as ``stream`` lets it pass."""
    return f"{_MARK}{sequence}" if isinstance(stream, CleanStream) else _escaped(sequence)


def _escaped(sequence: str) -> str:
    """Return a control sequence of our own with its escape character."""
    return f"\x1b{sequence}" if sequence.startswith("]") else sequence.replace("[", "\x1b[")


def paint(text: str, *styles: str, stream: TextIO | None = None) -> str:
    """Return ``text`` in colour where the stream shows colour; NO_COLOR and FORCE_COLOR are honoured."""
    stream = stream or sys.stdout
    if os.environ.get("NO_COLOR") or not (os.environ.get("FORCE_COLOR") or stream.isatty()):
        return text
    codes = ";".join(str(_STYLES[style]) for style in styles)
    return f"{_control(f'[{codes}m', stream)}{text}{_control('[0m', stream)}"


def link(text: str, path: str | os.PathLike[str], line: int | None = None) -> str:
    """Return ``text`` as a link to a file where stdout is a terminal that follows links, else as it is.

    The address is made from the path of a file that is there, percent-encoded, and never from what a document
    says.
    """
    address = _file_address(path) if _follows_links(sys.stdout) else None
    if address is None:
        return text
    env = os.environ
    # These read a fragment as a line; others would look for a file of that name.
    if line is not None and (env.get("TERM_PROGRAM") == "vscode" or env.get("TERM") == "xterm-kitty"):
        address += f"#{line}"
    begin, end = (_control(f"]8;;{target}\x1b\\", sys.stdout) for target in (address, ""))
    return f"{begin}{text}{end}"


def _file_address(path: str | os.PathLike[str]) -> str | None:
    if os.fspath(path).startswith(("\\\\", "//")):  # another machine's: to look would already contact it
        return None
    try:
        whole = Path(path).resolve()
        address = whole.as_uri() if whole.is_file() else ""
    except (OSError, ValueError, RuntimeError):
        return None
    # What as_uri leaves alone of punctuation is encoded as well: only plain letters may steer a terminal.
    return re.sub(r"[^A-Za-z0-9%/:._~-]", lambda found: f"%{ord(found[0]):02X}", address) or None


_LINKING = {"iTerm.app", "WezTerm", "vscode", "ghostty", "Hyper", "Tabby", "rio"}  # values of TERM_PROGRAM
_LINKING_TERM = ("xterm-kitty", "xterm-ghostty", "alacritty", "foot", "contour", "wezterm")


def _follows_links(stream: TextIO) -> bool:
    """Tell whether the stream is a terminal that is known to follow OSC 8 links; FORCE_HYPERLINK decides."""
    if not stream.isatty():
        return False
    env = os.environ
    if "FORCE_HYPERLINK" in env:
        return env["FORCE_HYPERLINK"] not in {"", "0", "false"}
    term = env.get("TERM", "")
    remote = "SSH_CONNECTION" in env and env.get("TERM_PROGRAM") != "vscode"  # the file is not on that desk
    if remote or term == "dumb" or term.startswith(("screen", "tmux")):
        return False
    version = env.get("VTE_VERSION", "")
    return (
        env.get("TERM_PROGRAM") in _LINKING
        or term.startswith(_LINKING_TERM)
        or bool({"WT_SESSION", "KONSOLE_VERSION", "DOMTERM"} & env.keys())
        or (version.isdecimal() and int(version) >= 5000)
    )


def outcome(done: int, failed: int) -> int:
    """Return the exit code of work on several items."""
    return OK if not failed else PARTIAL if done else FAILED


def error(message: str) -> None:
    """Print one line on stderr that begins with "error:"."""
    print(paint("error: ", "red", "bold", stream=sys.stderr) + message, file=sys.stderr)


def note(message: str) -> None:
    """Print a remark on stderr, so that stdout stays clean for pipes."""
    print(paint(message, "dim", stream=sys.stderr), file=sys.stderr)


def how_many(count: int, noun: str) -> str:
    """Return a count with its noun, in the plural unless it is one: "1 file", "1,200 units"."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def print_json(value: Mapping[str, Any] | list[Any], *, line: bool = False) -> None:
    """Print ``value`` on stdout as JSON, spread or on one line at once; all scripts stay readable."""
    print(json.dumps(value, ensure_ascii=False, indent=None if line else 2, default=str), flush=line)


class Progress:
    """Show on stderr how far a piece of work is, how fast it goes and how long it will still take.

    A terminal gets one line that rewrites itself; a log gets a line every ten seconds.
    """

    def __init__(self, label: str, unit: str) -> None:
        self.label, self.unit = label, unit
        self._stream = sys.stderr
        self._live = self._stream.isatty()
        self._pause = 0.1 if self._live else 10.0
        self._start: float | None = None
        self._shown = 0.0
        self._open = False

    def update(self, count: int, share: float | None = None, *, last: bool = False) -> None:
        """Tell that ``count`` units are done, which is ``share`` of the work where that is known."""
        now = time.monotonic()
        if self._start is None:  # what came before the first was preparation
            self._start = self._shown = now
        seconds = max(now - self._start, 1e-9)
        if now - self._shown < self._pause and not (last and (self._live or seconds >= self._pause)):
            return
        self._shown = now
        done = f"{share:4.0%} · " if share is not None else ""
        text = f"{self.label}: {done}{count:,} {self.unit} · {count / seconds:,.1f} {self.unit}/s"
        if share:
            minutes, rest = divmod(round(seconds * (1 - share) / share if share < 1 else seconds), 60)
            text += f" · {minutes}:{rest:02d}{' left' if share < 1 else ''}"
        self._stream.write(erase_line(self._stream) + text if self._live else f"{text}\n")
        self._stream.flush()
        self._open = self._live

    def line(self, text: str) -> None:
        """Print a line of its own between two updates."""
        self.end()
        print(text, file=self._stream, flush=True)

    def end(self) -> None:
        """Leave the line that rewrites itself."""
        if self._open:
            self._stream.write("\n")
            self._open = False


def progress(items: Iterable[T], *, total: int | None, label: str, unit: str = "it") -> Iterator[T]:
    """Yield ``items`` and show their progress; ``total`` is how many there are, if known."""
    meter = Progress(label, unit)
    done = 0
    meter.update(0, 0.0 if total else None)
    for done, item in enumerate(items, 1):
        yield item
        meter.update(done, done / total if total else None)
    if done:
        meter.update(done, done / total if total else None, last=True)
    meter.end()


def erase_line(stream: TextIO | None = None) -> str:
    """Return the sequence that empties the current line of a stream, stderr unless told."""
    return _control("\r[K", stream or sys.stderr)
