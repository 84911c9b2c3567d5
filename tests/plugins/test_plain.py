"""FlashRAG and txtai: what their pipelines call, on values of their shape."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from pagerag.errors import InputError
from pagerag.plugins.flashrag import PageRAGRefiner, PageRAGReranker
from pagerag.plugins.txtai import PageRAGSimilarity

from .conftest import FLASHRAG, QUESTION


@pytest.fixture
def documents(pool):
    return FLASHRAG.documents(pool)


class Config:
    """FlashRAG's Config is no mapping: it only answers ``in`` and ``[]``."""

    def __init__(self, **values):
        self.values = values

    def __contains__(self, name):
        return name in self.values

    def __getitem__(self, name):
        return self.values.get(name)


def test_a_refiner_writes_the_reference_text_flashrag_expects(documents):
    item = SimpleNamespace(question=QUESTION, retrieval_result=documents)
    refiner = PageRAGRefiner(Config(refiner_topk=2))
    (text,) = refiner.batch_run([item], batch_size=4)
    lines = text.splitlines()
    assert len(lines) == 2
    assert {line.split(") ")[0] for line in lines} <= {
        "Doc 1(Title: The Silent Harbour",
        "Doc 2(Title: The Silent Harbour",
        "Doc 1(Title: Ilse Brandt",
        "Doc 2(Title: Ilse Brandt",
    }
    assert "llmlingua" not in refiner.name  # FlashRAG tells refiners apart by their name
    assert refiner.run(SimpleNamespace(question=QUESTION, retrieval_result=[])) == ""


def test_a_refiner_keeps_line_breaks_inside_a_document(documents):
    documents[6]["contents"] += "\nA second line\nand a third."
    item = SimpleNamespace(question=QUESTION, retrieval_result=documents)
    text = PageRAGRefiner(k=3).run(item)
    assert "A second line\nand a third.\n" in text
    assert text.count("(Title: ") == 3


def test_a_reranker_takes_one_query_or_many(documents):
    reranker = PageRAGReranker(Config(rerank_topk=3))
    assert reranker.topk == 3
    kept, scores = reranker.rerank([QUESTION, QUESTION], [documents, documents[:5]])
    assert [len(k) for k in kept] == [len(s) for s in scores]
    assert {"d6", "d14"} <= {d["id"] for d in kept[0]}
    single, _ = reranker.rerank(QUESTION, documents, topk=2)
    assert {d["id"] for d in single[0]} == {"d6", "d14"}
    assert reranker.rerank(QUESTION, []) == ([[]], [[]])
    with pytest.raises(InputError, match="2 queries came with 1"):
        reranker.rerank([QUESTION, QUESTION], [documents])


def test_scores_beside_the_documents_are_used(documents):
    for document in documents:
        del document["score"]
    kept, _ = PageRAGReranker(k=2).rerank([QUESTION], [documents], scores=[[1 - n / 40 for n in range(20)]])
    assert {d["id"] for d in kept[0]} == {"d6", "d14"}


def test_documents_with_title_and_text_apart(pool):
    documents = [{"id": d.id, "title": d.title, "text": d.text} for d in pool]
    kept, _ = PageRAGReranker(k=2).rerank([QUESTION], [documents])
    assert {d["id"] for d in kept[0]} == {"d6", "d14"}


def test_txtai_rag_calls_it_with_queries_and_a_limit(pool):
    asked = []

    def search(queries, limit):
        asked.append((list(queries), limit))
        return [[{"id": d.id, "text": d.text, "title": d.title, "score": d.score} for d in pool]] * len(
            queries
        )

    similarity = PageRAGSimilarity(search, pool=20)
    (found,) = similarity([QUESTION], 3)
    assert asked == [([QUESTION], 20)]
    assert len(found) <= 3
    # txtai sorts what it gets by score and cuts: the order must survive that
    again = sorted(found, key=lambda result: result["score"], reverse=True)
    assert [r["id"] for r in again] == [r["id"] for r in found]
    assert {"d6", "d14"} <= {r["id"] for r in found}


def test_txtai_reranker_calls_it_with_a_query_and_texts(pool):
    ranked = PageRAGSimilarity(k=3)(QUESTION, [d.text for d in pool])
    assert sorted(place for place, _ in ranked) == list(range(20))
    scores = [score for _, score in ranked]
    assert scores == sorted(scores, reverse=True)
    assert len(set(scores)) == 20  # txtai puts them on results in its own order, and sorts: no two are equal
    assert 6 in {place for place, _ in ranked[:3]}


def test_txtai_asks_which_text_an_answer_is_from(pool):
    similarity = PageRAGSimilarity(k=3)
    texts = [d.text for d in pool]
    as_tokens = [text.split() for text in texts]
    assert similarity.batchsimilarity([QUESTION], texts) == [similarity(QUESTION, texts)]
    assert similarity.batchsimilarity([QUESTION], as_tokens) == similarity.batchsimilarity([QUESTION], texts)


def test_txtai_without_a_search_is_told():
    with pytest.raises(InputError, match="batchsearch"):
        PageRAGSimilarity()([QUESTION], 3)
