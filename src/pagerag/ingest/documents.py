"""What reading a file gives, and the settings it is read with."""

from __future__ import annotations

import hashlib
import json
import os
import re
from array import array
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from operator import itemgetter
from pathlib import Path
from typing import Any, Literal, NamedTuple

from pagerag._files import sha256_file
from pagerag.errors import FormatError, InputError
from pagerag.places import SourceMap

_READING = 4
"""Raised when the same file would give other text or passages than before, so that it is read again."""

# Control characters (line feed and tab excepted) and halves of surrogate pairs: replaced one for one, so
# that offsets still count the characters of the file.
_UNPRINTABLE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
_SURROGATES = re.compile(r"[\ud800-\udfff]")

_POSITIVE = """passage_chars record_chars max_file_bytes max_record_bytes max_text_chars max_memory_bytes
    max_seconds batch_units""".split()


@dataclass(frozen=True, slots=True)
class IngestSettings:
    """How files are read and cut. Any change but the limits makes unchanged files be read again.

    ``passage_chars`` bounds a passage, unless one sentence is longer. A record of a JSONL, JSON, CSV or
    Parquet file stays one passage up to ``record_chars``. ``fields`` maps text, title and id to the names
    they have in such files; the usual names are found without it. ``base`` makes stored paths relative
    to a folder, so that a store can move with its documents. ``follow_links`` reads what links inside a
    folder point to even where that is outside of it.

    A file is read in a process of its own (unless ``isolated`` is off) that may take ``max_memory_bytes``
    and ``max_seconds`` for each document; archives may unpack to ``max_file_bytes``, and a document may
    have ``max_text_chars`` of text.
    """

    passage_chars: int = 1000
    overlap: int = 0
    record_chars: int = 4000
    fields: Mapping[str, str] = field(default_factory=dict)
    base: str | None = None
    follow_links: bool = False
    max_file_bytes: int = 100 * 2**20
    max_record_bytes: int = 16 * 2**20
    max_text_chars: int = 100 * 2**20
    max_memory_bytes: int = 2 * 2**30
    max_seconds: float = 120.0
    isolated: bool = True
    bad_records: Literal["fail", "skip"] = "fail"
    batch_units: int = 1024
    batch_seconds: float = 10.0

    def __post_init__(self) -> None:
        for name in _POSITIVE:
            if getattr(self, name) <= 0:
                raise InputError(f"{name} must be more than 0, not {getattr(self, name)}")
        if self.overlap < 0:
            raise InputError(f"overlap counts sentences and cannot be {self.overlap}")
        unknown = sorted(set(self.fields) - {"text", "title", "id"})
        if unknown:
            raise InputError(f"unknown field {unknown[0]!r}; text, title and id can be mapped")

    def fingerprint(self, analysis: int) -> str:
        """Return a short text that differs whenever stored units would."""
        keys = ("passage_chars", "overlap", "record_chars", "fields", "bad_records")
        values = {key: value for key, value in asdict(self).items() if key in keys}
        body = json.dumps([_READING, analysis, values], sort_keys=True)
        return hashlib.sha256(body.encode()).hexdigest()[:16]


def holding(spans: Sequence[tuple[int, ...]], at: int) -> tuple[int, ...] | None:
    """Return which of these spans, in order and apart, holds the character ``at``."""
    place = bisect_right(spans, at, key=itemgetter(0)) - 1
    return spans[place] if place >= 0 and at < spans[place][1] else None


class Section(NamedTuple):
    """A heading: where it starts in the text, how deep it stands (1 is the highest), and its words."""

    start: int
    level: int
    title: str


