"""Support paths (3.3, A.4): expanded over sentence-level links from ranked seeds, bounded in work."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pagerag.promote import score
from pagerag.promote.graph import Links
from pagerag.promote.reading import Reading
from pagerag.promote.weights import Weights

__all__ = ["BEAM", "MAX_UNITS", "Hypothesis", "expand_paths"]

MAX_UNITS = 4
"""MuSiQue asks for up to four hops."""

BEAM = 32
"""How many paths of each length live on. Work is BEAM x nodes per hop, whatever the pool."""

Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """A ranked path: its nodes in order and the parts of its score."""

    nodes: tuple[int, ...]
    score: float
    base: float
    edges: float
    coherence: float
    cost: float
    bridge: float
    noise: float


def expand_paths(
    reading: Reading,
    links: Links,
    relevance: Floats,
    seeds: Floats,
    w: Weights,
    *,
    paragraph: bool,
    max_units: int = MAX_UNITS,
    beam: int = BEAM,
) -> list[Hypothesis]:
    """The best paths of one to ``max_units`` sentences, ranked by path(π, q).

    A set of sentences is one hypothesis: of its orders the best-scored stands.
    """
    n = len(reading)
    bridge_question = reading.question.form == "bridge"
    anchored = (reading.entity @ reading.asked.astype(np.float32)) > 0
    signalled = (reading.relations & reading.question.relations) != 0
    found: dict[frozenset[int], Hypothesis] = {}

    start = np.argsort(-seeds, kind="stable")[: max(beam, 1)]
    nodes = start[:, None]
    rel = relevance[start]
    edge = np.zeros(len(start), dtype=np.float32)
    coh = np.zeros(len(start), dtype=np.float32)
    noise = np.zeros(len(start), dtype=np.float32)
    # One sentence carries both marks in "anchored alone": a bridge needs two different sentences.
    marks = np.stack([anchored[start], signalled[start]])
    for hops in range(max_units):
        units = hops + 1
        base = score.sentence_base(rel, units)
        mean_coh = score.coherence(coh, hops, paragraph=paragraph)
        cost = score.length_cost(hops, w, paragraph=paragraph)
        bonus = score.bridge_bonus(marks[0] & bool(bridge_question and hops), marks[1], w)
        total = score.path_score(base, edge, mean_coh, cost, w) + bonus
        for row in range(len(nodes)):
            members = nodes[row].tolist()
            key = frozenset(members)
            known = found.get(key)
            value = float(total[row])
            if known is None or value > known.score:
                found[key] = Hypothesis(
                    tuple(members), value, float(base[row]), float(edge[row]), float(mean_coh[row]),
                    cost, float(bonus[row]), float(noise[row]) / max(hops, 1),
                )  # fmt: skip
        if units == max_units:
            break
        last = nodes[:, -1]
        step = links.score[last]
        open_ = np.isfinite(step)
        open_[np.arange(len(nodes))[:, None], nodes] = False
        if not open_.any():
            break
        guess = (rel[:, None] + relevance[None, :]) / (units + 1) + edge[:, None] + np.where(open_, step, 0.0)
        if not paragraph:
            guess = guess + w.coh * (coh[:, None] + links.pair_coh[last]) / units
        flat = np.where(open_, guess, -np.inf).ravel()
        width = min(beam, int(open_.sum()))
        chosen = np.argsort(-flat, kind="stable")[:width]
        row, nxt = chosen // n, chosen % n
        rel = rel[row] + relevance[nxt]
        edge = edge[row] + links.score[last[row], nxt]
        coh = coh[row] + links.pair_coh[last[row], nxt]
        noise = noise[row] + links.noise[last[row], nxt]
        marks = marks[:, row] | np.stack([anchored[nxt], signalled[nxt]])
        nodes = np.concatenate([nodes[row], nxt[:, None]], axis=1)
    return sorted(found.values(), key=lambda path: (-path.score, path.nodes))
