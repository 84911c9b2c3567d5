"""What a corpus in an object store consists of: a manifest, a base file and a log of writes.

``manifest.json`` is the only object that ever changes, by a conditional put. It names a base (an SQLite file
as the embedded store writes it, or none) and the log: one object for each write since. All others are written
once under a name of their own.
"""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from pagerag.store.problems import check_schema, damaged
from pagerag.store.schema import SCHEMA_VERSION, pack_unit, unpack_unit
from pagerag.units import ANALYSIS_VERSION, FileRecord, Unit

MANIFEST = "manifest.json"
_FORMAT = 1
_MOST_LOG = 100_000


@dataclass(frozen=True, slots=True)
class Entry:
    """An object of the corpus with its SHA-256 and size."""

    key: str
    sha256: str
    size: int

    @classmethod
    def of(cls, key: str, body: bytes) -> Entry:
        """Return the entry of an object with this content."""
        return cls(key, hashlib.sha256(body).hexdigest(), len(body))


@dataclass(frozen=True, slots=True)
class Manifest:
    """One version of a corpus. ``retired`` are objects of the version before the base was last made."""

    id: str
    encoder: str
    dimension: int
    analysis: int = ANALYSIS_VERSION
    schema: int = SCHEMA_VERSION
    base: Entry | None = None
    log: tuple[Entry, ...] = ()
    retired: tuple[str, ...] = ()
    format: int = _FORMAT

    @property
    def generation(self) -> str:
        """Return what names the base: the replica of another one is of no use."""
        return "empty" if self.base is None else self.base.sha256

    @property
    def at(self) -> tuple[str, int]:
        """Return the generation, and how many writes followed it."""
        return self.generation, len(self.log)

    @property
    def entries(self) -> tuple[Entry, ...]:
        """Return all objects that it names as its state."""
        return self.log if self.base is None else (*self.log, self.base)

    def to_bytes(self) -> bytes:
        """Return it as JSON."""
        return json.dumps(asdict(self), separators=(",", ":")).encode("ascii")

    @classmethod
    def read(cls, body: bytes, location: str) -> Manifest:
        """Read a manifest; another schema version, and what no pagerag wrote, are refused."""
        try:
            values = json.loads(body)
            check_schema(location, int(values["schema"]), SCHEMA_VERSION)
            check_schema(location, int(values["format"]), _FORMAT)
            base = values.pop("base")
            log = tuple(_entry(one) for one in values.pop("log")[:_MOST_LOG])
            retired = tuple(map(str, values.pop("retired")))
            made = cls(**values, base=None if base is None else _entry(base), log=log, retired=retired)
            made._check()
        except (ValueError, TypeError, KeyError, AttributeError) as broken:
            raise damaged(location, f"its manifest cannot be read: {broken}") from broken
        return made

    def _check(self) -> None:
        """Refuse what would name a folder outside the cache: who may write into the bucket writes it."""
        if not re.fullmatch("[0-9a-f]{32}", self.id) or not all(_DIGEST(one.sha256) for one in self.entries):
            raise ValueError("its id or a digest is none")
        if not isinstance(self.encoder, str) or not isinstance(self.dimension, int):
            raise ValueError("its encoder or dimension is none")


_DIGEST = re.compile("[0-9a-f]{64}").fullmatch


def _entry(values: Any) -> Entry:
    return Entry(str(values["key"]), str(values["sha256"]), int(values["size"]))


@dataclass(frozen=True, slots=True)
class Write:
    """One write: units and the sources that they replace, sources to delete, files to enter or to strike."""

    units: tuple[Unit, ...] = ()
    sources: tuple[str, ...] = ()
    deleted: tuple[str, ...] = ()
    records: tuple[FileRecord, ...] = ()
    forgotten: tuple[str, ...] = ()

    def to_bytes(self) -> bytes:
        """Return it as one object: a line of JSON, then the units' bytes and their vectors as float16."""
        bodies = [pack_unit(unit) for unit in self.units]
        head = {
            "units": [[u.source, u.path, u.digest, len(b)] for u, b in zip(self.units, bodies, strict=True)],
            "sources": self.sources,
            "deleted": self.deleted,
            "records": [asdict(record) for record in self.records],
            "forgotten": self.forgotten,
        }
        vectors = b"".join(np.asarray(unit.vector, dtype="<f2").tobytes() for unit in self.units)
        line = json.dumps(head, separators=(",", ":")).encode("ascii")
        return b"".join((line, b"\n", *bodies, vectors))

    @classmethod
    def read(cls, body: bytes, dimension: int) -> Write:
        """Return the write that ``to_bytes`` made an object of; damage raises ValueError."""
        line, _, rest = body.partition(b"\n")
        head = json.loads(line)
        sizes = [int(one[3]) for one in head["units"]]
        vectors = np.frombuffer(rest[sum(sizes) :], dtype="<f2").reshape(len(sizes), dimension)
        units, at = [], 0
        for place, (source, path, digest, size) in enumerate(head["units"]):
            unit = unpack_unit(rest[at : at + size], source, path, digest)
            units.append(replace(unit, vector=vectors[place].astype(np.float32)))
            at += size
        return cls(
            tuple(units),
            tuple(head["sources"]),
            tuple(head["deleted"]),
            tuple(FileRecord(**record) for record in head["records"]),
            tuple(head["forgotten"]),
        )
