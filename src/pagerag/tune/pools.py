"""Train questions → labelled pools. The only place where gold annotations meet the promotion's features."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pagerag.errors import InputError
from pagerag.evaluate.datasets import read_questions
from pagerag.evaluate.pools import DenseRanker, Pools
from pagerag.protocols import Encoder
from pagerag.units import Mode, Pool

__all__ = ["TRAIN_FILES", "LabelledPool", "labelled_pools", "twin", "without"]

TRAIN_FILES: tuple[tuple[str, str, Mode], ...] = (
    ("hotpotqa", "hotpotqa/train.json", "sentence"),
    ("2wikimultihopqa", "2wikimultihopqa/train.json", "sentence"),
    ("musique", "musique/train.jsonl", "paragraph"),
)
"""Dataset, file under the data folder, and the granularity of its gold."""


@dataclass(frozen=True, slots=True, eq=False)
class LabelledPool:
    """A pool with which of its units are gold, and how many gold units there are in all."""

    dataset: str
    mode: Mode
    question: str  # id
    pool: Pool
    gold_ids: frozenset[str]
    spare: Pool  # what would come next: the units ranked after the pool

    @property
    def gold(self) -> NDArray[np.bool_]:
        """Which units of the pool are gold."""
        return np.array([unit.id in self.gold_ids for unit in self.pool.candidates])

    @property
    def total(self) -> int:
        """How many gold units there are, in the pool or not."""
        return len(self.gold_ids)

    @property
    def complete(self) -> bool:
        """Whether every gold unit is in the pool."""
        return int(self.gold.sum()) == self.total


def labelled_pools(
    data: Path,
    encoder: Encoder,
    mode: Mode,
    *,
    size: int = 20,
    limit: int | None = None,
    track: Callable[[Iterable[object], str], Iterable[object]] | None = None,
) -> Iterator[LabelledPool]:
    """The pools of every train file for ``mode``.

    Sentence mode takes sentence units where the gold is sentences, paragraphs where it is paragraphs; the
    other modes take whole documents.
    """
    for name, file, unit in TRAIN_FILES:
        path = data / file
        if not path.exists():
            raise InputError(
                f"{path} is missing; --data names a folder with {', '.join(f for _, f, _ in TRAIN_FILES)}"
            )
        granularity: Mode = unit if mode == "sentence" or unit == "paragraph" else "document"
        make = Pools(DenseRanker(encoder), mode=granularity, size=size + 5)
        questions = list(read_questions(name, path, limit=limit))
        for question in track(questions, name) if track else questions:
            wide = make(question)  # type: ignore[arg-type]
            gold = question.gold(granularity)  # type: ignore[attr-defined]
            if not wide.candidates or not gold:
                continue
            pool = replace(wide, candidates=wide.candidates[:size])
            yield LabelledPool(
                dataset=name,
                mode=unit if mode == "sentence" else mode,
                question=question.id,  # type: ignore[attr-defined]
                pool=pool,
                gold_ids=frozenset(gold),
                spare=replace(wide, candidates=wide.candidates[size:]),
            )


def without(item: LabelledPool, *signals: str) -> LabelledPool:
    """The same pool as a poorer retriever would give it: no vectors, or no scores."""
    pool = item.pool
    if "vectors" in signals:
        pool = replace(pool, vector=None)
    if "scores" in signals:
        pool = replace(pool, candidates=tuple(replace(unit, score=None) for unit in pool.candidates))
    return replace(item, pool=pool)


def twin(item: LabelledPool, seed: int) -> LabelledPool | None:
    """The pool with one gold unit removed and the next-ranked unit moved up; None if it holds no gold."""
    places = np.nonzero(item.gold)[0]
    if not len(places):
        return None
    gone = int(places[np.random.default_rng(seed).integers(len(places))])
    units = item.pool.candidates
    kept = tuple(unit for i, unit in enumerate(units) if i != gone) + item.spare.candidates[:1]
    return replace(item, pool=replace(item.pool, candidates=kept)) if kept else None
