"""Pools that should teach caution: another question's context, and one gold passage many times over.

Both are made from a HotpotQA file. *Other*: the question is asked of the units of the next question's
context, which hold nothing of its evidence. *Copies*: the question's own documents, and four near-copies of
the gold document that ranks first, each changed in a few characters; a copy counts as what it is a copy of.
"""

from __future__ import annotations

import json
import random
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from pagerag.errors import InputError
from pagerag.units import Candidate, Mode
from pagerag_lab.datasets.questions import Question
from pagerag_lab.datasets.registry import read_questions
from pagerag_lab.pools.retrievers import ranker
from pagerag_lab.product import write_atomic
from pagerag_lab.rivals.selection import selector
from pagerag_lab.runs.engine import Row
from pagerag_lab.runs.pool_sets import ordered_pool
from pagerag_lab.runs.versions import describe

__all__ = ["HostilePoolsTask", "near_copies"]

COPIES = 4
MODES: tuple[Mode, ...] = ("sentence", "document")
COPIED = ("none", "other documents", "same document")
"""No copies; copies in documents of their own; copies that name the document of the original."""


@dataclass(frozen=True, slots=True)
class HostilePoolsTask:
    """Which HotpotQA file, how many of its questions, ranked and chosen from by whom."""

    data: str
    retriever: str = "bm25"
    strategy: str = "default"
    support: str | None = None
    questions: int = 151
    pool: int = 20
    k: int = 5
    chunk: int = 16

    def items(self) -> Iterator[tuple[Question, Question]]:
        """Yield pairs: a question, and the one whose context it is given."""
        every = list(read_questions("hotpotqa", self.data))
        random.Random(0).shuffle(every)
        some = every[: self.questions]
        for place, one in enumerate(some):
            own = {document.key for document in one.documents} | {key for key, _ in one.facts}
            following = (some[(place + step) % len(some)] for step in range(1, len(some)))
            stranger = (
                two for two in following if own.isdisjoint(document.key for document in two.documents)
            )
            other = next(stranger, None)
            if other is not None:
                yield one, other

    def identity(self) -> dict[str, Any]:
        """Return the settings, the file's hash and the versions."""
        config = asdict(self) | {"dataset": "hostile pools", "data": Path(self.data).name}
        return describe(config, {"data": self.data}, models=self.support is not None)

    def worker(self) -> HostilePoolsWorker:
        """Return the parts for one process."""
        return HostilePoolsWorker(self)

    def finish(self, folder: Path, described: Mapping[str, Any], lines: Iterator[str]) -> dict[str, Any]:
        """Write predictions.jsonl and result.json."""
        told = list(lines)
        rows = [json.loads(line) for line in told]
        if not rows:
            raise InputError(
                f"{self.data} has no two questions with contexts of their own; give a larger file"
            )
        full = {name: float(np.mean([row["copies"][name] for row in rows])) for name in COPIED}
        result: dict[str, Any] = {
            **{
                name: {mode: _verdicts([row[name][mode] for row in rows]) for mode in MODES}
                for name in ("own", "other")
            },
            "copies": {
                "full_recall": full,
                "lost": {name: full["none"] - full[name] for name in COPIED if name != "none"},
            },
            **described,
        }
        write_atomic(folder / "predictions.jsonl", "".join(told))
        write_atomic(folder / "result.json", json.dumps(result, ensure_ascii=False, indent=2) + "\n")
        return result


def _verdicts(found: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    return {
        "n": len(found),
        "enough": float(np.mean([one["state"] == "enough" for one in found])),
        "best_score": float(np.median([one["best_score"] for one in found])),
        "sufficiency": float(np.median([one["sufficiency"] for one in found])),
    }


class HostilePoolsWorker:
    """Judges the pools of each pair of questions."""

    def __init__(self, task: HostilePoolsTask) -> None:
        self.task = task
        self.ranker = None if task.retriever == "given" else ranker(task.retriever)
        self.selector = selector(task.strategy, support=task.support)
        self.seconds: dict[str, float] = {"select": 0.0}

    def rows(self, items: Sequence[tuple[Question, Question]]) -> list[Row]:
        """Return one row per pair."""
        return [self._row(*pair) for pair in items]

    def _row(self, asked: Question, other: Question) -> Row:
        started = time.perf_counter()
        row = {
            "id": asked.id,
            "own": {mode: self._verdict(asked.question, asked.units(mode), mode) for mode in MODES},
            "other": {mode: self._verdict(asked.question, other.units(mode), mode) for mode in MODES},
            "copies": self._copies(asked),
        }
        self.seconds["select"] += time.perf_counter() - started
        return row

    def _verdict(self, question: str, units: Sequence[Candidate], mode: Mode) -> Row:
        pool = ordered_pool(question, units, self.ranker, self.task.pool)
        found = self.selector.select(pool, self.task.k, mode)
        return {
            "state": found.state,
            "sufficiency": round(found.sufficiency or 0.0, 6),
            "best_score": round(max(found.scores or (0.0,)), 6),
        }

    def _copies(self, asked: Question) -> Row:
        units = asked.units("document")
        keys, gold = asked.keys("document"), asked.gold("document")
        ranked = ordered_pool(asked.question, units, self.ranker, self.task.pool).candidates
        best = next(unit.id for unit in ranked if keys[unit.id] in gold)
        original = next(unit for unit in units if unit.id == best)
        copies = near_copies(original)
        keys |= dict.fromkeys((copy.id for copy in copies), keys[best])
        joined = tuple(replace(copy, source=original.source) for copy in copies)
        found = {}
        for name, added in zip(COPIED, ((), copies, joined), strict=True):
            pool = ordered_pool(asked.question, (*units, *added), self.ranker, self.task.pool)
            context = self.selector.select(pool, self.task.k, "document").context
            found[name] = float(gold <= {keys[one] for one in context})
        return found


def near_copies(unit: Candidate) -> tuple[Candidate, ...]:
    """Return four copies of a unit, each with a few characters changed, as mirrors of a page have them."""
    text = unit.text
    middle = text.find(" ", len(text) // 2)
    changed = (
        f"{text.rstrip('.')} .",
        text.replace(",", " ,", 1) if "," in text else f"{text} ",
        f"{text[:middle]} {text[middle:]}" if middle > 0 else f" {text}",
        f"{text} [1]",
    )
    return tuple(
        replace(unit, id=f"{unit.id} (copy {number})", source=f"{unit.document} (copy {number})", text=one)
        for number, one in enumerate(changed[:COPIES], start=1)
    )
