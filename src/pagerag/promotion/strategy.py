"""How a pool is judged: the protocol, and the paper's formulas as the reference strategy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from pagerag.promotion.evidence import Evidence
from pagerag.promotion.select import Decision, select_minimal, support_of
from pagerag.promotion.unit_scores import document_scores
from pagerag.promotion.weights import Weights
from pagerag.units import Mode, State

__all__ = ["FormulaStrategy", "Judgement", "Strategy", "state_of"]

Floats = NDArray[np.float32]
Fits = Callable[[set[int]], bool]


@dataclass(frozen=True, slots=True, eq=False)
class Judgement:
    """What a strategy says of a pool.

    ``scores`` has one value in [0, 1] per candidate, comparable within the pool; ``core`` the chosen
    candidates in the order of the argument; ``sufficiency`` in [0, 1] how far they seem to answer.
    """

    scores: Floats
    core: tuple[int, ...]
    sufficiency: float
    state: State
    decisions: tuple[Decision, ...] = ()
    ranking: tuple[int, ...] = ()
    """Candidates best first by what each adds to those before it; empty where the scores alone rank."""
    enough: float = 0.6
    some: float = 0.3
    """The sufficiencies at which the state becomes enough, and ambiguous."""


def state_of(sufficiency: float, enough: float, some: float) -> State:
    """Return the state that a sufficiency stands for."""
    if sufficiency < some:
        return "insufficient"
    return "enough" if sufficiency >= enough else "ambiguous"


class Strategy(Protocol):
    """Evidence in, judgement out. ``fits`` tells which sets of candidates keep within the budget.

    ``reads`` and ``weights`` say at which granularity and with which weights it wants the evidence; None
    means as the caller asked. Of a question that asks several things (``promotion.parts``) the pool is judged
    once as a whole and once for each.
    """

    name: str
    reads: Mode | None
    weights: Weights | None

    def judge(self, evidence: Evidence, fits: Fits) -> Judgement:
        """Score the units, choose the core, judge whether it suffices."""
        ...


class FormulaStrategy:
    """The paper's own: seeds, edges and paths by the formulas of Appendix A, then Algorithm 1."""

    name = "formula"
    reads: Mode | None = None
    weights: Weights | None = None

    def __init__(self, *, support_scoring: bool = True, minimal_selection: bool = True) -> None:
        self.support_scoring = support_scoring
        self.minimal_selection = minimal_selection

    def judge(self, evidence: Evidence, fits: Fits) -> Judgement:
        """Score every candidate by the best path through it, and select a minimal sufficient core."""
        scores = self._scores(evidence)
        core, decisions = self._core(evidence, scores, fits)
        nodes = evidence.nodes_of(core)
        sufficiency = support_of(evidence.reading, evidence.links, nodes)
        w = evidence.weights
        state = state_of(sufficiency, w.enough, w.some)
        return Judgement(scores, core, sufficiency, state, decisions, enough=w.enough, some=w.some)

    def _scores(self, evidence: Evidence) -> Floats:
        if not self.support_scoring:
            return _connectivity(evidence)
        reading = evidence.reading
        best, _ = evidence.paths.best_through(len(reading))
        through = best.max(axis=0)
        scale = max(abs(float(evidence.paths.score[0])), 1e-6)
        seeds = evidence.seeds
        node_scores = np.where(np.isfinite(through), 0.5 * seeds + through / scale, 0.3 * seeds).astype(
            np.float32
        )
        return document_scores(evidence, _unit_range(node_scores))

    def _core(
        self, evidence: Evidence, scores: Floats, fits: Fits
    ) -> tuple[tuple[int, ...], tuple[Decision, ...]]:
        reading = evidence.reading
        unit = reading.unit.tolist()
        if not (self.support_scoring and self.minimal_selection):
            # Without minimal selection the ranking itself fills the budget.
            core: list[int] = []
            for index in np.argsort(-scores, kind="stable").tolist():
                if fits({*core, index}):
                    core.append(index)
            return tuple(core), ()
        selection = select_minimal(
            reading, evidence.links, evidence.paths, evidence.weights, fits, evidence.isolated
        )
        return tuple(dict.fromkeys(unit[node] for node in selection.nodes)), selection.decisions


def _connectivity(evidence: Evidence) -> Floats:
    """Score without support: a candidate counts by how well it is connected to what was retrieved."""
    linked = np.isfinite(evidence.links.score).astype(np.float32)
    reading = evidence.reading
    retrieved = evidence.signals.retrieved[reading.unit]
    return document_scores(evidence, _unit_range(linked @ retrieved), plain=True)


def _unit_range(values: Floats) -> Floats:
    low, high = float(values.min()), float(values.max())
    return ((values - low) / (high - low) if high > low else np.full_like(values, 0.5)).astype(np.float32)
