"""Minimal sufficient selection (3.4, Algorithm 1): which paths deserve a place in a small context."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from pagerag.promotion.graph import Links
from pagerag.promotion.paths import Hypothesis, Paths
from pagerag.promotion.reading import Reading
from pagerag.promotion.weights import Weights

__all__ = ["Decision", "Selection", "select_minimal", "support_of"]

Verdict = Literal["kept", "redundant", "noisy", "no room", "patience", "reverted"]

MAX_PATHS = 60
"""How far down the ranking the selector looks."""


@dataclass(frozen=True, slots=True)
class Decision:
    """What became of one path, and on what grounds."""

    path: int
    verdict: Verdict
    support: float
    cost: float
    total: float


@dataclass(frozen=True, slots=True)
class Selection:
    """The selected nodes in the order of the argument, the support they give, and every decision."""

    nodes: tuple[int, ...]
    support: float
    decisions: tuple[Decision, ...]


def support_of(reading: Reading, links: Links, nodes: Sequence[int]) -> float:
    """Return Support(S, q) in [0, 1], from the retrieved text and the graph alone.

    Most of it is how much of the question is covered, words weighted by idf and entities alike; the rest
    is whether the set holds together (for a comparison: whether all that is compared is there) and says
    something that the question does not: a name, a date or a number that could be the answer.
    """
    if not nodes:
        return 0.0
    chosen = list(nodes)
    covered = np.logical_or.reduce(reading.query_stem.take(chosen, axis=0), axis=0)
    words = float(reading.idf[covered].sum() / reading.idf_total)
    asked = reading.asked_places
    if len(asked):
        named = np.logical_or.reduce(reading.entity.take(chosen, axis=0).take(asked, axis=1), axis=0)
        entities = float(named.sum() / len(asked))
    else:  # the question names nothing, or nothing that the pool knows
        entities = 0.0 if reading.question.entities else words
    # Things to compare need not be connected: there it counts that none of them is missing.
    joined = _connected(links, chosen) if reading.question.form == "bridge" else entities
    cover = 0.6 * words + 0.4 * entities
    return min(max(0.6 * cover + 0.25 * joined + 0.15 * _answers(reading, chosen), 0.0), 1.0)


def _connected(links: Links, nodes: list[int]) -> float:
    """Return the share of the set's sentences that some link joins to another of them."""
    if len(nodes) == 1:
        return 0.4
    inside = np.maximum.reduce(links.score.take(nodes, axis=0).take(nodes, axis=1), axis=1) > -np.inf
    return float(inside.sum() / len(nodes))


def _answers(reading: Reading, nodes: list[int]) -> float:
    """Tell whether the set names something of the kind asked for that the question does not name."""
    kind = reading.question.answer
    if kind == "yes-no":
        return 1.0
    if kind == "date":
        return float(any(reading.flags[node] & 2 for node in nodes))
    if kind == "number":
        return float(any(reading.flags[node] & 4 for node in nodes))
    explicit = reading.explicit.take(nodes, axis=0)
    asked = np.add.reduce(explicit.take(reading.asked_places, axis=1), axis=1)
    return float((reading.named.take(nodes) > asked).any())


