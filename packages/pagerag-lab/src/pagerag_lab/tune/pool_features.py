"""Labelled pools as the scorer reads them: features, question, and what ranking needs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from pagerag.promotion.candidates import as_candidates
from pagerag.promotion.features import OF_QUESTION, View, unit_features, unit_view
from pagerag.promotion.learned import cover_of
from pagerag.promotion.next_unit import Standing
from pagerag.promotion.promoter import Promoter
from pagerag_lab.tune.boosting import Growth
from pagerag_lab.tune.labelled import LabelledPool, fold_of

__all__ = ["Floats", "ReadPool", "Say", "Settings", "read_rows", "with_signals"]

Floats = NDArray[np.float32]
Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Settings:
    """How the trees are grown. Chosen by cross-validation on the train files."""

    folds: int = 4
    growth: Growth = field(default_factory=Growth)
    following: Growth = field(default_factory=lambda: Growth(rounds=150, depth=5, rate=0.06, columns=0.6))
    size: Growth = field(default_factory=lambda: Growth(rounds=250, depth=4, rate=0.04, columns=0.5))
    verdict: Growth = field(default_factory=lambda: Growth(rounds=200, depth=4, rate=0.05, columns=0.4))
    k: int = 5
    enough: float = 0.6
    """Probability that all evidence is there from which the state is Enough, as learned (see ``cuts``)."""
    some: float = 0.3
    """... and under which it is insufficient."""
    share: float = 0.85
    """How much a scorer of sentences with the judge's signals counts beside the one without."""


@dataclass(slots=True, eq=False)
class ReadPool:
    """A labelled pool, and what the scorer reads of it."""

    item: LabelledPool
    table: Floats
    asked: Floats  # the features of the question and the pool
    view: View
    cover: tuple[Floats, Floats]
    fold: int
    complete: float = 0.0  # what a support encoder says of the pool as a whole

    def standing(self, p: Floats) -> Standing:
        """Return what ranking reads."""
        return Standing(self.view, p, *self.cover, self.asked)


_PROMOTER: Promoter | None = None


def _share(promoter: Promoter) -> None:
    global _PROMOTER  # noqa: PLW0603  (once in each process)
    _PROMOTER = promoter


def _read(item: LabelledPool) -> tuple[Floats, Floats, View, tuple[Floats, Floats]]:
    """Return what the trees read of a pool."""
    if _PROMOTER is None:
        raise AssertionError("the process was not given its promoter")
    evidence = _PROMOTER.evidence(
        item.pool.question, as_candidates(item.pool), item.mode, vector=item.pool.vector
    )
    view = unit_view(evidence)
    table = unit_features(evidence)
    asked = table[0, -len(OF_QUESTION) :].copy()
    return np.ascontiguousarray(table), asked, view, cover_of(evidence)


def read_rows(
    items: Sequence[LabelledPool], settings: Settings, promoter: Promoter, say: Say, workers: int
) -> list[ReadPool]:
    """Read every pool as promotion would."""
    rows: list[ReadPool] = []
    with ProcessPoolExecutor(workers, initializer=_share, initargs=(promoter,)) as processes:
        stream = iter(items)
        while batch := list(islice(stream, 512 * workers)):
            for item, (table, asked, view, cover) in zip(
                batch, processes.map(_read, batch, chunksize=64), strict=True
            ):
                rows.append(ReadPool(item, table, asked, view, cover, fold_of(item.base, settings.folds)))
            say(f"features: {len(rows)}/{len(items)} pools")
    return rows


def with_signals(rows: Sequence[ReadPool], signals: Callable[[LabelledPool], Floats]) -> None:
    """Add a support encoder's signals to the rows: two of each unit, and one of the pool."""
    for row in rows:
        told = signals(row.item)[row.view.unit]
        row.table = np.concatenate([row.table, told[:, :2]], axis=1)
        row.complete = float(told[:, 2].max(initial=0.0))
