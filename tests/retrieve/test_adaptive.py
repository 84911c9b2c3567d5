from __future__ import annotations

import pickle
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pagerag import Promoter
from pagerag.errors import InputError, StoreError
from pagerag.protocols import Encoder, Retriever
from pagerag.retrieve import AdaptiveRetriever, Limits, MemoryCorpus, Searcher, promote_adaptively
from pagerag.retrieve.adaptive import Frontier
from pagerag.retrieve.paths import DIRECT, LINK
from pagerag.units import Candidate

QUESTION = "In which city was the composer of the film Interstellar born?"
NEEDED = {"Interstellar (film)", "Hans Zimmer"}


class ThreeDoors:
    """A searcher with the three methods of the protocol and nothing else; it counts its calls."""

    def __init__(self, inner: MemoryCorpus) -> None:
        self.inner, self.calls = inner, 0

    def search_text(self, text: str, k: int) -> Sequence[Candidate]:
        self.calls += 1
        return self.inner.search_text(text, k)

    def search_vector(self, vector: Any, k: int) -> Sequence[Candidate]:
        self.calls += 1
        return self.inner.search_vector(vector, k)

    def lookup_title(self, title: str) -> Sequence[Candidate]:
        return self.inner.lookup_title(title)


def ids(units: Sequence[Candidate]) -> list[str]:
    return [unit.id for unit in units]


def narrow(**changes: int) -> Limits:
    """Little enough of this small encyclopaedia that the follow-up is needed."""
    return replace(Limits(first=2, depth=2), **changes)


def test_the_second_hop_is_followed(pages: list[Candidate], words: Encoder) -> None:
    corpus = MemoryCorpus(pages, words)
    retriever = AdaptiveRetriever(corpus, limits=narrow())
    assert isinstance(retriever, Retriever)
    question = "Where does the director of Gravity come from?"
    plain = retriever.start(question, 2)
    assert "Alfonso Cuarón" not in ids(plain.candidates)
    found = ids(retriever.retrieve(question, 4).candidates)
    assert {"Gravity (2013 film)", "Alfonso Cuarón"} <= set(found)


def test_the_pool_is_an_ordinary_pool(pages: list[Candidate], words: Encoder) -> None:
    pool = AdaptiveRetriever(MemoryCorpus(pages, words)).retrieve(QUESTION, 6)
    assert len(pool) == 6
    assert len(set(ids(pool.candidates))) == 6
    assert pool.vector is not None
    scores = [unit.score for unit in pool.candidates]
    assert all(score is not None and 0 <= score <= 1 for score in scores)
    assert scores == sorted(scores, reverse=True)  # type: ignore[type-var]
    assert set(ids(pool.candidates)) >= NEEDED
    assert pool.candidates[0].text  # the unit itself came along


def test_promotion_has_the_last_word(pages: list[Candidate], words: Encoder) -> None:
    retriever = AdaptiveRetriever(MemoryCorpus(pages, words), limits=narrow())
    for always in (True, False):
        result = promote_adaptively(QUESTION, retriever, Promoter(), k=3, always=always)
        assert len(result.context) <= 3
        assert set(ids(result.context)) >= NEEDED
        assert result.context[: len(result.core)] == result.core
        assert result.explain()
        assert result.to_dict()["version"]


def test_three_methods_are_enough(pages: list[Candidate], words: Encoder) -> None:
    corpus = MemoryCorpus(pages, words)
    doors = ThreeDoors(corpus)
    assert isinstance(doors, Searcher)
    assert not hasattr(doors, "lookup_titles")
    found = AdaptiveRetriever(doors, words).retrieve(QUESTION, 5)
    assert found == AdaptiveRetriever(corpus).retrieve(QUESTION, 5)


def test_without_vectors(pages: list[Candidate]) -> None:
    retriever = AdaptiveRetriever(MemoryCorpus(pages), limits=narrow())
    assert retriever.name == "adaptive:lexical"
    assert set(ids(retriever.retrieve(QUESTION, 4).candidates)) >= NEEDED


def test_without_titles(pages: list[Candidate], words: Encoder) -> None:
    bare = [replace(unit, title=None) for unit in pages]
    retriever = AdaptiveRetriever(MemoryCorpus(bare, words), limits=narrow())
    assert set(ids(retriever.retrieve(QUESTION, 5).candidates)) >= NEEDED


@pytest.mark.parametrize("question", ["", "?", "   ", "xyzzy", "監督は誰ですか", "a" * 5000])
def test_odd_questions(pages: list[Candidate], words: Encoder, question: str) -> None:
    pool = AdaptiveRetriever(MemoryCorpus(pages, words)).retrieve(question, 5)
    assert len(pool) <= 5


def test_an_empty_corpus(words: Encoder) -> None:
    retriever = AdaptiveRetriever(MemoryCorpus([], words))
    assert retriever.retrieve("anything").candidates == ()
    assert retriever.start("anything").candidates == ()


