from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from pagerag import Candidate, Promoter
from pagerag.errors import WeightsError
from pagerag.promotion.joining import Joins
from pagerag.promotion.learned import LearnedModel, LearnedStrategy
from pagerag.promotion.strategy import FormulaStrategy, Judgement, state_of
from pagerag.units import SupportKind
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


def shipped(*, support: SupportKind | None = None) -> LearnedModel:
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
    models = (shipped(support="support"), shipped())
    first, second = (LearnedStrategy(model, "sentence").judge(evidence_of(), always) for model in models)
    both = LearnedStrategy(models[0], "sentence", beside=models[1]).judge(evidence_of(), always)
    low = np.minimum(first.scores, second.scores) - 1e-6
    high = np.maximum(first.scores, second.scores) + 1e-6
    assert ((low <= both.scores) & (both.scores <= high)).all()


MILL = (
    "The mill at Verden was built in 1734.",
    "Its owner, Johann Behrens, came from Bremen.",
    "A dam in the river feeds the wheel.",
    "Flour from the mill was sold as far as Hamburg.",
    "The cathedral of Verden was begun in 1290.",
    "In 1820 a fire destroyed the roof.",
)


ASKED = "When was the mill at Verden built?"
CLAIMED = "The mill at Verden was built by Johann Behrens."


def judged_with(model: LearnedModel, question: str = ASKED, **changed: object) -> Judgement:
    pool = tuple(Candidate(str(n), text, "Verden", "guide", n) for n, text in enumerate(MILL))
    evidence = Promoter(strategy="learned").evidence(question, pool)
    strategy = LearnedStrategy(replace(model, **changed), "sentence")  # type: ignore[arg-type]
    return strategy.judge(evidence, lambda units: len(units) <= 3)


@pytest.mark.parametrize(
    ("question", "least"),
    [
        (ASKED, Joins(fact=0.02)),
        (CLAIMED, Joins(open=0.02)),
        ("How was the mill at Verden driven?", Joins(open=0.02)),
    ],
)
def test_a_core_that_is_not_enough_keeps_what_has_a_chance(question: str, least: Joins) -> None:
    model = replace(shipped(), joins=Joins())
    told = {
        "enough": {"enough": 0.0, "some": 0.0},
        "ambiguous": {"enough": 1.0, "some": 0.0},
        "insufficient": {"enough": 1.0, "some": 1.0},
    }
    for state, cuts in told.items():
        alone = judged_with(model, question, **cuts)
        assert alone.state == state
        joined = judged_with(model, question, **cuts, joins=least)
        assert joined.sufficiency == alone.sufficiency
        added = set(joined.core) - set(alone.core)
        assert bool(added) == (state != "enough")
        assert set(alone.core) <= set(joined.core)
        assert all(joined.scores[unit] >= 0.02 for unit in added)
        other = Joins(fact=least.open, open=least.fact)
        assert judged_with(model, question, **cuts, joins=other).core == alone.core


def test_what_joins_a_core_keeps_within_the_budget() -> None:
    found = judged_with(shipped(), enough=1.0, some=1.0, joins=Joins(fact=0.0))
    assert len(found.core) == 3


def test_without_minimal_selection_nothing_joins() -> None:
    pool = tuple(Candidate(str(n), text, "Verden", "guide", n) for n, text in enumerate(MILL))
    evidence = Promoter(strategy="learned").evidence(ASKED, pool)
    cores = []
    for joins in (Joins(), Joins(fact=0.0)):
        model = replace(shipped(), enough=1.0, some=1.0, joins=joins)
        strategy = LearnedStrategy(model, "sentence", minimal_selection=False)
        cores.append(strategy.judge(evidence, lambda units: len(units) <= 3).core)
    assert cores[0] == cores[1]


def test_what_joins_is_written_with_the_model(tmp_path) -> None:
    replace(shipped(), joins=Joins(fact=0.1, open=0.04), share=0.9).save(tmp_path / "model.npz")
    read = LearnedModel.load(tmp_path / "model.npz")
    assert (read.joins, read.share) == (Joins(fact=0.1, open=0.04), 0.9)
    assert LearnedModel.shipped("document").joins == Joins()


@pytest.mark.parametrize("joins", [0.04, {"fact": "often"}, {"all": 0.1}, ["fact"]])
def test_a_model_whose_joins_are_none_is_refused(tmp_path, joins) -> None:
    model = replace(shipped(), joins=Joins(fact=0.1))
    model.save(tmp_path / "model.npz")
    with np.load(tmp_path / "model.npz") as arrays:
        held = dict(arrays)
    header = json.loads(held["header"].tobytes())
    held["header"] = np.frombuffer(json.dumps(header | {"joins": joins}).encode(), dtype=np.uint8)
    np.savez(tmp_path / "model.npz", **held)
    with pytest.raises(WeightsError, match="is not a learned model"):
        LearnedModel.load(tmp_path / "model.npz")


def test_a_well_formed_question_may_need_one_sentence_only() -> None:
    pool = tuple(Candidate(str(n), text, "Verden", "guide", n) for n, text in enumerate(MILL))
    found = Promoter().promote("When was the mill at Verden built?", pool)
    assert [unit.id for unit in found.core] == ["0"]
