"""The embedded store's file: its tables, what it says of itself, and how a unit is packed.

=========  ==========================================================================================
meta       schema version, encoder, dimension, version of the analysis, counters
documents  one row a document: source, path, digest, number of units
units      one row a unit: its document, a hash of its id, and everything else, compressed
names      the numbers of each unit's title keys (``pagerag.text.keys``), for look-up by name
postings   for each term the units that hold it and how often
fresh      the same for units written since ``optimize``, one segment for each write
lengths    how many terms each unit has, in blocks of rows; 0 for a row whose unit is gone
vectors    float16 vectors and their signs, in blocks of rows
files      the ledger
=========  ==========================================================================================

Rows are numbered from 0 in the order of writing. A row never changes its content; ``optimize`` may number all
rows again, and then raises ``epoch``.
"""

from __future__ import annotations

import dataclasses
import json
import sqlite3
import struct
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pagerag.errors import StoreError, StoreMismatchError
from pagerag.store.problems import check_schema, damaged
from pagerag.text.keys import name_numbers
from pagerag.units import ANALYSIS_VERSION, FileRecord, StoredDocument, Unit

SCHEMA_VERSION = 4
"""Raised whenever a stored column changes its name, type or meaning. Other versions are refused."""

APPLICATION = 0x50524147
"""SQLite's application id of our files ("PRAG")."""

TABLES = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value NOT NULL) WITHOUT ROWID;
CREATE TABLE documents (
    number INTEGER PRIMARY KEY, source TEXT NOT NULL UNIQUE, path TEXT NOT NULL, digest TEXT NOT NULL,
    units INTEGER NOT NULL);
CREATE TABLE units (
    row INTEGER PRIMARY KEY, document INTEGER NOT NULL, id_number INTEGER NOT NULL, body BLOB NOT NULL);
CREATE INDEX units_document ON units (document);
CREATE INDEX units_id ON units (id_number);
CREATE TABLE names (
    number INTEGER NOT NULL, exactness INTEGER NOT NULL, position INTEGER NOT NULL, row INTEGER NOT NULL,
    PRIMARY KEY (number, exactness, position, row)) WITHOUT ROWID;
CREATE TABLE postings (term INTEGER PRIMARY KEY, data BLOB NOT NULL);
CREATE TABLE fresh (
    term INTEGER NOT NULL, segment INTEGER NOT NULL, data BLOB NOT NULL,
    PRIMARY KEY (term, segment)) WITHOUT ROWID;
CREATE TABLE lengths (block INTEGER PRIMARY KEY, version INTEGER NOT NULL, data BLOB NOT NULL);
CREATE TABLE vectors (
    block INTEGER PRIMARY KEY, version INTEGER NOT NULL, check_sum INTEGER NOT NULL, data BLOB NOT NULL,
    signs BLOB NOT NULL);
CREATE TABLE files (
    path TEXT PRIMARY KEY, digest TEXT NOT NULL, status TEXT NOT NULL, documents INTEGER NOT NULL,
    units INTEGER NOT NULL, size INTEGER NOT NULL, original TEXT) WITHOUT ROWID;
"""

FILE_COLUMNS = ", ".join(field.name for field in dataclasses.fields(FileRecord))
"""The ledger's columns, in SQLite and in PostgreSQL."""

_ELSEWHERE = ("source", "path", "digest", "text", "analysis", "vector")
_DETAIL = tuple(field.name for field in dataclasses.fields(Unit) if field.name not in _ELSEWHERE)
_JSON_KINDS: dict[str, Any] = {
    "int": int,
    "str": str,
    "str | None": (str, type(None)),
    "Mapping[str, Any]": dict,
}
_KINDS = [_JSON_KINDS.get(str(f.type), list) for f in dataclasses.fields(Unit) if f.name in _DETAIL]
"""What each value of ``_DETAIL`` must be; tuples are lists in JSON."""
_SIZES = struct.Struct("<III")
_LARGEST = 256 * 2**20
"""No unit takes more bytes unpacked: a damaged or hostile store must not fill the memory."""
_MOST_DIMENSIONS = 1 << 16


