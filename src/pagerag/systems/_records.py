"""Read files as streams of records that know their place: what adapters and pool formats stand on."""

from __future__ import annotations

import gzip
import json
import math
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from io import TextIOWrapper
from itertools import islice
from pathlib import Path
from typing import IO, Any, Literal, TypeVar, cast

from pagerag._files import replacing
from pagerag.errors import FormatError, InputError
from pagerag.units import Mode

T = TypeVar("T")
Layout = Literal["lines", "array", "object", "table"]
_BLOCK = 1 << 20
_TRIED = 100  # lines that are looked at for the first record
_CUT = "the JSON ends too early; the file was probably cut off while it was written: make it again"


@dataclass(frozen=True, slots=True)
class Record:
    """One question's entry in a pool file, untouched, and where it stands.

    ``places`` leads from a candidate's id to the unit's place inside ``raw``; ``beside`` are the companion
    files, ``unit`` is what it is read as; ``whole`` is the enclosing document for formats that keep all
    questions in one JSON object; ``found`` tells by which name a field was found, where several are possible.
    """

    file: Path
    format: str
    layout: Layout
    number: int
    line: int | None
    raw: Any = field(repr=False)
    beside: Beside = field(repr=False)
    unit: Mode
    whole: Any = field(default=None, repr=False)
    places: dict[str, Any] = field(default_factory=dict, repr=False)
    found: dict[str, str] = field(default_factory=dict, repr=False)

    @property
    def cursor(self) -> Cursor:
        """The record's content with its address."""
        return Cursor(self.raw, self.file, self.line)


@dataclass(frozen=True, slots=True)
class Cursor:
    """A value inside a record that knows its address, so that complaints name file, line and field."""

    value: Any
    file: Path
    line: int | None
    path: str = ""

    def error(self, message: str) -> FormatError:
        return FormatError(message, file=self.file, line=self.line, field=self.path or None)

    def field(self, name: str) -> Cursor:
        """Return a field of this object, whether it is there or not."""
        path = f"{self.path}.{name}" if self.path else name
        return Cursor(self.value.get(name), self.file, self.line, path)

    def maybe(self, *names: str) -> Cursor | None:
        """Return the first of these fields that is there and not null."""
        there = self.mapping()
        return next((self.field(name) for name in names if there.get(name) is not None), None)

    def need(self, *names: str) -> Cursor:
        found = self.maybe(*names)
        if found is None:
            raise self.field(names[0]).error(
                f"the field is missing (looked for {' or '.join(repr(n) for n in names)}); "
                "add it, or name the right format"
            )
        return found

    def maybe_text(self, *names: str) -> str | None:
        found = self.maybe(*names)
        return None if found is None else found.text()

    def maybe_number(self, *names: str) -> float | None:
        found = self.maybe(*names)
        return None if found is None else found.number()

    def maybe_items(self, name: str) -> list[Cursor]:
        found = self.maybe(name)
        return [] if found is None else found.items()

    def _expect(self, what: str, *kinds: type) -> Any:
        """Return the value, if it is of one of these kinds; a truth value is none of them."""
        if isinstance(self.value, bool) or not isinstance(self.value, kinds):
            raise self.error(f"{what} is expected here, not {_kind(self.value)}")
        return self.value

    def mapping(self) -> Mapping[str, Any]:
        value: Mapping[str, Any] = self._expect("an object", Mapping)
        return value

    def items(self) -> list[Cursor]:
        values = enumerate(self._expect("a list", list))
        return [Cursor(v, self.file, self.line, f"{self.path}[{i}]") for i, v in values]

    def text(self) -> str:
        return str(self._expect("a string", str))

    def label(self) -> str:
        """Return an identifier: a string, or a whole number written as one."""
        return str(self._expect("an identifier", str, int))

    def whole(self) -> int:
        return int(self._expect("a whole number", int))

    def number(self) -> float:
        """Return a finite number; some tools write their scores as strings."""
        value = self._expect("a number", str, int, float)
        try:
            number = float(value)
        except ValueError:
            raise self.error(f"{value[:80]!r} is not a number") from None
        except OverflowError:
            number = math.inf
        if not math.isfinite(number):
            raise self.error("this is not a finite number")
        return number


@dataclass(frozen=True, slots=True)
class Companion:
    """A second file that a format needs or can use: found beside the first, or named by the caller."""

    name: str
    patterns: tuple[str, ...]
    purpose: str
    required: bool = False


