"""Promotion of a chunk of pools, here, in another process or on another machine: pools in, plain rows out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pagerag.errors import PageRAGError
from pagerag.promotion import Promoter, Promotion, Weights
from pagerag.settings import PromoteSettings
from pagerag.units import Candidate, Mode, Pool, State

Asked = tuple[Pool, Mode]
"""A pool whose candidates all have text, and what a unit of it is."""


@dataclass(frozen=True, slots=True)
class PromotionTask:
    """All that a promotion depends on besides its pool. Hashable, so that each process makes one promoter."""

    k: int
    max_tokens: int | None
    strategy: str | None
    weights: Weights | None
    support: bool
    explain: bool = False
    full: bool = False

    @classmethod
    def of(cls, settings: PromoteSettings, promoter: Promoter, *, explain: bool, full: bool) -> PromotionTask:
        """Return the task of these settings; ``promoter`` is the one that they describe."""
        return cls(
            k=settings.k,
            max_tokens=settings.max_tokens or None,
            strategy=None if settings.strategy == "auto" else settings.strategy,
            weights=Weights.load(settings.weights) if settings.weights else None,
            # Decided here: a machine without the model must not choose otherwise.
            support=promoter.support is not None,
            explain=explain,
            full=full,
        )


@lru_cache(maxsize=2)
def _promoter(weights: Weights | None, support: bool) -> Promoter:
    choice: Any = "default" if support else "none"
    return Promoter(support=choice) if weights is None else Promoter(weights=weights, support=choice)


def promote_chunk(task: PromotionTask, pools: Sequence[Asked]) -> list[dict[str, Any]]:
    """Return a row for each pool: its promotion in plain values, or the error."""
    promoter = _promoter(task.weights, task.support)
    rows: list[dict[str, Any]] = []
    for pool, mode in pools:
        if not pool.candidates:
            rows.append({"empty": True})
            continue
        try:
            promotion = promoter.promote(
                pool.question, pool, k=task.k, mode=mode, max_tokens=task.max_tokens, strategy=task.strategy
            )
        except PageRAGError as problem:
            rows.append({"error": str(problem)})
        else:
            rows.append(_row(task, promotion))
    return rows


def _row(task: PromotionTask, promotion: Promotion) -> dict[str, Any]:
    row: dict[str, Any] = {
        "state": promotion.state,
        "sufficiency": float(promotion.sufficiency),
        "core": list(promotion.core_places),
        "context": list(promotion.context_places),
        "scores": [float(score) for score in promotion.scores],
    }
    if task.explain:
        row["explain"] = promotion.explain()
    if task.full:
        row["result"] = promotion.to_dict()
    return row


@dataclass(frozen=True, slots=True)
class Chosen:
    """What a row says of a pool; ``systems.formats.WrittenPromotion`` is the contract."""

    question: str
    pool: tuple[Candidate, ...]
    core: tuple[Candidate, ...]
    context: tuple[Candidate, ...]
    state: State
    sufficiency: float
    scores: NDArray[np.float32]
    explanation: str
    result: dict[str, Any] | None

    @classmethod
    def of(cls, pool: Pool, row: dict[str, Any]) -> Chosen:
        """Return what ``promote_chunk`` said of this pool."""
        units = pool.candidates
        return cls(
            pool.question,
            units,
            tuple(units[place] for place in row["core"]),
            tuple(units[place] for place in row["context"]),
            row["state"],
            row["sufficiency"],
            np.array(row["scores"], dtype=np.float32),
            row.get("explain", ""),
            row.get("result"),
        )
