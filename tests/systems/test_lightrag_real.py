"""The real LightRAG, its model on loopback: promotion takes part, and at most k chunks reach the reader."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from model import ANSWER, CORPUS, QUESTION, script
from recipes import arun

from pagerag import promote
from pagerag.errors import BackendError
from pagerag.systems.formats import read_pools, write_promoted
from pagerag.systems.lightrag import LightRAGBackend, PromotionHook, pool_of
from pagerag.testing import FakeEncoder, ScriptedChat, check_backend

pytestmark = pytest.mark.integration
lightrag = pytest.importorskip(
    "lightrag", reason="LightRAG is not installed: pip install 'pagerag[lightrag]'"
)
K = 2


class Words:
    """A tokenizer that needs no download."""

    def encode(self, content: str) -> list[int]:
        return [ord(letter) for letter in content]

    def decode(self, tokens: list[int]) -> str:
        return "".join(map(chr, tokens))


class Loop:
    """LightRAG belongs to the event loop that made it: one loop for the whole module."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()

    def run(self, work: Any) -> Any:
        return self.loop.run_until_complete(work)


@pytest.fixture(scope="module")
def loop() -> Iterator[Loop]:
    one = Loop()
    yield one
    waiting = asyncio.all_tasks(one.loop)  # LightRAG's workers wait for ever
    for task in waiting:
        task.cancel()
    one.run(asyncio.gather(*waiting, return_exceptions=True))
    one.loop.close()


@pytest.fixture(scope="module")
def chat() -> Iterator[ScriptedChat]:
    with ScriptedChat(script) as server:
        yield server


def models(chat: ScriptedChat) -> dict[str, Any]:
    """What LightRAG needs to run without a network."""
    from lightrag.llm.openai import openai_complete_if_cache
    from lightrag.utils import EmbeddingFunc, Tokenizer

    encoder = FakeEncoder(dimension=128)

    async def embed(texts: list[str], **_: Any) -> np.ndarray[Any, Any]:
        return encoder.encode_passages(texts)

    async def model(
        prompt: str, system_prompt: str | None = None, history_messages: Any = None, **_: Any
    ) -> Any:
        return await openai_complete_if_cache(
            "scripted", prompt, system_prompt, history_messages or [], base_url=chat.url, api_key="none"
        )

    return {
        "llm_model_func": model,
        "embedding_func": EmbeddingFunc(embedding_dim=128, max_token_size=8192, func=embed),
        "tokenizer": Tokenizer("letters", Words()),
        "entity_extract_max_gleaning": 0,
        # Hashed words are no embedding model: every chunk is to be near enough.
        "vector_db_storage_cls_kwargs": {"cosine_better_than_threshold": -1.0},
    }


def make(folder: Path, chat: ScriptedChat, hook: Any, *, cache: bool = False) -> Any:
    from lightrag import LightRAG

    return LightRAG(working_dir=str(folder), rerank_model_func=hook, enable_llm_cache=cache, **models(chat))


@pytest.fixture(scope="module")
def hook() -> PromotionHook:
    return PromotionHook(k=K)


@pytest.fixture(scope="module")
def rag(
    tmp_path_factory: pytest.TempPathFactory, loop: Loop, chat: ScriptedChat, hook: PromotionHook
) -> Iterator[Any]:
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    one = make(tmp_path_factory.mktemp("lightrag"), chat, hook)

    async def fill() -> None:
        await one.initialize_storages()
        await one.ainsert(list(CORPUS.values()), file_paths=[f"{title}.txt" for title in CORPUS])

    loop.run(fill())
    yield one
    loop.run(one.finalize_storages())


def chunks_in(prompt: str) -> list[str]:
    """Which documents of the corpus stand in LightRAG's table of chunks."""
    table = prompt.rpartition("Document Chunks (")[2].partition("Reference Document List (")[0]
    return [title for title, text in CORPUS.items() if text in table]


def test_pool_with_relations(rag: Any, loop: Loop) -> None:
    pool = loop.run(LightRAGBackend(rag).apool(QUESTION))
    texts = {c.text for c in pool.candidates}
    assert CORPUS["Interstellar"] in texts
    assert CORPUS["Christopher Nolan"] in texts
    assert all(c.score is None for c in pool.candidates)  # LightRAG gives none
    named = loop.run(LightRAGBackend(rag, title=lambda path: Path(path).stem).apool(QUESTION))
    assert {c.title: c.text for c in named.candidates}.items() <= CORPUS.items()
    ids = {c.id: c.text for c in pool.candidates}
    stated = {(r.head, r.tail): {ids[u] for u in r.units} for r in pool.relations}
    assert any({"Interstellar", "Christopher Nolan"} == set(pair) for pair in stated)
    for (head, tail), units in stated.items():
        assert all(head in text and tail in text for text in units)
    assert all(0 < r.confidence <= 1 for r in pool.relations)


