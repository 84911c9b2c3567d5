"""The promotion stage as the plug-ins hold it: units in, the documents to hand on out."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import accumulate
from typing import Any, TypedDict

from pagerag.plugins._provenance import KEY, provenance_of, without_provenance
from pagerag.plugins._units import Keys, Unit, candidates_of, question_vector
from pagerag.promotion import Promoter, Promotion
from pagerag.promotion.candidates import check_budget
from pagerag.protocols import TokenCounter
from pagerag.units import Mode

__all__ = ["KEY", "Picked", "Settings", "Stage"]


@dataclass(frozen=True, slots=True)
class Picked:
    """One document to hand on.

    ``index`` is its place in the list that came in. ``score`` falls along the list, so that a
    framework which sorts by score has our order; promotion's own score is in ``provenance``.
    """

    index: int
    score: float
    provenance: dict[str, Any] = field(compare=False)


class Settings(TypedDict, total=False):
    """The keywords of ``Stage``, ``k`` apart, for the plug-ins that pass them on."""

    mode: Mode
    fill: bool
    max_tokens: int | None
    count_tokens: TokenCounter | None
    strategy: str | None
    title_key: str | None
    source_key: str | None
    position_key: str | None
    promoter: Promoter | None


@dataclass(frozen=True, slots=True)
class Stage:
    """The promotion stage, configured.

    At most ``k`` units come out; with ``fill`` off, only the selected core does. ``mode`` says what a
    unit is: frameworks hand on chunks and documents, hence the default. ``max_tokens`` bounds the whole
    context. A ``promoter`` of one's own replaces the shared one; many threads may use either.
    """

    k: int = 5
    mode: Mode = "document"
    fill: bool = True
    max_tokens: int | None = None
    count_tokens: TokenCounter | None = None
    strategy: str | None = None
    title_key: str | None = None
    source_key: str | None = None
    position_key: str | None = None
    promoter: Promoter | None = None

    def __post_init__(self) -> None:
        check_budget(self.k, self.mode, self.max_tokens)

    def select(
        self,
        question: str,
        units: Iterable[Unit],
        *,
        k: int | None = None,
        vector: object = None,
        rest: bool = False,
    ) -> list[Picked]:
        """The units to hand on, best first; with ``rest``, all units, the promoted ones before the others."""
        request = self._request(units, k, vector)
        promotion = self._promoter().promote(question, **request.arguments) if request.places else None
        return self._picked(request, promotion, rest)

    async def aselect(
        self,
        question: str,
        units: Iterable[Unit],
        *,
        k: int | None = None,
        vector: object = None,
        rest: bool = False,
    ) -> list[Picked]:
        """``select`` off the event loop."""
        request = self._request(units, k, vector)
        promotion = await self._promoter().apromote(question, **request.arguments) if request.places else None
        return self._picked(request, promotion, rest)

    def _promoter(self) -> Promoter:
        return self.promoter if self.promoter is not None else _shared_promoter()

    def _request(self, units: Iterable[Unit], k: int | None, vector: object) -> _Request:
        budget = self.k if k is None else k
        check_budget(budget, self.mode, self.max_tokens)  # also when the pool turns out to be empty
        given = list(units)
        query = question_vector(vector)
        candidates, places = candidates_of(given, self._keys(), query)
        arguments: dict[str, Any] = {
            "candidates": candidates,
            "k": budget,
            "mode": self.mode,
            "max_tokens": self.max_tokens,
            "count_tokens": self.count_tokens,
            "strategy": self.strategy,
        }
        if any(candidate.vector is not None for candidate in candidates):
            arguments["vector"] = query
        return _Request(len(given), places, arguments)

    def _keys(self) -> Keys:
        own = {"title": self.title_key, "source": self.source_key, "position": self.position_key}
        return Keys(**{name: (key,) for name, key in own.items() if key is not None})

    def _picked(self, request: _Request, promotion: Promotion | None, rest: bool) -> list[Picked]:
        kept: list[int] = []
        traces: list[dict[str, Any]] = []
        if promotion is not None:
            kept = list(promotion.context_places if self.fill else promotion.core_places)
            if rest:
                kept += [place for place in promotion.ranking if place not in kept]
            traces = provenance_of(promotion, kept)
        order = [request.places[place] for place in kept]
        if rest:  # what never entered the pool (no text, a second copy) still gets its place, the last
            order += sorted(set(range(request.size)).difference(order))
            traces += [without_provenance(rank) for rank in range(len(traces) + 1, len(order) + 1)]
        scores = _falling([trace["score"] for trace in traces])
        return [Picked(*values) for values in zip(order, scores, traces, strict=True)]


@dataclass(frozen=True, slots=True)
class _Request:
    """What to ask the promoter, and where in the plug-in's list each candidate comes from."""

    size: int
    places: list[int]
    arguments: dict[str, Any]


def _falling(scores: Sequence[float]) -> list[float]:
    """Scores that fall along the list, as near to the given ones as floats go, and within their bounds.

    Some frameworks attach the scores to documents in the retriever's order and sort then: equal scores
    would bring that order back.
    """
    falling = list(accumulate(scores, lambda before, score: min(score, math.nextafter(before, 0.0))))
    for place in range(len(falling) - 2, -1, -1):  # below 0 there is nothing: a tail of zeros is raised
        falling[place] = max(falling[place], math.nextafter(falling[place + 1], 1.0))
    return falling


@lru_cache(maxsize=1)
def _shared_promoter() -> Promoter:
    return Promoter()
