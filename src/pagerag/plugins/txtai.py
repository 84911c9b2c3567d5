"""txtai: promotion as the ``similarity`` callable of its ``RAG`` and ``Reranker`` pipelines.

txtai needs nothing but a callable here, so nothing of it is imported.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Unpack

from pagerag.errors import InputError
from pagerag.plugins._stage import Adjustable, Picked, PromotionStage, StageSettings
from pagerag.plugins._units import KEY, ForeignUnit

__all__ = ["PageRAGSimilarity"]

Search = Callable[[Sequence[str], int], Sequence[Sequence[Mapping[str, Any]]]]


class PageRAGSimilarity(Adjustable):
    """Search and promote: ``RAG(similarity, ..., context=k)`` calls it as ``(queries, limit)``.

    ``search`` is ``embeddings.batchsearch`` of an index that stores its text; ``pool`` is how many
    results promotion chooses from. Called by ``Reranker`` as ``(query, texts)``, it ranks all texts as
    ``[(place, score)]``; so does ``batchsimilarity``, with which ``RAG(output="reference")`` asks for the
    text that an answer is from. Scores fall along a list, because txtai sorts by them.
    """

    def __init__(
        self, search: Search | None = None, pool: int = 20, k: int = 5, **settings: Unpack[StageSettings]
    ) -> None:
        self.search = search
        self.pool = pool
        self.stage = PromotionStage(k=k, **settings)

    def __call__(self, queries: str | Sequence[str], other: int | Sequence[str] | None = None) -> Any:
        """Return lists of ``{"id", "text", "score"}`` for ``(queries, limit)``; pairs for ``(query, texts)``.

        A pair is the place of a text and its score.
        """
        if isinstance(queries, str):
            texts = list(other) if isinstance(other, Sequence) else []
            picked = self.stage.select(queries, [ForeignUnit(text) for text in texts], rest=True)
            return [(p.index, p.score) for p in picked]
        limit = other if isinstance(other, int) else self.stage.k
        if self.search is None:
            raise InputError("there is nothing to search: pass search=embeddings.batchsearch")
        found = self.search(queries, max(self.pool, limit))
        return [
            _copies(results, self.stage.select(query, _units(results), k=limit))
            for query, results in zip(queries, found, strict=True)
        ]

    def batchsimilarity(
        self, queries: Sequence[str], data: Sequence[str | Sequence[str]]
    ) -> list[list[tuple[int, float]]]:
        """Return for each query all texts, which may come as tokens, as ``[(place, score)]``, best first."""
        texts = [text if isinstance(text, str) else " ".join(text) for text in data]
        return [self(query, texts) for query in queries]


def _units(results: Sequence[Mapping[str, Any]]) -> list[ForeignUnit]:
    return [ForeignUnit(r.get("text"), r.get("id"), r.get("score"), metadata=r) for r in results]


def _copies(results: Sequence[Mapping[str, Any]], picked: Sequence[Picked]) -> list[dict[str, Any]]:
    return [{**results[p.index], "score": p.score, KEY: p.provenance} for p in picked]
