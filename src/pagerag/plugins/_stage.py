"""Hold the promotion stage as the plug-ins use it: units in, the documents to hand on out."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import lru_cache
from itertools import accumulate
from typing import Any, TypedDict

from pagerag.errors import InputError
from pagerag.plugins._units import (
    ForeignUnit,
    candidates_of,
    provenance_of,
    question_vector,
    without_provenance,
)
from pagerag.promotion import Promoter, Promotion
from pagerag.promotion.candidates import budget_of, check_budget, check_callable, check_flag, shown
from pagerag.promotion.foreign import MetadataKeys
from pagerag.promotion.promoter import STRATEGIES
from pagerag.protocols import TokenCounter
from pagerag.units import SUPPORT_CHOICES, Mode, SupportChoice


class SmallPoolWarning(UserWarning):
    """A retriever returned no more than may come out, so promotion had nothing to choose from."""


@dataclass(frozen=True, slots=True)
class Picked:
    """One document to hand on.

    ``index`` is its place in the list that came in. ``score`` falls along the list, so that a
    framework which sorts by score has our order; promotion's own score is in ``provenance``.
    """

    index: int
    score: float
    provenance: dict[str, Any] = field(compare=False)


class StageSettings(TypedDict, total=False):
    """Name the keywords of ``PromotionStage``, ``k`` apart, for the plug-ins that pass them on."""

    mode: Mode
    fill: bool
    max_tokens: int | None
    count_tokens: TokenCounter | None
    strategy: str | None
    support: SupportChoice
    title_key: str | None
    source_key: str | None
    position_key: str | None
    promoter: Promoter | None


@dataclass(frozen=True, slots=True)
class PromotionStage:
    """The promotion stage, configured and checked.

    At most ``k`` units come out; with ``fill`` off, only the selected core does. ``mode`` says what a
    unit is: frameworks hand on chunks and documents, hence the default. ``max_tokens`` bounds the whole
    context. ``support`` names the support encoder (``models.support_named``). A ``promoter`` of one's
    own replaces the shared one and brings its own support encoder; many threads may use either.
    """

    k: int = 5
    mode: Mode = "document"
    fill: bool = True
    max_tokens: int | None = None
    count_tokens: TokenCounter | None = None
    strategy: str | None = None
    support: SupportChoice = "auto"
    title_key: str | None = None
    source_key: str | None = None
    position_key: str | None = None
    promoter: Promoter | None = None

    def __post_init__(self) -> None:
        check_budget(self.k, self.mode, self.max_tokens)
        check_flag(self.fill, "fill")
        check_callable(self.count_tokens, "count_tokens")
        if self.strategy is not None and self.strategy not in STRATEGIES:
            raise InputError(
                f"strategy is {shown(self.strategy)}; it must be one of: {', '.join(STRATEGIES)}"
            )
        if self.support not in SUPPORT_CHOICES:
            raise InputError(
                f"support is {shown(self.support)}; it must be one of: {', '.join(SUPPORT_CHOICES)}. "
                "An encoder of your own goes into promoter=Promoter(support=...)"
            )
        for name in ("title_key", "source_key", "position_key"):
            key: object = getattr(self, name)
            if key is not None and not isinstance(key, str):
                raise InputError(f"{name} is {shown(key)}; it must be the name of a metadata field")
        promoter: object = self.promoter
        if promoter is not None and not isinstance(promoter, Promoter):
            raise InputError(f"promoter is {shown(promoter)}; it must be a pagerag.Promoter")
        if promoter is not None and self.support != "auto":
            raise InputError(
                f"support={self.support!r} has no effect on a promoter of your own; "
                "give Promoter(support=...) its encoder, and leave support out here"
            )

    def select(
        self,
        question: str,
        units: Iterable[ForeignUnit],
        *,
        k: int | None = None,
        vector: object = None,
        rest: bool = False,
    ) -> list[Picked]:
        """Return the units to hand on, best first.

        ``k`` replaces the stage's own, ``vector`` is the question's embedding. With ``rest`` all units come
        back, the promoted ones before the others.
        """
        given, places, asked = self._request(units, k, vector)
        promotion = self._promoter().promote(question, **asked) if places else None
        return self._picked(len(given), places, promotion, rest)

    async def aselect(
        self,
        question: str,
        units: Iterable[ForeignUnit],
        *,
        k: int | None = None,
        vector: object = None,
        rest: bool = False,
    ) -> list[Picked]:
        """Return what ``select`` returns, off the event loop."""
        given, places, asked = self._request(units, k, vector)
        promotion = await self._promoter().apromote(question, **asked) if places else None
        return self._picked(len(given), places, promotion, rest)

    def sufficiency(self, question: str, unit: ForeignUnit) -> float:
        """Return how far one unit alone seems to answer the question, in [0, 1]; 0 for one without text."""
        _, places, asked = self._request([unit], None, None)
        return float(self._promoter().promote(question, **asked).sufficiency) if places else 0.0

    def _promoter(self) -> Promoter:
        return self.promoter if self.promoter is not None else _shared_promoter(self.support)

    def _request(
        self, units: Iterable[ForeignUnit], k: int | None, vector: object
    ) -> tuple[list[ForeignUnit], list[int], dict[str, Any]]:
        """Return the units, where each candidate stands among them, and what to ask the promoter."""
        budget = self.k if k is None else k
        check_budget(budget, self.mode, self.max_tokens)  # also when the pool turns out to be empty
        given = list(units)
        query = question_vector(vector)
        candidates, places = candidates_of(given, self.keys(), query)
        arguments: dict[str, Any] = {"candidates": candidates, "k": budget}
        arguments |= {
            name: getattr(self, name) for name in ("mode", "max_tokens", "count_tokens", "strategy")
        }
        if any(candidate.vector is not None for candidate in candidates):
            arguments["vector"] = query
        return given, places, arguments

    def keys(self) -> MetadataKeys:
        """Return where titles, documents and places are looked up in the units' metadata."""
        own = {"title": self.title_key, "source": self.source_key, "position": self.position_key}
        return MetadataKeys(**{name: (key,) for name, key in own.items() if key is not None})

    def _picked(
        self, size: int, places: Sequence[int], promotion: Promotion | None, rest: bool
    ) -> list[Picked]:
        kept: list[int] = []
        traces: list[dict[str, Any]] = []
        if promotion is not None:
            kept = list(promotion.context_places if self.fill else promotion.core_places)
            if rest:
                inside = set(kept)
                kept += [place for place in promotion.ranking if place not in inside]
            traces = provenance_of(promotion, kept)
        order = [places[place] for place in kept]
        if rest:  # what never entered the pool (no text, a second copy) still gets its place, the last
            order += sorted(set(range(size)).difference(order))
            traces += [without_provenance(rank) for rank in range(len(traces) + 1, len(order) + 1)]
        scores = _falling([trace["score"] for trace in traces])
        return [Picked(*values) for values in zip(order, scores, traces, strict=True)]


