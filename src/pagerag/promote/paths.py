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
    w: Weights,
    *,
    paragraph: bool,
    max_units: int = MAX_UNITS,
    beam: int = BEAM,
) -> Paths:
    """The best paths of one to ``max_units`` sentences, ranked by path(π, q).

    A set of sentences is one hypothesis: of its orders the best-scored stands.
    """
    n = len(reading)
    bridge_question = reading.question.form == "bridge"
    anchored = (reading.entity @ reading.asked.astype(np.float32)) > 0
    signalled = (reading.relations & reading.question.relations) != 0
    found: list[tuple[NDArray[np.int64], Floats, Floats]] = []
    # What each sentence covers of the question: its words by their share of idf, then its relations.
    worth, covers = _question_parts(reading, w)

    start = np.argsort(-seeds, kind="stable")[: max(beam, 1)]
    nodes = start[:, None]
    rel = relevance[start]
    edge = np.zeros(len(start), dtype=np.float32)
    coh = np.zeros(len(start), dtype=np.float32)
    noise = np.zeros(len(start), dtype=np.float32)
    marks = np.stack([anchored[start], signalled[start]])
    covered = covers[start]
    for hops in range(max_units):
        units = hops + 1
        base = score.sentence_base(rel, units)
        mean_coh = score.coherence(coh, hops, paragraph=paragraph)
        cost = score.length_cost(hops, w, paragraph=paragraph)
        bonus = score.bridge_bonus(marks[0] & bool(bridge_question and hops), marks[1], w)
        aligned = covered @ worth
        total = score.path_score(base, edge, mean_coh, cost, w) + bonus + aligned
        parts = np.empty((len(nodes), 7), dtype=np.float32)
        everything: tuple[Any, ...] = (base, edge, mean_coh, cost, bonus, aligned, noise / max(hops, 1))
        for column, part in enumerate(everything):
            parts[:, column] = part
        found.append((nodes, total, parts))
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
        union = np.maximum(covered[:, None, :], covers[None, :, :]).reshape(-1, len(worth))
        guess = guess + (union @ worth).reshape(guess.shape)
        flat = np.where(open_, -guess, np.inf).ravel()
        width = min(beam, int(open_.sum()))
        # ties at the edge of the beam go to the earlier place, as in a stable sort of everything
        edge_value = np.partition(flat, width - 1)[width - 1]
        close = np.flatnonzero(flat <= edge_value)
        chosen = close[np.argsort(flat[close], kind="stable")][:width]
        row, nxt = chosen // n, chosen % n
        rel = rel[row] + relevance[nxt]
        edge = edge[row] + links.score[last[row], nxt]
        coh = coh[row] + links.pair_coh[last[row], nxt]
        noise = noise[row] + links.noise[last[row], nxt]
        marks = marks[:, row] | np.stack([anchored[nxt], signalled[nxt]])
        covered = np.maximum(covered[row], covers[nxt])
        nodes = np.concatenate([nodes[row], nxt[:, None]], axis=1)
    return _ranked(found, n)


def _question_parts(reading: Reading, w: Weights) -> tuple[Floats, Floats]:
    """The parts of the question (words, then relations) with their worth, and which sentence has which."""
    bits = [bit for bit in range(64) if reading.question.relations >> bit & 1]
    words = score.path_alignment(reading.idf / max(float(reading.idf.sum()), 1e-9), 0.0, w)
    relations = score.path_alignment(0.0, np.full(len(bits), 1.0 / max(len(bits), 1)), w)
    signals = (reading.relations[:, None] >> np.array(bits, dtype=np.int64)) & 1
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
    parts = np.concatenate([part[2] for part in found])
    return Paths(nodes[order], length[order], total[order].astype(np.float32), parts[order])
