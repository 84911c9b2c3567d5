"""Why each path was kept or rejected, in words that fit this path and no other; and how selection went."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any

from pagerag.explain.verdict import nodes_of
from pagerag.promotion import Promotion
from pagerag.promotion.select import Decision
from pagerag.promotion.trace import SupportPath, unit_label
from pagerag.text import split_sentences
from pagerag.text.wording import PlainText
from pagerag.units import Answer, Candidate, Citation

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
    told = _VERDICTS[decision.verdict]
    if decision.verdict == "no room":
        return told
    return f"{told} (adds {decision.support:.2f}, costs {decision.cost:.2f})"


def _hub(promotion: Promotion, path: SupportPath) -> str:
    reading = promotion.evidence.reading
    for edge in path.edges:
        if edge.hub > _HUB and not edge.asked and edge.trig:
            name, many = edge.trig[0], ""
            if name in reading.names:
                count = int((reading.entity[:, reading.names.index(name)] > 0).sum())
                many = f", which {count} sentences of the pool name" if count else ""
            return f"joined only by “{name}”{many}: too common to tell passages apart"
    for edge in path.edges:
        if edge.noise > _NOISE:
            via = f"“{edge.trig[0]}”" if edge.trig else "being neighbours"
            return f"its link by {via} is noisy ({edge.noise:.2f}): one source, or an unspecific name"
    return ""


def _repeats(promotion: Promotion, outside: Iterable[Candidate]) -> str:
    """Return which selected passage says the same as one of the path's, where one does."""
    numbers = {unit.id: number for number, unit in enumerate(promotion.context, 1)}
    for unit in outside:
        words = set(unit.text.casefold().split())
        for other in promotion.core:
            shared = len(words & set(other.text.casefold().split())) / max(len(words), 1)
            if shared > 0.8 and other.id != unit.id:
                return f"“{_name(unit)}” repeats [{numbers[other.id]}] ({shared:.0%} of its words)"
    return ""


def _weakest(promotion: Promotion, outside: Sequence[Candidate]) -> str:
    """Return how the weakest passage of the path compares, and what of the question it leaves out."""
    if not outside:
        return "its passages are in the core, but another order of them was the better argument"
    scores = scores_of(promotion)
    weak = min(outside, key=lambda unit: scores[unit.id])
    told = f"“{_name(weak)}” scores {scores[weak.id]:.2f}"
    if promotion.core:
        told += f", the weakest passage of the core {min(scores[unit.id] for unit in promotion.core):.2f}"
    said = _covered(promotion, nodes_of(promotion, [list(scores).index(weak.id)]))
    inside = nodes_of(promotion, promotion.core_places)
    if inside and said <= _covered(promotion, inside):
        return f"{told}; it says nothing of the question that the core does not say"
    asked = dict.fromkeys(promotion.evidence.reading.question.tokens)
    lacking = [word for word in asked if word not in said][:3]
    return f"{told}; it does not say {_quoted(lacking)}" if lacking else told


def _covered(promotion: Promotion, nodes: Collection[int]) -> set[str]:
    """Return the question's words that these sentences have, inflected forms included."""
    reading = promotion.evidence.reading
    units = [reading.candidates[unit] for unit in reading.unit[list(nodes)].tolist()]
    parts = dict.fromkeys(unit.title or "" for unit in units)
    parts |= {unit.text[slice(*reading.spans[node])]: None for unit, node in zip(units, nodes, strict=True)}
    said = PlainText(" ".join(parts))
    return {token for token in reading.question.tokens if said.has(token)}


def selection_steps(promotion: Promotion) -> list[dict[str, Any]]:
    """Return the selection as it went: what was looked at, the decision, its reason, the set after it."""
    return _by_decisions(promotion) if promotion.judgement.decisions else _by_score(promotion)


