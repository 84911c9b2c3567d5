"""Why each path was kept or rejected, in words that fit this path and no other."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pagerag.explain.coverage import covered_words, nodes_of
from pagerag.explain.shapes import clip
from pagerag.promotion import Promotion
from pagerag.promotion.select import Decision
from pagerag.promotion.trace import SupportPath, unit_label
from pagerag.units import Candidate

_HUB = 0.6  # from here on a trigger links too much to tell candidates apart
_NOISE = 0.5
_MOST_STEPS = 24

_VERDICTS = {
    "kept": "what it adds outweighs what it costs",
    "redundant": "it costs more than it adds to what is already selected",
    "noisy": "it costs more than it adds, and its link is noisy",
    "no room": "it does not fit into the budget any more",
    "patience": "kept on trial: it joins what is selected and lacks little",
    "reverted": "taken back: it did not lift the support",
}


def path_reason(promotion: Promotion, path: SupportPath) -> str:
    """Return what decided about a path: the selector's own numbers, or the weakest point of the path."""
    if path.verdict == "kept":
        return "all of its passages are in the core"
    for decision in promotion.judgement.decisions:
        if decision.path == path.rank - 1 and decision.verdict != "kept":
            return _decided(decision)
    core = {unit.id for unit in promotion.core}
    outside = [unit for unit in path.units if unit.id not in core]
    return _hub(promotion, path) or _repeats(promotion, outside) or _weakest(promotion, outside)


def _decided(decision: Decision) -> str:
    """Return the selector's verdict on a path with its numbers."""
    if decision.verdict == "no room":
        return _VERDICTS["no room"]
    return f"{_VERDICTS[decision.verdict]} (adds {decision.support:.2f}, costs {decision.cost:.2f})"


def _hub(promotion: Promotion, path: SupportPath) -> str:
    for edge in path.edges:
        if edge.hub > _HUB and not edge.asked and edge.trig:
            count = _naming(promotion, edge.trig[0])
            many = f", which {count} sentences of the pool name" if count else ""
            return f"joined only by “{edge.trig[0]}”{many}: too common to tell passages apart"
    for edge in path.edges:
        if edge.noise > _NOISE:
            via = f"“{edge.trig[0]}”" if edge.trig else "being neighbours"
            return f"its link by {via} is noisy ({edge.noise:.2f}): one source, or an unspecific name"
    return ""


def _naming(promotion: Promotion, name: str) -> int:
    reading = promotion.evidence.reading
    names = reading.names
    return int((reading.entity[:, names.index(name)] > 0).sum()) if name in names else 0


def _repeats(promotion: Promotion, outside: list[Candidate]) -> str:
    """Return which selected passage says the same as one of the path's, where one does."""
    numbers = {unit.id: number for number, unit in enumerate(promotion.context, 1)}
    for unit in outside:
        words = set(unit.text.casefold().split())
        for other in promotion.core:
            shared = len(words & set(other.text.casefold().split())) / max(len(words), 1)
            if shared > 0.8 and other.id != unit.id:
                return f"“{_name(unit)}” repeats [{numbers[other.id]}] ({shared:.0%} of its words)"
    return ""


def _weakest(promotion: Promotion, outside: list[Candidate]) -> str:
    """Return how the weakest passage of the path compares, and what of the question it leaves out."""
    if not outside:
        return "its passages are in the core, but another order of them was the better argument"
    scores = scores_of(promotion)
    weak = min(outside, key=lambda unit: scores[unit.id])
    told = f"“{_name(weak)}” scores {scores[weak.id]:.2f}"
    if promotion.core:
        told += f", the weakest passage of the core {min(scores[unit.id] for unit in promotion.core):.2f}"
    said = covered_words(
        promotion, nodes_of(promotion, [[unit.id for unit in promotion.pool].index(weak.id)])
    )
    inside = nodes_of(promotion, promotion.core_places)
    if inside and said <= covered_words(promotion, inside):
        return f"{told}; it says nothing of the question that the core does not say"
    asked = dict.fromkeys(promotion.evidence.reading.question.tokens)
    lacking = [word for word in asked if word not in said][:3]
    return f"{told}; it does not say {_quoted(lacking)}" if lacking else told


def selection_steps(promotion: Promotion) -> list[dict[str, Any]]:
    """Return the selection as it went: what was looked at, the decision, its reason, the set after it."""
    if promotion.judgement.decisions:
        return _by_decisions(promotion)
    return _by_score(promotion)


