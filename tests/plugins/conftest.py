"""One view on all plug-ins: units in, what the framework would hand on out."""

from __future__ import annotations

import asyncio
import importlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

QUESTION = "In which country was the author of The Silent Harbour born?"


@dataclass
class Doc:
    """A document before it takes a framework's form."""

    text: str | None
    id: str | None = None
    title: Any = None
    score: Any = None
    metadata: dict[str, Any] = field(default_factory=dict)

    def meta(self) -> dict[str, Any]:
        return {**self.metadata, **({} if self.title is None else {"title": self.title})}


@dataclass
class Seen:
    """A document that came out."""

    text: str
    score: float
    provenance: dict[str, Any]
    metadata: dict[str, Any]
    original: Any


@dataclass
class Host:
    """A framework: how to make the component and its documents, how to call it, what comes out."""

    name: str
    module: str
    requires: tuple[str, ...]
    make: Callable[..., Any]
    documents: Callable[[list[Doc]], list[Any]]
    call: Callable[[Any, str, list[Any]], list[Seen]]
    acall: Callable[[Any, str, list[Any]], Any] | None

    def run(self, docs: list[Doc], question: str = QUESTION, **settings: Any) -> list[Seen]:
        return self.call(self.make(**settings), question, self.documents(docs))

    def arun(self, docs: list[Doc], question: str = QUESTION, **settings: Any) -> list[Seen]:
        assert self.acall is not None
        return asyncio.run(self.acall(self.make(**settings), question, self.documents(docs)))


def load(name: str) -> Any:
    return importlib.import_module(f"pagerag.plugins.{name}")


# --- LangChain --------------------------------------------------------------------------------------------


def _langchain_documents(docs):
    from langchain_core.documents import Document

    return [
        Document(
            page_content=d.text or "",
            id=d.id,
            metadata={**d.meta(), **({} if d.score is None else {"relevance_score": d.score})},
        )
        for d in docs
    ]


def _langchain_seen(documents, out):
    by_key = {(d.id, d.page_content): d for d in documents}
    return [
        Seen(
            o.page_content,
            o.metadata["relevance_score"],
            o.metadata["pagerag"],
            o.metadata,
            by_key[o.id, o.page_content],
        )
        for o in out
    ]


async def _langchain_acall(component, question, documents):
    return _langchain_seen(documents, await component.acompress_documents(documents, question))


LANGCHAIN = Host(
    "langchain",
    "pagerag.plugins.langchain",
    ("langchain_core",),
    lambda **settings: load("langchain").PageRAGCompressor(**settings),
    _langchain_documents,
    lambda c, q, ds: _langchain_seen(ds, c.compress_documents(ds, q)),
    _langchain_acall,
)

# --- LlamaIndex -------------------------------------------------------------------------------------------


def _llamaindex_documents(docs):
    from llama_index.core.schema import NodeWithScore, TextNode

    return [
        NodeWithScore(
            node=TextNode(text=d.text or "", metadata=d.meta(), **({} if d.id is None else {"id_": d.id})),
            score=d.score,
        )
        for d in docs
    ]


def _llamaindex_seen(nodes, out):
    by_key = {(n.node.node_id, n.node.text): n.node for n in nodes}
    return [
        Seen(
            o.node.text,
            o.score,
            o.node.metadata["pagerag"],
            o.node.metadata,
            by_key[o.node.node_id, o.node.text],
        )
        for o in out
    ]


async def _llamaindex_acall(component, question, nodes):
    return _llamaindex_seen(nodes, await component.apostprocess_nodes(nodes, query_str=question))


LLAMAINDEX = Host(
    "llamaindex",
    "pagerag.plugins.llamaindex",
    ("llama_index.core",),
    lambda **settings: load("llamaindex").PageRAGPostprocessor(flat_metadata=False, **settings),
    _llamaindex_documents,
    lambda c, q, ns: _llamaindex_seen(ns, c.postprocess_nodes(ns, query_str=q)),
    _llamaindex_acall,
)

# --- Haystack ---------------------------------------------------------------------------------------------


def _haystack_documents(docs):
    from haystack import Document

    return [
        Document(content=d.text, meta=d.meta(), score=d.score, **({} if d.id is None else {"id": d.id}))
        for d in docs
    ]


def _haystack_seen(documents, out):
    by_key = {(d.id, d.content): d for d in documents}
    return [
        Seen(o.content, o.score, o.meta["pagerag"], o.meta, by_key[o.id, o.content]) for o in out["documents"]
    ]


def _haystack_make(**settings):
    settings = {"top_k" if name == "k" else name: value for name, value in settings.items()}
    return load("haystack").PageRAGRanker(**settings)


async def _haystack_acall(component, question, documents):
    return _haystack_seen(documents, await component.run_async(query=question, documents=documents))


HAYSTACK = Host(
    "haystack",
    "pagerag.plugins.haystack",
    ("haystack",),
    _haystack_make,
    _haystack_documents,
    lambda c, q, ds: _haystack_seen(ds, c.run(query=q, documents=ds)),
    _haystack_acall,
)

