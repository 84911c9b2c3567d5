from __future__ import annotations

import os
import pickle
from multiprocessing import get_context

import numpy as np
import pytest

import pagerag.models
from pagerag import Candidate, Promoter
from pagerag.errors import InputError, MissingExtraError
from pagerag.models import PoolSupport, support_encoder, support_named
from pagerag.models.files import _OPEN, Model, open_model, package_folder
from pagerag.promotion.learned import LearnedModel
from pagerag.testing import check_support_encoder

SMALL, LARGER = 6, 9
"""Layers of the two support encoders' networks."""

QUESTION = "Which city was the composer of Interstellar born in?"


@pytest.mark.parametrize("larger", [False, True])
def test_both_hops_are_supported_most_and_the_second_bears_the_answer(context, larger) -> None:
    found = support_encoder(larger=larger).support(QUESTION, context)
    assert found.shape == (5, 3)
    assert set(found[:, 0].argsort()[-2:].tolist()) == {1, 3}
    assert found[:, 1].argmax() == 3
    assert found[3, 0] > 5 * found[4, 0]


def test_a_pool_without_the_evidence_looks_less_complete(support, context) -> None:
    whole = support.support(QUESTION, context)[:, 2]
    assert np.all(whole == whole[0])
    without = support.support(QUESTION, [unit for n, unit in enumerate(context) if n != 3])[:, 2]
    assert without[0] < whole[0]


def test_rows_follow_the_units_in_any_order(support, context) -> None:
    found = support.support(QUESTION, context)
    order = [3, 0, 4, 2, 1]
    again = support.support(QUESTION, [context[i] for i in order])
    assert np.array_equal(again, found[order])
    assert found.dtype == again.dtype == np.float32


def test_empty_pool_and_empty_question(support, context) -> None:
    assert support.support(QUESTION, []).shape == (0, 3)
    with pytest.raises(InputError, match="question is empty"):
        support.support("", context)


def test_long_units_and_large_pools(support) -> None:
    units = [Candidate(str(i), f"Sentence {i} about harbour {i}. " * 60, f"Page {i}") for i in range(40)]
    found = support.support("Which harbour is the largest?", units)
    assert found.shape == (40, 3)
    assert np.isfinite(found).all()
    assert ((found >= 0) & (found <= 1)).all()


def test_a_document_is_judged_by_more_than_its_beginning(support, context) -> None:
    filler = "The page goes on about other matters of the county and its old mills. " * 40
    told = Candidate("d", f"{filler}Hans Zimmer was born in Frankfurt.", "Hans Zimmer")
    untold = Candidate("d", filler, "Hans Zimmer")
    beside = [unit for unit in context if unit.title == "Interstellar"]
    rows = [support.support(QUESTION, [*beside, unit])[-1] for unit in (told, untold)]
    assert rows[0][0] > 2 * rows[1][0]
    assert rows[0][1] > 2 * rows[1][1]


def test_the_sentence_that_matters_is_read_wherever_it_stands(support) -> None:
    opening = "the old mill stood by the river and the town grew around it year by year. " * 30
    told, untold = (
        Candidate("p", f"{opening}{end} {opening}", "Hans Zimmer")
        for end in ("The composer was born in the city of Frankfurt.", "The composer was fond of the city.")
    )
    others = [Candidate(str(i), opening, f"Page {i}") for i in range(19)]
    rows = [support.support(QUESTION, [unit, *others])[0] for unit in (told, untold)]
    assert rows[0][1] > 1.5 * rows[1][1]


@pytest.fixture
def read(monkeypatch) -> dict[int, list[int]]:
    """The lengths of the sequences that each network (by its layers) is given, as they come."""
    lengths: dict[int, list[int]] = {}
    whole = Model.__call__

    def counted(self: Model, ids: list[int], types: list[int]) -> tuple[np.ndarray, np.ndarray]:
        lengths.setdefault(self.facts["layers"], []).append(len(ids))
        return whole(self, ids, types)

    monkeypatch.setattr(Model, "__call__", counted)
    return lengths


def test_a_unit_of_nine_megabytes_costs_no_more_than_an_excerpt(read) -> None:
    book = "Sentence about harbour and mill and many other things of the county. " * 130_000
    assert len(book) > 8_900_000
    for larger in (False, True):
        found = support_encoder(larger=larger).support("Which harbour?", [Candidate("b", book, "Book")])
        assert np.isfinite(found).all()
    assert {layers: sum(each) <= 200 + 40 for layers, each in read.items()} == {SMALL: True, LARGER: True}


