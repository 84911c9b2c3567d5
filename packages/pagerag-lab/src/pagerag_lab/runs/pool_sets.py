"""Run a strategy over sets of questions that bring their pools, and score it against the plain order.

The candidates of a question are ordered by a retriever (``given`` keeps the file's order) and cut to ``pool``
units; gold that the cut loses counts as missed on both sides. Each pool that has gold is judged a second time
without it, so that sufficiency can be compared between the two.
"""

from __future__ import annotations

import json
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pagerag.units import Candidate, Pool
from pagerag_lab.datasets.pool_sets import PoolQuestion, pool_files, pool_set_name, read_pool_sets
from pagerag_lab.metrics.alternatives import best_f1, best_recall, reciprocal_rank
from pagerag_lab.metrics.calibration import ReliabilityBin, calibration_error, reliability_bins
from pagerag_lab.metrics.statistics import auroc
from pagerag_lab.pools.rankers import Ranker, top
from pagerag_lab.pools.retrievers import ranker
from pagerag_lab.product import write_atomic
from pagerag_lab.rivals.selection import Selection, selector
from pagerag_lab.runs.config import check_counts
from pagerag_lab.runs.engine import Row
from pagerag_lab.runs.versions import describe

__all__ = ["CUTS", "PoolSetsTask", "PoolSetsWorker", "ordered_pool", "summarise"]

CUTS = (1, 2, 5)
"""The plain cuts that a core is compared with; the best of them is known with hindsight only."""

STATES = ("enough", "ambiguous", "insufficient")
SCHEMA = 1


@dataclass(frozen=True, slots=True)
class PoolSetsTask:
    """Which files, in which order of candidates, chosen from by whom.

    ``retriever`` names a ranker or is ``given``; ``strategy`` names a selector; ``support`` a support
    encoder or None; ``limit`` counts questions of each set.
    """

    data: str
    retriever: str = "bm25"
    strategy: str = "default"
    support: str | None = None
    pool: int = 20
    k: int = 5
    limit: int | None = None
    ablate: tuple[str, ...] = ()
    chunk: int = 32

    def __post_init__(self) -> None:
        check_counts(self, "pool", "k", "chunk", "limit")

    def items(self) -> Iterator[PoolQuestion]:
        """Yield the questions, set by set."""
        return read_pool_sets(self.data, limit=self.limit)

    def identity(self) -> dict[str, Any]:
        """Return the settings, the files' hashes and the versions."""
        config = asdict(self) | {
            "dataset": "pools",
            "data": Path(self.data).name,
            "ablate": list(self.ablate),
        }
        files = {pool_set_name(file): str(file) for file in pool_files(self.data)}
        return describe(config, files, models=self.support is not None)

    def worker(self) -> PoolSetsWorker:
        """Return the parts for one process."""
        return PoolSetsWorker(self)

    def finish(self, folder: Path, described: Mapping[str, Any], lines: Iterator[str]) -> dict[str, Any]:
        """Write predictions.jsonl and result.json."""
        told = list(lines)
        write_atomic(folder / "predictions.jsonl", "".join(told))
        result = {"schema": SCHEMA, **summarise(json.loads(line) for line in told), **described}
        write_atomic(folder / "result.json", json.dumps(result, ensure_ascii=False, indent=2) + "\n")
        return result


def ordered_pool(question: str, units: Sequence[Candidate], order: Ranker | None, size: int) -> Pool:
    """Return the first ``size`` units by the ranker, or as they stand when there is none."""
    if order is None:
        return Pool(question, tuple(units[:size]), origin="given")
    return top(question, units, order.rank(question, units), size, order.name)