def select_minimal(
    reading: Reading,
    links: Links,
    paths: Paths,
    w: Weights,
    fits: Callable[[set[int]], bool],
    isolated: NDArray[np.bool_],
) -> Selection:
    """Run Algorithm 1.

    Take paths in ranked order; keep one when Δsupport(π | S) > Δcost(π | S); stop when the support is enough.
    ``fits`` says whether a set of units keeps within the reader's budget; sentences that are ``isolated`` (no
    word in common with the question or the pool) are never selected.

    While the set is ambiguous, a path that joins what is selected and lacks no more than ``patience`` of
    utility is kept provisionally for one step; if the next kept path does not lift the support, it is
    reverted.
    """
    chosen: list[int] = []
    decisions: list[Decision] = []
    support = 0.0
    provisional: tuple[list[int], float] | None = None
    unit = reading.unit.tolist()
    scale = max(abs(float(paths.score[0])), 1e-6)
    barred = isolated[paths.nodes] & (paths.nodes >= 0)
    c_aside = w.c_aside if _compares(reading) else 0.0
    for index in np.nonzero(~barred.any(axis=1))[0][:MAX_PATHS].tolist():
        path = paths[index]
        new = [node for node in path.nodes if node not in chosen]
        if not new:
            continue
        if not fits({unit[node] for node in (*chosen, *new)}):
            decisions.append(Decision(index, "no room", 0.0, 0.0, support))
            continue
        gain = _marginal_support(reading, links, chosen, new, path, w, scale)
        cost = _marginal_cost(reading, chosen, new, path, w, c_aside)
        if gain > cost:
            verdict: Verdict = "kept"
        elif (
            chosen
            and provisional is None
            and gain + w.patience > cost
            and np.isfinite(links.score[np.ix_(chosen, new)]).any()
        ):
            verdict = "patience"
            provisional = (list(chosen), support)
        else:
            verdict = "noisy" if path.noise > 0.5 else "redundant"
            decisions.append(Decision(index, verdict, gain, cost, support))
            continue
        before = support
        chosen += new
        support = support_of(reading, links, chosen)
        decisions.append(Decision(index, verdict, gain, cost, support))
        if verdict == "kept" and provisional is not None:
            if support <= before:
                chosen, support = list(provisional[0]), provisional[1]
                decisions.append(Decision(index, "reverted", gain, cost, support))
            provisional = None
        if support >= w.enough:
            break
    if provisional is not None and support <= provisional[1]:
        chosen, support = list(provisional[0]), provisional[1]
    return Selection(tuple(chosen), support, tuple(decisions))


def _marginal_support(
    reading: Reading,
    links: Links,
    chosen: list[int],
    new: list[int],
    path: Hypothesis,
    w: Weights,
    scale: float,
) -> float:
    """Compute Δsupport(π | S): new question coverage, path score, source diversity, connection to S."""
    covers = reading.query_stem[new].any(axis=0)
    names = reading.entity[new].any(axis=0) & reading.asked
    if chosen:
        covers = covers & ~reading.query_stem[chosen].any(axis=0)
        names = names & ~reading.entity[chosen].any(axis=0)
    words = float(reading.idf[covers].sum() / reading.idf_total)
    entities = float(names.sum() / max(len(reading.asked_places), 1))
    sources = set(reading.document[new].tolist()) - set(reading.document[chosen].tolist())
    linked = bool(chosen) and bool(np.isfinite(links.score[np.ix_(chosen, new)]).any())
    return (
        w.u_path * path.score / scale
        + w.u_cover * words
        + w.u_entity * entities
        + w.u_source * len(sources)
        + w.u_link * linked
    )


def _marginal_cost(
    reading: Reading, chosen: list[int], new: list[int], path: Hypothesis, w: Weights, c_aside: float
) -> float:
    """Compute Δcost(π | S).

    It counts new units, words repeated from what is there, and noise; in a comparison also units beside the
    point: each thing compared needs one that tells, and nothing else does.
    """
    repeated = 0.0
    if chosen:
        overlap: NDArray[np.float32] = reading.overlap[np.ix_(new, chosen)].max(axis=1)
        repeated = float((overlap / np.maximum(reading.size[new], 1.0)).mean())
    aside = _aside(reading, chosen, new) if c_aside else 0
    return w.c_unit * len(new) + w.c_overlap * repeated + w.c_noise * path.noise + c_aside * aside


def _compares(reading: Reading) -> bool:
    """Tell whether the question weighs documents of the pool against each other."""
    return reading.question.form != "bridge" and int((reading.asked & reading.is_title).sum()) > 1


def _aside(reading: Reading, chosen: list[int], new: list[int]) -> int:
    """Return how many of the new sentences are not the first of a document that the question names."""
    told = {int(reading.own[node]) for node in chosen}
    aside = 0
    for node in new:
        title = int(reading.own[node])
        aside += title < 0 or not reading.asked[title] or title in told
        told.add(title)
    return aside
