"""The one conversion that all plug-ins share: a framework's documents to the candidates of a pool.

Frameworks give documents with or without ids, titles, scores and vectors, under names and on scales of
their own, and sometimes the same document twice. A plug-in describes each by a ``Unit``, with the values
as it finds them; ``candidates_of`` makes of them what promotion can use. Nothing here changes a document.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import Any, TypeVar

import numpy as np

from pagerag.units import Candidate

__all__ = ["Keys", "Unit", "UnitSkippedWarning", "candidates_of", "question_vector", "title_and_text"]

T = TypeVar("T")


class UnitSkippedWarning(UserWarning):
    """Some units have no text; promotion reads text, so they cannot be in the pool."""


@dataclass(frozen=True, slots=True)
class Keys:
    """Where in the metadata frameworks and their splitters put things; the first usable value wins."""

    title: tuple[str, ...] = ("title", "document_title", "doc_title")
    source: tuple[str, ...] = ("source", "source_id", "document_id", "doc_id", "file_path", "url")
    position: tuple[str, ...] = ("position", "split_id", "chunk_index", "sent_idx")


@dataclass(frozen=True, slots=True)
class Unit:
    """What a plug-in knows of one document. Values come as the framework has them, however odd.

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
    units: Sequence[Unit], keys: Keys, question: Any = None
) -> tuple[list[Candidate], list[int]]:
    """The pool, and for each candidate the place of its unit.

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
    """A vector as promotion wants it; None for anything that is not one."""
    if value is None:
        return None
    try:
        array = np.asarray(value, dtype=np.float32)
    except (TypeError, ValueError):
        return None
    return array if array.ndim == 1 and array.size and bool(np.isfinite(array).all()) else None


def title_and_text(content: str, separator: str, longest: int = 200) -> tuple[str | None, str]:
    """Split "title<separator>text", a convention of several frameworks; without a title, (None, content)."""
    head, _, tail = content.partition(separator)
    title = head.strip().strip('"').strip()
    if not tail.strip() or not title or len(title) > longest:
        return None, content
    return title, tail


def _candidate(unit: Unit, keys: Keys, question: Any) -> Candidate:
    title = _text(unit.title) or _find(unit.metadata, keys.title, _text)
    source = _name(unit.source) or _find(unit.metadata, keys.source, _name)
    position = _position(unit.position)
    vector = question_vector(unit.vector) if question is not None else None
    return Candidate(
        id="" if unit.id is None else str(unit.id),
        text=unit.text or "",
        title=title,
        # "source" alone often names a whole collection; with the title it names the document.
        source=f"{source} / {title}" if source and title else source,
        position=_find(unit.metadata, keys.position, _position) if position is None else position,
        score=_score(unit.score),
        # A vector of another length than the question's is of another space and says nothing here.
        vector=vector if vector is not None and vector.shape == question.shape else None,
    )


def _outscores(candidate: Candidate, other: Candidate) -> bool:
    return candidate.score is not None and (other.score is None or candidate.score > other.score)


def _with_unique_ids(candidates: Sequence[Candidate]) -> list[Candidate]:
    taken: set[str] = set()
    unique = []
    for n, candidate in enumerate(candidates):
        base = candidate.id or f"unit-{n + 1}"
        name, copy = base, 2
        while name in taken:
            name, copy = f"{base}#{copy}", copy + 1
        taken.add(name)
        unique.append(replace(candidate, id=name))
    return unique


def _warn(units: Sequence[Unit], blank: Sequence[int]) -> None:
    names = [str(n if units[n].id is None else units[n].id) for n in blank[:5]]
    more = "" if len(blank) <= 5 else f" and {len(blank) - 5} more"
    warnings.warn(
        f"{len(blank)} of {len(units)} units have no text and cannot be promoted: {', '.join(names)}{more}",
        UnitSkippedWarning,
        stacklevel=6,  # the framework's call of the plug-in
    )


def _find(
    metadata: Mapping[Any, Any] | None, keys: Sequence[str], read: Callable[[object], T | None]
) -> T | None:
    if not isinstance(metadata, Mapping):
        return None
    values = (read(metadata.get(key)) for key in keys)
    return next((value for value in values if value is not None), None)


def _text(value: object) -> str | None:
    return (value.strip() or None) if isinstance(value, str) else None


def _name(value: object) -> str | None:
    """What can identify a document: text, a number, a path."""
    if isinstance(value, int | PurePath) and not isinstance(value, bool):
        return str(value)
    return _text(value)


def _position(value: object) -> int | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, str) and value.isascii() and value.isdecimal() and len(value) < 10:
        return int(value)
    return value if isinstance(value, int) and value >= 0 else None


def _score(value: object) -> float | None:
    """A retriever's score as a float; some systems write scores as strings, some as arrays of one."""
    if value is None or isinstance(value, bool):
        return None
    try:
        score = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        return None
    return score if math.isfinite(score) else None
