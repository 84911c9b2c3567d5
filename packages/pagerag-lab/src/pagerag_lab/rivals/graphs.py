"""Rivals that use the graph without asking whether a link supports: connectivity alone, and PageRank.

Both run over the same query-local graph as promotion; what they lack is its scoring of links and paths.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pagerag import Promoter
from pagerag.promotion.export import Graph
from pagerag.units import Mode, Pool
from pagerag_lab.rivals.rankings import scores_of
from pagerag_lab.rivals.selection import Selection

__all__ = ["Linking", "PersonalisedPageRank"]

_LINKS = frozenset({"adjacent", "shared entity", "relation"})


def _graph(promoter: Promoter, pool: Pool, k: int, mode: Mode) -> Graph:
    return promoter.promote(pool.question, pool, k=k, mode=mode).graph


class Linking:
    """GraphRAG-style candidate linking.

    Start at the best-ranked unit, then always take the unit with the most links to those taken. Links count
    alike; where none is left, the retriever's order goes on.
    """

    name = "linking"

    def __init__(self) -> None:
        self.promoter = Promoter(strategy="formula")

    def select(self, pool: Pool, k: int, mode: Mode) -> Selection:
        """Select greedily by number of links; ties go to the better ranked."""
        if not pool.candidates:
            return Selection((), ())
        links = self._links(pool, k, mode)
        taken = [0]
        while len(taken) < min(k, len(pool.candidates)):
            strength = links[:, taken].sum(axis=1)
            strength[taken] = -1.0
            taken.append(int(np.argmax(strength)))  # the first of equals is the better ranked
        ids = tuple(pool.candidates[place].id for place in taken)
        return Selection(core=ids, context=ids)

    def _links(self, pool: Pool, k: int, mode: Mode) -> NDArray[np.float64]:
        graph = _graph(self.promoter, pool, k, mode)
        place = {unit.id: number for number, unit in enumerate(pool.candidates)}
        unit_of = {node["id"]: place[node["unit"]] for node in graph.nodes if node["kind"] == "sentence"}
        links = np.zeros((len(place), len(place)))
        for edge in graph.edges:
            if edge["kind"] in _LINKS and edge["from"] in unit_of and edge["to"] in unit_of:
                first, second = unit_of[edge["from"]], unit_of[edge["to"]]
                if first != second:
                    links[first, second] += 1.0
                    links[second, first] += 1.0
        return links


class PersonalisedPageRank:
    """Random walks with restart over documents, sentences and entities (HippoRAG's idea).

    The walk restarts at the question's entities, each weighted by 1/df, and, with a small weight, at the
    units by the retriever's score. A unit's score is the mass of its sentences.
    """

    name = "ppr"

    def __init__(self, damping: float = 0.5, dense: float = 0.05, rounds: int = 60) -> None:
        self.damping, self.dense, self.rounds = damping, dense, rounds
        self.promoter = Promoter(strategy="formula")

    def select(self, pool: Pool, k: int, mode: Mode) -> Selection:
        """Return the k units with the most mass; ties go to the better ranked."""
        if not pool.candidates:
            return Selection((), ())
        graph = _graph(self.promoter, pool, k, mode)
        place = {unit.id: number for number, unit in enumerate(pool.candidates)}
        number = {node["id"]: index for index, node in enumerate(graph.nodes)}
        relevance = scores_of(pool)
        restart = np.zeros(len(number))
        unit_of: list[tuple[int, int]] = []
        for node in graph.nodes:
            index = number[node["id"]]
            if node["kind"] == "entity" and node["asked"]:
                restart[index] = 1.0 / max(1, node["df"])
            elif node["kind"] == "sentence":
                unit_of.append((index, place[node["unit"]]))
                restart[index] = self.dense * relevance[place[node["unit"]]]
        mass = self._walk(graph, number, restart)
        scores = np.zeros(len(place))
        for index, unit in unit_of:
            scores[unit] += mass[index]
        order = np.argsort(-scores, kind="stable")[:k]
        ids = tuple(pool.candidates[int(one)].id for one in order)
        return Selection(core=ids, context=ids)

    def _walk(
        self, graph: Graph, number: dict[str, int], restart: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        size = len(number)
        joined = np.zeros((size, size))
        for edge in graph.edges:
            first, second = number[edge["from"]], number[edge["to"]]
            if first != second:
                joined[first, second] = joined[second, first] = 1.0
        degree = joined.sum(axis=0)
        step = joined / np.where(degree > 0, degree, 1.0)
        start = restart / restart.sum() if restart.sum() > 0 else np.full(size, 1.0 / size)
        mass = start.copy()
        for _ in range(self.rounds):
            moved = step @ mass
            # What stands on a node without neighbours goes back to the start, so that mass stays 1.
            mass = (1 - self.damping) * start + self.damping * (moved + mass[degree == 0].sum() * start)
        return mass
