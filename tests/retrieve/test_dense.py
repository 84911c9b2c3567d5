from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pagerag.errors import CandidateError, InputError
from pagerag.protocols import Corpus, Encoder, Retriever
from pagerag.retrieve import BM25Retriever, CorpusRetriever, DenseRetriever, HybridRetriever, MemoryCorpus
from pagerag.units import Candidate, Pool


def test_the_pool_carries_scores_and_vectors(pages: list[Candidate], words: Encoder) -> None:
    retriever = DenseRetriever(pages, words)
    assert isinstance(retriever, Retriever)
    pool = retriever.retrieve("Where was the composer Hans Zimmer born?", 4)
    assert pool.vector is not None
    assert len(pool) == 4
    assert pool.candidates[0].id == "Hans Zimmer"
    for unit in pool.candidates:
        assert unit.vector is not None
        assert unit.score == pytest.approx(float(unit.vector @ pool.vector), abs=1e-6)
    scores = [unit.score or 0.0 for unit in pool.candidates]
    assert scores == sorted(scores, reverse=True)


def test_given_vectors_are_used(pages: list[Candidate], words: Encoder) -> None:
    given_vectors = [replace(unit, vector=np.eye(64, dtype=np.float32)[i]) for i, unit in enumerate(pages)]
    found = MemoryCorpus(given_vectors, words).search_vector(np.eye(64, dtype=np.float32)[3], 1)
    assert found[0].id == pages[3].id
    assert np.array_equal(DenseRetriever(given_vectors, words).vectors[3], np.eye(64)[3])


def test_a_vector_of_another_encoder_is_refused(pages: list[Candidate], words: Encoder) -> None:
    wrong = [replace(unit, vector=np.ones(3, dtype=np.float32)) for unit in pages]
    with pytest.raises(CandidateError, match=r"Interstellar \(film\)"):
        DenseRetriever(wrong, words)
    with pytest.raises(CandidateError, match=r"Interstellar \(film\)"):
        MemoryCorpus(wrong, words)


def test_no_units(words: Encoder) -> None:
    assert DenseRetriever([], words).retrieve("anything").candidates == ()
    assert CorpusRetriever(MemoryCorpus([], words)).retrieve("anything").candidates == ()


class Fixed:
    """A retriever that always gives the same ids."""

    def __init__(self, name: str, ids: list[str]) -> None:
        self.name, self.ids = name, ids

    def retrieve(self, question: str, k: int = 20) -> Pool:
        return Pool(question, tuple(Candidate(i, f"text {i}", score=1.0) for i in self.ids[:k]))


IDS = st.lists(st.sampled_from("abcdefgh"), unique=True, max_size=8)


@given(IDS, IDS, st.integers(0, 9))
def test_fusion_is_the_sum_of_reciprocal_ranks(first: list[str], second: list[str], k: int) -> None:
    pool = HybridRetriever([Fixed("x", first), Fixed("y", second)]).retrieve("q", k)
    expected = {
        name: sum(1 / (61 + ranking.index(name)) for ranking in (first, second) if name in ranking)
        for name in {*first, *second}
    }
    found = {unit.id: unit.score for unit in pool.candidates}
    assert len(found) == len(pool) == min(k, len(expected))
    for name, score in found.items():
        assert score == pytest.approx(expected[name])
    left_out = [score for name, score in expected.items() if name not in found]
    assert not found or not left_out or min(s or 0 for s in found.values()) >= max(left_out) - 1e-12


def test_hybrid_keeps_vectors_and_weights(pages: list[Candidate], words: Encoder) -> None:
    hybrid = HybridRetriever([BM25Retriever(pages), DenseRetriever(pages, words)], weights=[2.0, 1.0])
    pool = hybrid.retrieve("Who composed the score of Interstellar?", 5)
    assert hybrid.name == "bm25+hashed-words"
    assert pool.vector is not None
    assert all(unit.vector is not None for unit in pool.candidates)
    with pytest.raises(InputError, match="weights"):
        HybridRetriever([BM25Retriever(pages)], weights=[1.0, 2.0])
    with pytest.raises(InputError, match="at least one"):
        HybridRetriever([])


def test_a_corpus_in_memory_is_searched_three_ways(pages: list[Candidate], words: Encoder) -> None:
    corpus = MemoryCorpus(pages, words)
    assert isinstance(corpus, Corpus)
    assert [unit.id for unit in corpus.lookup_title("gravity")] == ["Gravity (2013 film)"]
    assert [unit.id for unit in corpus.lookup_title("ALFONSO CUARON")] == ["Alfonso Cuarón"]
    assert [unit.id for unit in corpus.lookup_title("gravity (2013 film)")] == ["Gravity (2013 film)"]
    assert corpus.lookup_title("Gravity Falls") == []
    assert corpus.search_text("Frankfurt", 1)[0].id == "Frankfurt"
    assert corpus.search_vector(words.encode_queries(["weather stations"])[0], 1)[0].id == "Rainfall"


def test_a_corpus_equals_the_hybrid_of_its_parts(pages: list[Candidate], words: Encoder) -> None:
    corpus = MemoryCorpus(pages, words)
    hybrid = HybridRetriever([BM25Retriever(pages), DenseRetriever(pages, words)])
    for question in ("Who directed Gravity?", "capital of Mexico", ""):
        ours = [(unit.id, unit.score) for unit in CorpusRetriever(corpus).retrieve(question, 6).candidates]
        assert ours == [(unit.id, unit.score) for unit in hybrid.retrieve(question, 6).candidates]


def test_without_an_encoder_search_is_lexical(pages: list[Candidate]) -> None:
    corpus = MemoryCorpus(pages)
    assert CorpusRetriever(corpus, "lexical").retrieve("Frankfurt", 1).candidates[0].id == "Frankfurt"
    assert corpus.search_vector(np.ones(64), 3) == []


def test_passages_without_titles_are_found_by_the_name_they_open_with(pages: list[Candidate]) -> None:
    bare = [replace(unit, title=None) for unit in pages]
    corpus = MemoryCorpus(bare)
    assert [unit.id for unit in corpus.lookup_title("Hans Zimmer")] == ["Hans Zimmer"]
