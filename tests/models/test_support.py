from __future__ import annotations

import pickle

import numpy as np
import pytest

from pagerag import Candidate, Promoter
from pagerag.errors import InputError
from pagerag.models.files import Model
from pagerag.testing import check_support_encoder

QUESTION = "Which city was the composer of Interstellar born in?"


def test_the_unit_with_the_answer_is_supported_most(support, context) -> None:
    found = support.support(QUESTION, context)
    assert found.shape == (5, 3)
    assert found[:, :2].argmax(axis=0).tolist() == [3, 3]
    assert found[3, 0] > 1.5 * found[2, 0]
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
def read(support, monkeypatch) -> list[int]:
    """The lengths of the sequences that the network is given, as they come."""
    lengths: list[int] = []
    whole = Model.__call__

    def counted(self: Model, ids: list[int], types: list[int]) -> tuple[np.ndarray, np.ndarray]:
        lengths.append(len(ids))
        return whole(self, ids, types)

    monkeypatch.setattr(Model, "__call__", counted)
    return lengths


def test_a_unit_of_nine_megabytes_costs_no_more_than_an_excerpt(support, read) -> None:
    book = "Sentence about harbour and mill and many other things of the county. " * 130_000
    assert len(book) > 8_900_000
    found = support.support("Which harbour is the largest?", [Candidate("b", book, "Book")])
    assert sum(read) <= 200 + 40
    assert np.isfinite(found).all()


@pytest.mark.parametrize("dense", ["x" * 20_000, "{}[]<>;:" * 2_500, "法" * 20_000, "7 " * 10_000])
def test_twenty_dense_units_are_read_within_the_pools_bound(support, read, dense: str) -> None:
    units = [Candidate(str(i), f"{i} {dense}", dense) for i in range(20)]
    found = support.support("Which harbour is the largest?", units)
    assert sum(read) <= 80 * 20 + 100
    assert np.isfinite(found).all()


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
