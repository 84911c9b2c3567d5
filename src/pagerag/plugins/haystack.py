"""Haystack: promotion as a ranker component, serialisable with its pipeline.

Install ``pagerag-haystack`` to import it as ``haystack_integrations.components.rankers.pagerag``: pipelines
with that class are read back without naming it in Haystack's list of trusted modules.
"""

# Annotations are not postponed here: older Haystack compares them as they stand when it connects components.

from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Any, Self, Unpack

from pagerag._extras import need
from pagerag.errors import InputError
from pagerag.plugins._stage import Adjustable, Picked, PromotionStage, StageSettings
from pagerag.plugins._units import KEY, ForeignUnit
from pagerag.promotion.candidates import budget_of

need("haystack", "haystack-ai", "haystack", "pagerag.plugins.haystack")
from haystack import Document, component, default_from_dict, default_to_dict  # noqa: E402

__all__ = ["PageRAGRanker"]


@component
class PageRAGRanker(Adjustable):
    """Hand on at most ``top_k`` of the documents: the evidence that promotion selects, best first.

    ``k`` is another name for ``top_k``. Settings are attributes too: ``ranker.top_k = 3`` takes effect at
    the next run. Documents are copied; ``score`` is the score and ``meta["pagerag"]`` the provenance.
    Connect a text embedder's ``embedding`` to ``query_embedding`` to let promotion use the documents'
    embeddings.

    Haystack 3 reads a stored pipeline back only from modules it is told to trust: either install
    ``pagerag-haystack`` and use its class, or name this module in
    ``Pipeline.loads(text, allowed_modules=["pagerag.plugins.haystack"])``.
    """

    def __init__(
        self, top_k: int | None = None, *, k: int | None = None, **settings: Unpack[StageSettings]
    ) -> None:
        self.stage = PromotionStage(k=budget_of(k, top_k=top_k), **settings)

    def to_dict(self) -> dict[str, Any]:
        """Return the settings; a promoter or a token counter of one's own cannot be written down."""
        settings = {field.name: getattr(self.stage, field.name) for field in fields(self.stage)}
        for name in ("promoter", "count_tokens"):
            if settings.pop(name) is not None:
                raise InputError(
                    f"a PageRAGRanker with its own {name} cannot be serialised; "
                    f"leave {name} out and pass it again after loading"
                )
        return default_to_dict(self, top_k=settings.pop("k"), **settings)  # type: ignore[no-any-return]

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """Return the component that ``to_dict`` described."""
        return default_from_dict(cls, data)  # type: ignore[no-any-return]

    @component.output_types(documents=list[Document])  # type: ignore[untyped-decorator]
    def run(
        self,
        query: str,
        documents: list[Document],
        top_k: int | None = None,
        query_embedding: list[float] | None = None,
    ) -> dict[str, list[Document]]:
        """Return ``{"documents": promoted}``, best first; an empty list gives an empty list."""
        picked = self.stage.select(query, _units(documents), k=top_k, vector=query_embedding)
        return {"documents": _copies(documents, picked)}

    @component.output_types(documents=list[Document])  # type: ignore[untyped-decorator]
    async def run_async(
        self,
        query: str,
        documents: list[Document],
        top_k: int | None = None,
        query_embedding: list[float] | None = None,
    ) -> dict[str, list[Document]]:
        """Return what ``run`` returns, off the event loop."""
        picked = await self.stage.aselect(query, _units(documents), k=top_k, vector=query_embedding)
        return {"documents": _copies(documents, picked)}


def _units(documents: Sequence[Document]) -> list[ForeignUnit]:
    return [ForeignUnit(d.content, d.id, d.score, metadata=d.meta, vector=d.embedding) for d in documents]


def _copies(documents: Sequence[Document], picked: Sequence[Picked]) -> list[Document]:
    return [
        replace(documents[p.index], score=p.score, meta={**documents[p.index].meta, KEY: p.provenance})
        for p in picked
    ]