def _by_decisions(promotion: Promotion) -> list[dict[str, Any]]:
    """Return the formula's walk along the ranked paths (Algorithm 1)."""
    evidence = promotion.evidence
    unit_of = evidence.reading.unit.tolist()
    chosen: list[int] = []
    before: list[int] = []
    steps: list[dict[str, Any]] = []
    for decision in promotion.judgement.decisions:
        nodes = list(evidence.paths[decision.path].nodes)
        if decision.verdict == "patience":
            before = list(chosen)
        if decision.verdict in {"kept", "patience"}:
            chosen = [*chosen, *(node for node in nodes if node not in chosen)]
        elif decision.verdict == "reverted":
            chosen = list(before)
        steps.append(
            {
                "path": decision.path + 1,
                "units": _ids(promotion, (unit_of[node] for node in nodes)),
                "verdict": decision.verdict,
                "reason": _decided(decision),
                "gain": round(decision.support, 4),
                "cost": round(decision.cost, 4),
                "support": round(decision.total, 4),
                "selected": _ids(promotion, (unit_of[node] for node in chosen)),
                "covered": sorted(covered_words(promotion, chosen)),
            }
        )
    return _shortened(steps)


def _shortened(steps: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Drop the last rejections of a long walk; every step that changed the set stays."""
    if len(steps) <= _MOST_STEPS:
        return steps
    telling = {n for n, step in enumerate(steps) if step["verdict"] in {"kept", "patience", "reverted"}}
    others = [n for n in range(len(steps)) if n not in telling][: max(_MOST_STEPS - len(telling), 0)]
    return [steps[n] for n in sorted(telling | set(others))]


def _by_score(promotion: Promotion) -> list[dict[str, Any]]:
    """Return the learned walk: passages by falling score, as long as each makes the set worth more."""
    scores = scores_of(promotion)
    core = {unit.id for unit in promotion.core}
    context = {unit.id for unit in promotion.context}
    least = min((scores[name] for name in core), default=1.0)
    ranked = sorted(enumerate(promotion.pool), key=lambda one: (-scores[one[1].id], one[1].id not in core))
    chosen: list[str] = []
    covered: set[str] = set()
    steps: list[dict[str, Any]] = []
    for place, unit in ranked[:_MOST_STEPS]:
        said = covered_words(promotion, nodes_of(promotion, [place]))
        fresh = sorted(said - covered)
        if unit.id in core:
            verdict = "kept"
            chosen.append(unit.id)
            adds = f"; it adds {_quoted(fresh[:4])}" if fresh else ""
            reason = f"support {scores[unit.id]:.2f}: with it the set is worth more than without{adds}"
            covered |= said
        else:
            verdict = "fill" if unit.id in context else "rejected"
            reason = _repeats(promotion, [unit]) or _left_out(scores[unit.id], least, fresh)
            if verdict == "fill":
                reason = f"not needed for the core ({reason}); fills the budget of k = {promotion.k}"
        steps.append(
            {
                "path": None,
                "units": [unit.id],
                "verdict": verdict,
                "reason": reason,
                "gain": round(scores[unit.id], 4),
                "cost": None,
                "support": round(float(promotion.sufficiency), 4) if set(chosen) == core else None,
                "selected": list(chosen),
                "covered": sorted(covered),
            }
        )
    return steps


def _left_out(score: float, least: float, fresh: list[str]) -> str:
    told = f"support {score:.2f}"
    if score >= least:
        return f"{told}: it does not fit beside what is selected"
    told += f", the core ends at {least:.2f}"
    return told if fresh else f"{told}; it says nothing of the question that is not said already"


def scores_of(promotion: Promotion) -> dict[str, float]:
    """Return the score of each unit of the pool by its id."""
    return {unit.id: float(score) for unit, score in zip(promotion.pool, promotion.scores, strict=True)}


def _ids(promotion: Promotion, units: Iterable[int]) -> list[str]:
    pool = promotion.evidence.reading.candidates
    return list(dict.fromkeys(pool[unit].id for unit in units))


def _name(unit: Candidate) -> str:
    return clip(unit_label(unit) if unit.title else unit.text, 60)


def _quoted(words: Iterable[str]) -> str:
    return ", ".join(f"“{word}”" for word in words)
