"""A small index made by the real GraphRAG, its models on loopback: shared by the tests and the benchmark that need
one."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any

os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")  # read when litellm is imported
DIMENSION = 64
# Community reports are left out: they cost most of the time, and local search does without.
WORKFLOWS = (
    "load_input_documents",
    "create_base_text_units",
    "create_final_documents",
    "extract_graph",
    "finalize_graph",
    "create_communities",
    "create_final_text_units",
    "generate_text_embeddings",
)


def configuration(
    folder: Path, url: str, *, dimension: int = DIMENSION, size: int = 200, overlap: int = 20
) -> Any:
    from graphrag.config.models.graph_rag_config import GraphRagConfig

    model = {"model_provider": "openai", "auth_method": "api_key", "api_key": "none", "api_base": url}
    return GraphRagConfig(
        completion_models={"default_completion_model": {**model, "model": "gpt-4o"}},
        embedding_models={"default_embedding_model": {**model, "model": "text-embedding-3-large"}},
        input={"type": "text"},
        input_storage={"type": "file", "base_dir": str(folder / "input")},
        output_storage={"type": "file", "base_dir": str(folder / "output")},
        cache={"type": "none"},
        reporting={"type": "file", "base_dir": str(folder / "logs")},
        vector_store={
            "type": "lancedb",
            "db_uri": str(folder / "output" / "lancedb"),
            "vector_size": dimension,
        },
        chunking={"type": "tokens", "size": size, "overlap": overlap, "encoding_model": "o200k_base"},
        extract_graph={"max_gleanings": 0},
        workflows=list(WORKFLOWS),
    )


def build(folder: Path, url: str, corpus: dict[str, str], **options: int) -> Any:
    """The configuration of an index over ``corpus``, built in ``folder``; ``options`` as ``configuration`` has
    them."""
    from graphrag.api import build_index

    (folder / "input").mkdir(parents=True)
    for title, text in corpus.items():
        (folder / "input" / f"{title}.txt").write_text(text)
    config = configuration(folder, url, **options)
    for result in asyncio.run(build_index(config=config)):
        if getattr(result, "error", None) is not None:
            raise result.error
    return config


def engine(config: Any) -> Any:
    """GraphRAG's local search engine over the index."""
    import pandas as pd
    from graphrag.config.embeddings import entity_description_embedding
    from graphrag.query.factory import get_local_search_engine
    from graphrag.query.indexer_adapters import (
        read_indexer_entities,
        read_indexer_relationships,
        read_indexer_text_units,
    )
    from graphrag.utils.api import get_embedding_store

    tables = {
        name: pd.read_parquet(Path(config.output_storage.base_dir) / f"{name}.parquet")
        for name in ("entities", "communities", "text_units", "relationships")
    }
    return get_local_search_engine(
        config=config,
        reports=[],
        text_units=read_indexer_text_units(tables["text_units"]),
        entities=read_indexer_entities(tables["entities"], tables["communities"], 2),
        relationships=read_indexer_relationships(tables["relationships"]),
        covariates={"claims": []},
        description_embedding_store=get_embedding_store(
            config=config.vector_store, embedding_name=entity_description_embedding
        ),
        response_type="a few words",
    )
