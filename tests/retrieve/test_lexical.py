from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pagerag.errors import InputError
from pagerag.protocols import Retriever
from pagerag.retrieve import BM25, BM25Retriever
from pagerag.store.ranking import best
from pagerag.text.terms import terms
from pagerag.units import Candidate

TEXTS = st.lists(
    st.lists(st.sampled_from(["apple", "pear", "plum", "fig", "oak", "elm", "ash", "yew"]), max_size=9).map(
        " ".join
    ),
    max_size=9,
)
QUERIES = st.lists(st.sampled_from(["apple", "pear", "plum", "fig", "oak", "birch"]), max_size=5).map(
    " ".join
)


def reference(texts: list[str], query: str, k1: float, b: float) -> list[float]:
    """BM25 straight from its definition, one text and one term at a time."""
    bags = [Counter(text.split()) for text in texts]
    lengths = [sum(bag.values()) for bag in bags]
    mean = sum(lengths) / len(lengths) if sum(lengths) else 1.0
    scores = []
    for bag, length in zip(bags, lengths, strict=True):
        total = 0.0
        for term in query.split():
            df = sum(term in other for other in bags)
            tf = bag[term]
            if tf:
                idf = math.log(1 + (len(texts) - df + 0.5) / (df + 0.5))
                total += idf * tf * (k1 + 1) / (tf + k1 * (1 - b + b * length / mean))
        scores.append(total)
    return scores


@given(TEXTS, QUERIES, st.floats(0.1, 3), st.floats(0, 1))
def test_scores_equal_the_definition(texts: list[str], query: str, k1: float, b: float) -> None:
    scores = BM25(texts, k1=k1, b=b, tokenize=str.split).scores(query)
    assert scores.shape == (len(texts),)
    assert np.allclose(scores, reference(texts, query, k1, b) if texts else [], atol=1e-5)


@given(TEXTS, QUERIES, st.randoms())
def test_order_of_the_corpus_does_not_change_scores(texts: list[str], query: str, random: object) -> None:
    places = list(range(len(texts)))
    random.shuffle(places)  # type: ignore[attr-defined]
    plain = BM25(texts).scores(query)
    mixed = BM25([texts[place] for place in places]).scores(query)
    assert np.allclose(mixed, plain[places], atol=1e-6)


@given(st.lists(st.sampled_from([0.0, 0.5, 1.0, 2.0]), max_size=30), st.integers(-1, 35))
def test_best_is_a_stable_sort(scores: list[float], k: int) -> None:
    expected = sorted(range(len(scores)), key=lambda place: (-scores[place], place))[: max(k, 0)]
    assert list(best(np.array(scores), k)) == expected


def test_a_film_is_found_by_its_plural_and_accents() -> None:
    units = [Candidate("a", "The director of Amélie"), Candidate("b", "Two directors of a play")]
    pool = BM25Retriever(units).retrieve("amelie DIRECTORS", 5)
    assert [unit.id for unit in pool.candidates] == ["a", "b"]
    assert all(unit.score and unit.score > 0 for unit in pool.candidates)


def test_what_shares_no_term_is_not_returned(pages: list[Candidate]) -> None:
    retriever = BM25Retriever(pages)
    assert isinstance(retriever, Retriever)
    assert retriever.retrieve("xylophone", 20).candidates == ()
    assert retriever.retrieve("", 20).candidates == ()
    assert len(retriever.retrieve("film", 2)) == 2
    assert BM25Retriever([]).retrieve("film").candidates == ()


def test_duplicates_rank_side_by_side() -> None:
    units = [Candidate(str(i), "the same text") for i in range(3)]
    assert [unit.id for unit in BM25Retriever(units).retrieve("same text", 3).candidates] == ["0", "1", "2"]


def test_titles_are_searched() -> None:
    units = [
        Candidate("a", "He was born in 1957.", title="Hans Zimmer"),
        Candidate("b", "He was born in 1957."),
    ]
    assert [unit.id for unit in BM25Retriever(units).retrieve("Zimmer", 3).candidates] == ["a"]


def test_function_words_alone_can_be_found() -> None:
    assert terms("The Who") == ["the", "who"]
    assert terms("The films of the directors") == ["film", "director"]
    assert terms("東京都") == ["東京", "京都"]


@pytest.mark.parametrize(("k1", "b"), [(-1.0, 0.5), (1.2, 1.5)])
def test_impossible_settings_are_refused(k1: float, b: float) -> None:
    with pytest.raises(InputError, match="k1"):
        BM25([], k1=k1, b=b)