@pytest.mark.parametrize("dense", ["x" * 20_000, "{}[]<>;:" * 2_500, "法" * 20_000, "7 " * 10_000])
def test_twenty_dense_units_are_read_within_the_pools_bound(read, dense: str) -> None:
    units = [Candidate(str(i), f"{i} {dense}", dense) for i in range(20)]
    for larger in (False, True):
        found = support_encoder(larger=larger).support("Which harbour is the largest?", units)
        assert np.isfinite(found).all()
    assert {layers: sum(each) <= 80 * 20 + 400 for layers, each in read.items()} == {
        SMALL: True,
        LARGER: True,
    }


SENTENCES = [Candidate(str(i), f"Sentence {i} about harbour {i}.", f"Page {i}") for i in range(20)]
PASSAGES = [
    Candidate(str(i), f"Sentence {i} about harbour {i} and its mill. " * 20, f"Page {i}") for i in range(20)
]
MANY = [
    Candidate(str(i), f"Sentence {i} about harbour {i} and its mill. " * 20, f"Page {i}") for i in range(60)
]


@pytest.mark.parametrize("larger", [False, True])
@pytest.mark.parametrize("pool", [SENTENCES, PASSAGES, MANY])
def test_one_network_judges_a_pool_of_any_size(read, larger, pool) -> None:
    found = support_encoder(larger=larger).support("Which harbour is the largest?", pool)
    assert set(read) == {LARGER if larger else SMALL}
    assert found.shape == (len(pool), 3)


def test_each_has_a_scorer_that_was_fitted_on_its_signals(monkeypatch) -> None:
    assert [support_encoder(larger=larger).fitted for larger in (False, True)] == ["support", "judge"]
    assert PoolSupport(folder=package_folder()).fitted == "support"
    for mode in ("sentence", "document"):
        models = [
            Promoter(support=support_encoder(larger=larger)).strategy(mode).model for larger in (False, True)
        ]
        assert models[0] is LearnedModel.shipped(mode, support="support")
        assert models[1] is LearnedModel.shipped(mode, support="judge")
    monkeypatch.setattr("pagerag.models.support.judge_folder", lambda: None)
    assert support_encoder(larger=True).fitted == "support"


def test_an_encoder_of_ones_own_is_read_from_its_folder(read, context) -> None:
    PoolSupport(folder=package_folder()).support(QUESTION, context)
    assert set(read) == {SMALL}


def test_encoders_share_a_network() -> None:
    assert support_encoder(larger=True)._model is support_encoder()._model
    assert open_model("support") is open_model("support", package_folder())


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system starts no process by fork")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_forked_child_opens_networks_of_its_own(support) -> None:
    assert open_model("support", threads=1) is support._model
    with get_context("fork").Pool(1) as children:
        assert children.apply(_has_no_networks)


def _has_no_networks() -> bool:
    return not _OPEN.models


def test_names_of_the_support_encoder(monkeypatch) -> None:
    assert support_named("none") is None
    assert isinstance(support_named("small"), PoolSupport)
    with pytest.raises(InputError, match="one of: auto, default, small, none"):
        support_named("large")

    def missing(**_: object) -> None:
        raise MissingExtraError("pagerag-models", "models", "the support encoder")

    monkeypatch.setattr(pagerag.models, "support_encoder", missing)
    assert support_named("auto") is None
    with pytest.raises(MissingExtraError):
        support_named("small")


def test_it_is_one_more_signal_of_promotion(support, context) -> None:
    plain = Promoter().promote(QUESTION, context, k=2)
    helped = Promoter(support=support).promote(QUESTION, context, k=2)
    assert {unit.id for unit in helped.context} == {"i1", "z0"}
    assert {unit.id for unit in plain.context} <= {unit.id for unit in context}


def test_pickle(support, context) -> None:
    copy = pickle.loads(pickle.dumps(support))  # noqa: S301
    assert np.array_equal(copy.support(QUESTION, context), support.support(QUESTION, context))


def test_it_keeps_the_support_encoders_contract(support) -> None:
    check_support_encoder(support)
