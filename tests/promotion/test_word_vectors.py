"""Words that are alike, against the same computed word by word from the file itself."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import pagerag.promotion
from pagerag import Candidate, Promoter
from pagerag.promotion.whole_units import listed_words, rarity
from pagerag.promotion.word_vectors import NEAR
from pagerag.text import tokenize

WORDS = list(listed_words())
PLACES = {word: place for place, word in enumerate(WORDS)}
FILE = Path(pagerag.promotion.__file__).with_name("data") / "word-vectors.npz"
VECTORS: NDArray[np.float64] = np.load(FILE)["vectors"].astype(np.float64)


def measures(question: str, units: list[Candidate]) -> dict[str, list[float]]:
    evidence = Promoter(strategy="formula").evidence(question, tuple(units), "document")
    return dict(zip(NEAR, evidence.reading.near.T.tolist(), strict=True))


def vector(word: str) -> NDArray[np.float64]:
    found = VECTORS[PLACES[word]] if word in PLACES else np.zeros(VECTORS.shape[1])
    length = np.linalg.norm(found)
    return found / length if length else found


def expected(question: str, unit: Candidate) -> tuple[float, float, float, float]:
    """Return near_cover, near_only, near_best and meaning of one unit."""
    asked, words = tuple(dict.fromkeys(tokenize(question))), tokenize(unit.text)
    has = {*words, *tokenize(unit.title or "")}
    share = rarity(asked)[1].tolist()
    nearest = [max([float(vector(word) @ vector(other)) for other in words], default=0.0) for word in asked]
    nearest = [0.0 if word in has or near < 0.3 else near for word, near in zip(asked, nearest, strict=True)]
    only = sum(weight * near for weight, near in zip(share, nearest, strict=True))
    cover = only + sum(weight for weight, word in zip(share, asked, strict=True) if word in has)
    sums = [sum(listed_words().get(word, 0.0) * vector(word) for word in side) for side in (asked, words)]
    length = float(np.linalg.norm(sums[0]) * np.linalg.norm(sums[1]))
    return cover, only, max(nearest, default=0.0), float(np.dot(*sums)) / length if length else 0.0


some_words = st.lists(st.sampled_from([*WORDS[::97], "Quux", "1999", "the"]), min_size=1, max_size=8)


@settings(max_examples=60, deadline=None)
@given(some_words, st.lists(some_words, min_size=1, max_size=5, unique_by=tuple))
def test_measures_are_those_of_the_words_one_by_one(asked: list[str], texts: list[list[str]]) -> None:
    question = " ".join(asked)
    units = [Candidate(str(n), " ".join(words)) for n, words in enumerate(texts)]
    found = measures(question, units)
    rows = [expected(question, unit) for unit in units]
    for place, name in enumerate(NEAR[:4]):
        assert found[name] == pytest.approx([row[place] for row in rows], abs=1e-4)
    for gap, name in (("near_gap", "near_cover"), ("meaning_gap", "meaning")):
        assert found[gap] == pytest.approx([value - max(found[name]) for value in found[name]], abs=1e-6)


def test_another_word_for_the_same_thing_counts() -> None:
    units = [Candidate("0", "An automobile was parked there."), Candidate("1", "A banana was eaten there.")]
    found = measures("Whose car is it?", units)
    assert found["near_cover"][0] > 0.5 > found["near_cover"][1]


def test_a_word_that_is_there_counts_fully_and_no_other_beside_it() -> None:
    unit = Candidate("0", "The car is an automobile.", "Fleet")
    found = measures("car", [unit])
    assert (found["near_cover"], found["near_only"], found["near_best"]) == ([1.0], [0.0], [0.0])
    assert measures("fleet", [unit])["near_cover"] == [1.0]  # its title has it


def test_nothing_is_like_a_word_that_nobody_listed() -> None:
    found = measures("zyzzyvas", [Candidate("0", "A weevil of the tropics.")])
    assert [found[name] for name in NEAR] == [[0.0]] * len(NEAR)


def test_a_unit_without_words_is_like_nothing() -> None:
    found = measures("Where is the river?", [Candidate("0", "A river."), Candidate("1", "…")])
    assert found["near_cover"][1] == 0.0
    assert np.isfinite(list(found.values())).all()
