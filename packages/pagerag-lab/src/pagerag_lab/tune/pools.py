"""Train questions → labelled pools. The only place where gold annotations meet the promotion's features."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pagerag.errors import InputError
from pagerag.protocols import Encoder
from pagerag.units import Mode, Pool
from pagerag_lab.datasets.corpora import pooled_corpus
from pagerag_lab.datasets.questions import Document, Question
from pagerag_lab.datasets.registry import read_questions
from pagerag_lab.pools.rankers import DenseRanker, Pools
from pagerag_lab.runs.sources import Noisy, OwnContext

__all__ = ["TRAIN_FILES", "LabelledPool", "labelled_pools", "small", "twin", "without"]

TRAIN_FILES: tuple[tuple[str, str, Mode], ...] = (
    ("hotpotqa", "hotpotqa/train.json", "sentence"),
    ("2wikimultihopqa", "2wikimultihopqa/train.json", "sentence"),
    ("musique", "musique/train.jsonl", "paragraph"),
)
"""Dataset, file under the data folder, and the granularity of its gold."""


_NOISE_LEVELS = (5, 10, 20, 20)


@dataclass(frozen=True, slots=True, eq=False)
class LabelledPool:
    """A pool with which of its units are gold, and how many gold units there are in all."""

    dataset: str
    mode: Mode
    question: str  # id
    pool: Pool
    gold_ids: frozenset[str]
    spare: Pool  # what would come next: the units ranked after the pool
    noisy: Pool | None = None  # the pool with documents of other questions added

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
    noise: bool = True,
    track: Callable[[Iterable[object], str], Iterable[object]] | None = None,
) -> Iterator[LabelledPool]:
    """Return the pools of every train file for ``mode``.

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
        documents = pooled_corpus(questions)
        own = OwnContext(DenseRanker(encoder), granularity, size)
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
                noisy=_noisy(own, documents, question) if noise else None,  # type: ignore[arg-type]
            )


def _noisy(own: OwnContext, documents: Sequence[Document], question: Question) -> Pool | None:
    """Return the pool with 5 to 20 documents of other questions, as many as the question's id draws."""
    level = random.Random(f"noise:{question.id}").choice(_NOISE_LEVELS)
    if len(documents) < 100:  # too few to draw from (--limit)
        return None
    return Noisy(own, documents, level, seed=1)(question)[0]


def without(item: LabelledPool, *signals: str) -> LabelledPool:
    """Return the same pool as a poorer retriever would give it: no vectors, or no scores."""
    pool = item.pool
    if "vectors" in signals:
        pool = replace(pool, vector=None)
    if "scores" in signals:
        pool = replace(pool, candidates=tuple(replace(unit, score=None) for unit in pool.candidates))
    return replace(item, pool=pool)


def small(item: LabelledPool) -> LabelledPool:
    """Return a pool of six to twelve units of this one: its gold, and others drawn by the question's id."""
    rng = random.Random(f"small:{item.question}")
    units = item.pool.candidates
    gold = {place for place in range(len(units)) if units[place].id in item.gold_ids}
    others = [place for place in range(len(units)) if place not in gold]
    drawn = rng.sample(others, min(len(others), max(rng.randint(6, 12) - len(gold), 1)))
    kept = tuple(units[place] for place in sorted(gold.union(drawn)))
    return replace(item, pool=replace(item.pool, candidates=kept))


def twin(item: LabelledPool, seed: int) -> LabelledPool | None:
    """Return the pool with a gold unit removed and the next-ranked one moved up; None if it has no gold."""
    places = np.nonzero(item.gold)[0]
    if not len(places):
        return None
    gone = int(places[np.random.default_rng(seed).integers(len(places))])
    units = item.pool.candidates
    kept = tuple(unit for i, unit in enumerate(units) if i != gone) + item.spare.candidates[:1]
    return replace(item, pool=replace(item.pool, candidates=kept)) if kept else None
