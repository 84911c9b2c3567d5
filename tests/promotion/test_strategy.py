from __future__ import annotations

import numpy as np
import pytest

from pagerag import Candidate, Promoter
from pagerag.promotion.learned import LearnedModel, LearnedStrategy
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


def always(_: set[int]) -> bool:
    return True


def shipped(*, support: bool = False) -> LearnedModel:
    model = LearnedModel.shipped("sentence", support=support)
    assert model is not None
    return model


def test_a_model_beside_itself_says_what_it_says_alone() -> None:
    model = shipped()
    alone = LearnedStrategy(model, "sentence").judge(evidence_of(), always)
    twice = LearnedStrategy(model, "sentence", beside=model).judge(evidence_of(), always)
    assert twice.core == alone.core
    assert twice.scores.tolist() == pytest.approx(alone.scores.tolist(), abs=1e-5)
    assert twice.sufficiency == pytest.approx(alone.sufficiency, abs=1e-5)


def test_two_models_agree_on_something_between_them() -> None:
    models = (shipped(support=True), shipped())
    first, second = (LearnedStrategy(model, "sentence").judge(evidence_of(), always) for model in models)
    both = LearnedStrategy(models[0], "sentence", beside=models[1]).judge(evidence_of(), always)
    low = np.minimum(first.scores, second.scores) - 1e-6
    high = np.maximum(first.scores, second.scores) + 1e-6
    assert ((low <= both.scores) & (both.scores <= high)).all()


def test_a_well_formed_question_may_need_one_sentence_only() -> None:
    said = (
        "The mill at Verden was built in 1734.",
        "Its owner, Johann Behrens, came from Bremen.",
        "A dam in the river feeds the wheel.",
        "Flour from the mill was sold as far as Hamburg.",
        "The cathedral of Verden was begun in 1290.",
        "In 1820 a fire destroyed the roof.",
    )
    pool = tuple(Candidate(str(n), text, "Verden", "guide", n) for n, text in enumerate(said))
    found = Promoter().promote("When was the mill at Verden built?", pool)
    assert [unit.id for unit in found.core] == ["0"]