_SETTINGS = frozenset(field.name for field in fields(PromotionStage))


class Adjustable:
    """Let a component's settings be read and set as its attributes.

    Setting one makes a new, checked stage; a value that cannot be used is refused and the old one stays.
    ``top_n`` and ``top_k`` are other names for ``k``.
    """

    stage: PromotionStage

    def __getattr__(self, name: str) -> Any:
        name = "k" if name in {"top_n", "top_k"} else name
        if name in _SETTINGS and "stage" in self.__dict__:
            return getattr(self.stage, name)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __setattr__(self, name: str, value: Any) -> None:
        name = "k" if name in {"top_n", "top_k"} else name
        if name in _SETTINGS:
            name, value = "stage", replace(self.stage, **{name: value})
        super().__setattr__(name, value)


def same_k(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings with ``top_n`` and ``top_k`` as ``k``; two that differ are refused."""
    found = dict(settings)
    names = [name for name in ("k", "top_n", "top_k") if found.get(name) is not None]
    if names == ["k"] or not names:
        return {name: value for name, value in found.items() if name not in {"top_n", "top_k"}}
    k = budget_of(found.pop("k", None), found.pop("top_n", None), found.pop("top_k", None))
    return {**found, "k": k}


def warn_of_small_pool(size: int, k: int, remedy: str) -> None:
    """Warn when a retriever gave no more than ``k`` passages; fewer than three may be all there is."""
    if 3 <= size <= k:
        warnings.warn(
            f"the retriever gave {size} passages, of which up to {k} come out: promotion has nothing to "
            f"choose from; {remedy}",
            SmallPoolWarning,
            stacklevel=3,
        )


def _falling(scores: Sequence[float]) -> list[float]:
    """Return scores that fall along the list, as near to the given ones as floats go, within their bounds.

    Some frameworks attach the scores to documents in the retriever's order and sort then: equal scores
    would bring that order back.
    """
    falling = list(accumulate(scores, lambda before, score: min(score, math.nextafter(before, 0.0))))
    for place in range(len(falling) - 2, -1, -1):  # below 0 there is nothing: a tail of zeros is raised
        falling[place] = max(falling[place], math.nextafter(falling[place + 1], 1.0))
    return falling


@lru_cache(maxsize=len(SUPPORT_CHOICES))
def _shared_promoter(support: SupportChoice) -> Promoter:
    """Return the promoter that all components with this ``support`` share."""
    return Promoter(support=support)
