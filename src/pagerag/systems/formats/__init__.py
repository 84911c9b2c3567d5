"""Read pools that somebody already has, in the file formats of retrievers and RAG systems (``FORMATS``).

::

    from pagerag import Promoter
    from pagerag.systems.formats import read_pools, write_promoted

    promoter = Promoter()
    promoted = (
        (record, promoter.promote(pool.question, pool, k=5, mode=unit_of(record)))
        for pool, record in read_pools("their-output.jsonl")
    )
    write_promoted("promoted.jsonl", promoted)

Some formats keep their texts or facts in a second file: it is found beside the first, or named in
``companions``. What ``write_promoted`` writes appears whole or not at all, and may be the file that is read.
Whatever is wrong with a file is a FormatError with file, line, field and remedy. Files may be gzipped.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from itertools import chain
from pathlib import Path
from types import MappingProxyType
from typing import Any

from pagerag.errors import FormatError, InputError
from pagerag.systems._records import Beside, Cursor, Layout, Record, json_records, layout_of, writing
from pagerag.systems.formats import _graphs, _passages, _runs
from pagerag.systems.formats._base import PoolFormat, WrittenPromotion
from pagerag.systems.formats._passages import FIELDS, Native, candidates_in, looks_like_candidates
from pagerag.units import Candidate, Mode, Pool

__all__ = [
    "FIELDS",
    "FORMATS",
    "PoolFormat",
    "Record",
    "WrittenPromotion",
    "detect",
    "json_records",
    "read_candidates",
    "read_pools",
    "unit_of",
    "write_promoted",
]

_KINDS: tuple[type[PoolFormat], ...] = (
    *(Native, _passages.Ctxs, _graphs.GfmRag, _graphs.GfmPredictions, _passages.Recomp, _passages.SelfRAG),
    *(_passages.EfficientRAG, _graphs.LightRag, _graphs.HippoRag, _graphs.GraphRag, _graphs.Kg2Rag),
    *(_runs.Colbert, _runs.Trec, _runs.CsvRun, _passages.Hotpot, _passages.Musique, _passages.Ircot),
)
FORMATS: Mapping[str, PoolFormat] = MappingProxyType({kind.name: kind() for kind in _KINDS})
"""By name, in the order in which they are tried on a file."""


def detect(path: str | os.PathLike[str]) -> str:
    """Return the name of the file's format, from its layout and its first record."""
    return _claim(Path(path), *layout_of(Path(path))).name


def unit_of(record: Record) -> Mode:
    """Return what one unit of the record's format is: the mode to promote it in."""
    return FORMATS[record.format].unit


def read_pools(
    path: str | os.PathLike[str],
    format: str | None = None,  # noqa: A002 - the word a user would use
    *,
    unit: Mode | None = None,
    companions: Mapping[str, str | os.PathLike[str]] | None = None,
    fields: Mapping[str, str] | None = None,
) -> Iterator[tuple[Pool, Record]]:
    """Return the pools of a file with their records; the file is checked here, read as the iterator moves.

    One record is in memory at a time where the layout allows. The format is detected unless it is named.
    ``unit`` reads a benchmark's context as sentences instead of documents. ``fields`` gives our own format's
    fields (``FIELDS``) the names that they have in the file. After the FormatError of one record the iterator
    goes on with the next where the file allows it, and ends where it does not.
    """
    file = Path(path)
    if fields and format not in (None, Native.name):
        raise InputError(f"fields can be renamed in format {Native.name!r} only, not in {format!r}")
    if format is not None and format not in FORMATS:
        raise InputError(f"unknown format {format!r}; one of: {', '.join(FORMATS)}")
    layout, first = layout_of(file)
    chosen = Native(fields) if fields else FORMATS[format] if format else _claim(file, layout, first)
    if not chosen.claims(layout, first):
        if fields:
            said = f"no list of candidates under {fields.get('candidates', 'candidates')!r}; the first record"
            said += f" has: {_field_names(first)}"
        else:
            guess = next((one for one in FORMATS.values() if one.claims(layout, first)), None)
            hint = f"it looks like {guess.name!r}" if guess else _closest(layout, first)
            said = f"this is not {format!r} ({chosen.summary}); {hint}"
        raise FormatError(said, file=file, line=1)
    if layout == "lines" and chosen.whole:
        layout = "object"  # one object with all questions, in one line: written without indentation
    allowed = {chosen.unit, *chosen.units}
    if unit is not None and unit not in allowed:
        raise InputError(f"format {chosen.name!r} has units: {', '.join(sorted(allowed))}; not {unit!r}")
    beside = Beside(file, chosen.companions, companions or {}, chosen.name)

    def pooled(record: Record) -> tuple[Pool, Record]:
        if isinstance(record.raw, FormatError):
            raise record.raw
        return chosen.pool(record), record

    # Unlike a generator, map() goes on with the next record after one that raised.
    return map(pooled, chosen.records(file, layout, beside, unit or chosen.unit))


