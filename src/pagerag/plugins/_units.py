"""Turn a framework's documents into the candidates of a pool, and say why each was promoted.

Frameworks give documents with or without ids, titles, scores and vectors, under names and on scales of
their own, and sometimes the same document twice. A plug-in describes each by a ``ForeignUnit``, with the
values as it finds them; ``candidates_of`` makes of them what promotion can use. ``provenance_of`` gives what
is written to ``metadata["pagerag"]``. Nothing here changes a document.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from pagerag.promotion import Promotion, foreign
from pagerag.promotion.candidates import as_vector
from pagerag.promotion.trace import SupportPath
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
    units: Sequence[ForeignUnit], keys: foreign.MetadataKeys, question: Any = None
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
        other = best[key][1].score if key in best else None
        if key not in best or (candidate.score is not None and (other is None or candidate.score > other)):
            best[key] = (n, candidate)
    pool = sorted(best.values(), key=lambda pair: pair[0])
    names = foreign.unique_ids([candidate.id or f"unit-{n + 1}" for n, (_, candidate) in enumerate(pool)])
    candidates = [replace(candidate, id=name) for (_, candidate), name in zip(pool, names, strict=True)]
    return candidates, [n for n, _ in pool]


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


def _candidate(unit: ForeignUnit, keys: foreign.MetadataKeys, question: Any) -> Candidate:
    def known(own: object, names: Sequence[str], read: Callable[[object], Any]) -> Any:
        found = read(own)
        return foreign.look_up(unit.metadata, names, read) if found is None else found

    title = known(unit.title, keys.title, foreign.as_text)
    source = known(unit.source, keys.source, foreign.as_name)
    vector = question_vector(unit.vector) if question is not None else None
    return Candidate(
        id="" if unit.id is None else str(unit.id),
        text=unit.text or "",
        title=title,
        # "source" alone often names a whole collection; with the title it names the document.
        source=f"{source} / {title}" if source and title else source,
        position=known(unit.position, keys.position, foreign.as_position),
        score=foreign.as_score(unit.score),
        # A vector of another length than the question's is of another space and says nothing here.
        vector=vector if vector is not None and vector.shape == question.shape else None,
    )


def _warn(units: Sequence[ForeignUnit], blank: Sequence[int]) -> None:
    names = [str(n if units[n].id is None else units[n].id) for n in blank[:5]]
    more = "" if len(blank) <= 5 else f" and {len(blank) - 5} more"
    warnings.warn(
        f"{len(blank)} of {len(units)} units have no text and cannot be promoted: {', '.join(names)}{more}",
        UnitSkippedWarning,
        stacklevel=6,  # the framework's call of the plug-in
    )


KEY = "pagerag"
"""Where provenance goes in a document's metadata."""

Role = Literal["core", "fill", "rest"]


def provenance_of(promotion: Promotion, places: list[int]) -> list[dict[str, Any]]:
    """Return the provenance of each place of the pool, in the order in which its units are handed on.

    ========== =======================================================================================
    role       ``core`` (selected), ``fill`` (up to k), ``rest`` (neither; only where all are ranked)
    rank       its place among what is handed on, from 1
    score      promotion's score in [0, 1]
    retrieved  its place in the pool as it came, from 1
    state      promotion's verdict on the whole selection
    path       the support path it is on: ``{"id", "title", "via"}`` a step, ``via`` what led there
    why        the reasons that speak for it
    ========== =======================================================================================
    """
    core, context = set(promotion.core_places), set(promotion.context_places)
    scores, paths = promotion.scores, _best_paths(promotion)
    found = []
    for rank, place in enumerate(places, 1):
        role: Role = "core" if place in core else "fill" if place in context else "rest"
        found.append(
            {
                "role": role,
                "rank": rank,
                "score": round(float(scores[place]), 6),
                "retrieved": place + 1,
                "state": promotion.state,
                "path": _steps(paths.get(promotion.pool[place].id)),
                # What is left out gets none: a ranking may hold thousands, and nobody reads their reasons.
                "why": _ROLES[role] + _reasons(() if role == "rest" else promotion.why(place)),
            }
        )
    return found


def without_provenance(rank: int) -> dict[str, Any]:
    """Return the provenance of a unit that never entered the pool and is ranked all the same."""
    why = "not in the pool: it has no text, or is there twice"
    return {"role": "rest", "rank": rank, "score": 0.0, "path": [], "why": why}


def flattened(provenance: dict[str, Any]) -> dict[str, str | int | float]:
    """Return provenance as ``pagerag_role``, ``pagerag_rank`` …: one plain value under each key.

    Many vector stores keep texts and numbers only. The path becomes a text: titles with what links them.
    """
    path = ""
    for step in provenance["path"]:
        via = f" –[{', '.join(step['via'])}]→ " if step["via"] else ""
        path += f"{via}{step['title'] or step['id']}"
    return {f"{KEY}_{name}": value for name, value in {**provenance, "path": path}.items()}


def _best_paths(promotion: Promotion) -> dict[str, SupportPath]:
    """Return each unit's best path: a kept one before others, one that links units before a lone one."""
    ranked = sorted(
        promotion.paths,
        key=lambda path: (path.verdict != "kept", len({unit.id for unit in path.units}) < 2, path.rank),
    )
    return {unit.id: path for path in reversed(ranked) for unit in path.units}


def _steps(path: SupportPath | None) -> list[dict[str, Any]]:
    if path is None:
        return []
    via: list[list[str]] = [[], *(list(edge.trig) or [edge.kind] for edge in path.edges)]
    return [
        {"id": unit.id, "title": unit.title, "via": led} for unit, led in zip(path.units, via, strict=True)
    ]


_ROLES: dict[Role, str] = {
    "core": "selected",
    "fill": "fills the context up to k by its score",
    "rest": "left out of the context",
}


def _reasons(reasons: Sequence[str]) -> str:
    return f": {'; '.join(reasons)}" if reasons else ""
