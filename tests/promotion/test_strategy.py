from __future__ import annotations

import pytest

from pagerag.promotion.strategy import FormulaStrategy, state_of
from tests.promotion.evidence_of import evidence_of


@pytest.mark.parametrize(
    ("sufficiency", "state"),
    [(0.0, "insufficient"), (0.29, "insufficient"), (0.3, "ambiguous"), (0.59, "ambiguous"), (0.6, "enough")],
)
def test_a_state_is_a_cut_of_sufficiency(sufficiency: float, state: str) -> None:
    assert state_of(sufficiency, 0.6, 0.3) == state


def test_the_formula_scores_every_unit_and_chooses_the_bridge() -> None:
    judged = FormulaStrategy().judge(evidence_of(), lambda units: len(units) <= 3)
    assert judged.scores.shape == (4,)
    assert ((judged.scores >= 0.0) & (judged.scores <= 1.0)).all()
    assert {0, 1} <= set(judged.core)
    assert judged.decisions


def test_without_minimal_selection_the_ranking_fills_the_budget() -> None:
    judged = FormulaStrategy(minimal_selection=False).judge(evidence_of(), lambda units: len(units) <= 3)
    assert len(judged.core) == 3
    assert judged.decisions == ()
    order = sorted(range(4), key=lambda place: -judged.scores[place])
    assert list(judged.core) == order[:3]


def test_without_support_scoring_connections_count() -> None:
    judged = FormulaStrategy(support_scoring=False).judge(evidence_of(), lambda units: len(units) <= 2)
    assert judged.scores[3] == 0.0  # the river is linked to nothing
    assert judged.scores.max() == 1.0
