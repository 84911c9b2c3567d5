"""Pools that somebody already has: twelve file formats of retrievers and RAG systems, read and written back.

::

    from pagerag import Promoter
    from pagerag.systems.formats import read_pools, write_promoted

    promoter = Promoter()
    promoted = (
        (record, promoter.promote(pool.question, pool, k=5, mode=unit_of(record)))
        for pool, record in read_pools("their-output.jsonl")
    )
    write_promoted("promoted.jsonl", promoted)

``read_pools(path, format=None, *, unit=None, companions=None)`` yields (Pool, Record), one in memory at a
time where the layout allows. The format is detected unless it is named. Some formats keep their texts or
facts in a second file: it is found beside the first, or named in ``companions``.
``write_promoted(path, promoted, *, trace=False)`` writes the same format with the promoted units alone, in
promoted order; the file appears whole or not at all, and may be the one that is being read.
Whatever is wrong with a file is a FormatError with file, line, field and remedy. Files may be gzipped.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from types import MappingProxyType
from typing import Any, Protocol

from numpy.typing import NDArray

from pagerag.errors import FormatError, InputError
from pagerag.systems.formats._base import Format, JsonFormat
from pagerag.systems.formats._records import Beside, Layout, Record, layout_of, writing
from pagerag.systems.formats.benchmarks import Hotpot, Musique
from pagerag.systems.formats.graphs import GfmPredictions, GfmRag, GraphRag, HippoRag, Kg2Rag, LightRag
from pagerag.systems.formats.native import Native
from pagerag.systems.formats.passages import Ctxs, EfficientRAG, Ircot, Recomp, SelfRAG
from pagerag.systems.formats.runs import Colbert, Trec
from pagerag.units import Candidate, Mode, Pool

__all__ = ["FORMATS", "Format", "Promoted", "Record", "detect", "read_pools", "unit_of", "write_promoted"]

FORMATS: Mapping[str, Format] = MappingProxyType(
    {
        one.name: one
        for one in (
            Native(),
            Ctxs(),
            GfmRag(),
            GfmPredictions(),
            Recomp(),
            SelfRAG(),
            EfficientRAG(),
            LightRag(),
            HippoRag(),
            GraphRag(),
            Kg2Rag(),
            Colbert(),
            Trec(),
            Hotpot(),
            Musique(),
            Ircot(),
        )
    }
)
"""By name, in the order in which they are tried on a file."""


class Promoted(Protocol):
    """The part of a Promotion that is written: its context, and for a trace what it decided."""

    @property
    def context(self) -> tuple[Candidate, ...]: ...
    @property
    def core(self) -> tuple[Candidate, ...]: ...
    @property
    def pool(self) -> tuple[Candidate, ...]: ...
    @property
    def scores(self) -> NDArray[Any]: ...
    @property
    def state(self) -> str: ...
    @property
    def sufficiency(self) -> float: ...


def detect(path: str | os.PathLike[str]) -> str:
    """The name of the file's format, from its layout and its first record."""
    return _detect(Path(path))[0].name


def unit_of(record: Record) -> Mode:
    """What one unit of the record's format is: the mode to promote it in."""
    return FORMATS[record.format].unit


def read_pools(
    path: str | os.PathLike[str],
    format: str | None = None,  # noqa: A002 - the word a user would use
    *,
    unit: Mode | None = None,
    companions: Mapping[str, str | os.PathLike[str]] | None = None,
) -> Iterator[tuple[Pool, Record]]:
    """The pools of a file with their records; the file is checked here, read as the iterator moves.

    ``unit`` reads a benchmark's context as sentences instead of documents.
    """
    file = Path(path)
    if format is None:
        chosen, layout = _detect(file)
    else:
        if format not in FORMATS:
            raise InputError(f"unknown format {format!r}; one of: {', '.join(FORMATS)}")
        chosen, (layout, first) = FORMATS[format], layout_of(file)
        if not chosen.claims(layout, first):
            guess = _claim(layout, first)
            hint = f"it looks like {guess.name!r}" if guess else "see `read_pools` for the formats"
            raise FormatError(f"this is not {format!r} ({chosen.summary}); {hint}", file=file, line=1)
        layout = _laid_out(chosen, layout)
    allowed = {chosen.unit, *chosen.units}
    if unit is not None and unit not in allowed:
        raise InputError(f"format {chosen.name!r} has units: {', '.join(sorted(allowed))}; not {unit!r}")
    beside = Beside(file, companions or {})
    beside.check(chosen.companions, chosen.name)
    for companion in chosen.companions:
        beside.path(companion)
    return _pools(chosen, file, layout, beside, unit or chosen.unit)


def _pools(
    chosen: Format, file: Path, layout: Layout, beside: Beside, unit: Mode
) -> Iterator[tuple[Pool, Record]]:
    for record in chosen.records(file, layout, beside):
        yield chosen.pool(record, beside, unit), record


def write_promoted(
    path: str | os.PathLike[str],
    promoted: Iterable[tuple[Record, Promoted | Sequence[Candidate]]],
    *,
    trace: bool = False,
) -> int:
    """Write the records with only what was promoted, in their own format; returns how many.

    Each item is a record of ``read_pools`` with its Promotion, or with the units to keep. With ``trace``
    a JSON record also gets ``"pagerag"``: state, sufficiency, core ids, and the score of each unit kept.
    """
    items = iter(promoted)
    first = next(items, None)
    if first is None:
        raise InputError(f"there is nothing to write to {path}: no pool was promoted")
    chosen = FORMATS[first[0].format]
    with writing(Path(path)) as file:
        return chosen.write(file, _kept(chosen, chain([first], items), trace=trace))


def _kept(
    chosen: Format, promoted: Iterable[tuple[Record, Promoted | Sequence[Candidate]]], *, trace: bool
) -> Iterator[tuple[Record, list[str], Any]]:
    for record, result in promoted:
        if record.format != chosen.name:
            raise InputError(f"a file has one format: {chosen.name!r} came first, then {record.format!r}")
        context = result if isinstance(result, Sequence) else result.context
        ids = [unit.id for unit in context]
        for one in ids:
            if one not in record.places:
                raise InputError(f"unit {one!r} is not of record {record.number} of {record.file}")
        yield record, ids, _account(result) if trace and not isinstance(result, Sequence) else None


def _account(result: Promoted) -> dict[str, Any]:
    scores = {unit.id: float(score) for unit, score in zip(result.pool, result.scores, strict=True)}
    return {
        "state": result.state,
        "sufficiency": float(result.sufficiency),
        "core": [unit.id for unit in result.core],
        "scores": {unit.id: round(scores[unit.id], 6) for unit in result.context},
    }


def _detect(file: Path) -> tuple[Format, Layout]:
    layout, first = layout_of(file)
    found = _claim(layout, first)
    if found is None:
        fields = (
            f" with the fields {', '.join(sorted(map(str, first))[:12])}"
            if isinstance(first, Mapping)
            else ""
        )
        raise FormatError(
            f"no known pool format{fields}. One of: "
            + "; ".join(f"{one.name} ({one.summary})" for one in FORMATS.values()),
            file=file,
            line=1,
        )
    return found, _laid_out(found, layout)


def _claim(layout: Layout, first: Any) -> Format | None:
    return next((one for one in FORMATS.values() if one.claims(layout, first)), None)


def _laid_out(chosen: Format, layout: Layout) -> Layout:
    # One object with all questions in it is one line when it was written without indentation.
    return "object" if layout == "lines" and isinstance(chosen, JsonFormat) and chosen.whole else layout