@dataclass(frozen=True, slots=True)
class Identity:
    """What a store is made for, as its ``meta`` table says."""

    encoder: str
    dimension: int
    analysis: int = ANALYSIS_VERSION
    schema: int = SCHEMA_VERSION

    def rows(self) -> list[tuple[str, Any]]:
        """Return the rows of ``meta`` that say this, and the counters of an empty store."""
        counters = dict.fromkeys(("version", "epoch", "next_row", "live", "pending"), 0)
        return [*dataclasses.asdict(self).items(), *counters.items()]

    @classmethod
    def read(cls, connection: sqlite3.Connection, location: str) -> Identity:
        """Read the identity of an open file; a foreign one, and another schema version, are refused."""
        if connection.execute("PRAGMA application_id").fetchone()[0] != APPLICATION:
            raise StoreMismatchError(
                f"{location} holds a database that pagerag did not write; choose another folder"
            )
        try:
            meta = dict(connection.execute("SELECT key, value FROM meta"))
            schema = int(meta["schema"])
        except (KeyError, ValueError, TypeError, sqlite3.OperationalError) as broken:
            raise damaged(location, "it does not say what it is") from broken
        check_schema(location, schema, SCHEMA_VERSION)
        extra = connection.execute(
            "SELECT count(*) FROM sqlite_master WHERE type NOT IN ('table', 'index')"
        ).fetchone()[0]
        try:
            made = cls(str(meta["encoder"]), int(meta["dimension"]), int(meta["analysis"]), schema)
        except (KeyError, ValueError, TypeError) as broken:
            raise damaged(location, f"{broken} in its identity") from broken
        if extra or not 0 < made.dimension <= _MOST_DIMENSIONS:
            raise StoreError(f"the store {location} holds what no pagerag writes; do not use it")
        return made


def documents_of(units: Sequence[Unit]) -> dict[str, StoredDocument]:
    """Return the documents that these units are of, by source; the first unit tells of its document."""
    counts = Counter(unit.source for unit in units)
    heads = {unit.source: unit for unit in reversed(units)}
    return {
        source: StoredDocument(heads[source].digest, heads[source].path, n) for source, n in counts.items()
    }


def name_rows(units: Sequence[Unit], first: int) -> Iterator[tuple[int, int, int, int]]:
    """Yield the rows of the ``names`` table of units that are numbered from ``first`` on."""
    for row, unit in enumerate(units, first):
        for exactness, number in enumerate(name_numbers(unit.title, unit.names)):
            yield number, exactness, unit.position, row


def pack_unit(unit: Unit) -> bytes:
    """Return everything of a unit but its vector and its document, compressed, with a check sum inside.

    Text and analysis share most of their words: together they take 506 bytes for 414 bytes of text, each by
    itself 630 (2,000 passages of an encyclopaedia).
    """
    detail = _ENCODED([getattr(unit, name) for name in _DETAIL]).encode("ascii")
    text, analysis = unit.text.encode("utf-8"), unit.analysis or b""
    body = b"".join((_SIZES.pack(len(detail), len(text), len(analysis)), detail, text, analysis))
    return zlib.compress(body, 6)


def unpack_unit(body: bytes, source: str, path: str, digest: str) -> Unit:
    """Return the unit that ``pack_unit`` packed; damage raises ValueError."""
    if not (isinstance(source, str) and isinstance(path, str) and isinstance(digest, str)):
        raise ValueError("it has no document")
    stream = zlib.decompressobj()
    try:
        plain = stream.decompress(body, _LARGEST)
        if not stream.eof:
            raise ValueError("it ends too early or is too large")
        first, second, third = _SIZES.unpack_from(plain)
        if _SIZES.size + first + second + third != len(plain):
            raise ValueError("its parts do not add up")
        at = _SIZES.size
        detail = json.loads(plain[at : at + first])
        if not all(map(isinstance, detail, _KINDS)):
            raise ValueError("a value is of another kind")
        values = dict(zip(_DETAIL, detail, strict=True))
        text = plain[at + first : at + first + second].decode("utf-8")
        values["sentences"] = tuple((int(start), int(end)) for start, end in values["sentences"])
        values["pages"] = tuple(map(int, values["pages"]))
        values["names"] = tuple(map(str, values["names"]))
        values["section_path"] = tuple(map(str, values["section_path"]))
        analysis = plain[at + first + second :] or None
    except (zlib.error, struct.error, TypeError, KeyError, RecursionError) as broken:
        raise ValueError(str(broken)) from broken
    return Unit(text=text, source=source, path=path, digest=digest, analysis=analysis, **values)


def _plain(value: Any) -> Any:
    return dict(value) if isinstance(value, Mapping) else str(value)


_ENCODED = json.JSONEncoder(default=_plain).encode  # made once: ``json.dumps`` would make one for each unit
