from __future__ import annotations

import pytest

from pagerag_lab.training.spans import said, spots

TEXT = (
    "Passwords are long.\nUse at least 14 characters, better 20.\nTokens have 14 characters too, by chance."
)


def test_the_span_is_the_one_that_the_pattern_accepts_and_the_quote_names() -> None:
    places, whole = spots([TEXT], ["14 characters"], r"\b14\b", ["Use at least 14 characters, better 20."])
    assert whole
    assert [TEXT[place.start : place.end] for place in places] == ["14 characters"]
    assert places[0].start == TEXT.index("14")


def test_an_answer_that_is_not_there_has_no_place() -> None:
    assert spots([TEXT], ["16 characters"], r"\b16\b", []) == ([], False)


@pytest.mark.parametrize(
    ("answer", "pattern", "word"),
    [("Yes, always", None, "yes"), ("No.", r"\bno\b", "no"), ("Nobody", None, None), ("yes", "never", None)],
)
def test_yes_and_no(answer: str, pattern: str | None, word: str | None) -> None:
    assert said([answer], pattern) == word
