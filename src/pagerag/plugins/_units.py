"""Turn a framework's documents into the candidates of a pool: the one conversion that all plug-ins share.

Frameworks give documents with or without ids, titles, scores and vectors, under names and on scales of
their own, and sometimes the same document twice. A plug-in describes each by a ``ForeignUnit``, with the
values as it finds them; ``candidates_of`` makes of them what promotion can use. Nothing here changes a
document.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pagerag.promotion.candidates import as_vector
from pagerag.promotion.foreign import (
    MetadataKeys,
    as_name,
    as_position,
    as_score,
    as_text,
    look_up,
    unique_ids,
)
from pagerag.units import Candidate


class UnitSkippedWarning(UserWarning):
    """Some units have no text; promotion reads text, so they cannot be in the pool."""


@dataclass(frozen=True, slots=True)
class ForeignUnit:
    """Describe one document with the values that the framework has, however odd.

    ``title``, ``source`` and ``position`` are looked up in ``metadata`` where they are None.
    """

    text: str | None
    id: object = None
    score: object = None
    metadata: Mapping[Any, Any] | None = None
    title: object = None
    source: object = None
    position: object = None
    vector: object = None


def candidates_of(
    units: Sequence[ForeignUnit], keys: MetadataKeys, question: Any = None
) -> tuple[list[Candidate], list[int]]:
    """Return the pool, and for each candidate the place of its unit.

    A unit without text is left out, with a warning. A unit that is there twice (same id, text and
    document) enters once, as its best-scored copy; different units under one id get ids of their own.
    ``question`` is the question's vector: without it, the units' vectors say nothing and are left out.
    """
    blank = [n for n, unit in enumerate(units) if not unit.text or not unit.text.strip()]
    if blank:
        _warn(units, blank)
    best: dict[tuple[object, ...], tuple[int, Candidate]] = {}
    for n in sorted(set(range(len(units))).difference(blank)):
        candidate = _candidate(units[n], keys, question)
        key = (candidate.id, candidate.text, candidate.title, candidate.source)
        other = best.get(key)
        if other is None or _outscores(candidate, other[1]):
            best[key] = (n, candidate)
    pool = sorted(best.values(), key=lambda pair: pair[0])
    return _with_unique_ids([candidate for _, candidate in pool]), [n for n, _ in pool]


def question_vector(value: object) -> Any:
    """Return a vector as promotion wants it; None for anything that is not one, or is empty."""
    vector = None if value is None else as_vector(value)
    return vector if vector is not None and len(vector) else None


def title_and_text(content: str, separator: str, longest: int = 200) -> tuple[str | None, str]:
    """Split "title<separator>text", a convention of several frameworks; without a title, (None, content)."""
    head, _, tail = content.partition(separator)
    title = head.strip().strip('"').strip()
    if not tail.strip() or not title or len(title) > longest:
        return None, content
    return title, tail


def _candidate(unit: ForeignUnit, keys: MetadataKeys, question: Any) -> Candidate:
    title = as_text(unit.title) or look_up(unit.metadata, keys.title, as_text)
    source = as_name(unit.source) or look_up(unit.metadata, keys.source, as_name)
    position = as_position(unit.position)
    vector = question_vector(unit.vector) if question is not None else None
    return Candidate(
        id="" if unit.id is None else str(unit.id),
        text=unit.text or "",
        title=title,
        # "source" alone often names a whole collection; with the title it names the document.
        source=f"{source} / {title}" if source and title else source,
        position=look_up(unit.metadata, keys.position, as_position) if position is None else position,
        score=as_score(unit.score),
        # A vector of another length than the question's is of another space and says nothing here.
        vector=vector if vector is not None and vector.shape == question.shape else None,
    )


def _outscores(candidate: Candidate, other: Candidate) -> bool:
    return candidate.score is not None and (other.score is None or candidate.score > other.score)


def _with_unique_ids(candidates: Sequence[Candidate]) -> list[Candidate]:
    names = unique_ids([candidate.id or f"unit-{n + 1}" for n, candidate in enumerate(candidates)])
    return [replace(candidate, id=name) for candidate, name in zip(candidates, names, strict=True)]


def _warn(units: Sequence[ForeignUnit], blank: Sequence[int]) -> None:
    names = [str(n if units[n].id is None else units[n].id) for n in blank[:5]]
    more = "" if len(blank) <= 5 else f" and {len(blank) - 5} more"
    warnings.warn(
        f"{len(blank)} of {len(units)} units have no text and cannot be promoted: {', '.join(names)}{more}",
        UnitSkippedWarning,
        stacklevel=6,  # the framework's call of the plug-in
    )
