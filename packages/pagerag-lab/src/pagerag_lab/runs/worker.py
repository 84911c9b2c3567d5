"""One question of a run, from pool to row. Everything here runs inside a worker process."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

from pagerag.units import Candidate, Pool
from pagerag_lab.datasets.questions import Question
from pagerag_lab.metrics.measures import (
    AnsEM,
    AnsF1,
    FullRecall,
    JointEM,
    JointF1,
    Judged,
    Measure,
    Recall,
    SupEM,
    SupF1,
    SupPrecision,
    SupRecall,
    ceiling,
)
from pagerag_lab.rivals.selection import Plain, Selection, selector
from pagerag_lab.runs.config import RunConfig
from pagerag_lab.runs.reading import CachedReader, make_reader
from pagerag_lab.runs.sources import PooledContexts, source

__all__ = ["Worker", "measures"]


def measures(config: RunConfig) -> tuple[Measure, ...]:
    """Return what a run measures, in the order of its result."""
    support = (SupF1, SupEM, SupPrecision, SupRecall)
    cutoffs = sorted({1, 2, 3, 5, config.k})
    listed = [measure[which] for which in ("core", "filled") for measure in support]
    listed += [Recall @ cutoff for cutoff in cutoffs]
    listed += [FullRecall @ cutoff for cutoff in sorted({5, config.k})]
    if config.reader is not None:
        listed += [AnsF1, AnsEM, JointF1["core"], JointEM["core"]]
    return tuple(listed)


class Worker:
    """The parts of a run, made once per process, and the seconds that each stage took."""

    def __init__(self, config: RunConfig) -> None:
        self.config = config
        self.source = source(config)
        self.selector = selector(
            config.strategy, ablate=config.ablate, explain=config.explain, support=config.support
        )
        self.plain = Plain()
        self.reader: CachedReader | None = make_reader(config.reader) if config.reader else None
        self.measures = measures(config)
        self.seconds: dict[str, float] = {"retrieve": 0.0, "select": 0.0, "read": 0.0}

    def rows(self, questions: Sequence[Question]) -> list[dict[str, Any]]:
        """Return one row per question; a question that fails is a row with its error and default scores."""
        return [self.row(question) for question in questions]

    def row(self, question: Question) -> dict[str, Any]:
        """Return the question's row of predictions.jsonl."""
        gold = self._gold(question)
        row: dict[str, Any] = {
            "id": question.id,
            "question": question.question,
            "type": question.type,
            "hops": question.hops,
            "answers": list(question.answers),
            "gold": sorted(gold),
        }
        try:
            row |= self._judged(question, gold)
        except Exception as problem:  # noqa: BLE001 - one question's failure is a row, never the run's end
            row |= self._failed(question, gold, problem)
        return row

    def _gold(self, question: Question) -> frozenset[str]:
        if isinstance(self.source, PooledContexts):
            return self.source.gold(question)
        return question.gold(self.config.mode)

    def _judged(self, question: Question, gold: frozenset[str]) -> dict[str, Any]:
        config = self.config
        started = time.perf_counter()
        pool, keys = self.source(question)
        retrieved = time.perf_counter()
        self.seconds["retrieve"] += retrieved - started
        ours = self.selector.select(pool, config.k, config.mode)
        self.seconds["select"] += time.perf_counter() - retrieved
        plain = self.plain.select(pool, config.k, config.mode)
        order = [keys.get(unit.id, unit.id) for unit in pool.candidates]
        row: dict[str, Any] = {
            "pool": [
                [unit.id, None if unit.score is None else round(unit.score, 6)] for unit in pool.candidates
            ],
            "core": list(ours.core),
            "context": list(ours.context),
            "state": ours.state,
            "sufficiency": None if ours.sufficiency is None else round(ours.sufficiency, 6),
            "gold_in_pool": sum(key in order for key in sorted(gold)),
            "gold_rank_before": _ranks(gold, order),
            "gold_rank_after": _ranks(gold, [keys.get(unit, unit) for unit in ours.context]),
            "ceiling": ceiling(len(gold), min(config.k, len(pool.candidates))),
        }
        core_keys = [keys.get(unit, unit) for unit in ours.core]
        if core_keys != row["core"]:
            row["core_keys"] = core_keys  # documents that share a title: what the official file must say
        row |= self._scored(question, gold, pool, ours, keys)
        row["baseline"] = {
            "context": list(plain.context),
            **self._scored(question, gold, pool, plain, keys),
        }
        if config.explain:
            row["explanation"] = ours.explanation
            shown = {*ours.context, *plain.context} | {unit for unit, key in keys.items() if key in gold}
            row["texts"] = {unit.id: [unit.title, unit.text] for unit in pool.candidates if unit.id in shown}
        row["error"] = None
        return row

    def _scored(
        self,
        question: Question,
        gold: frozenset[str],
        pool: Pool,
        selection: Selection,
        keys: Mapping[str, str],
    ) -> dict[str, Any]:
        answer = self._answer(question, pool, selection)
        judged = Judged(
            gold=gold,
            core=[keys.get(unit, unit) for unit in selection.core],
            context=[keys.get(unit, unit) for unit in selection.context],
            answer=answer,
            answers=question.answers,
            rule=question.answer_rule,
        )
        return {"answer": answer, "metrics": {one.key: one(judged) for one in self.measures}}

    def _answer(self, question: Question, pool: Pool, selection: Selection) -> str | None:
        if self.reader is None:
            return None
        started = time.perf_counter()
        units: dict[str, Candidate] = {unit.id: unit for unit in pool.candidates}
        wanted = self.config.read if self.config.read != "auto" else self.reader.prefers
        ids = selection.core if wanted == "core" and selection.core else selection.context
        text = self.reader.read(question.question, [units[unit] for unit in ids])
        self.seconds["read"] += time.perf_counter() - started
        return text

    def _failed(self, question: Question, gold: frozenset[str], problem: Exception) -> dict[str, Any]:
        nothing = Judged(gold=gold, answers=question.answers, rule=question.answer_rule)
        scores = {one.key: one(nothing) for one in self.measures}
        return {
            "pool": [],
            "core": [],
            "context": [],
            "state": None,
            "sufficiency": None,
            "gold_in_pool": 0,
            "gold_rank_before": dict.fromkeys(sorted(gold)),
            "gold_rank_after": dict.fromkeys(sorted(gold)),
            "ceiling": ceiling(len(gold), self.config.k),
            "answer": None,
            "metrics": scores,
            "baseline": {"context": [], "answer": None, "metrics": dict(scores)},
            "error": {"type": type(problem).__name__, "message": str(problem)},
        }


def _ranks(gold: frozenset[str], order: Sequence[str]) -> dict[str, int | None]:
    """Return each gold key's 1-based place, None where it is missing."""
    places: dict[str, int] = {}
    for place, key in enumerate(order, start=1):
        places.setdefault(key, place)
    return {key: places.get(key) for key in sorted(gold)}
