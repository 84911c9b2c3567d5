"""The trace: paths with every feature of every edge, as objects, as text, as JSON."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice, pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from pagerag.promotion.candidates import MAX_RELATIONS
from pagerag.promotion.evidence import Evidence
from pagerag.promotion.graph import KINDS, RELATION, SHARED
from pagerag.promotion.select import MAX_PATHS
from pagerag.promotion.strategy import Judgement
from pagerag.units import Candidate

if TYPE_CHECKING:
    from pagerag.promotion.result import Promotion

__all__ = [
    "SCHEMA_VERSION", "Edge", "SupportPath", "explain", "reasons", "support_paths", "trace", "unit_label",
]  # fmt: skip

SCHEMA_VERSION = 1
_SHOWN_PATHS = 12
_OPENING = 32  # characters of a sentence that tell apart two steps of one section


@dataclass(frozen=True, slots=True)
class Edge:
    """m(e): why two sentences are linked, and how much the link is worth.

    ``src`` and ``sent`` trace it to the documents and sentences it comes from; ``trig`` is what made it.
    """

    kind: str
    src: tuple[str, ...]
    sent: tuple[str, ...]
    trig: tuple[str, ...]
    conf: float
    div: float
    spec: float
    hub: float
    noise: float
    relevance: float
    reliability: float
    score: float
    asked: bool

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-able copy."""
        return {
            "kind": self.kind, "src": list(self.src), "sent": list(self.sent), "trig": list(self.trig),
            "conf": self.conf, "div": self.div, "spec": self.spec, "hub": self.hub, "noise": self.noise,
            "relevance": self.relevance, "reliability": self.reliability, "score": self.score,
            "asked": self.asked,
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class SupportPath:
    """A ranked hypothesis of support.

    Its units in order, its score and the parts of it, its edges, and what the selector decided about it.
    """

    rank: int
    units: tuple[Candidate, ...]
    sentences: tuple[str, ...]
    score: float
    sent_base: float
    edge_sum: float
    coherence: float
    length_cost: float
    bridge_bonus: float
    alignment: float
    edges: tuple[Edge, ...]
    verdict: str
    reason: str

    @property
    def labels(self) -> tuple[str, ...]:
        """What each step is called: title and section, and how its sentence opens where they are the same."""
        names = [unit_label(unit) for unit in self.units]
        return tuple(
            name if names.count(name) == 1 else f"{name} “{_short(sentence, _OPENING)}”"
            for name, sentence in zip(names, self.sentences, strict=True)
        )

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-able copy."""
        return {
            "rank": self.rank, "units": [unit.id for unit in self.units], "sentences": list(self.sentences),
            "score": self.score, "sent_base": self.sent_base, "edge_sum": self.edge_sum,
            "coherence": self.coherence, "length_cost": self.length_cost, "bridge_bonus": self.bridge_bonus,
            "alignment": self.alignment,
            "edges": [edge.to_dict() for edge in self.edges], "verdict": self.verdict, "reason": self.reason,
        }  # fmt: skip


def unit_label(unit: Candidate) -> str:
    """Return what a person calls a unit: its document's title and its section, or its id."""
    last = unit.sections[-1] if unit.sections else unit.metadata.get("section")
    parts = dict.fromkeys(" ".join(part.split()) for part in (unit.title, last) if isinstance(part, str))
    return " › ".join(part for part in parts if part) or unit.id


def edge_between(evidence: Evidence, i: int, j: int) -> Edge:
    """Return the link between sentences ``i`` and ``j`` with its whole m(e)."""
    reading, links = evidence.reading, evidence.links
    kind = int(links.kind[i, j])
    ends = [reading.candidates[int(reading.unit[node])] for node in (i, j)]
    return Edge(
        kind=KINDS[kind],
        src=tuple(dict.fromkeys(unit.document for unit in ends)),
        sent=tuple(sentence_id(evidence, node) for node in (i, j)),
        trig=triggers(evidence, i, j),
        asked=bool(links.asked[i, j]),
        **{
            name: round(float(getattr(links, name)[i, j]), 4)
            for name in ("conf", "div", "spec", "hub", "noise", "relevance", "reliability", "score")
        },
    )


def triggers(evidence: Evidence, i: int, j: int) -> tuple[str, ...]:
    """Return the entities, or the relation, that made the link."""
    reading, links = evidence.reading, evidence.links
    kind = int(links.kind[i, j])
    if kind == RELATION:
        head, tail, relation, _ = reading.stated[links.stated[i, j]]
        return (f"{reading.names[head]} -{relation.relation}-> {reading.names[tail]}",)
    if kind != SHARED:
        return ()
    both = (reading.entity[i] > 0) & (reading.entity[j] > 0)
    if reading.document[i] == reading.document[j] and reading.own[i] >= 0:
        both = both.copy()
        both[reading.own[i]] = False
    return tuple(reading.names[t] for t in np.nonzero(both)[0].tolist())


def sentence_id(evidence: Evidence, node: int) -> str:
    """Return how a sentence is named in traces: its unit's id, with its place inside a longer unit."""
    reading = evidence.reading
    unit = reading.candidates[int(reading.unit[node])]
    return unit.id if evidence.mode != "document" else f"{unit.id}@{int(reading.sentence[node])}"


def sentence_text(evidence: Evidence, node: int) -> str:
    """Return the sentence as it stands in its unit."""
    reading = evidence.reading
    start, end = reading.spans[node]
    return reading.candidates[int(reading.unit[node])].text[start:end].strip()


_LACKS = {
    "redundant": "adds too little to what is already selected",
    "noisy": "connected, but through a noisy or unspecific link",
    "no room": "does not fit into the budget",
    "reverted": "was kept on trial and did not lift the support",
}


def support_paths(evidence: Evidence, judgement: Judgement) -> tuple[SupportPath, ...]:
    """Return the ranked paths as objects, each with the selector's verdict."""
    decided = {decision.path: decision for decision in judgement.decisions}
    core = set(judgement.core)
    reading = evidence.reading
    found = []
    for rank, path in enumerate(islice(evidence.paths, MAX_PATHS)):
        decision = decided.get(rank)
        inside = {int(reading.unit[node]) for node in path.nodes} <= core
        if inside:
            verdict, reason = "kept", "all of its units are in the core"
        elif decision is not None and decision.verdict in _LACKS:
            verdict = "rejected"
            reason = (
                f"{_LACKS[decision.verdict]} (support +{decision.support:.2f}, cost {decision.cost:.2f})"
                if decision.verdict != "no room"
                else _LACKS["no room"]
            )
        else:
            verdict, reason = "rejected", _lacking(evidence, path.nodes, core)
        found.append(
            SupportPath(
                rank=rank + 1,
                units=tuple(reading.candidates[int(reading.unit[node])] for node in path.nodes),
                sentences=tuple(sentence_text(evidence, node) for node in path.nodes),
                score=round(path.score, 4),
                sent_base=round(path.base, 4),
                edge_sum=round(path.edges, 4),
                coherence=round(path.coherence, 4),
                length_cost=round(path.cost, 4),
                bridge_bonus=round(path.bridge, 4),
                alignment=round(path.alignment, 4),
                edges=tuple(edge_between(evidence, a, b) for a, b in pairwise(path.nodes)),
                verdict=verdict,
                reason=reason,
            )
        )
    return tuple(found)


def _lacking(evidence: Evidence, nodes: tuple[int, ...], core: set[int]) -> str:
    """Return what a path that was never weighed lacks, from its own features."""
    reading, links = evidence.reading, evidence.links
    pairs = list(pairwise(nodes))
    if any(links.hub[a, b] > 0.6 and not links.asked[a, b] for a, b in pairs):
        return "runs through a hub: its trigger links too many candidates to tell them apart"
    if any(links.noise[a, b] > 0.5 for a, b in pairs):
        return "runs through a noisy link"
    units = {int(reading.unit[node]) for node in nodes}
    if units & core:
        return "overlaps with the core and adds no support of its own"
    return "its units score below those of the core"


def explain(promotion: Promotion) -> str:
    """Say why each unit is in, and what each rejected path lacked."""
    evidence = promotion.evidence
    lines = [f"Question: {promotion.question}"]
    lines.append(
        f"State: {promotion.state} (sufficiency {promotion.sufficiency:.2f}) · "
        f"{len(promotion.core_places)} of {len(promotion.candidates)} candidates in the core, "
        f"{len(promotion.context_places)} in the context (k = {promotion.k}) · strategy {promotion.strategy}"
    )
    scores = promotion.scores
    place_of = {place: inner for inner, place in enumerate(promotion.order)}
    core = set(promotion.core_places)
    lines.append("")
    for number, place in enumerate(promotion.context_places, 1):
        unit = promotion.candidates[place]
        role = "core" if place in core else "fill"
        title = f"{unit_label(unit)}: " if unit.title else ""
        lines.append(f"[{number}] {role} {scores[place]:.2f}  (was {place + 1})  {title}{_short(unit.text)}")
        lines += [f"      {why}" for why in reasons(evidence, place_of[place], promotion)]
    paths = promotion.paths
    kept = [path for path in paths if path.verdict == "kept" and len(path.units) > 1][:3]
    rejected = [path for path in paths if path.verdict != "kept" and len(path.units) > 1][:5]
    for heading, group in (
        ("Supporting paths", kept),
        ("Rejected paths: connected, but not support", rejected),
    ):
        if group:
            lines += ["", f"{heading}:"]
            lines += [f"  {_path_line(path)}" for path in group]
    for note in _notes(evidence):
        lines += ["", f"Note: {note}"]
    if promotion.state == "insufficient":
        lines += [
            "",
            "Nothing in this pool supports an answer: treat what is shown as the least bad candidates.",
        ]
    return "\n".join(lines)


def _notes(evidence: Evidence) -> list[str]:
    """Say what of the input was left aside because of a bound."""
    left_out = evidence.reading.relations_left_out
    if not left_out:
        return []
    return [f"{left_out} of the pool's relations were not read: the most confident {MAX_RELATIONS} are"]


def _path_line(path: SupportPath) -> str:
    first, *others = path.labels
    steps = [first]
    for edge, label in zip(path.edges, others, strict=True):
        via = ", ".join(edge.trig[:2]) or edge.kind
        steps.append(f"–[{via}; spec {edge.spec:.2f} hub {edge.hub:.2f} noise {edge.noise:.2f}]→ {label}")
    return f"#{path.rank} {path.score:+.2f}  {' '.join(steps)}  ({path.reason})"


def reasons(evidence: Evidence, unit: int, promotion: Promotion) -> list[str]:
    """Return the reasons that speak for a unit: question words, named entities, links into the core."""
    reading = evidence.reading
    part = promotion.parts.get(promotion.order[unit])
    reasons = [] if part is None else [f"the best of the pool for this part of the question: {_short(part)}"]
    nodes = evidence.nodes_of((unit,))
    if not nodes:
        return [*reasons, "outside the sentences that took part in the graph"]
    tokens = list(dict.fromkeys(reading.question.tokens))
    covered = np.asarray(reading.query_count[nodes].any(axis=0))
    words = [token for token, has in zip(tokens, covered.tolist(), strict=True) if has]
    asked = reading.entity[nodes].any(axis=0) & reading.asked
    entities = [reading.names[t] for t in np.nonzero(asked)[0].tolist()]
    if entities:
        reasons.append(f"names what the question asks about: {', '.join(entities[:4])}")
    if words:
        reasons.append(f"covers: {', '.join(words[:8])}")
    inner = {place: i for i, place in enumerate(promotion.order)}
    core = {inner[place] for place in promotion.core_places} - {unit}
    others = evidence.nodes_of(core)
    if others:
        block = evidence.links.score[np.ix_(nodes, others)]
        if np.isfinite(block).any():
            a, b = np.unravel_index(int(np.argmax(block)), block.shape)
            edge = edge_between(evidence, nodes[int(a)], others[int(b)])
            via = ", ".join(edge.trig[:3]) or edge.kind
            other = reading.candidates[int(reading.unit[others[int(b)]])]
            reasons.append(
                f"linked to {unit_label(other)} by {edge.kind}: {via} "
                f"(spec {edge.spec:.2f}, hub {edge.hub:.2f})"
            )
    return reasons or ["fills the budget: no link or question word speaks for it"]


def _short(text: str, most: int = 160) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= most else flat[: most - 1] + "…"


def trace(promotion: Promotion) -> dict[str, Any]:
    """Return the whole trace as JSON-able values."""
    scores = promotion.scores
    core = set(promotion.core_places)
    context = {place: number for number, place in enumerate(promotion.context_places, 1)}
    asked = promotion.evidence.reading.question
    return {
        "version": SCHEMA_VERSION,
        "question": promotion.question,
        "question_form": asked.form,
        "answer_type": asked.answer,
        "mode": promotion.mode,
        "strategy": promotion.strategy,
        "k": int(promotion.k),
        "state": promotion.state,
        "sufficiency": round(float(promotion.sufficiency), 6),
        "core": [unit.id for unit in promotion.core],
        "context": [unit.id for unit in promotion.context],
        "candidates": [
            {
                "id": unit.id,
                "title": unit.title,
                "source": unit.source,
                "position": None if unit.position is None else int(unit.position),
                "text": unit.text,
                "retrieved": None if unit.score is None else float(unit.score),
                "score": round(float(scores[place]), 6),
                "role": "core" if place in core else "fill" if place in context else "pool",
                "number": context.get(place),
                **({"part": promotion.parts[place]} if place in promotion.parts else {}),
            }
            for place, unit in enumerate(promotion.candidates)
        ],
        "notes": _notes(promotion.evidence),
        "paths": [path.to_dict() for path in promotion.paths[:_SHOWN_PATHS]],
    }
