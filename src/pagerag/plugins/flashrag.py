"""FlashRAG: promotion as a refiner and as a reranker of its pipelines.

FlashRAG's own base classes load torch when imported and read model paths from a configuration, so these
classes only have the same methods. Set ``pipeline.refiner`` or ``retriever.reranker`` to one of them.

FlashRAG keeps a document as ``{"id", "contents"}`` with the title on the first line of ``contents``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Unpack

from pagerag.errors import InputError
from pagerag.plugins._stage import Adjustable, Picked, PromotionStage, StageSettings
from pagerag.plugins._units import KEY, ForeignUnit, title_and_text

__all__ = ["PageRAGRefiner", "PageRAGReranker"]


class _Promoting(Adjustable):
    """Hold the stage, made from keywords or from a FlashRAG configuration."""

    setting = ""

    def __init__(
        self,
        config: Mapping[str, Any] | None = None,
        *,
        k: int | None = None,
        **settings: Unpack[StageSettings],
    ) -> None:
        self.config = config
        self.stage = PromotionStage(k=(_setting(config, self.setting) or 5) if k is None else k, **settings)

    @property
    def topk(self) -> int:
        """Return how many documents come out, by FlashRAG's name."""
        return self.stage.k

    @topk.setter
    def topk(self, value: int) -> None:
        self.k = value


class PageRAGRefiner(_Promoting):
    """Refine dataset items: each one's promoted documents as one reference text.

    The text has FlashRAG's own form: ``Doc 1(Title: ...) ...``, one document after the other.
    """

    setting = "refiner_topk"
    name = "pagerag"
    input_prompt_flag = False
    """FlashRAG's pipelines ask: this one refines documents, not finished prompts."""

    def run(self, item: Any) -> str:
        """Return the reference text of one item, which has a ``question`` and a ``retrieval_result``."""
        documents = item.retrieval_result
        picked = self.stage.select(item.question, _units(documents, None))
        return "".join(
            f"Doc {number}(Title: {title or ''}) {text.strip()}\n"
            for number, (title, text) in enumerate((_split(documents[p.index]) for p in picked), 1)
        )

    def batch_run(self, dataset: Iterable[Any], batch_size: int | None = None) -> list[str]:  # noqa: ARG002
        """Return ``run`` of each item, in order."""
        return [self.run(item) for item in dataset]


class PageRAGReranker(_Promoting):
    """Rerank the documents of queries: the promoted ones and their scores."""

    setting = "rerank_topk"

    def rerank(
        self,
        query_list: str | Sequence[str],
        doc_list: Sequence[Any],
        batch_size: int | None = None,  # noqa: ARG002 - FlashRAG's signature
        topk: int | None = None,
        scores: Sequence[Any] | None = None,
    ) -> tuple[list[list[dict[str, Any]]], list[list[float]]]:
        """Return ``(documents, scores)``, one list for each query; a single query may come unwrapped."""
        single = isinstance(query_list, str)
        queries = [query_list] if isinstance(query_list, str) else list(query_list)
        pools = list(doc_list)  # its BM25 retriever gives arrays
        if single and (not pools or isinstance(pools[0], Mapping)):
            pools = [pools]
        own = [None] * len(pools) if scores is None else ([scores] if single and len(pools) == 1 else scores)
        if not len(queries) == len(pools) == len(own):
            raise InputError(f"{len(queries)} queries came with {len(pools)} lists of documents")
        kept, values = [], []
        for query, documents, given in zip(queries, pools, own, strict=True):
            picked = self.stage.select(query, _units(documents, given), k=topk)
            kept.append(_copies(documents, picked))
            values.append([p.score for p in picked])
        return kept, values


def _setting(config: Mapping[str, Any] | None, name: str) -> Any:
    # FlashRAG's Config has __contains__ and __getitem__, and is no mapping.
    return config[name] if config is not None and name in config else None


def _split(document: Mapping[str, Any]) -> tuple[str | None, str]:
    contents = document.get("contents")
    if contents is None:
        return document.get("title"), str(document.get("text") or "")
    return title_and_text(str(contents), "\n")


def _units(documents: Sequence[Mapping[str, Any]], scores: Sequence[Any] | None) -> list[ForeignUnit]:
    units = []
    for place, document in enumerate(documents):
        title, text = _split(document)
        score = document.get("score") if scores is None else scores[place]
        units.append(ForeignUnit(text, document.get("id"), score, metadata=document, title=title))
    return units


def _copies(documents: Sequence[Mapping[str, Any]], picked: Sequence[Picked]) -> list[dict[str, Any]]:
    return [
        {
            **documents[p.index],
            "metadata": {**(documents[p.index].get("metadata") or {}), KEY: p.provenance},
        }
        for p in picked
    ]
