"""The real GraphRAG, its models on loopback: promotion takes part, at most k units reach the reader."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from model import ANSWER, CORPUS, QUESTION, script
from recipes import run

from pagerag import promote
from pagerag.systems.formats import read_pools, write_promoted
from pagerag.systems.graphrag import GraphRAGBackend, PromotedContext
from pagerag.testing import ScriptedChat, check_backend

# A whole index is built: under a minute on a free core, many on a busy machine.
pytestmark = [pytest.mark.integration, pytest.mark.timeout(3000)]
pytest.importorskip("graphrag", reason="not installed: pip install 'pagerag[graphrag]'")
K = 2


@pytest.fixture(scope="module")
def chat() -> Iterator[ScriptedChat]:
    with ScriptedChat(script) as server:
        yield server


@pytest.fixture(scope="module")
def config(tmp_path_factory: pytest.TempPathFactory, chat: ScriptedChat) -> Any:
    from graphrag_index import build

    return build(tmp_path_factory.mktemp("graphrag") / "project", chat.url, CORPUS)


@pytest.fixture
def engine(config: Any) -> Any:
    from graphrag_index import engine

    return engine(config)


def units_in(prompt: str) -> list[str]:
    """Which documents of the corpus stand in GraphRAG's table of sources."""
    return [title for title, text in CORPUS.items() if text in prompt.rpartition("-----Sources-----")[2]]


def ask(engine: Any, chat: ScriptedChat) -> tuple[str, str]:
    """GraphRAG's answer, and the prompt that its own reader saw."""
    before = len(chat.prompts)
    result = asyncio.run(engine.search(QUESTION))
    (prompt,) = [p for p in chat.prompts[before:] if "-----Sources-----" in p]
    return result.response, prompt


def test_pool_is_ranked_as_local_search_ranks(engine: Any, chat: ScriptedChat) -> None:
    pool = GraphRAGBackend(engine).pool(QUESTION)
    _, prompt = ask(engine, chat)
    section = prompt.rpartition("-----Sources-----")[2]
    shown = [section.index(c.text) for c in pool.candidates if c.text in section]
    assert len(shown) > K
    assert shown == sorted(shown)
    assert {CORPUS["Interstellar"], CORPUS["Christopher Nolan"]} <= {c.text for c in pool.candidates}
    assert all(c.score is None for c in pool.candidates)  # GraphRAG gives none
    texts = {c.id: c.text.upper() for c in pool.candidates}
    assert pool.relations
    for fact in pool.relations:
        assert all(fact.head in texts[unit] and fact.tail in texts[unit] for unit in fact.units)
    assert all("INTERSTELLAR" in (c.entities or ()) for c in pool.candidates if "Interstellar is" in c.text)


def test_its_own_reader_sees_at_most_k_promoted_units(engine: Any, chat: ScriptedChat) -> None:
    _, plain = ask(engine, chat)
    assert len(units_in(plain)) > K
    promoted = PromotedContext(engine.context_builder, k=K)
    engine.context_builder = promoted
    answer, prompt = ask(engine, chat)
    assert answer == ANSWER
    assert promoted.calls == 1
    assert promoted.last is not None
    assert len(promoted.last.pool) > K
    chosen = {c.text for c in promoted.last.context}
    assert 0 < len(chosen) <= K
    assert {CORPUS[title] for title in units_in(prompt)} == chosen
    assert "-----Relationships-----" in prompt  # its own tables stay
    assert prompt.count("-----Sources-----") == 1


def test_the_records_say_what_was_read(engine: Any) -> None:
    engine.context_builder = PromotedContext(engine.context_builder, k=K)
    result = asyncio.run(engine.search(QUESTION))
    table = result.context_data["sources"]
    assert list(table["text"]) == [c.text for c in engine.context_builder.last.context]
    assert GraphRAGBackend(engine).pool(QUESTION).candidates  # the wrapped builder is looked through


def test_streaming(engine: Any) -> None:
    engine.context_builder = PromotedContext(engine.context_builder, k=K)

    async def pieces() -> str:
        return "".join([piece async for piece in engine.stream_search(QUESTION)])

    assert asyncio.run(pieces()) == ANSWER
    assert engine.context_builder.calls == 1


def test_titles_and_pool_files_from_its_tables(engine: Any, config: Any, tmp_path: Path) -> None:
    import pandas as pd

    output = Path(config.output_storage.base_dir)
    documents = pd.read_parquet(output / "documents.parquet")
    titles = {str(i): str(t) for i, t in zip(documents["id"], documents["title"], strict=True)}
    pool = GraphRAGBackend(engine, titles=titles).pool(QUESTION)
    assert all(c.title and c.title.removesuffix(".txt") in CORPUS for c in pool.candidates)

    rows = [{"id": c.id, "text": c.text} for c in pool.candidates]
    path, out = tmp_path / "dump.jsonl", tmp_path / "promoted.jsonl"
    path.write_text(json.dumps({"query": QUESTION, "context_records": {"sources": rows}}) + "\n")
    tables = {name: output / f"{name}.parquet" for name in ("text_units", "relationships", "documents")}
    ((filed, record),) = read_pools(path, companions=tables)
    assert [(c.id, c.title, c.source) for c in filed.candidates] == [
        (c.id, c.title, c.source) for c in pool.candidates
    ]
    assert set(filed.relations) == set(pool.relations)
    write_promoted(out, [(record, promote(QUESTION, filed, k=K, mode="document"))])
    ((less, _),) = read_pools(out, companions=tables)
    assert len(less) == K


def test_the_recipe(engine: Any) -> None:
    names = run("graphrag", question=QUESTION, engine=engine)
    assert names["result"].response == ANSWER
    assert engine.context_builder.calls == 1
    assert len(names["result"].context_data["sources"]) <= 5


def test_conformance(engine: Any) -> None:
    check_backend(GraphRAGBackend(engine), questions=[QUESTION], odd=False)