# --- DSPy -------------------------------------------------------------------------------------------------


def _plain_documents(docs):
    return [{**d.meta(), "id": d.id, "text": d.text or "", "score": d.score} for d in docs]


def _dspy_seen(documents, out):
    return [
        Seen(p["text"], s, provenance, p, documents[i])
        for p, s, i, provenance in zip(out.passages, out.scores, out.indices, out.pagerag, strict=True)
    ]


async def _dspy_acall(component, question, passages):
    return _dspy_seen(passages, await component.acall(question, passages=passages))


DSPY = Host(
    "dspy",
    "pagerag.plugins.dspy",
    ("dspy",),
    lambda **settings: load("dspy").PageRAG(**settings),
    _plain_documents,
    lambda c, q, ps: _dspy_seen(ps, c(q, passages=ps)),
    _dspy_acall,
)

# --- rerankers --------------------------------------------------------------------------------------------


def _rerankers_documents(docs):
    from rerankers import Document

    return [Document(d.text or "", d.id, {**d.meta(), "score": d.score}) for d in docs]


def _rerankers_seen(documents, out):
    return [
        Seen(
            r.document.text,
            r.score,
            r.document.metadata["pagerag"],
            r.document.metadata,
            next(d for d in documents if d.text == r.document.text and d.doc_id in (r.doc_id, None)),
        )
        for r in out.results
    ]


async def _rerankers_acall(component, question, documents):
    return _rerankers_seen(documents, await component.rank_async(question, documents))


RERANKERS = Host(
    "rerankers",
    "pagerag.plugins.rerankers",
    ("rerankers",),
    lambda **settings: load("rerankers").PageRAGRanker(select=True, **settings),
    _rerankers_documents,
    lambda c, q, ds: _rerankers_seen(ds, c.rank(q, ds)),
    _rerankers_acall,
)

# --- FlashRAG and txtai: plain values ---------------------------------------------------------------------


def _flashrag_documents(docs):
    out = []
    for d in docs:
        title = d.title if isinstance(d.title, str) else None
        contents = f'"{title}"\n{d.text or ""}' if title else (d.text or "")
        out.append({"id": d.id, "contents": contents, "score": d.score, "metadata": dict(d.metadata)})
    return out


def _flashrag_call(component, question, documents):
    kept, scores = component.rerank([question], [documents])
    by_key = {(d["id"], d["contents"]): d for d in documents}
    return [
        Seen(
            d["contents"].split("\n", 1)[-1] if d["contents"].startswith('"') else d["contents"],
            s,
            d["metadata"]["pagerag"],
            d["metadata"],
            by_key[d["id"], d["contents"]],
        )
        for d, s in zip(kept[0], scores[0], strict=True)
    ]


FLASHRAG = Host(
    "flashrag",
    "pagerag.plugins.flashrag",
    (),
    lambda **settings: load("flashrag").PageRAGReranker(**settings),
    _flashrag_documents,
    _flashrag_call,
    None,
)


def _txtai_call(component, question, documents):
    component.search = lambda queries, limit: [documents] * len(queries)
    (out,) = component([question], component.stage.k)
    by_key = {(d["id"], d["text"]): d for d in documents}
    return [Seen(d["text"], d["score"], d["pagerag"], d, by_key[d["id"], d["text"]]) for d in out]


TXTAI = Host(
    "txtai",
    "pagerag.plugins.txtai",
    (),
    lambda **settings: load("txtai").PageRAGSimilarity(**settings),
    _plain_documents,
    _txtai_call,
    None,
)

HOSTS = (LANGCHAIN, LLAMAINDEX, HAYSTACK, DSPY, RERANKERS, FLASHRAG, TXTAI)


@pytest.fixture(params=HOSTS, ids=lambda host: host.name)
def host(request) -> Host:
    for module in request.param.requires:
        pytest.importorskip(module)
    return request.param


@pytest.fixture
def pool() -> list[Doc]:
    return twenty()


def twenty() -> list[Doc]:
    """Twenty chunks: two of them together answer the question, the rest share a word with it."""
    gold = [
        Doc(
            "The Silent Harbour is a 1954 novel by Ilse Brandt, first printed in Hamburg.",
            title="The Silent Harbour",
        ),
        Doc(
            "Ilse Brandt was a novelist. She was born in Austria and moved to Hamburg in 1930.",
            title="Ilse Brandt",
        ),
    ]
    noise = [
        Doc(
            f"Harbour number {n} is a busy place in the north, and its keeper lives nearby.",
            title=f"Harbour {n}",
        )
        for n in range(18)
    ]
    docs = [*noise[:6], gold[0], *noise[6:13], gold[1], *noise[13:]]
    for n, doc in enumerate(docs):
        doc.id, doc.score, doc.metadata = f"d{n}", 1.0 - n / 40, {"page": n, "tags": ["a", {"b": 1}]}
    return docs


GOLD = {"d6", "d14"}
