from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pagerag.text.keys import key_number, title_keys
from pagerag.text.names import MAX_WORDS, NameReading, NameWord, numbered_names, opening_name, read_names
from pagerag.text.tokens import all_words


def names_of(reading: NameReading) -> dict[str, int]:
    """Every name and its first place, run by run: what the arrays of ``numbered_names`` must give."""
    names: dict[str, int] = {}
    every = range(reading.length)
    for kept in (list(every), [place for place in every if reading.flags[place] & NameWord.LONG]):
        for start in (start for start in reading.starts if start in kept):
            boundary = min(end for end in (*reading.ends, reading.length) if end > start)
            first = kept.index(start)
            run = [place for place in kept[first : first + MAX_WORDS] if place < boundary]
            for size, last in enumerate(run, 1):
                if reading.flags[last] & (NameWord.ALONE if size == 1 else NameWord.LAST):
                    names.setdefault(" ".join(reading.words[place] for place in run[:size]), start)
    return names


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("It was directed by Fred F. Sears in 1958.", "Fred F. Sears"),
        ("It was directed by Fred F. Sears in 1958.", "Fred Sears"),
        ("Her father is Prince Edward, Duke of Kent.", "Prince Edward, Duke of Kent"),
        ("Her father is Prince Edward.", "Prince Edward, Duke of Kent"),
        ("Who directed Brecha (2009 Film)?", "Brecha (2009 film)"),
        ("The film Aldri annet enn bråk came first.", "Aldri annet enn bråk"),
        ("監督は宮崎駿です", "宮崎"),
    ],
)
def test_a_title_is_found_in_running_text(text: str, title: str) -> None:
    assert any(key_number(key) in read_names(text).places for key in title_keys(title))


def test_no_name_runs_over_the_end_of_a_sentence() -> None:
    names = names_of(read_names("She lives in Paris. London is far."))
    assert "paris" in names
    assert "london" in names
    assert "paris london" not in names


def test_a_name_starts_with_a_capital_where_there_are_capitals() -> None:
    names = names_of(read_names("the event was in Rome"))
    assert "rome" in names
    assert "event" not in names


def test_cues_have_their_places() -> None:
    reading = read_names("Gravity was directed by Alfonso Cuarón")
    assert [place for place, _ in reading.cues] == [2]
    assert reading.places[key_number("alfonso cuaron")] == 4


@given(st.text(max_size=300))
def test_any_text_can_be_read(text: str) -> None:
    reading = read_names(text)
    assert reading.length == len(reading.words)
    for name, place in names_of(reading).items():
        assert 0 <= place < reading.length
        assert 1 <= len(name.split(" ")) <= MAX_WORDS
        assert reading.words[place] == name.split(" ")[0]
    for place, _ in reading.cues:
        assert 0 <= place < reading.length
    opening_name(text)


@given(st.text(max_size=200))
def test_words_are_the_words_of_the_text(text: str) -> None:
    assert "".join(read_names(text).words) == "".join(all_words(text)) or not text.isascii()


def test_long_texts_are_read_in_part() -> None:
    assert read_names("Word " * 10_000).length <= 401


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Hans Zimmer is a composer.", "Hans Zimmer"),
        ("The Vagabond Prince is a film.", "Vagabond Prince"),
        ("In 1957 he was born.", None),
        ("he was born in 1957.", None),
        ("", None),
    ],
)
def test_what_a_passage_is_about(text: str, name: str | None) -> None:
    assert opening_name(text) == name


REAL = (
    'The film "Aldri annet enn bråk" (1954) by Fred F. Sears, Jr. was shot in St. Louis. London-born '
    "A. A. Milne and the Duke of Kent saw it; U.S. critics of The New York Times did not. 監督は宮崎駿です"
)


@given(st.lists(st.text(max_size=200) | st.just(REAL), max_size=4))
def test_names_as_numbers_are_the_names(texts: list[str]) -> None:
    readings = [read_names(text) for text in texts]
    found = numbered_names(readings, 7)
    assert found.owners.tolist() == sorted(found.owners)
    for owner, reading in enumerate(readings, 7):
        mine = found.owners == owner
        first: dict[int, int] = {}
        for number, place in zip(found.numbers[mine].tolist(), found.places[mine].tolist(), strict=True):
            first.setdefault(number, place)
        names = names_of(reading)
        assert list(first.items()) == [(key_number(name), place) for name, place in names.items()]
        assert reading.places == first
        assert found.of(owner)[0].tolist() == found.numbers[mine].tolist()
        assert [reading.spelled(*one) for one in first.items()] == list(names)
