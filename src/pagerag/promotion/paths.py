"""Support paths (3.3, A.4): expanded over sentence-level links from ranked seeds, bounded in work."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pagerag.promotion import score
from pagerag.promotion.graph import Links
from pagerag.promotion.reading import MAX_NODES, Reading
from pagerag.promotion.weights import Weights

__all__ = ["BEAM", "MAX_UNITS", "Hypothesis", "Paths", "expand_paths"]

MAX_UNITS = 4
"""MuSiQue asks for up to four hops."""

BEAM = 24
"""How many paths of each length live on. Work is BEAM x nodes per hop, whatever the pool."""

Floats = NDArray[Any]
_BITS: NDArray[np.int64] = np.left_shift(4, np.arange(MAX_NODES))


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


@dataclass(frozen=True, eq=False)
class Paths:
    """Ranked paths as arrays, best first. ``nodes`` has ``MAX_UNITS`` columns; unused ones hold -1."""

    nodes: NDArray[np.int64]
    length: NDArray[np.int64]
    score: Floats
    order: NDArray[np.intp]  # which of the paths as they were found each is
    made_of: tuple[Floats, ...]  # the columns of ``parts``, of the paths as they were found

    def __len__(self) -> int:
        return len(self.score)

    def __getitem__(self, place: int) -> Hypothesis:
        members = tuple(self.nodes[place, : self.length[place]].tolist())
        return Hypothesis(members, float(self.score[place]), *self.parts[place].tolist())

    def __iter__(self) -> Iterator[Hypothesis]:
        return (self[place] for place in range(len(self)))

    @cached_property
    def parts(self) -> Floats:
        """One row per path: base, edges, coherence, cost, bridge, alignment, mean noise.

        Only selection by paths and traces ask for them.
        """
        return np.stack(self.made_of, axis=1)[self.order].astype(np.float32)

    def best_through(self, nodes: int) -> tuple[Floats, NDArray[np.int64]]:
        """Return, per node, the best score of a path of each length through it, and the best path's rank.

        Where there is no path, the score is -inf.
        """
        # One place more than nodes takes what the unused columns hold: -1 is the last place of a row.
        best = np.empty((MAX_UNITS, nodes + 1), dtype=np.float32)
        best.fill(-np.inf)
        rank = np.empty(nodes + 1, dtype=np.int64)
        rank.fill(len(self))
        row = np.arange(len(self)).repeat(MAX_UNITS)
        places = self.nodes + ((self.length - 1) * (nodes + 1))[:, None]
        np.maximum.at(best.ravel(), places.ravel(), self.score.take(row))
        np.minimum.at(rank, self.nodes.ravel(), row)
        return best[:, :nodes], rank[:nodes]


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
    """Return the best paths of one to ``max_units`` sentences, ranked by path(π, q).

    ``signals`` says which of the question's relations each sentence signals.
    A set of sentences is one hypothesis: of its orders the best-scored stands.
    """
    n = len(reading)
    found: list[tuple[NDArray[np.int64], Floats, Floats, NDArray[np.int64]]] = []
    # What each sentence covers of the question: its words by their share of idf, then its relations.
    worth, covers = _question_parts(reading, signals, w)
    codes = _codes(reading)
    squares = np.empty((4, n, n), dtype=np.float32)  # what each step adds to the sums along a path
    squares[0], squares[1], squares[2], squares[3] = relevance, links.score, links.pair_coh, links.noise
    steps = squares.reshape(4, n * n)

    start = (-seeds).argsort(kind="stable")[: max(beam, 1)]
    nodes = np.empty((len(start), MAX_UNITS), dtype=np.int64)
    nodes.fill(-1)  # quicker than np.full
    nodes[:, 0] = last = start
    sums = np.zeros((4, len(start)), dtype=np.float32)  # along each path: relevance, edge, pair_coh, noise
    sums[0] = relevance.take(start)
    code, covered = codes.take(start), covers.take(start, axis=0)
    for units in range(1, max_units + 1):
        aligned = covered @ worth
        found.append((nodes, sums, aligned, code))
        if units == max_units:
            break
        step = links.score.take(last, axis=0)
        if units > 1:  # no sentence twice; the last one has no link with itself
            step.ravel()[np.arange(0, len(nodes) * n, n)[:, None] + nodes[:, : units - 1]] = -np.inf
        # what the next sentence would add to the question's words and relations
        guess = ((1.0 - covered) * worth) @ covers.T
        guess += step
        guess += relevance / (units + 1)
        own = sums[0] / (units + 1) + sums[1] + aligned
        if not paragraph:
            own += w.coh * sums[2] / units
            guess += links.pair_coh.take(last, axis=0) * np.float32(w.coh / units)
        guess += own[:, None]
        chosen = _best(guess.ravel(), beam)
        if not len(chosen):
            break
        row, nxt = np.divmod(chosen, n)
        sums = sums.take(row, axis=1)
        sums += steps.take(last.take(row) * n + nxt, axis=1)
        code = code.take(row) | codes.take(nxt)
        covered = np.maximum(covered.take(row, axis=0), covers.take(nxt, axis=0))
        nodes = nodes.take(row, axis=0)
        nodes[:, units] = last = nxt
    return _ranked(found, w, paragraph)


def _codes(reading: Reading) -> NDArray[np.int64]:
    """Return each sentence as a bit of its own, so that a set is one number.

    There are never more than ``MAX_NODES``.

    Below it are two bits that say what a path needs to bridge: the sentence names a question entity (1),
    carries a signal of a relation that is asked for (2). Questions of other forms have no bridge.
    """
    codes = _BITS[: len(reading)].copy()
    if reading.question.form == "bridge":
        anchored = np.logical_or.reduce(reading.entity.take(reading.asked_places, axis=1), axis=1)
        signalled = (reading.relations & reading.question.relations) != 0
        codes += anchored
        codes += 2 * signalled
    return codes


def _best(values: Floats, count: int) -> NDArray[np.int64]:
    """Return the places of the ``count`` best finite values; ties at the edge go to the earlier place."""
    close = (values > -np.inf).nonzero()[0]
    return close.take((-values.take(close)).argsort(kind="stable")[:count])


def _question_parts(reading: Reading, signals: Floats, w: Weights) -> tuple[Floats, Floats]:
    """Return the question's parts (words, then relations), their worth, and which sentence has which."""
    words, relations = len(reading.idf), signals.shape[1]
    worth = np.empty(words + relations, dtype=np.float32)
    worth[:words] = score.path_alignment(reading.idf / reading.idf_total, 0.0, w)
    worth[words:] = score.path_alignment(0.0, 1.0 / max(relations, 1), w)
    covers = np.empty((len(reading), len(worth)), dtype=np.float32)
    covers[:, :words] = reading.query_stem
    covers[:, words:] = signals
    return worth, covers