@dataclass(frozen=True, slots=True)
class Document:
    """A text with what locates it.

    ``pages`` holds the offset at which each page starts in ``text``, ``sections`` the headings, ``atoms``
    the stretches that are better not cut, in order (list items, table rows, a speaker's turn, a term with
    all that is said of it); one may hold others. ``titled`` says that the title is the document's own, and
    not just the file's name. ``record`` is its id within a file of records; ``whole`` keeps it one passage
    if it is short enough. ``origin`` leads back to the characters of the file. ``at`` is how far into the
    file reading had come, in bytes.
    """

    text: str
    title: str | None = None
    titled: bool = True
    record: str | None = None
    whole: bool = False
    pages: tuple[int, ...] = ()
    sections: tuple[Section, ...] = ()
    atoms: tuple[tuple[int, int], ...] = ()
    origin: SourceMap = field(default_factory=SourceMap)
    fields: Mapping[str, Any] = field(default_factory=dict)
    at: int = 0

    def cleaned(self) -> Document:
        """Return the same with characters replaced that no store or reader can carry."""
        return replace(
            self,
            text=clean(self.text),
            title=_line(self.title),
            record=None if self.record is None else clean(self.record),
            sections=tuple(part._replace(title=_line(part.title) or "") for part in self.sections),
            fields={
                clean(str(name)): clean(value) if isinstance(value, str) else value
                for name, value in self.fields.items()
            },
        )

    def digest(self, fingerprint: str) -> str:
        """Return what identifies the content and its places: a copy of a file has the same."""
        parts = (fingerprint, self.title if self.titled else "", self.text, json.dumps(self.pages))
        body = "\0".join(part or "" for part in parts)
        digest = hashlib.sha256(body.encode("utf-8", "replace"))
        places = array("q", (number for run in self.origin.runs for number in run))
        places.append(self.origin.line)
        digest.update(places.tobytes())
        return digest.hexdigest()


@dataclass(frozen=True, slots=True)
class BadRecord:
    """A record that could not be used, when those are to be passed over."""

    problem: FormatError


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file on disk and the name it has in the store."""

    path: Path
    name: str

    @property
    def stem(self) -> str:
        """A title for want of a better one."""
        return self.path.stem.replace("_", " ").strip() or self.path.name

    def read(self, limit: int) -> bytes:
        """Return all bytes; more than ``limit`` are an error."""
        with self.path.open("rb") as file:
            # A buffer of the given size is made at once: no larger than the file needs.
            data = file.read(min(limit, os.fstat(file.fileno()).st_size) + 1)
        if len(data) > limit:
            raise self.too_large(limit)
        return data

    def digest(self) -> str:
        """Return the hash of the file's bytes."""
        with self.reachable():
            return sha256_file(self.path)

    def stamp(self) -> tuple[int, int]:
        """Return size and time of change: other ones mean that somebody wrote to the file meanwhile."""
        with self.reachable():
            status = self.path.stat()
        return status.st_size, status.st_mtime_ns

    @contextmanager
    def reachable(self) -> Iterator[None]:
        """Name this file, and the remedy, in what the operating system raises inside."""
        try:
            yield
        except FileNotFoundError as gone:
            raise self.bad("vanished while it was being indexed") from gone
        except OSError as problem:
            what = problem.strerror or problem
            raise self.bad(f"cannot be read ({what}); check its permissions") from problem

    def too_large(self, limit: int) -> FormatError:
        """Return the error for a file that is larger than ``limit`` bytes."""
        size = f"{limit / 2**20:,.0f} MB" if limit >= 2**20 else f"{limit:,} bytes"
        return self.bad(
            f"is larger than {size}, and this format is read whole; raise --max-file-mb or split the file"
        )

    def bad(self, message: str, *, line: int | None = None, field: str | None = None) -> FormatError:
        """Return an error that names this file."""
        return FormatError(message, file=self.name, line=line, field=field)


def clean(text: str) -> str:
    """Return ``text`` with unusable characters replaced, each by one other."""
    if _UNPRINTABLE.search(text):
        text = _UNPRINTABLE.sub(lambda match: match.group() if match.group() == "\r" else " ", text)
    return _SURROGATES.sub("\ufffd", text)


def _line(text: str | None) -> str | None:
    return " ".join(clean(text).split()) or None if text else None
