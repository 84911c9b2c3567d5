"""KG2RAG's seam in the real LlamaIndex: promotion as one more postprocessor of a query engine."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from model import CORPUS, QUESTION, facts
from recipes import run

from pagerag.systems.kg2rag import KG2RAGBackend, KG2RAGPostprocessor, read_triples
from pagerag.testing import check_backend

pytestmark = pytest.mark.integration
pytest.importorskip("llama_index.core", reason="not installed: pip install 'pagerag[llamaindex]'")


@pytest.fixture
def kgs(tmp_path: Path) -> Path:
    """One JSON file a title, as KG2RAG writes them."""
    folder = tmp_path / "kgs"
    folder.mkdir()
    for title, text in CORPUS.items():
        (folder / f"{title}.json").write_text(json.dumps({"0": [list(fact) for fact in facts(text)]}))
    return folder


@pytest.fixture
def retriever() -> Any:
    from llama_index.core.retrievers import BaseRetriever
    from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode

    class Fixed(BaseRetriever):
        def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
            return [
                NodeWithScore(node=TextNode(id_=f"{title}##0", text=f"{title}: {text}"), score=1.0 - i / 10)
                for i, (title, text) in enumerate(CORPUS.items())
            ]

    return Fixed()


@pytest.fixture
def expansion() -> Any:
    """A postprocessor of the real class that hands all nodes on, as KG2RAG's expansion does."""
    from llama_index.core.postprocessor.types import BaseNodePostprocessor

    class Same(BaseNodePostprocessor):
        def _postprocess_nodes(self, nodes: list[Any], query_bundle: Any = None) -> list[Any]:
            return nodes

    return Same()


@pytest.fixture
def llm() -> Any:
    from llama_index.core.llms import MockLLM

    return MockLLM()  # answers with the prompt it was given


def shown(prompt: str) -> list[str]:
    return [text for text in CORPUS.values() if text in prompt]


def test_the_recipe(kgs: Path, retriever: Any, expansion: Any, llm: Any) -> None:
    names = run("kg2rag", question=QUESTION, kgs=kgs, retriever=retriever, expansion=expansion, llm=llm)
    assert names["promotion"].calls == 1
    assert len(names["promotion"].last.context) == 5 < len(CORPUS)


@pytest.mark.parametrize("is_async", [False, True])
def test_at_most_k_nodes_reach_the_reader(
    kgs: Path, retriever: Any, expansion: Any, llm: Any, is_async: bool
) -> None:
    from llama_index.core.query_engine import RetrieverQueryEngine

    promotion = KG2RAGPostprocessor(read_triples(kgs), k=2)
    engine = RetrieverQueryEngine.from_args(retriever, llm=llm, node_postprocessors=[expansion, promotion])
    answer = asyncio.run(engine.aquery(QUESTION)) if is_async else engine.query(QUESTION)
    assert promotion.calls == 1
    assert promotion.last is not None
    assert len(promotion.last.pool) == len(CORPUS)
    assert sorted(shown(str(answer))) == sorted(unit.text for unit in promotion.last.context)
    assert len(shown(str(answer))) == 2
    assert [node.node.node_id for node in answer.source_nodes] == [c.id for c in promotion.last.context]


def test_pool_with_triples(kgs: Path, retriever: Any, expansion: Any) -> None:
    backend = KG2RAGBackend(retriever, expansion=[expansion], graph=read_triples(kgs))
    pool = backend.pool(QUESTION)
    assert {c.title: c.text for c in pool.candidates} == CORPUS
    assert ("Interstellar", "Christopher Nolan") in {(r.head, r.tail) for r in pool.relations}
    check_backend(backend, questions=[QUESTION])
