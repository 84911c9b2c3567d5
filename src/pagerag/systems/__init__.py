"""Read other RAG systems as pools: one adapter a system, and the pool files that such systems write.

``lightrag``, ``hipporag``, ``graphrag``, ``gfmrag``, ``kg2rag``
    adapters to the living systems; importable without them
``formats``
    pools that somebody already has in a file

``living()`` lists the adapters, with what each needs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

__all__ = ["Living", "living"]


@dataclass(frozen=True, slots=True)
class Living:
    """Describe an adapter to a system that is installed on its own.

    ``load`` returns the adapter's class; the system itself need not be installed.
    """

    name: str
    label: str
    package: str
    tested: str
    load: Callable[[], Any]
    needs: str


def _lightrag() -> Any:
    from pagerag.systems.lightrag import LightRAGBackend

    return LightRAGBackend


def _graphrag() -> Any:
    from pagerag.systems.graphrag import GraphRAGBackend

    return GraphRAGBackend


def _hipporag() -> Any:
    from pagerag.systems.hipporag import HippoRAGBackend

    return HippoRAGBackend


def _gfmrag() -> Any:
    from pagerag.systems.gfmrag import GFMRAGBackend

    return GFMRAGBackend


def _kg2rag() -> Any:
    from pagerag.systems.kg2rag import KG2RAGBackend

    return KG2RAGBackend


_LIVING = (
    Living(
        "lightrag",
        "LightRAG",
        "lightrag-hku",
        "1.5.7",
        _lightrag,
        "a language model that builds its graph",
    ),
    Living(
        "graphrag",
        "GraphRAG",
        "graphrag",
        "3.3.0",
        _graphrag,
        "a language model that builds its graph",
    ),
    Living(
        "hipporag",
        "HippoRAG2",
        "hipporag",
        "2.0.0a4",
        _hipporag,
        "an environment with torch and a language model that extracts triples",
    ),
    Living(
        "gfmrag",
        "GFM-RAG",
        "gfmrag",
        "2.0.0",
        _gfmrag,
        "Python 3.12 with torch, and rmanluo/GFM-RAG-8M from a model hub",
    ),
    Living(
        "kg2rag",
        "KG2RAG",
        "llama-index-core",
        "0.14",
        _kg2rag,
        "its own checkout, Ollama and bge-reranker-large",
    ),
)


def living() -> Mapping[str, Living]:
    """Return the adapters to living systems by name."""
    return MappingProxyType({one.name: one for one in _LIVING})