def _by_decisions(promotion: Promotion) -> list[dict[str, Any]]:
    """Return the formula's walk along the ranked paths (Algorithm 1).

    Of a long walk the last rejections are dropped; every step that changed the set stays.
    """
    evidence = promotion.evidence
    unit_of, pool = evidence.reading.unit.tolist(), evidence.reading.candidates
    chosen: list[int] = []
    before: list[int] = []
    steps: list[dict[str, Any]] = []

    def ids(nodes: Iterable[int]) -> list[str]:
        return list(dict.fromkeys(pool[unit_of[node]].id for node in nodes))

    for decision in promotion.judgement.decisions:
        nodes = evidence.paths[decision.path].nodes
        if decision.verdict == "patience":
            before = chosen
        if decision.verdict in {"kept", "patience"}:
            chosen = list(dict.fromkeys((*chosen, *nodes)))
        elif decision.verdict == "reverted":
            chosen = before
        steps.append(
            {
                "path": decision.path + 1, "units": ids(nodes), "verdict": decision.verdict,
                "reason": _decided(decision), "gain": round(decision.support, 4),
                "cost": round(decision.cost, 4), "support": round(decision.total, 4),
                "selected": ids(chosen), "covered": sorted(_covered(promotion, chosen)),
            }
        )  # fmt: skip
    telling = {n for n, step in enumerate(steps) if step["verdict"] in {"kept", "patience", "reverted"}}
    others = [n for n in range(len(steps)) if n not in telling][: max(_MOST_STEPS - len(telling), 0)]
    return [steps[n] for n in sorted(telling.union(others))]


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
        score = scores[unit.id]
        said = _covered(promotion, nodes_of(promotion, [place]))
        fresh = sorted(said - covered)
        if unit.id in core:
            verdict = "kept"
            chosen.append(unit.id)
            adds = f"; it adds {_quoted(fresh[:4])}" if fresh else ""
            reason = f"support {score:.2f}: with it the set is worth more than without{adds}"
            covered |= said
        else:
            verdict = "fill" if unit.id in context else "rejected"
            reason = f"support {score:.2f}"
            if score >= least:
                reason += ": it does not fit beside what is selected"
            else:
                nothing = "" if fresh else "; it says nothing of the question that is not said already"
                reason += f", the core ends at {least:.2f}{nothing}"
            reason = _repeats(promotion, [unit]) or reason
            if verdict == "fill":
                reason = f"not needed for the core ({reason}); fills the budget of k = {promotion.k}"
        whole = set(chosen) == core
        steps.append(
            {
                "path": None, "units": [unit.id], "verdict": verdict, "reason": reason,
                "gain": round(score, 4), "cost": None,
                "support": round(float(promotion.sufficiency), 4) if whole else None,
                "selected": list(chosen), "covered": sorted(covered),
            }
        )  # fmt: skip
    return steps


def scores_of(promotion: Promotion) -> dict[str, float]:
    """Return the score of each unit of the pool by its id."""
    return {unit.id: float(score) for unit, score in zip(promotion.pool, promotion.scores, strict=True)}


def arguments(promotion: Promotion) -> list[SupportPath]:
    """Return the kept paths of several units, the one whose weakest unit is the strongest first."""
    scores = scores_of(promotion)
    kept = [
        path for path in promotion.paths if path.verdict == "kept" and len({u.id for u in path.units}) > 1
    ]
    return sorted(kept, key=lambda path: (-min(scores[u.id] for u in path.units), len(path.units), path.rank))


def naming_asked(promotion: Promotion) -> set[str]:
    """Return the units that name an entity of the question."""
    graph = promotion.graph
    asked = {node["id"] for node in graph.nodes if node.get("asked")}
    unit_of = {node["id"]: node["unit"] for node in graph.nodes if node["kind"] == "sentence"}
    return {
        unit_of[edge["from"]] for edge in graph.edges if edge["kind"] == "mention" and edge["to"] in asked
    }


def cited(answer: Answer | None, units: Sequence[Candidate]) -> Iterator[tuple[Citation, Candidate]]:
    """Yield what an answer cites, each with the unit that has its number; other numbers are passed over."""
    for citation in answer.citations if answer is not None else ():
        if 0 < citation.number <= len(units):
            yield citation, units[citation.number - 1]


def sentences_of(citation: Citation, unit: Candidate) -> list[tuple[int, int]]:
    """Return the sentences of a unit in which a citation stands."""
    if citation.start is None or citation.end is None:
        return []
    return [s for s in split_sentences(unit.text) if s[0] < citation.end and s[1] > citation.start]


def clip(text: str, most: int) -> str:
    """Return one line of at most ``most`` characters."""
    flat = " ".join(text.split())
    return flat if len(flat) <= most else flat[: most - 1].rstrip() + "…"


def _name(unit: Candidate) -> str:
    return clip(unit_label(unit) if unit.title else unit.text, 60)


def _quoted(words: Iterable[str]) -> str:
    return ", ".join(f"“{word}”" for word in words)
