"""What promotion returns: the context, the verdict, and the trace of every choice."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pagerag.promotion.evidence import Evidence
from pagerag.promotion.export import Graph
from pagerag.promotion.strategy import Judgement
from pagerag.promotion.trace import SupportPath, explain, reasons, support_paths, trace
from pagerag.units import Candidate, Mode, State

__all__ = ["Promotion"]


@dataclass(frozen=True, eq=False)
class Promotion:
    """A promoted pool.

    ``core`` is the minimal sufficient set in the order of the argument; ``context`` is the core, then fill,
    never more than k; ``scores`` rank the whole pool, in pool order, in [0, 1]; ``parts`` says, for a
    question that asks several things, which unit of the core stands for which of them.

    The graph and the paths are drawn from the evidence when they are first asked for, and kept.
    """

    question: str
    k: int
    mode: Mode
    strategy: str
    candidates: tuple[Candidate, ...]
    state: State
    evidence: Evidence
    judgement: Judgement
    order: tuple[int, ...]  # place in the evidence → place in the pool
    core_places: tuple[int, ...]
    context_places: tuple[int, ...]
    # place of a copy → place of the unit that stands for it
    copies: Mapping[int, int] = field(default_factory=dict)
    # place of a unit → the part of the question, of several, for which it is the best
    parts: Mapping[int, str] = field(default_factory=dict)

    @property
    def core(self) -> tuple[Candidate, ...]:
        """The minimal sufficient set."""
        return tuple(self.candidates[i] for i in self.core_places)

    @property
    def context(self) -> tuple[Candidate, ...]:
        """Core, then fill."""
        return tuple(self.candidates[i] for i in self.context_places)

    @property
    def pool(self) -> tuple[Candidate, ...]:
        """All candidates, in pool order."""
        return self.candidates

    @property
    def sufficiency(self) -> float:
        """In [0, 1]: how far the core seems to answer the question."""
        return self.judgement.sufficiency

    @property
    def scores(self) -> NDArray[np.float32]:
        """One comparable score in [0, 1] per candidate, in pool order."""
        scores = np.empty(len(self.candidates), dtype=np.float32)
        scores[list(self.order)] = self.judgement.scores
        return scores

    @property
    def ranking(self) -> tuple[int, ...]:
        """All places of the pool, best first: the context as selected, then the rest by score."""
        inside = set(self.context_places)
        rest = [i for i in np.argsort(-self.scores, kind="stable").tolist() if i not in inside]
        return (*self.context_places, *rest)

    @cached_property
    def paths(self) -> tuple[SupportPath, ...]:
        """Ranked support paths with every feature of every edge."""
        return support_paths(self.evidence, self.judgement)

    @cached_property
    def graph(self) -> Graph:
        """The query-local graph: document, sentence and entity nodes, five kinds of edges, m(e) on each."""
        return Graph.from_evidence(self.evidence)

    def why(self, place: int) -> tuple[str, ...]:
        """Return the reasons that speak for the candidate at this place of the pool."""
        return tuple(reasons(self.evidence, self.order.index(place), self))

    def explain(self) -> str:
        """Say why each unit is in, and what each rejected path lacked."""
        return explain(self)

    def to_dict(self) -> dict[str, Any]:
        """Return the whole trace, JSON-able, in a stable schema with a version."""
        return trace(self)
