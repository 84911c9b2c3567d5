"""Does sufficiency mean anything? A pool against its twin with one gold unit removed."""

from __future__ import annotations

import random
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from multiprocessing import get_context

from pagerag import Promoter
from pagerag.units import Mode, Pool
from pagerag_lab.datasets.questions import Question
from pagerag_lab.datasets.registry import Dataset, read_questions
from pagerag_lab.metrics.statistics import auroc
from pagerag_lab.pools.rankers import Pools
from pagerag_lab.pools.retrievers import ranker
from pagerag_lab.reproduce.tables import Cell, Table
from pagerag_lab.reproduce.workbench import Bench

__all__ = ["sufficiency_experiment", "twins"]


def twins(question: Question, pool: Pool, mode: Mode, size: int, seed: int = 20) -> tuple[Pool, Pool] | None:
    """Return the first ``size`` units of a deeper pool, and the same with one gold unit gone.

    The next unit moves up. Which gold unit goes is drawn with a seed of the question's own. None when the
    first ``size`` hold no gold unit: there is nothing to remove.
    """
    gold, keys = question.gold(mode), question.keys(mode)
    present = [unit.id for unit in pool.candidates[:size] if keys.get(unit.id) in gold]
    if not present:
        return None
    gone = random.Random(f"{seed}:{question.id}").choice(present)
    rest = tuple(unit for unit in pool.candidates if unit.id != gone)[:size]
    return replace(pool, candidates=pool.candidates[:size]), replace(pool, candidates=rest)


def sufficiency_experiment(bench: Bench) -> list[Table]:
    """Measure the AUROC of ``sufficiency`` between the two, for each dataset and strategy."""
    rows: list[list[Cell]] = []
    rules: list[int] = []
    modes = {one.mode for one in bench.present()}
    learned = all("learned" in bench.strategies(mode) for mode in modes)
    for strategy in (None, "formula", "learned") if learned else (None, "formula"):
        rules.append(len(rows))
        values = []
        for one in bench.present():
            whole, broken, skipped = _measure(bench, one, strategy)
            values.append(auroc(whole, broken))
            wins = sum(a > b for a, b in zip(whole, broken, strict=True)) / len(whole)
            rows.append(
                [
                    strategy or "default",
                    one.title,
                    values[-1],
                    wins,
                    sum(whole) / len(whole),
                    sum(broken) / len(broken),
                    len(whole),
                    skipped,
                ]
            )
        rows.append([strategy or "default", "mean", sum(values) / len(values), None, None, None, None, None])
    return [
        bench.write(
            Table(
                name="sufficiency",
                title="Sufficiency of a pool against its twin with one gold unit removed "
                f"({bench.retriever} pool of 20)",
                columns=[
                    "Strategy",
                    "Dataset",
                    "AUROC",
                    "Whole above its own twin",
                    "Mean, whole",
                    "Mean, twin",
                    "N",
                    "No gold in pool",
                ],
                rows=rows,
                rules=rules,
                notes=(
                    "The removed unit is one of the question's gold units in the pool, drawn with a fixed "
                    "seed; the next-ranked unit moves up. Chance is 50.",
                ),
                command=f"pagerag reproduce sufficiency --data {bench.data}{bench.options}",
            )
        )
    ]


def _measure(bench: Bench, one: Dataset, strategy: str | None) -> tuple[list[float], list[float], int]:
    bench.say(f"sufficiency {one.name} {strategy or 'default'}")
    whole, broken, skipped = [], [], 0
    with ProcessPoolExecutor(
        bench.workers.count,
        mp_context=get_context("spawn"),
        initializer=_start,
        initargs=(one.mode, strategy, bench.retriever),
    ) as pool:
        questions = read_questions(one.name, bench.file(one.name), limit=bench.limits.side)
        for pair in pool.map(_pair, questions, chunksize=16):
            if pair is None:
                skipped += 1
            else:
                whole.append(pair[0])
                broken.append(pair[1])
    return whole, broken, skipped


_parts: list[tuple[Mode, Pools, Promoter]] = []


def _start(mode: Mode, strategy: str | None, retriever: str) -> None:
    promoter = Promoter() if strategy is None else Promoter(strategy=strategy)
    # One unit deeper than the pool: the twin needs the next-ranked unit.
    _parts[:] = [(mode, Pools(ranker(retriever), mode=mode, size=21), promoter)]


def _pair(question: Question) -> tuple[float, float] | None:
    mode, make, promoter = _parts[0]
    pair = twins(question, make(question), mode, 20)
    if pair is None:
        return None
    first, second = (promoter.promote(pool.question, pool, k=5, mode=mode).sufficiency for pool in pair)
    return float(first), float(second)
