"""Describe why a document was promoted: what a plug-in writes to ``metadata["pagerag"]``."""

from __future__ import annotations

from typing import Any, Literal

from pagerag.promotion import Promotion
from pagerag.promotion.trace import SupportPath

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
    scores = promotion.scores
    paths = _best_paths(promotion)
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
                "why": _why(promotion, place, role),
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
    flat: dict[str, str | int | float] = {}
    for name, value in provenance.items():
        flat[f"{KEY}_{name}"] = _path_text(value) if name == "path" else value
    return flat


def _path_text(steps: list[dict[str, Any]]) -> str:
    parts = []
    for step in steps:
        via = f" –[{', '.join(step['via'])}]→ " if step["via"] else ""
        parts.append(f"{via}{step['title'] or step['id']}")
    return "".join(parts)


def _best_paths(promotion: Promotion) -> dict[str, SupportPath]:
    """Return each unit's best path: a kept one before others, one that links units before a lone one."""
    ranked = sorted(
        promotion.paths,
        key=lambda path: (path.verdict != "kept", len({unit.id for unit in path.units}) < 2, path.rank),
    )
    best: dict[str, SupportPath] = {}
    for path in ranked:
        for unit in path.units:
            best.setdefault(unit.id, path)
    return best


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


def _why(promotion: Promotion, place: int, role: Role) -> str:
    # What was left out gets no reasons: a ranking may hold thousands of units, and nobody reads theirs.
    reasons = () if role == "rest" else promotion.why(place)
    return ": ".join([_ROLES[role], *(["; ".join(reasons)] if reasons else [])])