@lru_cache(maxsize=64)
def _lengths(sizes: tuple[int, ...]) -> tuple[NDArray[np.int64], Floats]:
    """Return how many sentences and how many links (1 at least) each path has.

    There are ``sizes`` paths of one, two, ... sentences. Kept, because most pools fill the beam.
    """
    lengths = np.arange(1, len(sizes) + 1)
    return lengths.repeat(sizes), np.maximum(lengths - 1, 1).astype(np.float32).repeat(sizes)


def _ranked(
    found: list[tuple[NDArray[np.int64], Floats, Floats, NDArray[np.int64]]], w: Weights, paragraph: bool
) -> Paths:
    """Return all paths in one table, best first, each set of sentences once."""
    sizes = tuple([len(part[0]) for part in found])
    costs = [score.length_cost(edges, w, paragraph=paragraph) for edges in range(len(found))]
    cost = np.array(costs, dtype=np.float32).repeat(sizes)
    length, edges = _lengths(sizes)
    nodes = np.concatenate([part[0] for part in found])
    relevance, edge, coh, noise = np.concatenate([part[1] for part in found], axis=1)
    aligned = np.concatenate([part[2] for part in found])
    code = np.concatenate([part[3] for part in found])
    base = score.sentence_base(relevance, length)
    mean_coh = score.coherence(coh, edges, paragraph=paragraph)
    bonus = score.bridge_bonus(code & 1, code & 2, w)
    bonus[: sizes[0]] = 0.0  # a bridge has two ends
    total = score.path_score(base, edge, mean_coh, cost, w) + bonus + aligned
    ranked = np.lexsort((code, -total))
    # the best place of each set: places from the last to the first, so that the first stands
    first = dict(zip(code.take(ranked[::-1]).tolist(), range(len(ranked) - 1, -1, -1), strict=True))
    order = ranked.take(sorted(first.values()))
    made_of = (base, edge, mean_coh, cost, bonus, aligned, noise / edges)
    return Paths(nodes.take(order, axis=0), length.take(order), total.take(order), order, made_of)
