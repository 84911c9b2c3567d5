"""DSPy: promotion as a module around any retriever."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import astuple
from functools import partial
from itertools import chain
from typing import Any, Unpack

from pagerag._extras import need
from pagerag.errors import InputError
from pagerag.plugins._stage import Adjustable, Picked, PromotionStage, StageSettings, warn_of_small_pool
from pagerag.plugins._units import KEY, ForeignUnit, title_and_text

need("dspy", "dspy", "dspy", "pagerag.plugins.dspy")
import dspy  # noqa: E402

__all__ = ["PageRAG"]

TEXT_KEYS = ("long_text", "text", "content")


class PageRAG(Adjustable, dspy.Module):  # type: ignore[misc]
    """Retrieve passages, and return at most ``k``: the evidence that promotion selects, best first.

    ``retriever`` is what DSPy calls one: anything that takes a query and returns a Prediction with
    ``passages``, or the passages themselves; it should return more than ``k`` (20 is the paper's pool).
    ``pool`` is passed to it as ``k``; DSPy's own retrievers return three passages unless told otherwise, and
    a pool that leaves nothing to choose is said with a SmallPoolWarning.
    A passage is a string, or a mapping or an object with ``long_text``, ``text`` or ``content``.
    Without a retriever, pass the passages with each call.

    Returns ``Prediction(passages, scores, indices, pagerag)``: the passages as they came, one score,
    one place in the retriever's list and one provenance mapping for each.

    Texts of the form "Title | text" (DSPy's own convention, also in what ColBERTv2 returns) are read as
    such; ``title_separator=None`` switches that off.
    """

    def __init__(
        self,
        retriever: Callable[..., Any] | None = None,
        k: int = 5,
        title_separator: str | None = " | ",
        *,
        pool: int | None = None,
        **settings: Unpack[StageSettings],
    ) -> None:
        super().__init__()
        self.retriever = retriever
        self.title_separator = title_separator
        if pool is not None and (isinstance(pool, bool) or not isinstance(pool, int) or pool < 1):
            raise InputError(f"pool is {pool!r}; it must be a whole number ≥ 1")
        self.pool = pool
        self.stage = PromotionStage(k=k, **settings)

    def forward(self, query: str, passages: Sequence[Any] | None = None, k: int | None = None) -> Any:
        """Retrieve, unless the passages are given, and promote."""
        found = self._retriever()(query, **self._search()) if passages is None else passages
        pool, units = self._pooled(found, k, own=passages is None)
        return _prediction(pool, self.stage.select(query, units, k=k))

    async def aforward(self, query: str, passages: Sequence[Any] | None = None, k: int | None = None) -> Any:
        """Return what ``forward`` returns, off the event loop; a retriever with ``acall`` is awaited."""
        found = await self._aretrieve(query) if passages is None else passages
        pool, units = self._pooled(found, k, own=passages is None)
        return _prediction(pool, await self.stage.aselect(query, units, k=k))

    def _retriever(self) -> Callable[..., Any]:
        if self.retriever is None:
            raise InputError("there is no retriever: give PageRAG one, or pass passages with the query")
        return self.retriever

    async def _aretrieve(self, query: str) -> Any:
        retriever: Any = self._retriever()
        if hasattr(retriever, "aforward"):
            return await retriever.acall(query, **self._search())
        if inspect.iscoroutinefunction(retriever) or inspect.iscoroutinefunction(type(retriever).__call__):
            return await retriever(query, **self._search())
        return await asyncio.to_thread(retriever, query, **self._search())

    def _search(self) -> dict[str, int]:
        return {} if self.pool is None else {"k": self.pool}

    def _pooled(self, found: Any, k: int | None, *, own: bool) -> tuple[list[Any], list[ForeignUnit]]:
        """Return the passages of whatever a retriever returned, as they are and as units of a pool."""
        passages = getattr(found, "passages", found)
        if passages is None or isinstance(passages, (str, bytes)):
            raise InputError(f"a retriever must return passages; this one returned {type(found).__name__}")
        pool = list(passages)
        if own:
            remedy = "set pool=20, or a larger k on the retriever"
            warn_of_small_pool(len(pool), self.stage.k if k is None else k, remedy)
        scores = getattr(found, "scores", None) if passages is not found else None
        if scores is None or len(scores) != len(pool):
            scores = [None] * len(pool)
        return pool, [self._unit(passage, score) for passage, score in zip(pool, scores, strict=True)]

    def _unit(self, passage: Any, score: Any) -> ForeignUnit:
        if isinstance(passage, str):
            if self.title_separator is None:
                return ForeignUnit(passage, score=score)
            title, text = title_and_text(passage, self.title_separator)
            return ForeignUnit(text, score=score, title=title)
        get = passage.get if isinstance(passage, Mapping) else partial(getattr, passage)
        # One by one: an attribute that nobody needs may be slow, or fail.
        own = next((text for key in TEXT_KEYS if isinstance(text := get(key, None), str)), None)
        if own is None:
            raise InputError(
                f"a passage of type {type(passage).__name__} has no text; "
                f"give strings, or values with one of: {', '.join(TEXT_KEYS)}"
            )
        names = {"id", "title", "score", *chain.from_iterable(astuple(self.stage.keys()))}
        values = passage if isinstance(passage, Mapping) else {name: get(name, None) for name in names}
        given = values.get("score") if score is None else score
        title = None
        if self.title_separator is not None and not values.get("title"):
            title, own = title_and_text(own, self.title_separator)
        return ForeignUnit(own, values.get("id"), given, metadata=values, title=title)


def _prediction(pool: Sequence[Any], picked: Sequence[Picked]) -> Any:
    return dspy.Prediction(
        passages=[pool[p.index] for p in picked],
        scores=[p.score for p in picked],
        indices=[p.index for p in picked],
        **{KEY: [p.provenance for p in picked]},
    )
