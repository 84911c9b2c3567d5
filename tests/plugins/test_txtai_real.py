"""The real txtai in an environment of its own (``make test-backends``): its index, its RAG and Reranker pipelines."""

from __future__ import annotations

from importlib.util import find_spec

import pytest

from pagerag.plugins.txtai import PageRAGSimilarity

from .conftest import GOLD, QUESTION, twenty

pytestmark = pytest.mark.backends
if find_spec("txtai") is None:
    pytest.skip("txtai is not installed; docs/plugins.md has the recipe", allow_module_level=True)
K = 3


@pytest.fixture(scope="module")
def embeddings():
    from txtai import Embeddings

    made = Embeddings(keyword=True, content=True)  # BM25: no model from a hub
    made.index([(d.id, f"{d.title}. {d.text}", None) for d in twenty()])
    return made


def test_its_rag_reads_what_was_promoted(embeddings):
    from txtai.pipeline import RAG

    prompts = []

    def model(given, **_):
        prompts.extend(given)
        return ["Norway"] * len(given)

    class Watched(PageRAGSimilarity):
        def __call__(self, queries, other=None):
            results = super().__call__(queries, other)
            if not isinstance(queries, str):
                found.extend(results)
            return results

    found = []
    similarity = Watched(embeddings.batchsearch, pool=20)
    rag = RAG(similarity, model, context=K, output="reference", separator="\n")
    ((_, answer, reference),) = rag([("name", QUESTION, QUESTION, False)])
    (promoted,) = found
    assert len(promoted) <= K
    assert {row["id"] for row in promoted} >= GOLD
    assert all(row["pagerag"]["role"] in ("core", "fill") for row in promoted)
    (prompt,) = prompts
    assert (answer, reference in {row["id"] for row in promoted}) == ("Norway", True)
    assert prompt == f"{QUESTION} " + "\n".join(row["text"] for row in promoted)


def test_its_reranker_orders_by_promotion(embeddings):
    from txtai.pipeline import Reranker

    texts = {row["id"]: row["text"] for row in embeddings.search(QUESTION, 30)}
    ranked = Reranker(embeddings, PageRAGSimilarity(k=K))(QUESTION, limit=K)
    assert [row["id"] for row in ranked] == [
        list(texts)[place] for place, _ in PageRAGSimilarity(k=K)(QUESTION, list(texts.values()))[:K]
    ]
