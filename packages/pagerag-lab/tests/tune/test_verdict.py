"""The verdict is made flatter by as much as kinds of sets that were left out show it to be too sure."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pagerag.promotion.learned import LearnedModel
from pagerag_lab.tune.boosting import scaled
from pagerag_lab.tune.labelled import KINDS, kind_of_set
from pagerag_lab.tune.pool_features import Settings
from pagerag_lab.tune.verdict import cuts, flattened, slope_of


def judged(too_sure: float, n: int = 20_000) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return probabilities whose log-odds are ``too_sure`` times what is true, labels and weights."""
    rng = np.random.default_rng(3)
    odds = rng.normal(0.0, 1.5, n)
    labels = rng.random(n) < 1.0 / (1.0 + np.exp(-odds))
    told = 1.0 / (1.0 + np.exp(-too_sure * odds))
    return told.astype(np.float32), labels.astype(np.float32), np.ones(n, dtype=np.float32)


@pytest.mark.parametrize(("too_sure", "slope"), [(1.0, 1.0), (1.25, 0.8), (2.0, 0.5), (4.0, 0.25)])
def test_the_slope_is_what_was_too_much(too_sure: float, slope: float) -> None:
    assert slope_of(*judged(too_sure)) == pytest.approx(slope, abs=0.02)


def test_a_verdict_is_never_made_surer_and_never_silenced() -> None:
    assert slope_of(*judged(0.5)) == 1.0
    told, labels, weights = judged(1.0)
    assert slope_of(told, 1.0 - labels, weights) == 0.1  # it is wrong throughout


def test_what_weighs_nothing_counts_nothing() -> None:
    told, labels, weights = judged(2.0)
    both = np.concatenate([told, told]), np.concatenate([labels, 1.0 - labels])
    weights = np.concatenate([weights, np.zeros_like(weights)])
    assert slope_of(*both, weights) == pytest.approx(0.5, abs=0.02)


@given(st.lists(st.floats(0.0, 1.0, width=32), min_size=2, max_size=20), st.floats(0.1, 1.0))
def test_flattened_keeps_order_and_the_half(values: list[float], slope: float) -> None:
    told = np.sort(np.array([*values, 0.5], dtype=np.float32))
    flat = flattened(told, slope)
    assert (np.diff(flat) >= 0).all()
    assert (np.abs(flat - 0.5) <= np.maximum(np.abs(told - 0.5), 1e-6) + 1e-6).all()
    assert (np.sign(flat - 0.5) * np.sign(told - 0.5) >= 0).all()


@pytest.mark.parametrize("slope", [1.0, 0.6, 0.2])
def test_the_slope_moves_the_cuts_with_the_verdict(slope: float) -> None:
    settings = Settings()
    enough, some = cuts(settings, slope)
    learned = np.linspace(0.01, 0.99, 197, dtype=np.float32)
    learned = learned[(np.abs(learned - settings.enough) > 0.004) & (np.abs(learned - settings.some) > 0.004)]
    now = flattened(learned, slope)
    assert np.array_equal(now >= enough, learned >= settings.enough)
    assert np.array_equal(now < some, learned < settings.some)


def test_scaled_trees_have_scaled_log_odds() -> None:
    model = LearnedModel.shipped("sentence")
    assert model is not None
    trees = model.sufficiency
    rows = np.random.default_rng(0).normal(size=(7, int(trees.feature.max()) + 1)).astype(np.float32)
    assert scaled(trees, 0.6).log_odds(rows) == pytest.approx(0.6 * trees.log_odds(rows), abs=1e-5)


def test_sets_of_one_kind_are_left_out_together() -> None:
    assert kind_of_set("hotpot_ecm") == kind_of_set("2wikimultihopqa") == "hotpotqa"
    assert kind_of_set("document_sentences") == kind_of_set("documents")
    assert kind_of_set("strategyqa") == "strategyqa"
    assert len({name for kind in KINDS for name in kind}) == sum(map(len, KINDS))