class Beside:
    """The companion files of one pool file: found at once, each loaded once, by their names."""

    def __init__(
        self,
        file: Path,
        known: Sequence[Companion],
        given: Mapping[str, str | os.PathLike[str]],
        format_name: str,
    ) -> None:
        names = sorted(companion.name for companion in known)
        for name, path in given.items():
            if name not in names:
                has = ", ".join(names) or "none"
                raise InputError(f"format {format_name!r} has no companion file {name!r}; it has: {has}")
            if not Path(path).exists():
                raise FormatError(f"there is no such file; it was named as {name!r}", file=Path(path))
        self.paths = {
            one.name: Path(given[one.name]) if one.name in given else _beside(file, one) for one in known
        }
        self.loaded: dict[str, Any] = {}

    def load(self, name: str, loader: Callable[[Path], T]) -> T | None:
        """Return what the companion file holds, or None when there is none and none is needed."""
        if name not in self.loaded:
            path = self.paths[name]
            self.loaded[name] = None if path is None else loader(path)
        found: T | None = self.loaded[name]
        return found


def _beside(file: Path, companion: Companion) -> Path | None:
    for pattern in companion.patterns:
        for found in sorted(file.parent.glob(pattern)):
            if found != file:
                return found
    if companion.required:
        raise FormatError(
            f"its companion {companion.name!r} ({companion.purpose}) is not beside it as "
            f"{' or '.join(companion.patterns)}; put it there, or name it: "
            f"companions={{{companion.name!r}: PATH}}",
            file=file,
        )
    return None


@contextmanager
def open_text(path: Path, newline: str | None = None) -> Iterator[IO[str]]:
    """Open the file as text, plain or gzip, as ``open`` does; what is not UTF-8 becomes a FormatError."""
    try:
        with path.open("rb") as probe:
            head = probe.read(2)
        # By content: downloads lose and gain suffixes. What is called .gz and is no JSON either is damaged.
        packed = head == b"\x1f\x8b" or (path.suffix == ".gz" and head[:1] not in b"[{")
        how: dict[str, Any] = {"encoding": "utf-8-sig", "newline": newline}
        file: IO[str] = gzip.open(path, "rt", **how) if packed else path.open(**how)  # noqa: SIM115
    except FileNotFoundError:
        raise FormatError("there is no such file", file=path) from None
    except IsADirectoryError:
        raise FormatError("this is a folder; name one pool file in it", file=path) from None
    with file:
        try:
            yield file
        except UnicodeDecodeError as wrong:
            raise FormatError(
                f"byte {wrong.start} is not UTF-8; convert the file, for example with iconv", file=path
            ) from None
        except (gzip.BadGzipFile, EOFError) as wrong:
            raise FormatError(f"the compressed file is damaged: {wrong}", file=path) from None


def read_json(path: Path) -> Any:
    """Return a whole JSON file."""
    with open_text(path) as file:
        content = file.read()
    try:
        return json.loads(content)
    except (ValueError, RecursionError) as wrong:
        raise _not_json(wrong, content, path, getattr(wrong, "lineno", 1)) from None


def layout_of(path: Path) -> tuple[Layout, Any]:
    """Return how the file is laid out, and its first record (the first line's text for a table)."""
    with open_text(path) as file:
        head = next((line for line in file if line.strip()), None)
        if head is None:
            raise FormatError("the file is empty", file=path)
        last = not any(line.strip() for line in file)
    start = head.lstrip()
    if start.startswith("["):
        return "array", next(_array(path))[1]
    by_lines = bool({".jsonl", ".ndjson"} & set(path.suffixes))
    if by_lines and (first := _first_of_lines(path)) is not None:
        return "lines", first
    if not start.startswith("{"):
        return "table", head.rstrip("\r\n")
    try:
        return "lines", json.loads(head)
    except (ValueError, RecursionError) as wrong:
        if by_lines or not isinstance(wrong, json.JSONDecodeError):
            raise _not_json(wrong, head, path, 1, last=last) from None
    return "object", read_json(path)


def _first_of_lines(path: Path) -> Any:
    """Return the first of a few lines that is JSON and tells something; None where none does.

    What is wrong with a line is told when it is read, and the others are read all the same.
    """
    values = (value for _, value in islice(_lines(path), _TRIED))
    return next((value for value in values if value and not isinstance(value, FormatError)), None)


def json_records(path: Path) -> Iterator[tuple[int, Any]]:
    """Yield (line, value) of JSON Lines, or of a JSON array, one in memory at a time."""
    with open_text(path) as file:
        start = next((sign for sign in iter(lambda: file.read(1), "") if not sign.isspace()), "")
    return _array(path) if start == "[" else _usable(_lines(path))


