"""Units and files as Arrow tables: the columns, and what the store says of itself in their metadata."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pagerag._extras import need
from pagerag.errors import CandidateError, StoreMismatchError
from pagerag.store.base import SCHEMA_VERSION, FileRecord
from pagerag.store.lexical import counted_terms
from pagerag.store.titles import name_hashes
from pagerag.store.units import Unit, encoded_text

__all__ = ["PAYLOAD", "Identity", "files_schema", "files_table", "unit_of", "units_schema", "units_table"]

_META = b"pagerag"

PAYLOAD = ("detail", "text", "analysis", "vector")
"""What a search brings back; the other columns serve conditions and indexes. All that is small is together
in ``detail``: reading 20 rows of 19 columns took twice as long as of these four."""

_DETAIL = tuple(
    field.name for field in dataclasses.fields(Unit) if field.name not in ("text", "analysis", "vector")
)


@dataclass(frozen=True, slots=True)
class Identity:
    """What a store is made for: kept in the schema of its table, so that it can never be apart from it."""

    encoder: str
    dimension: int
    analysis: int
    schema: int = SCHEMA_VERSION

    def metadata(self) -> dict[bytes, bytes]:
        body = {"schema": self.schema, "encoder": self.encoder, "dimension": self.dimension}
        return {_META: json.dumps({**body, "analysis": self.analysis}, sort_keys=True).encode()}

    @classmethod
    def read(cls, metadata: Mapping[bytes, bytes] | None, location: str) -> Identity:
        """The identity in a table's metadata; another schema version is refused here."""
        try:
            body = json.loads((metadata or {})[_META])
            schema = int(body["schema"])
        except (KeyError, ValueError, TypeError) as missing:
            raise StoreMismatchError(
                f"{location} holds a LanceDB table that pagerag did not write; choose another folder"
            ) from missing
        if schema != SCHEMA_VERSION:
            remedy = (
                "index the documents again into a new folder: pagerag index PATH --store NEW_FOLDER"
                if schema < SCHEMA_VERSION
                else "it was written by a newer pagerag: upgrade this one"
            )
            raise StoreMismatchError(
                f"the store {location} has schema version {schema}; this pagerag reads version "
                f"{SCHEMA_VERSION}; {remedy}"
            )
        return cls(str(body["encoder"]), int(body["dimension"]), int(body["analysis"]), schema)


def units_schema(identity: Identity) -> Any:
    """The columns of the units' table."""
    pa = need("pyarrow", "pyarrow", "lancedb", "the embedded store")
    text, number = pa.string(), pa.int32()
    return pa.schema(
        [
            pa.field("id", text, nullable=False),
            pa.field("source", text, nullable=False),
            pa.field("path", text, nullable=False),
            pa.field("position", number, nullable=False),
            pa.field("total", number, nullable=False),
            pa.field("digest", text, nullable=False),
            pa.field("title", text),
            pa.field("text", text, nullable=False),
            pa.field("terms", pa.list_(pa.int64())),
            pa.field("term_counts", pa.list_(pa.uint16())),
            pa.field("name_hashes", pa.list_(pa.int64())),
            pa.field("detail", pa.binary(), nullable=False),
            pa.field("analysis", pa.binary()),
            pa.field("vector", pa.list_(pa.float32(), identity.dimension), nullable=False),
        ],
        metadata=identity.metadata(),
    )


def files_schema(identity: Identity) -> Any:
    """The columns of the ledger."""
    pa = need("pyarrow", "pyarrow", "lancedb", "the embedded store")
    return pa.schema(
        [
            pa.field("path", pa.string(), nullable=False),
            pa.field("digest", pa.string(), nullable=False),
            pa.field("status", pa.string(), nullable=False),
            pa.field("documents", pa.int64(), nullable=False),
            pa.field("units", pa.int64(), nullable=False),
            pa.field("size", pa.int64(), nullable=False),
            pa.field("original", pa.string()),
        ],
        metadata=identity.metadata(),
    )


def files_table(records: Sequence[FileRecord], schema: Any) -> Any:
    """Ledger records as an Arrow table."""
    pa = need("pyarrow", "pyarrow", "lancedb", "the embedded store")
    return pa.table({name: [getattr(r, name) for r in records] for name in schema.names}, schema=schema)


def units_table(units: Sequence[Unit], schema: Any, dimension: int) -> Any:
    """Units, each with its vector, as an Arrow table; an unusable one is named."""
    pa = need("pyarrow", "pyarrow", "lancedb", "the embedded store")
    columns: dict[str, Any] = {name: [] for name in schema.names if name != "vector"}
    vectors = np.empty((len(units), dimension), dtype=np.float32)
    for row, unit in enumerate(units):
        _check(unit, dimension)
        vectors[row] = unit.vector
        words, counts = counted_terms(encoded_text(unit.title, unit.text))
        values: dict[str, Any] = {
            "terms": words,
            "term_counts": counts,
            "name_hashes": name_hashes(unit.title, unit.names),
            "detail": json.dumps([getattr(unit, name) for name in _DETAIL], default=_plain).encode("ascii"),
        }
        for name, column in columns.items():
            column.append(values[name] if name in values else getattr(unit, name))
    columns["vector"] = pa.FixedSizeListArray.from_arrays(pa.array(vectors.ravel()), dimension)
    return pa.table(columns, schema=schema)


def unit_of(detail: bytes, text: str, analysis: bytes | None, vector: Any) -> Unit:
    """A row of the units' table as a Unit."""
    values = dict(zip(_DETAIL, json.loads(detail), strict=True))
    values["sentences"] = tuple((start, end) for start, end in values["sentences"])
    values["pages"], values["names"] = tuple(values["pages"]), tuple(values["names"])
    values["section_path"] = tuple(values["section_path"])
    return Unit(text=text, analysis=analysis, vector=vector, **values)


def _plain(value: Any) -> Any:
    return dict(value) if isinstance(value, Mapping) else str(value)


def _check(unit: Unit, dimension: int) -> None:
    if not unit.id or not unit.source:
        raise CandidateError(f"unit {unit.id!r} needs an id and a source", item=unit.id)
    if not unit.text.strip():
        raise CandidateError(f"unit {unit.id!r} has no text", item=unit.id)
    try:
        f"{unit.id}{unit.text}{unit.title}{unit.source}".encode()
    except UnicodeEncodeError as broken:
        raise CandidateError(
            f"unit {unit.id!r} holds half of a surrogate pair ({broken}); replace it first", item=unit.id
        ) from broken
    vector = unit.vector
    if vector is None or vector.shape != (dimension,):
        shape = None if vector is None else vector.shape
        raise CandidateError(
            f"unit {unit.id!r} has a vector of shape {shape}; this store holds {dimension} numbers a unit",
            item=unit.id,
        )
    if not np.isfinite(vector).all():
        raise CandidateError(f"unit {unit.id!r} has a vector with NaN or infinity", item=unit.id)
