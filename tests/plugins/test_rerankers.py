"""The real rerankers library: its result types, its LangChain bridge."""

from __future__ import annotations

import pytest

pytest.importorskip("rerankers")
from rerankers import Document
from rerankers.results import RankedResults

from pagerag.errors import InputError
from pagerag.plugins.rerankers import PageRAGRanker

from .conftest import QUESTION

pytestmark = pytest.mark.integration


@pytest.fixture
def texts(pool):
    return [d.text for d in pool]


@pytest.fixture
def titles(pool):
    return [{"title": d.title} for d in pool]


def test_every_document_gets_a_rank_and_the_promoted_ones_come_first(texts, titles):
    results = PageRAGRanker(k=5).rank(query=QUESTION, docs=texts, metadata=titles)
    assert isinstance(results, RankedResults)
    assert results.results_count() == 20
    assert sorted(r.doc_id for r in results) == list(range(20))
    assert [r.rank for r in results] == list(range(1, 21))
    top = results.top_k(5)  # sorts by score: our order must survive
    assert [r.doc_id for r in top] == [r.doc_id for r in results][:5]
    assert {6, 14} <= {r.doc_id for r in top}
    assert [r.document.metadata["pagerag"]["role"] for r in results][5:] == ["rest"] * 15
    assert results.get_score_by_docid(6) >= results.get_score_by_docid(0)


def test_select_returns_the_promoted_context_alone(texts, titles):
    ids = [f"t{n}" for n in range(20)]
    results = PageRAGRanker(k=3, select=True).rank(QUESTION, texts, doc_ids=ids, metadata=titles)
    assert results.results_count() <= 3
    assert {"t6", "t14"} <= {r.doc_id for r in results}


def test_documents_of_its_own_kind(pool):
    documents = [Document(d.text, d.id, {"title": d.title, **d.metadata}) for d in pool]
    results = PageRAGRanker(k=2, select=True).rank(QUESTION, documents)
    assert {r.doc_id for r in results} == {"d6", "d14"}
    assert results[0].page in {6, 14}  # metadata is reachable through the result, as ever
    assert all("pagerag" not in d.metadata for d in documents)


def test_what_cannot_be_in_the_pool_still_gets_a_rank(texts):
    with pytest.warns(UserWarning, match="no text"):
        results = PageRAGRanker(k=2).rank(QUESTION, [*texts, ""])
    assert results.results_count() == 21
    assert results[-1].doc_id == 20
    assert results[-1].score == 0


def test_the_score_of_one_document_means_something():
    ranker = PageRAGRanker()
    answer = ranker.score(
        "Where was Ilse Brandt born?", "Ilse Brandt was a novelist. She was born in Austria in 1901."
    )
    half = ranker.score("Where was Ilse Brandt born?", "Ilse Brandt wrote The Silent Harbour.")
    beside = ranker.score("Where was Ilse Brandt born?", "Boats left the harbour at noon.")
    assert 0 <= beside < half < answer <= 1
    with pytest.warns(UserWarning, match="no text"):
        assert ranker.score(QUESTION, "  ") == 0


def test_the_library_finds_it_by_its_name(texts, titles, capsys):
    from rerankers import Reranker

    ranker = Reranker("pagerag", k=2, select=True, verbose=0)
    assert isinstance(ranker, PageRAGRanker)
    assert isinstance(Reranker("anything", model_type="pagerag", verbose=0), PageRAGRanker)
    assert {r.doc_id for r in ranker.rank(QUESTION, texts, metadata=titles)} == {6, 14}
    assert "TransformerRanker" not in capsys.readouterr().out


def test_some_documents_may_have_no_metadata(texts, titles):
    results = PageRAGRanker(k=2).rank(QUESTION, texts, metadata=[None, *titles[1:]])
    assert results.results_count() == 20
    assert PageRAGRanker(k=2).rank(QUESTION, texts, metadata=[None] * 20).results_count() == 20


def test_one_document_and_none():
    ranker = PageRAGRanker()
    assert ranker.rank(QUESTION, "one text").results_count() == 1
    assert ranker.rank(QUESTION, []).results_count() == 0


def test_lists_that_do_not_fit_are_refused(texts):
    with pytest.raises(InputError, match="20 documents came with 1 doc_ids"):
        PageRAGRanker().rank(QUESTION, texts, doc_ids=["a"])
    with pytest.raises(InputError, match="metadata"):
        PageRAGRanker().rank(QUESTION, texts, metadata=[{}])


def test_as_a_langchain_compressor(texts):
    documents = pytest.importorskip("langchain_core.documents")
    compressor = PageRAGRanker(k=5, fill=False).as_langchain_compressor(k=2)
    kept = compressor.compress_documents([documents.Document(page_content=t) for t in texts], QUESTION)
    assert len(kept) == 2
    assert not compressor.fill
