"""DSPy: promotion as a module around any retriever."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Unpack

from pagerag._extras import need
from pagerag.errors import InputError
from pagerag.plugins._stage import KEY, Picked, Settings, Stage
from pagerag.plugins._units import Unit, title_and_text

need("dspy", "dspy", "dspy", "pagerag.plugins.dspy")
import dspy  # noqa: E402

__all__ = ["PageRAG"]

TEXT_KEYS = ("long_text", "text", "content")


class PageRAG(dspy.Module):  # type: ignore[misc]
    """A retriever whose passages are the evidence that promotion selects, at most ``k``, best first.

    ``retriever`` is what DSPy calls one: anything that takes a query and returns a Prediction with
    ``passages``, or the passages themselves; it should return more than ``k`` (20 is the paper's pool).
    A passage is a string, or a mapping or an object with ``long_text``, ``text`` or ``content``.
    Without a retriever, pass the passages with each call.

    Returns ``Prediction(passages, scores, indices, pagerag)``: the passages as they came, one score,
    one place in the retriever's list and one provenance mapping for each.

    Strings of the form "Title | text" (DSPy's own convention) are read as such; ``title_separator=None``
    switches that off.
    """

    def __init__(
        self,
        retriever: Callable[..., Any] | None = None,
        k: int = 5,
        title_separator: str | None = " | ",
        **settings: Unpack[Settings],
    ) -> None:
        super().__init__()
        self.retriever = retriever
        self.title_separator = title_separator
        self.stage = Stage(k=k, **settings)

    def forward(self, query: str, passages: Sequence[Any] | None = None, k: int | None = None) -> Any:
        """Retrieve, unless the passages are given, and promote."""
        pool, scores = _pool(self._retriever()(query) if passages is None else passages)
        return _prediction(pool, self.stage.select(query, self._units(pool, scores), k=k))

    async def aforward(self, query: str, passages: Sequence[Any] | None = None, k: int | None = None) -> Any:
        """``forward`` off the event loop; a retriever with ``acall`` is awaited."""
        pool, scores = _pool(await self._aretrieve(query) if passages is None else passages)
        return _prediction(pool, await self.stage.aselect(query, self._units(pool, scores), k=k))

    def _retriever(self) -> Callable[..., Any]:
        if self.retriever is None:
            raise InputError("there is no retriever: give PageRAG one, or pass passages with the query")
        return self.retriever

    async def _aretrieve(self, query: str) -> Any:
        retriever: Any = self._retriever()
        if hasattr(retriever, "aforward"):
            return await retriever.acall(query)
        if inspect.iscoroutinefunction(retriever) or inspect.iscoroutinefunction(type(retriever).__call__):
            return await retriever(query)
        return await asyncio.to_thread(retriever, query)

    def _units(self, pool: Sequence[Any], scores: Sequence[Any]) -> list[Unit]:
        return [self._unit(passage, score) for passage, score in zip(pool, scores, strict=True)]

    def _unit(self, passage: Any, score: Any) -> Unit:
        if isinstance(passage, str):
            if self.title_separator is None:
                return Unit(passage, score=score)
            title, text = title_and_text(passage, self.title_separator)
            return Unit(text, score=score, title=title)
        values = passage if isinstance(passage, Mapping) else _Attributes(passage)
        own = next((values.get(key) for key in TEXT_KEYS if isinstance(values.get(key), str)), None)
        if own is None:
            raise InputError(
                f"a passage of type {type(passage).__name__} has no text; "
                f"give strings, or values with one of: {', '.join(TEXT_KEYS)}"
            )
        given = values.get("score") if score is None else score
        return Unit(own, values.get("id"), given, metadata=values)


class _Attributes(Mapping[str, Any]):
    """The attributes of a passage object, read as a mapping."""

    def __init__(self, value: object) -> None:
        self._value = value

    def __getitem__(self, name: str) -> Any:
        try:
            return getattr(self._value, name)
        except AttributeError:
            raise KeyError(name) from None

    def __iter__(self) -> Any:
        return iter(vars(self._value))

    def __len__(self) -> int:
        return len(vars(self._value))


def _pool(found: Any) -> tuple[list[Any], list[Any]]:
    """The passages of whatever a retriever returned, and their scores where it gives them."""
    passages = getattr(found, "passages", found)
    if passages is None or isinstance(passages, (str, bytes)):
        raise InputError(f"a retriever must return passages; this one returned {type(found).__name__}")
    pool = list(passages)
    scores = getattr(found, "scores", None) if passages is not found else None
    if scores is None or len(scores) != len(pool):
        return pool, [None] * len(pool)
    return pool, list(scores)


def _prediction(pool: Sequence[Any], picked: Sequence[Picked]) -> Any:
    return dspy.Prediction(
        passages=[pool[p.index] for p in picked],
        scores=[p.score for p in picked],
        indices=[p.index for p in picked],
        **{KEY: [p.provenance for p in picked]},
    )
