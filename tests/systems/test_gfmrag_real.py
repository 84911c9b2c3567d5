"""The real GFM-RAG in an environment of its own, with random weights: its wiring, not its quality."""

from __future__ import annotations

import importlib.machinery
import json
import os
import sys
import types
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from gfm_models import DIMENSION, Linker, recognise
from model import ANSWER, CORPUS, QUESTION, entities, facts
from recipes import run

from pagerag import promote
from pagerag.systems.gfmrag import GFMRAGBackend
from pagerag.testing import check_backend

# The first question compiles a C++ kernel: a minute on a free core, many on a busy machine.
pytestmark = [pytest.mark.backends, pytest.mark.timeout(3000)]
if find_spec("gfmrag") is None:
    pytest.skip("GFM-RAG is not installed; docs/backends.md has the recipe", allow_module_level=True)
K = 2
MODEL = {
    "_target_": "gfmrag.models.gfm_rag_v1.GNNRetriever",
    "init_nodes_weight": True,
    "init_nodes_type": "document",
    "ranker": {"_target_": "gfmrag.models.gfm_rag_v1.rankers.IDFWeightedRanker"},
    "entity_model": {
        "_target_": "gfmrag.models.ultra.models.QueryNBFNet",
        "input_dim": 16,
        "hidden_dims": [16, 16],
        "message_func": "distmult",
        "aggregate_func": "sum",
        "short_cut": True,
        "layer_norm": True,
    },
    "feat_dim": DIMENSION,
}


def stand_in(name: str, **names: Any) -> None:
    """GFM-RAG imports these at the top and needs them only for models that are run in process."""
    if name not in sys.modules:
        module = types.ModuleType(name)
        module.__spec__ = importlib.machinery.ModuleSpec(name, None, is_package=True)
        module.__path__ = []
        module.__dict__.update(names)
        sys.modules[name] = module


def stage1(folder: Path) -> None:
    """The graph of the corpus as GFM-RAG's first stage writes it."""
    import pandas as pd

    names = sorted({name.lower() for text in CORPUS.values() for name in entities(text)})
    nodes = [{"name": name, "type": "entity", "attributes": "{}"} for name in names]
    nodes += [
        {"name": title, "type": "document", "attributes": repr({"content": text})}
        for title, text in CORPUS.items()
    ]
    edges = [
        {"source": name.lower(), "relation": "is_mentioned_in", "target": title, "attributes": "{}"}
        for title, text in CORPUS.items()
        for name in entities(text)
    ]
    edges += [
        {"source": h.lower(), "relation": r, "target": t.lower(), "attributes": "{}"}
        for text in CORPUS.values()
        for h, r, t in facts(text)
    ]
    relations = [{"name": r, "attributes": "{}"} for r in sorted({e["relation"] for e in edges})]
    folder.mkdir(parents=True)
    for name, rows in (("nodes", nodes), ("edges", edges), ("relations", relations)):
        pd.DataFrame(rows).to_csv(folder / f"{name}.csv", index=False)


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("gfmrag")
    stage1(folder / "corpus" / "processed" / "stage1")
    (folder / "corpus" / "raw").mkdir(parents=True)
    (folder / "corpus" / "raw" / "documents.json").write_text(json.dumps(CORPUS))
    return folder


@pytest.fixture(scope="module")
def retriever(project: Path) -> Any:
    os.environ.update(
        HF_HUB_OFFLINE="1", TRANSFORMERS_OFFLINE="1", WANDB_MODE="disabled", CUDA_VISIBLE_DEVICES=""
    )
    stand_in("vllm", LLM=object, PoolingParams=object, SamplingParams=object)
    stand_in("pylate")
    stand_in("pylate.indexes", PLAID=object)
    stand_in("pylate.models", ColBERT=object)
    stand_in("pylate.retrieve", ColBERT=object)
    stand_in("langchain_nvidia_ai_endpoints", ChatNVIDIA=object)
    stand_in("langchain_together", ChatTogether=object)
    import torch
    from gfmrag import GFMRetriever
    from hydra.utils import instantiate

    torch.manual_seed(7)
    checkpoint = project / "checkpoint"
    checkpoint.mkdir()
    embedder = {"_target_": "gfm_models.Embedder"}
    dataset = {
        "class_name": "GraphIndexDatasetV1",
        "text_emb_model_cfgs": embedder,
        "use_node_feat": False,
        "use_relation_feat": True,
        "use_edge_feat": False,
        "inverse_relation_feat": "text",
        "target_type": "entity",
    }
    config = {"text_emb_model_config": embedder, "dataset_config": dataset, "model_config": MODEL}
    (checkpoint / "config.json").write_text(json.dumps(config))
    torch.save({"model": instantiate(MODEL).state_dict()}, checkpoint / "model.pth")
    return GFMRetriever.from_index(
        data_dir=str(project),
        data_name="corpus",
        model_path=str(checkpoint),
        ner_model=recognise,
        el_model=Linker(),
    )


def test_pool_with_the_facts_of_its_graph(retriever: Any, project: Path) -> None:
    pool = GFMRAGBackend(retriever, stage1=project / "corpus/processed/stage1").pool(QUESTION)
    assert {c.title: c.text for c in pool.candidates} == CORPUS
    assert None not in {c.score for c in pool.candidates}
    assert ("interstellar", "christopher nolan") in {(r.head, r.tail) for r in pool.relations}


def prompt_builder() -> Any:
    from gfmrag.prompt_builder import QAPromptBuilder

    return QAPromptBuilder(
        SimpleNamespace(
            system_prompt="Read.", doc_prompt="", question_prompt="## Question: {question}", examples=[]
        )
    )


def test_its_own_prompt_shows_the_promoted_documents_alone(retriever: Any) -> None:
    backend = GFMRAGBackend(retriever)
    promoted = promote(QUESTION, backend.pool(QUESTION), k=K, mode="document")
    seen: list[Any] = []
    llm = SimpleNamespace(generate_sentence=lambda prompt: seen.append(prompt) or ANSWER)
    assert backend.ask(QUESTION, promoted.context, prompt_builder(), llm) == ANSWER
    prompt = json.dumps(seen[0])
    shown = [title for title, text in CORPUS.items() if text in prompt]
    assert sorted(shown) == sorted(str(c.title) for c in promoted.context)
    assert 0 < len(shown) <= K


def test_the_recipe(retriever: Any, project: Path) -> None:
    names = run(
        "gfmrag",
        question=QUESTION,
        retriever=retriever,
        stage1=project / "corpus/processed/stage1",
        prompt_builder=prompt_builder(),
        llm=SimpleNamespace(generate_sentence=lambda _: ANSWER),
    )
    assert names["answer"] == ANSWER
    assert len(names["promoted"].context) <= 5 < len(CORPUS)


def test_conformance(retriever: Any) -> None:
    check_backend(GFMRAGBackend(retriever), questions=[QUESTION], odd=False, threads=False)
