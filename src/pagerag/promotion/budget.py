"""Keep a context within its bounds: units, tokens, no unit twice."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from pagerag.errors import InputError
from pagerag.promotion.near_duplicates import Statements
from pagerag.protocols import TokenCounter
from pagerag.units import Candidate

__all__ = ["Budget", "count_characters"]


def count_characters(text: str) -> int:
    """Return a model-free guess at a text's tokens: a quarter of its characters, rounded up."""
    return max(1, math.ceil(len(text) / 4))


class Budget:
    """k units, max_tokens tokens, no unit twice: hard bounds."""

    def __init__(
        self,
        pool: tuple[Candidate, ...],
        k: int,
        max_tokens: int | None,
        count: TokenCounter,
        statements: Statements,
    ) -> None:
        self.k = int(k)
        self.max_tokens = max_tokens
        self.tokens = [_counted(count, candidate) for candidate in pool] if max_tokens is not None else []
        self._statements = statements

    def fits(self, units: set[int]) -> bool:
        """Tell whether these candidates may stand together in a context."""
        if len(units) > self.k:
            return False
        # Two units that say the same take one place, whatever their ids.
        if len({self._statements.first(unit) for unit in units}) < len(units):
            return False
        return self.max_tokens is None or sum(self.tokens[unit] for unit in units) <= self.max_tokens

    def fill(self, core: tuple[int, ...], ranking: Iterable[int]) -> list[int]:
        """Return the first candidates of the ranking outside the core that still fit (A.5, the last step)."""
        inside = set(core)
        filled: list[int] = []
        for index in ranking:
            if len(inside) >= self.k:
                break
            if index not in inside and self.fits({*inside, index}):
                inside.add(index)
                filled.append(index)
        return filled


def _counted(count: TokenCounter, candidate: Candidate) -> int:
    tokens = count(candidate.text)
    if isinstance(tokens, bool) or not isinstance(tokens, int | np.integer) or tokens < 0:
        raise InputError(
            f"count_tokens gave {tokens!r} for candidate {candidate.id!r}; it must give a number ≥ 0"
        )
    return int(tokens)
