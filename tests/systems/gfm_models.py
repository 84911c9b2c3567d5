"""Small parts for a GFM-RAG that needs no download: an embedder, entity recognition, entity linking."""

from __future__ import annotations

from typing import Any

from model import entities

from pagerag.testing import FakeEncoder

DIMENSION = 32


class Embedder:
    """GFM-RAG's text embedder, by shape."""

    def __init__(self, **_: Any) -> None:
        self.encoder = FakeEncoder(DIMENSION)

    def encode(self, text: list[str], is_query: bool = False, show_progress_bar: bool = True) -> Any:
        import torch

        return torch.from_numpy(self.encoder.encode_passages(text))


def recognise(query: str) -> list[str]:
    return [name.lower() for name in entities(query)]


class Linker:
    """Links a name to the node of that name."""

    def index(self, names: list[str]) -> None:
        self.names = set(names)

    def __call__(self, names: list[str], topk: int = 1) -> dict[str, list[dict[str, Any]]]:
        best = {name: name if name in self.names else min(self.names) for name in names}
        return {name: [{"entity": found, "score": 1.0, "norm_score": 1.0}] for name, found in best.items()}
