"""The real HippoRAG 2 in an environment of its own (``make test-backends``), its models on loopback."""

from __future__ import annotations

import importlib.machinery
import os
import sys
import types
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from model import ANSWER, CORPUS, QUESTION, script
from recipes import run

from pagerag import promote
from pagerag.systems.hipporag import HippoRAGBackend, chunk_id
from pagerag.testing import FakeEncoder, ScriptedChat, check_backend

pytestmark = pytest.mark.backends
if find_spec("hipporag") is None:
    pytest.skip("HippoRAG is not installed; docs/backends.md has the recipe", allow_module_level=True)
K = 2


def stand_in(name: str, **names: Any) -> None:
    """HippoRAG imports these at the top and needs them only for models that are run in process."""
    if find_spec(name) is None:
        module = types.ModuleType(name)
        module.__spec__ = importlib.machinery.ModuleSpec(name, None)
        module.__dict__.update(names)
        sys.modules[name] = module


@pytest.fixture(scope="module")
def chat() -> Iterator[ScriptedChat]:
    with ScriptedChat(script, encoder=FakeEncoder(256)) as server:
        yield server


@pytest.fixture(scope="module")
def hipporag(tmp_path_factory: pytest.TempPathFactory, chat: ScriptedChat) -> Any:
    os.environ.update(LITELLM_LOCAL_MODEL_COST_MAP="True", HF_HUB_OFFLINE="1", OPENAI_API_KEY="none")
    stand_in("gritlm", GritLM=object)
    stand_in("vllm", SamplingParams=object, LLM=object)
    from hipporag import HippoRAG

    one = HippoRAG(
        save_dir=str(tmp_path_factory.mktemp("hipporag")),
        llm_model_name="scripted",
        llm_base_url=chat.url,
        embedding_model_name="text-embedding-scripted",
        embedding_base_url=chat.url,
    )
    one.index([f"{title}\n{text}" for title, text in CORPUS.items()])
    return one


def test_pool_with_its_openie_facts(hipporag: Any) -> None:
    pool = HippoRAGBackend(hipporag).pool(QUESTION)
    assert {c.title: c.text for c in pool.candidates} == CORPUS
    scores = [c.score for c in pool.candidates]
    assert None not in scores
    assert scores == sorted(scores, key=lambda score: -(score or 0.0))
    stated = {(r.head, r.tail): r.units for r in pool.relations}
    assert stated["Interstellar", "Christopher Nolan"] == (
        chunk_id(f"Interstellar\n{CORPUS['Interstellar']}"),
    )


def test_its_own_reader_sees_the_promoted_passages_alone(hipporag: Any, chat: ScriptedChat) -> None:
    backend = HippoRAGBackend(hipporag)
    promoted = promote(QUESTION, backend.pool(QUESTION), k=K, mode="document")
    before = len(chat.prompts)
    answer = backend.ask(QUESTION, promoted.context)
    assert answer.startswith(ANSWER)
    (read,) = chat.prompts[before:]
    assert QUESTION in read
    shown = [title for title, text in CORPUS.items() if text in read]
    assert sorted(shown) == sorted(str(c.title) for c in promoted.context)
    assert 0 < len(shown) <= K


def test_dense_retrieval_when_its_assertion_fails(hipporag: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: Any, **__: Any) -> Any:
        raise AssertionError

    monkeypatch.setattr(hipporag, "retrieve", fails)
    backend = HippoRAGBackend(hipporag)
    assert len(backend.pool(QUESTION, 3)) == 3
    assert backend.fallbacks == 1


def test_its_openie_file_with_a_dump(hipporag: Any, tmp_path: Path) -> None:
    import json

    from pagerag.systems.formats import read_pools

    (solution,) = hipporag.retrieve([QUESTION], num_to_retrieve=6)
    row = {"question": QUESTION, "docs": solution.docs, "doc_scores": [float(s) for s in solution.doc_scores]}
    (tmp_path / "dump.jsonl").write_text(json.dumps(row) + "\n")
    ((pool, _),) = read_pools(tmp_path / "dump.jsonl", companions={"openie": hipporag.openie_results_path})
    assert pool.relations
    assert len(pool) == 6


def test_the_recipe(hipporag: Any) -> None:
    names = run("hipporag", question=QUESTION, hipporag=hipporag)
    assert names["answer"].startswith(ANSWER)
    assert len(names["promoted"].context) <= 5 < len(CORPUS)


def test_conformance(hipporag: Any) -> None:
    check_backend(HippoRAGBackend(hipporag), questions=[QUESTION], odd=False, threads=False)
