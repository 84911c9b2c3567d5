"""Support paths (3.3, A.4): expanded over sentence-level links from ranked seeds, bounded in work."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pagerag.promote import score
from pagerag.promote.graph import Links
from pagerag.promote.reading import Reading
from pagerag.promote.weights import Weights

__all__ = ["BEAM", "MAX_UNITS", "Hypothesis", "Paths", "expand_paths"]

MAX_UNITS = 4
"""MuSiQue asks for up to four hops."""

BEAM = 24
"""How many paths of each length live on. Work is BEAM x nodes per hop, whatever the pool."""

Floats = NDArray[Any]


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
    alignment: float
    noise: float


@dataclass(frozen=True, slots=True, eq=False)
class Paths:
    """Ranked paths as arrays, best first. ``nodes`` has ``MAX_UNITS`` columns; unused ones hold -1."""

    nodes: NDArray[np.int64]
    length: NDArray[np.int64]
    score: Floats
    parts: Floats  # base, edges, coherence, cost, bridge, alignment, mean noise

    def __len__(self) -> int:
        return len(self.score)

    def __getitem__(self, place: int) -> Hypothesis:
        members = tuple(self.nodes[place, : self.length[place]].tolist())
        return Hypothesis(members, float(self.score[place]), *self.parts[place].tolist())

    def __iter__(self) -> Iterator[Hypothesis]:
        return (self[place] for place in range(len(self)))

    def best_by_length(self) -> list[float]:
        """The best score of a path of one, two, ... sentences; that of the next shorter where there is none."""
        best: list[float] = []
        for units in range(1, MAX_UNITS + 1):
            here = self.score[self.length == units]
            best.append(float(here[0]) if len(here) else best[-1])
        return best

    def best_through(self, nodes: int) -> tuple[Floats, NDArray[np.int64]]:
        """For each node the best score of a path of each length through it (-inf: none), and the rank of
        the best of all."""
        best = np.full((MAX_UNITS, nodes), -np.inf, dtype=np.float32)
        rank = np.full(nodes, len(self), dtype=np.int64)
        row, column = np.nonzero(self.nodes >= 0)
        members = self.nodes[row, column]
        np.maximum.at(best, (self.length[row] - 1, members), self.score[row])
        np.minimum.at(rank, members, row)
        return best, rank


def expand_paths(
    reading: Reading,
    links: Links,
    relevance: Floats,
    seeds: Floats,
    signals: Floats,
    w: Weights,
    *,
    paragraph: bool,
    max_units: int = MAX_UNITS,
    beam: int = BEAM,
) -> Paths:
    """The best paths of one to ``max_units`` sentences, ranked by path(π, q).

    ``signals`` says which of the question's relations each sentence signals.
    A set of sentences is one hypothesis: of its orders the best-scored stands.
    """
    n = len(reading)
    bridge_question = reading.question.form == "bridge"
    anchored = (reading.entity @ reading.asked.astype(np.float32)) > 0
    signalled = (reading.relations & reading.question.relations) != 0
    found: list[tuple[NDArray[np.int64], Floats, Floats]] = []
    # What each sentence covers of the question: its words by their share of idf, then its relations.
    worth, covers = _question_parts(reading, signals, w)

    start = np.argsort(-seeds, kind="stable")[: max(beam, 1)]
    nodes = start[:, None]
    rel = relevance[start]
    edge = coh = noise = np.zeros(len(start), dtype=np.float32)
    marks = np.stack([anchored, signalled])
    marked = marks[:, start]
    covered = covers[start]
    for hops in range(max_units):
        units = hops + 1
        mean_coh = score.coherence(coh, hops, paragraph=paragraph)
        parts = np.empty((7, len(nodes)), dtype=np.float32)
        parts[0] = score.sentence_base(rel, units)
        parts[1] = edge
        parts[2] = mean_coh
        parts[3] = cost = score.length_cost(hops, w, paragraph=paragraph)
        parts[4] = score.bridge_bonus(marked[0] & bool(bridge_question and hops), marked[1], w)
        parts[5] = aligned = covered @ worth
        parts[6] = noise / max(hops, 1)
        total = score.path_score(parts[0], edge, mean_coh, cost, w) + parts[4] + aligned
        found.append((nodes, total, parts))
        if units == max_units:
            break
        last = nodes[:, -1]
        step = links.score[last]
        step[np.arange(len(nodes))[:, None], nodes] = -np.inf
        # what the next sentence would add to the question's words and relations
        guess = ((1.0 - covered) * worth) @ covers.T
        guess += step
        guess += (relevance / (units + 1))[None, :]
        own = rel / (units + 1) + edge + aligned
        if not paragraph:
            own = own + w.coh * coh / units
            guess += links.pair_coh[last] * np.float32(w.coh / units)
        guess += own[:, None]
        chosen = _best(guess.ravel(), beam)
        if not len(chosen):
            break
        row, nxt = chosen // n, chosen % n
        before = last[row]
        rel = rel[row] + relevance[nxt]
        edge = edge[row] + links.score[before, nxt]
        coh = coh[row] + links.pair_coh[before, nxt]
        noise = noise[row] + links.noise[before, nxt]
        marked = marked[:, row] | marks[:, nxt]
        covered = np.maximum(covered[row], covers[nxt])
        nodes = np.concatenate([nodes[row], nxt[:, None]], axis=1)
    return _ranked(found, n)


def _best(values: Floats, count: int) -> NDArray[np.int64]:
    """The places of the ``count`` best finite values; ties at the edge go to the earlier place."""
    if count < len(values):
        edge = np.partition(values, len(values) - count)[len(values) - count]
        close = np.flatnonzero(values >= edge) if edge > -np.inf else np.flatnonzero(values > -np.inf)
    else:
        close = np.flatnonzero(values > -np.inf)
    return close[np.argsort(-values[close], kind="stable")][:count]


def _question_parts(reading: Reading, signals: Floats, w: Weights) -> tuple[Floats, Floats]:
    """The parts of the question (words, then relations) with their worth, and which sentence has which."""
    words = score.path_alignment(reading.idf / max(float(reading.idf.sum()), 1e-9), 0.0, w)
    count = signals.shape[1]
    relations = score.path_alignment(0.0, np.full(count, 1.0 / max(count, 1)), w)
    covers = np.concatenate([reading.query_stem, signals], axis=1).astype(np.float32)
    return np.concatenate([words, relations]).astype(np.float32), covers


def _ranked(found: list[tuple[NDArray[np.int64], Floats, Floats]], n: int) -> Paths:
    """All paths in one table, best first, each set of sentences once."""
    nodes = np.full((sum(len(part[0]) for part in found), MAX_UNITS), -1, dtype=np.int64)
    length = np.empty(len(nodes), dtype=np.int64)
    at = 0
    for members, _, _ in found:
        nodes[at : at + len(members), : members.shape[1]] = members
        length[at : at + len(members)] = members.shape[1]
        at += len(members)
    total = np.concatenate([part[1] for part in found])
    # a set is told by its members in order, read as the digits of one number
    digits = np.sort(nodes, axis=1) + 1
    key = digits @ (np.int64(n + 2) ** np.arange(MAX_UNITS, dtype=np.int64))
    order = np.lexsort((key, -total))
    _, first = np.unique(key[order], return_index=True)
    order = order[np.sort(first)]
    parts = np.concatenate([part[2] for part in found], axis=1).T
    return Paths(nodes[order], length[order], total[order].astype(np.float32), parts[order])