@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(order=st.permutations(range(12)), k=st.integers(2, 12))
def test_the_order_of_the_corpus_does_not_hide_the_evidence(
    pages: list[Candidate], words: Encoder, order: list[int], k: int
) -> None:
    mixed = AdaptiveRetriever(MemoryCorpus([pages[i] for i in order], words)).retrieve(QUESTION, k)
    plain = AdaptiveRetriever(MemoryCorpus(pages, words)).retrieve(QUESTION, k)
    assert len(mixed) == len(plain)
    assert set(ids(mixed.candidates)) >= NEEDED or not set(ids(plain.candidates)) >= NEEDED


@pytest.mark.parametrize("most", [1, 3, 7])
def test_the_pool_is_bounded(pages: list[Candidate], words: Encoder, most: int) -> None:
    limits = Limits(most=most, rounds=5)
    assert len(AdaptiveRetriever(MemoryCorpus(pages, words), limits=limits).retrieve(QUESTION, 50)) <= most


def test_searches_are_bounded(pages: list[Candidate], words: Encoder) -> None:
    doors = ThreeDoors(MemoryCorpus(pages, words))
    limits = Limits(rounds=3, seeds=4, joined=2)
    AdaptiveRetriever(doors, words, limits=limits).retrieve(QUESTION, 20)
    assert doors.calls <= 2 + limits.rounds * limits.joined * (1 + limits.worded)


def test_no_rounds_is_no_follow_up(pages: list[Candidate], words: Encoder) -> None:
    corpus = MemoryCorpus(pages, words)
    frontier = Frontier(QUESTION, words.encode_queries([QUESTION])[0], corpus, narrow())
    size = len(frontier.passages)
    assert size <= 2 + 2  # the first two, and what the question names
    assert frontier.direct().shape == (size, len(DIRECT))
    own = np.linspace(1, 0, size, dtype=np.float32)
    assert frontier.links(own).shape == (size, len(LINK))
    assert frontier.follow(own)
    assert len(frontier.passages) > size


@pytest.mark.parametrize("changes", [{"first": 0}, {"most": 0}, {"rounds": -1}, {"near": -2}])
def test_impossible_limits_are_refused(changes: dict[str, int]) -> None:
    with pytest.raises(InputError, match=next(iter(changes))):
        Limits(**changes)


def test_the_same_twice(pages: list[Candidate], words: Encoder) -> None:
    retriever = AdaptiveRetriever(MemoryCorpus(pages, words))
    assert retriever.retrieve(QUESTION, 9) == retriever.retrieve(QUESTION, 9)
    again = AdaptiveRetriever(MemoryCorpus(pages, words))
    assert again.retrieve(QUESTION, 9) == retriever.retrieve(QUESTION, 9)


def test_it_can_be_pickled(pages: list[Candidate]) -> None:
    retriever = AdaptiveRetriever(MemoryCorpus(pages))
    again = pickle.loads(pickle.dumps(retriever))  # noqa: S301
    assert again.retrieve(QUESTION, 5) == retriever.retrieve(QUESTION, 5)


def test_a_name_in_the_best_passage_is_searched_as_words() -> None:
    """Neither title nor opening tells whom the second passage is about; its words do."""
    texts = {
        "film": "Interstellar is a film of 2014. Its composer is Hans Zimmer.",
        "born": "It was in the city of Frankfurt that a boy called Hans Zimmer was born.",
        "other": "Cologne is the city where many films were shown in 2014.",
        "more": "A composer of films may live in any city.",
    }
    units = [Candidate(name, text) for name, text in texts.items()]
    limits = Limits(first=1, depth=1, near=0)
    pool = AdaptiveRetriever(MemoryCorpus(units), limits=limits).retrieve(QUESTION, 4)
    [found] = [unit for step in pool.metadata["rounds"] for unit in step["kept"] if unit["id"] == "born"]
    assert found == {"id": "born", "by": "words", "from": "film", "name": "hans zimmer"}
    without = AdaptiveRetriever(MemoryCorpus(units), limits=replace(limits, worded=0)).retrieve(QUESTION, 4)
    assert "born" not in ids(without.candidates)


def test_a_version_that_is_gone_is_read_again(pages: list[Candidate], words: Encoder) -> None:
    corpus = MemoryCorpus(pages, words)

    class Moving:
        """A store whose first version is cleaned away while a question reads it."""

        encoder = words

        def __init__(self) -> None:
            self.asked = 0

        def snapshot(self) -> Any:
            self.asked += 1
            if self.asked == 1:
                raise StoreError("the version is gone")
            return corpus

        def look_again(self) -> None:
            pass

    moving: Any = Moving()
    assert AdaptiveRetriever(moving).retrieve(QUESTION, 5) == AdaptiveRetriever(corpus).retrieve(QUESTION, 5)
    assert moving.asked == 2
