from __future__ import annotations

import pytest

from pagerag_lab.training.spans import said, spots
from pagerag_lab.training.thresholds import right, table

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


def test_a_higher_level_keeps_back_what_is_less_sure() -> None:
    common = {"context": "first", "none": 0.1, "f1": 1.0}
    points = [
        {"id": "a", "source": "documents", "gold": 1, "guess": "14 , 5", "raw": 3.0, **common},
        {"id": "b", "source": "documents", "gold": 0, "guess": "9", "raw": 0.0, **common},
        {"id": "a~removed", "source": "documents_removed", "gold": 0, "guess": "9", "raw": -1.0, **common},
        {"id": "n", "source": "nq_pool", "gold": 1, "guess": "x", "raw": 0.0, **common},
    ]
    rows = table(points, {"slope": 1.0, "offset": 0.0, "none_threshold": 0.5}, {"a": "14,5", "b": "9"})
    low, high = rows[0], rows[-1]
    assert (low["answered"], low["right"], low["made_up"], low["nq_pool_f1"]) == (2, 1, 1, 100.0)
    assert (high["answered"], high["right"], high.get("made_up", 0), high["nq_pool_f1"]) == (1, 1, 0, 0.0)
    assert (low["precision"], high["precision"]) == (0.5, 1.0)
    assert right("14 , 5", "14,5")
