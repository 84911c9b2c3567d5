"""Promotion of a chunk of pools, here, in another process or on another machine: pools in, plain rows out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from pagerag.errors import PageRAGError
from pagerag.promotion import Promoter, Weights
from pagerag.units import Mode, Pool, State

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


@lru_cache(maxsize=2)
def _promoter(weights: Weights | None, support: bool) -> Promoter:
    return Promoter(weights=weights, support="default" if support else "none")


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
            continue
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
        rows.append(row)
    return rows


class Chosen:
    """What a row of ``promote_chunk`` says of a pool, as ``systems.formats.WrittenPromotion``."""

    def __init__(self, pool: Pool, row: dict[str, Any]) -> None:
        self.question, self.pool = pool.question, pool.candidates
        self.core, self.context = (
            tuple(pool.candidates[place] for place in row[part]) for part in ("core", "context")
        )
        self.state: State = row["state"]
        self.sufficiency: float = row["sufficiency"]
        self.scores = np.array(row["scores"], dtype=np.float32)
        self.explanation: str = row.get("explain", "")
        self.result: dict[str, Any] | None = row.get("result")