def write_promoted(
    path: str | os.PathLike[str],
    promoted: Iterable[tuple[Record, WrittenPromotion | Sequence[Candidate]]],
    *,
    trace: bool = False,
) -> int:
    """Write the records with only what was promoted, in their own format; return how many.

    Each item is a record of ``read_pools`` with its Promotion, or with the units to keep. With ``trace``
    a JSON record also gets ``"pagerag"``: state, sufficiency, core ids, and the score of each unit kept.
    """
    items = iter(promoted)
    first = next(items, None)
    if first is None:
        raise InputError(f"there is nothing to write to {path}: no pool was promoted")
    chosen = FORMATS[first[0].format]

    def kept() -> Iterator[tuple[Record, list[str], Any]]:
        for record, result in chain([first], items):
            if record.format != chosen.name:
                said = f"a file has one format: {chosen.name!r} came first, then {record.format!r}"
                raise InputError(said)
            ids = [unit.id for unit in (result if isinstance(result, Sequence) else result.context)]
            for one in ids:
                if one not in record.places:
                    raise InputError(f"unit {one!r} is not of record {record.number} of {record.file}")
            yield record, ids, _account(result) if trace and not isinstance(result, Sequence) else None

    with writing(Path(path)) as file:
        return chosen.write(file, kept())


def _account(result: WrittenPromotion) -> dict[str, Any]:
    scores = {unit.id: float(score) for unit, score in zip(result.pool, result.scores, strict=True)}
    return {
        "state": result.state,
        "sufficiency": float(result.sufficiency),
        "core": [unit.id for unit in result.core],
        "scores": {unit.id: round(scores[unit.id], 6) for unit in result.context},
    }


def read_candidates(
    value: Mapping[str, Any],
    *,
    file: Path,
    line: int | None = None,
    fields: Mapping[str, tuple[str, ...]] = FIELDS,
) -> tuple[Candidate, ...]:
    """Return the candidates of one JSON object in our own format; complaints name ``file`` and ``line``.

    ``fields`` lists the names that each field may go by, as ``FIELDS`` does.
    """
    return candidates_in(Cursor(value, file, line), {**FIELDS, **fields})


def _claim(file: Path, layout: Layout, first: Any) -> PoolFormat:
    """Return the first format that claims the file, or say what came closest."""
    for one in FORMATS.values():
        if one.claims(layout, first):
            return one
    table = layout == "table"
    seen = f"line is {str(first)[:80]!r}" if table else f"record has {_field_names(first)}"
    raise FormatError(
        f"no known pool format: its first {seen}. {_closest(layout, first)}; "
        "`pagerag promote --formats` lists all",
        file=file,
        line=1,
    )


def _field_names(first: Any) -> str:
    if not isinstance(first, Mapping):
        return f"no fields: it is a {type(first).__name__}"
    return ", ".join(sorted(map(str, first))[:12]) or "no fields"


def _closest(layout: Layout, first: Any) -> str:
    """Say which two formats the first record is most like, what it lacks of them, and what may help."""
    if layout == "table":
        widths = {"csv": first.count(",") + 1, "colbert": first.count("\t") + 1, "trec": len(first.split())}
        needed = {"csv": 4, "colbert": 4, "trec": 6}
        near = sorted(widths, key=lambda name: (abs(widths[name] - needed[name]), name))[:2]
        parts = [f"{name} ({widths[name]} columns, needs {needed[name]})" for name in near]
        return "closest: " + ", ".join(parts)
    names = [str(name) for name in first][:200] if isinstance(first, Mapping) else []
    ranked = sorted(
        (one for one in FORMATS.values() if one.signs),
        key=lambda one: -sum(_likeness(sign, names) for sign in one.signs) / len(one.signs),
    )
    parts = []
    for one in ranked[:2]:
        lacking = [sign for sign in one.signs if sign not in names]
        parts.append(f"{one.name} (lacks {', '.join(lacking)})" if lacking else f"{one.name} ({one.summary})")
    return "closest: " + ", ".join(parts) + _renaming(first)


def _likeness(sign: str, names: Sequence[str]) -> float:
    return max((SequenceMatcher(None, sign, name[:40]).ratio() for name in names), default=0.0)


def _renaming(first: Any) -> str:
    """Suggest ``--field`` where a field looks like candidates, or like a question under another name."""
    if not isinstance(first, Mapping):
        return ""
    lists = [name for name, value in first.items() if looks_like_candidates(value)]
    if not lists:
        return ""
    hint = f"--field candidates={lists[0]}"
    if not any(isinstance(first.get(name), str) for name in FIELDS["question"]):
        asked = [name for name, value in first.items() if isinstance(value, str) and value.strip()]
        asked.sort(key=lambda name: not first[name].rstrip().endswith("?"))
        hint += f" --field question={asked[0]}" if asked else ""
    return f". The field {lists[0]!r} looks like candidates: {hint}"
