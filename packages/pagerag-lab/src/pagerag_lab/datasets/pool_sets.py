"""Read sets of questions that bring their own pool and alternative gold sets.

One JSON object per line, plain or gzipped::

    {"id", "question", "candidates": [{"id", "title" or null, "text", "source"?, "position"?}],
     "gold": [[ids], ...], "kind": "single" | "multi" | "unanswerable", "unit": "sentence" | ...}

``gold`` lists alternative sets, each of which answers the question; it is empty when nothing does. ``unit``
is the mode of promotion. A folder stands for all ``*.jsonl`` and ``*.jsonl.gz`` files in it.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, cast, get_args

from pagerag.errors import FormatError
from pagerag.systems.formats import read_candidates
from pagerag.units import Candidate, Mode
from pagerag_lab.datasets.records import Record, read_records

__all__ = ["Kind", "PoolQuestion", "pool_files", "pool_set_name", "read_pool_sets"]

Kind = Literal["single", "multi", "unanswerable"]
"""How much evidence a question takes: one unit, several, or there is none."""

# Names are those of this format alone, and what a retriever once said of a candidate is left aside.
_FIELDS: dict[str, tuple[str, ...]] = {
    **{name: (name,) for name in ("candidates", "id", "text", "title", "source", "position")},
    **dict.fromkeys(("score", "entities"), ()),
}


@dataclass(frozen=True, slots=True)
class PoolQuestion:
    """A question with its candidates and the alternative sets of ids that answer it.

    ``set`` names the file that it stands in. Nothing in ``candidates`` tells which of them are gold.
    """

    set: str
    id: str
    question: str
    candidates: tuple[Candidate, ...]
    gold: tuple[frozenset[str], ...]
    kind: Kind
    mode: Mode

    @property
    def wanted(self) -> frozenset[str]:
        """Return the ids of every unit that is gold in one of the alternatives."""
        return frozenset().union(*self.gold)


def pool_files(path: str | Path) -> list[Path]:
    """Return the files that ``path`` stands for: itself, or those of the folder, by name."""
    place = Path(path)
    if not place.is_dir():
        return [place]
    found = sorted(one for one in place.iterdir() if one.name.endswith((".jsonl", ".jsonl.gz")))
    if not found:
        raise FormatError("holds no .jsonl or .jsonl.gz file; check --data", file=place)
    return found


def pool_set_name(file: Path) -> str:
    """Return the name of the set that a file holds."""
    return file.name.removesuffix(".gz").removesuffix(".jsonl")


def read_pool_sets(path: str | Path, *, limit: int | None = None) -> Iterator[PoolQuestion]:
    """Yield the questions of a file, or of every file in a folder, in a fixed order.

    The questions of a set are shuffled with a fixed seed, so that ``limit``, which counts per set, takes a
    fair sample of it.
    """
    for file in pool_files(path):
        questions = [_question(record, pool_set_name(file)) for record in read_records(file)]
        _refuse_twice(file, questions)
        random.Random(0).shuffle(questions)
        yield from questions[:limit]


def _refuse_twice(file: Path, questions: list[PoolQuestion]) -> None:
    if not questions:
        raise FormatError("holds no question; check --data", file=file)
    seen: set[str] = set()
    for one in questions:
        if one.id in seen:
            raise FormatError(f"the id {one.id!r} is there twice; remove one of the records", file=file)
        seen.add(one.id)


def _question(record: Record, name: str) -> PoolQuestion:
    value = record.value
    for field in ("id", "question"):
        if not isinstance(value.get(field), str) or not value[field].strip():
            raise record.bad(field, "must be text that is not empty")
    kind, mode = value.get("kind"), value.get("unit")
    if kind not in get_args(Kind):
        raise record.bad("kind", f"must be one of: {', '.join(get_args(Kind))}")
    if mode not in get_args(Mode):
        raise record.bad("unit", f"must be one of: {', '.join(get_args(Mode))}")
    candidates = read_candidates(value, file=record.file, line=record.line, fields=_FIELDS)
    if not candidates:
        raise record.bad("candidates", "must be a list with at least one candidate")
    if [unit.id for unit in candidates] != [
        one.get("id") if isinstance(one, dict) else None for one in value["candidates"]
    ]:
        raise record.bad("candidates", "every candidate must have an id of its own, as text")
    return PoolQuestion(
        set=name,
        id=value["id"],
        question=value["question"],
        candidates=candidates,
        gold=_gold(record, value.get("gold")),
        kind=cast(Kind, kind),
        mode=cast(Mode, mode),
    )


def _gold(record: Record, value: Any) -> tuple[frozenset[str], ...]:
    if not isinstance(value, list):
        raise record.bad("gold", "must be a list of alternative sets of ids; empty when unanswerable")
    for place, one in enumerate(value):
        if not isinstance(one, list) or not one or not all(isinstance(name, str) for name in one):
            raise record.bad(f"gold[{place}]", "must be a list of candidate ids that is not empty")
    return tuple(frozenset(one) for one in value)
