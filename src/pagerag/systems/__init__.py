"""Read other RAG systems as pools: one adapter a system, and the pool files that such systems write.

``lightrag``, ``hipporag``, ``graphrag``, ``gfmrag``, ``kg2rag``
    adapters to the living systems; importable without them
``formats``
    pools that somebody already has in a file

``living()`` lists the adapters, with what each needs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from types import MappingProxyType
from typing import Any

__all__ = ["Living", "living"]


@dataclass(frozen=True, slots=True)
class Living:
    """An adapter to a system that is installed on its own."""

    name: str
    label: str
    package: str
    tested: str
    adapter: str
    needs: str

    def load(self) -> Any:
        """The adapter's class; the system itself need not be installed."""
        module, _, name = self.adapter.partition(":")
        return getattr(import_module(module), name)


_LIVING = (
    Living(
        "lightrag",
        "LightRAG",
        "lightrag-hku",
        "1.5.7",
        "pagerag.systems.lightrag:LightRAGBackend",
        "a language model that builds its graph",
    ),
    Living(
        "graphrag",
        "GraphRAG",
        "graphrag",
        "3.3.0",
        "pagerag.systems.graphrag:GraphRAGBackend",
        "a language model that builds its graph",
    ),
    Living(
        "hipporag",
        "HippoRAG2",
        "hipporag",
        "2.0.0a4",
        "pagerag.systems.hipporag:HippoRAGBackend",
        "an environment with torch and a language model that extracts triples",
    ),
    Living(
        "gfmrag",
        "GFM-RAG",
        "gfmrag",
        "2.0.0",
        "pagerag.systems.gfmrag:GFMRAGBackend",
        "Python 3.12 with torch, and rmanluo/GFM-RAG-8M from a model hub",
    ),
    Living(
        "kg2rag",
        "KG2RAG",
        "llama-index-core",
        "0.14",
        "pagerag.systems.kg2rag:KG2RAGBackend",
        "its own checkout, Ollama and bge-reranker-large",
    ),
)


def living() -> Mapping[str, Living]:
    """The adapters to living systems by name."""
    return MappingProxyType({one.name: one for one in _LIVING})