def records(path: Path, layout: Layout) -> Iterator[tuple[int | None, Any]]:
    """Yield (line, raw record) of a JSON file, one in memory at a time for lines and arrays."""
    return _usable(entries(path, layout))


def entries(path: Path, layout: Layout) -> Iterator[tuple[int | None, Any]]:
    """Yield ``records``, with the FormatError in place of a line that is no JSON: others stand behind it."""
    if layout == "lines":
        return _lines(path)
    if layout == "array":
        return _array(path)
    return iter([(1, read_json(path))])


_Line = TypeVar("_Line", int, int | None)


def _usable(found: Iterator[tuple[_Line, Any]]) -> Iterator[tuple[_Line, Any]]:
    """Yield the same, and raise the first FormatError among the values."""
    for line, value in found:
        if isinstance(value, FormatError):
            raise value
        yield line, value


def _lines(path: Path) -> Iterator[tuple[int, Any]]:
    with open_text(path) as file:
        lines = ((number, line) for number, line in enumerate(file, 1) if line.strip())
        here = next(lines, None)
        while here is not None:
            number, line = here
            try:
                value = json.loads(line)
            except (ValueError, RecursionError) as wrong:
                here = next(lines, None)  # only the last line can have been cut off
                yield number, _not_json(wrong, line, path, number, last=here is None)
            else:
                yield number, value
                here = next(lines, None)


def _array(path: Path) -> Iterator[tuple[int, Any]]:
    decoder = json.JSONDecoder()
    with open_text(path) as file:
        buffer, place, line, size, opened = "", 0, 1, _BLOCK, False
        while True:
            start = place
            while place < len(buffer) and buffer[place] in (" \t\r\n," if opened else " \t\r\n,["):
                opened = opened or buffer[place] == "["
                place += 1
            line += buffer.count("\n", start, place)
            if place < len(buffer):
                if buffer[place] == "]":
                    return
                try:
                    value, end = decoder.raw_decode(buffer, place)
                except (RecursionError, ValueError) as wrong:
                    if not isinstance(wrong, json.JSONDecodeError):
                        raise _not_json(wrong, buffer, path, line) from None
                    more = file.read(size)
                    if not more:
                        at = line + buffer.count("\n", place, wrong.pos)
                        raise _not_json(wrong, buffer, path, at) from None
                    # A record longer than the buffer: read ever more, so that retries stay linear.
                    buffer, place, size = buffer[place:] + more, 0, size * 2
                    continue
                yield line, value
                line += buffer.count("\n", place, end)
                place, size = end, _BLOCK
                continue
            buffer, place = file.read(_BLOCK), 0
            if not buffer:
                raise FormatError(_CUT, file=path, line=line)


def _not_json(
    wrong: ValueError | RecursionError, content: str, path: Path, line: int, *, last: bool = True
) -> FormatError:
    """Return the error of a text that is no JSON; only the ``last`` of a file can have been cut off."""
    if isinstance(wrong, RecursionError):
        return FormatError("the JSON is nested too deeply to be read", file=path, line=line)
    if not isinstance(wrong, json.JSONDecodeError):
        return FormatError("the JSON holds a number that is too long to be read", file=path, line=line)
    # What is cut off fails at its end, or inside a string that never closes.
    cut = not content[wrong.pos :].strip() or wrong.msg.startswith("Unterminated string")
    if last and cut:
        return FormatError(_CUT, file=path, line=line)
    remedy = "" if last else "; correct the line or remove it"
    return FormatError(f"not JSON: {wrong.msg} (column {wrong.colno}){remedy}", file=path, line=line)


@contextmanager
def writing(path: Path) -> Iterator[IO[str]]:
    """Return a text file that appears whole at the end, or not at all; gzip by its name.

    Half a surrogate pair, which JSON allows and UTF-8 does not, is written as its JSON escape.
    """
    with replacing(path) as raw, gzip.open(raw, "wb") if path.suffix == ".gz" else nullcontext(raw) as binary:
        file = TextIOWrapper(cast(IO[bytes], binary), encoding="utf-8", errors="backslashreplace")
        try:
            yield file
        finally:
            file.detach()  # writes what it holds; closing it would close ``raw``, which is still to be synced


def _kind(value: Any) -> str:
    names = {dict: "an object", list: "a list", str: "a string", bool: "a truth value", type(None): "null"}
    return names.get(type(value), "a number")
