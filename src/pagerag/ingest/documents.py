"""What reading a file gives, and the settings it is read with."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from pagerag._files import sha256_file
from pagerag.errors import FormatError, InputError

__all__ = ["BadRecord", "Document", "IngestSettings", "SourceFile", "TextBuilder", "clean"]

_READING = 1
"""Raised when the same file would give other text or passages than before, so that it is read again."""

# Control characters (line feed and tab excepted) and halves of surrogate pairs: replaced one for one, so
# that offsets still count the characters of the file.
_UNPRINTABLE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
_SURROGATES = re.compile(r"[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class IngestSettings:
    """How files are read and cut. Any change but the limits makes unchanged files be read again.

    ``passage_chars`` bounds a passage, unless one sentence is longer. A record of a JSONL, JSON, CSV or
    Parquet file stays one passage up to ``record_chars``. ``fields`` maps text, title and id to the names
    they have in such files; the usual names are found without it. ``base`` makes stored paths relative
    to a folder, so that a store can move with its documents.
    """

    passage_chars: int = 1000
    overlap: int = 0
    record_chars: int = 4000
    fields: Mapping[str, str] = field(default_factory=dict)
    base: str | None = None
    max_file_bytes: int = 100 * 2**20
    max_record_bytes: int = 16 * 2**20
    bad_records: Literal["fail", "skip"] = "fail"
    batch_units: int = 1024
    batch_seconds: float = 10.0

    def __post_init__(self) -> None:
        for name in ("passage_chars", "record_chars", "max_file_bytes", "max_record_bytes", "batch_units"):
            if getattr(self, name) < 1:
                raise InputError(f"{name} must be at least 1, not {getattr(self, name)}")
        if self.overlap < 0:
            raise InputError(f"overlap counts sentences and cannot be {self.overlap}")
        unknown = sorted(set(self.fields) - {"text", "title", "id"})
        if unknown:
            raise InputError(f"unknown field {unknown[0]!r}; text, title and id can be mapped")

    def fingerprint(self, analysis: int) -> str:
        """A short text that differs whenever stored units would."""
        keys = ("passage_chars", "overlap", "record_chars", "fields", "bad_records")
        values = {key: value for key, value in asdict(self).items() if key in keys}
        body = json.dumps([_READING, analysis, values], sort_keys=True)
        return hashlib.sha256(body.encode()).hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class Document:
    """A text with what locates it.

    ``pages`` and ``sections`` hold the offsets at which each starts in ``text``. ``titled`` says that the
    title is the document's own, and not just the file's name. ``record`` is its id within a file of
    records; ``whole`` keeps it one passage if it is short enough. ``at`` is how far into the file reading
    had come, in bytes.
    """

    text: str
    title: str | None = None
    titled: bool = True
    record: str | None = None
    whole: bool = False
    pages: tuple[int, ...] = ()
    sections: tuple[tuple[int, str], ...] = ()
    fields: Mapping[str, Any] = field(default_factory=dict)
    at: int = 0

    def cleaned(self) -> Document:
        """The same with characters replaced that no store or reader can carry."""
        title = clean(self.title).strip() if self.title else None
        return replace(self, text=clean(self.text), title=" ".join(title.split()) if title else None)

    def digest(self, fingerprint: str) -> str:
        """What identifies the content: a copy of a file under another name has the same."""
        parts = (fingerprint, self.title if self.titled else "", self.text, json.dumps(self.pages))
        body = "\0".join(part or "" for part in parts)
        return hashlib.sha256(body.encode("utf-8", "replace")).hexdigest()


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
        """All bytes, or an error when there are more than ``limit``."""
        with self.path.open("rb") as file:
            data = file.read(limit + 1)
        if len(data) > limit:
            raise self.too_large(limit)
        return data

    def digest(self) -> str:
        """The hash of the file's bytes."""
        return sha256_file(self.path)

    def stamp(self) -> tuple[int, int]:
        """Size and time of change: other ones mean that somebody wrote to the file meanwhile."""
        try:
            status = self.path.stat()
        except FileNotFoundError as gone:
            raise self.bad("vanished while it was being indexed") from gone
        return status.st_size, status.st_mtime_ns

    def too_large(self, limit: int) -> FormatError:
        return FormatError(
            f"is larger than {_megabytes(limit)}, and this format is read whole; "
            "raise --max-file-mb or split the file",
            file=self.name,
        )

    def bad(self, message: str, *, line: int | None = None, field: str | None = None) -> FormatError:
        return FormatError(message, file=self.name, line=line, field=field)


class TextBuilder:
    """Blocks of text to one text, with the offsets at which sections and pages begin."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._length = 0
        self.sections: list[tuple[int, str]] = []
        self.pages: list[int] = []

    def page(self) -> None:
        """A page begins here."""
        self.pages.append(self._next())

    def block(self, text: str, *, heading: bool = False) -> None:
        """Add a paragraph; white space inside it is made even, blank blocks are dropped."""
        text = "\n".join(" ".join(line.split()) for line in text.strip().splitlines())
        if not text:
            return
        start = self._next()
        if heading:
            self.sections.append((start, " ".join(text.split())))
        self._parts.append(f"\n\n{text}" if self._length else text)
        self._length = start + len(text)

    def _next(self) -> int:
        return self._length + 2 if self._length else 0

    def document(self, title: str | None, stem: str) -> Document:
        """The text so far as a document; ``stem`` is its title for want of another."""
        own = " ".join(title.split()) if title else ""
        return Document(
            "".join(self._parts),
            own or stem,
            titled=bool(own),
            pages=tuple(self.pages),
            sections=tuple(self.sections),
        )


def clean(text: str) -> str:
    """``text`` with unusable characters replaced, each by one other."""
    if _UNPRINTABLE.search(text):
        text = _UNPRINTABLE.sub(lambda match: match.group() if match.group() == "\r" else " ", text)
    return _SURROGATES.sub("\ufffd", text)


def _megabytes(size: int) -> str:
    return f"{size / 2**20:,.0f} MB" if size >= 2**20 else f"{size:,} bytes"
