from __future__ import annotations

import pytest

from pagerag import Candidate
from pagerag.errors import InputError
from pagerag.promotion.budget import Budget, count_characters
from pagerag.promotion.near_duplicates import Statements

POOL = tuple(
    Candidate(str(n), text) for n, text in enumerate(["one two", "three four five", "six", "One, two!"])
)


def budget(k: int, max_tokens: int | None = None, count=lambda text: len(text.split())) -> Budget:  # type: ignore[no-untyped-def]
    return Budget(POOL, k, max_tokens, count, Statements(POOL))


def test_units_and_tokens_are_bounded_and_copies_take_one_place() -> None:
    assert budget(2).fits({0, 1})
    assert not budget(2).fits({0, 1, 2})
    assert not budget(4).fits({0, 3})
    assert budget(4, 6).fits({0, 1, 2})
    assert not budget(4, 5).fits({0, 1, 2})


def test_fill_takes_what_still_fits_in_the_order_of_the_ranking() -> None:
    assert budget(3).fill((0,), [3, 2, 1]) == [2, 1]
    assert budget(2).fill((0,), [1, 2]) == [1]
    assert budget(3, 3).fill((0,), [1, 2]) == [2]


@pytest.mark.parametrize("bad", [1.5, -1, True, "2"])
def test_a_counter_that_counts_wrong_is_named(bad: object) -> None:
    with pytest.raises(InputError, match="count_tokens gave"):
        budget(2, 10, lambda _: bad)


def test_the_guess_is_a_quarter_of_the_characters() -> None:
    assert [count_characters(text) for text in ("", "a", "abcd", "abcde")] == [1, 1, 1, 2]
