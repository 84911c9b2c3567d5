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
from types import MappingProxyType
from typing import Any

from pagerag.systems.gfmrag import GFMRAGBackend
from pagerag.systems.graphrag import GraphRAGBackend
from pagerag.systems.hipporag import HippoRAGBackend
from pagerag.systems.kg2rag import KG2RAGBackend
from pagerag.systems.lightrag import LightRAGBackend

__all__ = ["Living", "living"]


@dataclass(frozen=True, slots=True)
class Living:
    """Describe an adapter, the class ``backend``, to a system that is installed on its own."""

    backend: type[Any]
    label: str
    package: str
    tested: str
    needs: str

    @property
    def name(self) -> str:
        """The name that the adapter's pools carry as their origin."""
        return str(self.backend.name)


_GRAPH = "a language model that builds its graph"
_TORCH = "an environment with torch and a language model that extracts triples"
_HUB = "Python 3.12 with torch, and rmanluo/GFM-RAG-8M from a model hub"
_LIVING = (
    Living(LightRAGBackend, "LightRAG", "lightrag-hku", "1.5.7", _GRAPH),
    Living(GraphRAGBackend, "GraphRAG", "graphrag", "3.3.0", _GRAPH),
    Living(HippoRAGBackend, "HippoRAG2", "hipporag", "2.0.0a4", _TORCH),
    Living(GFMRAGBackend, "GFM-RAG", "gfmrag", "2.0.0", _HUB),
    Living(
        KG2RAGBackend, "KG2RAG", "llama-index-core", "0.14", "its own checkout, Ollama and bge-reranker-large"
    ),
)


def living() -> Mapping[str, Living]:
    """Return the adapters to living systems by name."""
    return MappingProxyType({one.name: one for one in _LIVING})
