from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pagerag.models.excerpts import PART, Body, Reading, excerpt, parts_of, pool_units, question_worth


def test_short_units_leave_their_room_to_longer_ones() -> None:
    reading = Reading(average=50, few=2, longest=90, most=1000)
    assert reading.cap([10, 500], [3, 3]) == 100 - 6 - 4 - 10
    assert reading.cap([5, 5], [0, 0]) == 90
    assert reading.cap([500] * 1000, [0] * 1000) == 1  # the pool's bound stands, whatever it has


def test_parts_begin_with_sentences_and_are_never_longer_than_the_bound() -> None:
    text = "One two. Three four five."
    offsets = [(0, 3), (4, 7), (7, 8), (9, 14), (15, 19), (20, 24), (24, 25)]
    assert parts_of(text, offsets) == [0, 3]
    long = "word " * 100
    assert parts_of(long, [(5 * i, 5 * i + 4) for i in range(100)]) == [0, PART, 2 * PART, 3 * PART]
    assert parts_of("", []) == [0]


def test_the_sentence_that_shares_rare_words_with_the_question_is_read() -> None:
    filler, needle = [11] * 30, [7, 8, 9]
    body = Body(filler + needle + filler, [0, 30, 33])
    worth = question_worth([7, 11], [body, Body([11], [0])])
    assert worth == {7: 1.0, 11: 0.5}
    assert excerpt(body, worth, 3) == needle
    assert excerpt(body, {}, 4) == [11] * 4
    assert excerpt(body, worth, 63) == list(body.ids)


@given(st.lists(st.lists(st.integers(1, 9), max_size=80), max_size=12), st.integers(1, 60))
def test_a_pool_is_read_within_its_bounds_in_any_order(texts: list[list[int]], longest: int) -> None:
    reading = Reading(average=20, few=3, longest=longest, most=300)
    bodies = [Body(ids, list(range(0, len(ids), PART)) or [0]) for ids in texts]
    names = [str(i) for i in range(len(texts))]
    found, owners = pool_units([1, 2], [[]] * len(texts), bodies, names, [0] * len(texts), reading)
    assert sorted(owners) == list(range(len(texts)))
    assert all(len(unit.text) <= longest for unit in found)
    assert [unit.document for unit in found] == [names[i] for i in owners]