def test_two_calls_bound_what_the_reader_sees(rag: Any, loop: Loop) -> None:
    pool = loop.run(LightRAGBackend(rag).apool(QUESTION))
    promoted = promote(QUESTION, pool, k=K, mode="document")
    assert len(promoted.context) <= K < len(pool)
    assert {c.id for c in promoted.context} < {c.id for c in pool.candidates}


def test_the_hook_runs_and_lightrag_reads_at_most_k_chunks(
    rag: Any, loop: Loop, chat: ScriptedChat, hook: PromotionHook
) -> None:
    before, calls = len(chat.prompts), hook.calls
    answer = loop.run(LightRAGBackend(rag, hook=hook).aask(QUESTION))
    assert answer == ANSWER
    assert hook.calls == calls + 1
    assert hook.last is not None
    assert len(hook.last.pool) > K
    (read,) = [p for p in chat.prompts[before:] if "Document Chunks (" in p]
    assert sorted(chunks_in(read)) == sorted(
        title for title, text in CORPUS.items() if text in {c.text for c in hook.last.context}
    )
    assert len(chunks_in(read)) <= K
    assert len(chunks_in(plain_prompt(rag, loop, chat))) > K  # without the hook, more come through


def plain_prompt(rag: Any, loop: Loop, chat: ScriptedChat) -> str:
    from lightrag import QueryParam

    before = len(chat.prompts)
    loop.run(rag.aquery(QUESTION, QueryParam(mode="mix", chunk_top_k=20, enable_rerank=False)))
    return next(p for p in chat.prompts[before:] if "Document Chunks (" in p)


def test_a_hook_that_fails_is_not_passed_over(rag: Any, loop: Loop, hook: PromotionHook) -> None:
    """LightRAG swallows what a hook raises and reads the plain chunks; the adapter says so."""

    class Broken:
        async def apromote(self, *_: Any, **__: Any) -> Any:
            raise RuntimeError("no weights")

    whole = hook.promoter
    hook.promoter = Broken()  # type: ignore[assignment]
    try:
        with pytest.raises(BackendError, match="went on without it: no weights"):
            loop.run(LightRAGBackend(rag, hook=hook).aask(QUESTION))
    finally:
        hook.promoter = whole
    assert loop.run(LightRAGBackend(rag, hook=hook).aask(QUESTION)) == ANSWER


def test_a_hook_that_was_never_given_to_lightrag(rag: Any, loop: Loop) -> None:
    with pytest.raises(BackendError, match="did not call"):
        loop.run(LightRAGBackend(rag, hook=PromotionHook()).aask(QUESTION))
    with pytest.raises(BackendError, match="rerank hook"):
        loop.run(LightRAGBackend(rag).aask(QUESTION))


def test_the_answer_cache_is_refused(
    tmp_path: Path, loop: Loop, chat: ScriptedChat, hook: PromotionHook
) -> None:
    cached = make(tmp_path, chat, hook, cache=True)
    with pytest.raises(BackendError, match="enable_llm_cache=False"):
        loop.run(LightRAGBackend(cached, hook=hook).aask(QUESTION))


def test_its_answers_as_a_pool_file(rag: Any, loop: Loop, tmp_path: Path) -> None:
    import json

    from lightrag import QueryParam

    answer = loop.run(rag.aquery_data(QUESTION, QueryParam(mode="mix", chunk_top_k=20, enable_rerank=False)))
    path, out = tmp_path / "dump.jsonl", tmp_path / "promoted.jsonl"
    path.write_text(json.dumps({"query": QUESTION, **answer}) + "\n")
    ((pool, record),) = read_pools(path)
    assert pool.candidates == pool_of(QUESTION, answer).candidates
    write_promoted(out, [(record, promote(QUESTION, pool, k=K, mode="document"))])
    ((less, _),) = read_pools(out)
    assert len(less) == K


def test_the_recipes(rag: Any, loop: Loop, chat: ScriptedChat, tmp_path: Path) -> None:
    given = {"question": QUESTION, "documents": list(CORPUS.values()), "folder": str(tmp_path)}
    names = loop.run(arun("lightrag", **given, models={**models(chat), "workspace": "recipe"}))
    assert names["answer"] == ANSWER
    assert len(names["hook"].last.context) <= 5 < len(CORPUS)
    assert names["hook"].calls == 1
    loop.run(names["rag"].finalize_storages())
    names = loop.run(arun("lightrag-pool", question=QUESTION, rag=rag))
    assert len(names["promoted"].context) <= 5


def test_conformance(rag: Any, loop: Loop) -> None:
    class Here:
        """The same backend, its coroutine run in LightRAG's own loop."""

        name = "lightrag"

        def pool(self, question: str, k: int = 20) -> Any:
            return loop.run(LightRAGBackend(rag).apool(question, k))

    check_backend(Here(), questions=[QUESTION], odd=False, threads=False)