class PoolSetsWorker:
    """Makes each question's pool, selects from it, and scores what came out."""

    def __init__(self, task: PoolSetsTask) -> None:
        self.task = task
        self.ranker: Ranker | None = None if task.retriever == "given" else ranker(task.retriever)
        self.selector = selector(task.strategy, ablate=task.ablate, support=task.support)
        self.seconds: dict[str, float] = {"retrieve": 0.0, "select": 0.0}

    def rows(self, items: Sequence[PoolQuestion]) -> list[Row]:
        """Return one row per question; one that fails is a row with its error and scores of 0."""
        return [self.row(item) for item in items]

    def row(self, item: PoolQuestion) -> Row:
        """Return the question's row of predictions.jsonl."""
        row: Row = {"set": item.set, "id": item.id, "kind": item.kind, "mode": item.mode, "error": None}
        try:
            return row | self._judged(item)
        except Exception as problem:  # noqa: BLE001 - one question's failure is a row, never the run's end
            row["error"] = {"type": type(problem).__name__, "message": str(problem)}
            return row | self._scored(item, [], Selection((), ()))

    def _judged(self, item: PoolQuestion) -> Row:
        started = time.perf_counter()
        pool = ordered_pool(item.question, item.candidates, self.ranker, self.task.pool)
        retrieved = time.perf_counter()
        chosen = self.selector.select(pool, self.task.k, item.mode)
        took = time.perf_counter() - retrieved
        self.seconds["retrieve"] += retrieved - started
        self.seconds["select"] += took
        row = self._scored(item, [unit.id for unit in pool.candidates], chosen)
        if chosen.sufficiency is not None and (less := self._without_gold(item, pool)) is not None:
            row["removed"] = {
                "sufficiency": _rounded(less.sufficiency),
                "state": less.state,
                "scores": [round(score, 6) for score in less.scores or ()],
            }
        return row

    def _without_gold(self, item: PoolQuestion, pool: Pool) -> Selection | None:
        rest = tuple(unit for unit in pool.candidates if unit.id not in item.wanted)
        if not 1 < len(rest) < len(pool):
            return None
        return self.selector.select(Pool(pool.question, rest, vector=pool.vector), self.task.k, item.mode)

    def _scored(self, item: PoolQuestion, plain: list[str], chosen: Selection) -> Row:
        core, context, k = list(chosen.core), list(chosen.context), self.task.k
        row: Row = {
            "core": core,
            "context": context,
            "plain": plain[:k],
            "state": chosen.state,
            "sufficiency": _rounded(chosen.sufficiency),
            "scores": None if chosen.scores is None else [round(score, 6) for score in chosen.scores],
            "gold_places": [place for place, one in enumerate(plain) if one in item.wanted],
            "in_pool": bool(item.gold) and best_recall(plain, item.gold) == 1.0,
            "in_context": bool(item.gold) and best_recall(context, item.gold) == 1.0,
        }
        if not item.gold:
            return row
        by_score = context
        if chosen.scores is not None:
            by_score = [plain[place] for place in np.argsort(-np.array(chosen.scores), kind="stable")]
        row["metrics"] = {
            "gold": min(map(len, item.gold)),
            "reach": best_recall(plain, item.gold),
            "first": [reciprocal_rank(one[:1], item.gold) for one in (plain, context, by_score)],
            "mrr": [reciprocal_rank(one, item.gold) for one in (plain, by_score)],
            "recall": [best_recall(one, item.gold) for one in (plain[:k], context)],
            "full": [float(best_recall(one, item.gold) == 1.0) for one in (plain[:k], context)],
            "plain_f1": [best_f1(plain[:cut], item.gold) for cut in CUTS],
            "core_f1": best_f1(core, item.gold),
        }
        return row


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 6)


def summarise(rows: Iterable[Row]) -> dict[str, Any]:
    """Return the figures of each set, and those over all of them."""
    by_set: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        by_set[row["set"]].append(row)
    every = [row for part in by_set.values() for row in part]
    return {
        "sets": {name: _set_figures(part) for name, part in by_set.items()},
        "calibration": _calibration(every),
        "errors": sum(row["error"] is not None for row in every),
    }


