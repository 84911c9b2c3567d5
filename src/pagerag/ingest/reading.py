"""Documents into units with vectors, here, in another process or on another machine."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from pagerag.errors import InputError
from pagerag.ingest.documents import Document, IngestSettings
from pagerag.ingest.passages import passages_of
from pagerag.protocols import Encoder
from pagerag.text import Analyzer
from pagerag.text.terms import encoded_text
from pagerag.units import Unit

Asked = tuple[Document, str, str, str]
"""A document, its source, its file's name and its digest."""

_LOCAL = frozenset({"wordllama", "minilm", "minilm-fp32"})
"""Encoders that are files of a package: the others may hold keys, which do not leave this process."""


@dataclass(frozen=True, slots=True)
class UnitMaker:
    """What makes units of documents; without ``encoder`` they get their vectors where they are written."""

    settings: IngestSettings
    analyzer: Analyzer
    encoder: Encoder | None

    def packed(self) -> bytes:
        """Return it for other processes, without an encoder that may hold keys."""
        encoder = self.encoder if self.encoder is not None and self.encoder.name in _LOCAL else None
        try:
            return pickle.dumps(replace(self, encoder=encoder))
        except (pickle.PicklingError, AttributeError, TypeError) as problem:
            raise InputError(
                f"this analyzer or encoder cannot be sent to other processes ({problem}); leave out "
                "--workers and --engine"
            ) from problem

    def units(self, asked: Asked) -> list[Unit]:
        """Return the units of one document, without vectors."""
        return passages_of(*asked, self.settings, self.analyzer)


@lru_cache(maxsize=2)
def _unpacked(work: bytes) -> UnitMaker:
    return pickle.loads(work)  # type: ignore[no-any-return]  # noqa: S301 - by our own process


def read_chunk(work: bytes, documents: Sequence[Asked]) -> list[list[Unit]]:
    """Return the units of each document, with vectors if the encoder is here; ``work`` is packed."""
    reading = _unpacked(work)
    found = [reading.units(asked) for asked in documents]
    if reading.encoder is None:
        return found
    every = iter(encoded([unit for units in found for unit in units], reading.encoder))
    return [[next(every) for _ in units] for units in found]


def encoded(units: Sequence[Unit], encoder: Encoder) -> list[Unit]:
    """Return the units, each with a vector."""
    bare = [unit for unit in units if unit.vector is None]
    if not bare:
        return list(units)
    rows = iter(encoder.encode_passages([encoded_text(unit.title, unit.text) for unit in bare]))
    return [replace(unit, vector=next(rows)) if unit.vector is None else unit for unit in units]
