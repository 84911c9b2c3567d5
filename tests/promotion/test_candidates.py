from __future__ import annotations

import numpy as np
import pytest

from pagerag import Candidate, Pool, Relation
from pagerag.errors import CandidateError, EmptyPoolError, InputError
from pagerag.promotion.candidates import (
    MAX_RELATIONS,
    as_candidates,
    as_vector,
    budget_of,
    check_relations,
    most_confident,
    shown,
)


def test_texts_mappings_and_candidates_may_be_mixed() -> None:
    own = Candidate("own", "Third.")
    found = as_candidates(["First.", {"text": "Second.", "id": 7, "title": "T"}, own])
    assert [unit.id for unit in found] == ["0", "7", "own"]
    assert found[2] is own
    assert as_candidates(Pool("q", found)) == found


@pytest.mark.parametrize("pool", ["text", {"text": "one"}, b"bytes"])
def test_one_thing_is_no_pool(pool: object) -> None:
    with pytest.raises(InputError, match="wrap it in a list"):
        as_candidates(pool)


def test_an_empty_pool_and_two_of_one_id_are_refused() -> None:
    with pytest.raises(EmptyPoolError):
        as_candidates([])
    with pytest.raises(CandidateError, match="same id"):
        as_candidates([{"text": "a", "id": "x"}, {"text": "b", "id": "x"}])


def test_a_vector_is_one_row_of_finite_numbers() -> None:
    found = as_vector([1, 2.5])
    assert found is not None
    assert found.dtype == np.float32
    for bad in ([[1.0]], [np.inf], [1e300], ["a"], [1j], None):
        assert as_vector(bad) is None


def test_the_budget_goes_by_three_names() -> None:
    assert (budget_of(None), budget_of(3), budget_of(None, 4), budget_of(2, None, 2)) == (5, 3, 4, 2)
    with pytest.raises(InputError, match="different values"):
        budget_of(2, 3)
    with pytest.raises(InputError, match="whole number"):
        budget_of(True)


def test_relations_are_checked_and_the_most_confident_are_read() -> None:
    assert check_relations(None) == ()
    with pytest.raises(InputError, match="sequence of Relations"):
        check_relations("a relation")
    facts = [(Relation("a", "r", str(n), confidence=n % 2), (0,)) for n in range(MAX_RELATIONS + 10)]
    kept = most_confident(facts)
    assert len(kept) == MAX_RELATIONS
    assert sum(fact.confidence for fact, _ in kept) == sum(fact.confidence for fact, _ in facts)
    assert kept == sorted(kept, key=lambda one: int(one[0].tail))


def test_a_value_is_shown_in_few_words() -> None:
    class Shy:
        def __repr__(self) -> str:
            raise TypeError

    assert shown("a" * 500).endswith("…")
    assert len(shown("a" * 500)) == 200
    assert shown(Shy()) == "<Shy>"