def _set_figures(rows: Sequence[Row]) -> dict[str, Any]:
    some = [row for row in rows if "metrics" in row]
    none = [row for row in rows if "metrics" not in row]
    twins = [row for row in some if "removed" in row]
    figures: dict[str, Any] = {
        "n": len(rows),
        "errors": sum(row["error"] is not None for row in rows),
        "kinds": {
            kind: sum(row["kind"] == kind for row in rows) for kind in sorted({r["kind"] for r in rows})
        },
        "states": {
            "answerable": _states(row["state"] for row in some),
            "unanswerable": _states(row["state"] for row in none),
            "removed": _states(row["removed"]["state"] for row in twins),
        },
        "auroc_unanswerable": _auroc(
            [row["sufficiency"] for row in some], [row["sufficiency"] for row in none]
        ),
        "auroc_removed": _auroc(
            [row["sufficiency"] for row in twins], [row["removed"]["sufficiency"] for row in twins]
        ),
        "calibration": _calibration(rows),
    }
    return figures | _ranking_figures(some) if some else figures


def _ranking_figures(rows: Sequence[Row]) -> dict[str, Any]:
    def mean(name: str) -> Any:
        return np.mean([row["metrics"][name] for row in rows], axis=0).tolist()

    def size(kinds: Sequence[bool]) -> float | None:
        sizes = [len(row["core"]) for row in rows if (row["metrics"]["gold"] > 1) in kinds]
        return float(np.mean(sizes)) if sizes else None

    first, mrr, recall, full = (mean(name) for name in ("first", "mrr", "recall", "full"))
    plain_f1, core_f1 = mean("plain_f1"), mean("core_f1")
    return {
        "gold": mean("gold"),
        "reach": mean("reach"),
        "plain": {"first": first[0], "mrr": mrr[0], "recall": recall[0], "full": full[0]},
        "chosen": {"first": first[1], "mrr": mrr[1], "recall": recall[1], "full": full[1]},
        "first_by_score": first[2],
        "plain_f1": dict(zip(map(str, CUTS), plain_f1, strict=True)),
        "core_f1": core_f1,
        "core_minus_best_plain": core_f1 - max(plain_f1),
        "core_size": {"all": size((False, True)), "single": size((False,)), "multi": size((True,))},
    }


def _states(states: Iterable[str | None]) -> dict[str, float] | None:
    told = [state for state in states if state is not None]
    return {state: told.count(state) / len(told) for state in STATES} if told else None


def _auroc(positive: Sequence[float | None], negative: Sequence[float | None]) -> float | None:
    high = [value for value in positive if value is not None]
    low = [value for value in negative if value is not None]
    return auroc(high, low) if high and low else None


def _calibration(rows: Sequence[Row]) -> dict[str, Any]:
    """Return reliability and error of scores and of sufficiency, over whole pools and those without gold.

    A score is right when its unit is gold in one of the alternatives. Sufficiency is judged twice: against
    whether a whole gold set is in the pool, and whether one is in the context.
    """
    scores: list[float] = []
    evidence: list[bool] = []
    sufficiency: list[float] = []
    in_pool: list[bool] = []
    in_context: list[bool] = []
    for row in rows:
        if row["scores"] is None or row["sufficiency"] is None:
            continue
        gold = set(row["gold_places"])
        scores += row["scores"]
        evidence += [place in gold for place in range(len(row["scores"]))]
        sufficiency.append(row["sufficiency"])
        in_pool.append(row["in_pool"])
        in_context.append(row["in_context"])
        if "removed" in row:
            scores += row["removed"]["scores"]
            evidence += [False] * len(row["removed"]["scores"])
            sufficiency.append(row["removed"]["sufficiency"])
            in_pool.append(False)
            in_context.append(False)
    return {
        "scores": _reliability(scores, evidence),
        "sufficiency_pool": _reliability(sufficiency, in_pool),
        "sufficiency_context": _reliability(sufficiency, in_context),
    }


def _reliability(told: Sequence[float], true: Sequence[bool]) -> dict[str, Any] | None:
    if not told:
        return None
    bins: list[ReliabilityBin] = reliability_bins(told, true)
    return {"error": calibration_error(bins), "bins": [asdict(one) for one in bins]}
