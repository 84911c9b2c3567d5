"""Promotion on questions of other kinds: sets that bring their own pools, none of which it was fitted to.

For each order of the candidates (BM25, MiniLM) and each method (formula, learned, learned with the support
encoder) one resumable run over all sets; the plain order is measured in each of them. Two more runs tell what
happens when the pool is another question's, and when a gold passage is there five times over.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from pagerag.errors import FormatError
from pagerag_lab.reproduce.figures import reliability
from pagerag_lab.reproduce.tables import Cell, Table
from pagerag_lab.reproduce.workbench import Bench
from pagerag_lab.runs.hostile_pools import HostilePoolsTask
from pagerag_lab.runs.pool_sets import PoolSetsTask

__all__ = ["METHODS", "ORDERS", "breadth_experiment", "draw_reliability", "sets_table", "summary_table"]

ORDERS = ("bm25", "minilm")

METHODS: Mapping[str, tuple[str, str | None]] = {
    "formula": ("formula", None),
    "learned": ("learned", None),
    "learned + support": ("learned", "default"),
}
"""Label to (strategy, support encoder)."""

HOSTILE = 151
"""How many HotpotQA questions are given another question's pool, or near-copies."""

TOLERANCE = 0.005
"""How far below the plain order a set may lie before it counts as worse: half a point."""

Result = Mapping[str, Any]

COLUMNS = (
    "Set",
    "Method",
    "N",
    "First unit gold",
    "First by score",
    "MRR",
    "Recall@5",
    "Full recall@5",
    "F1 of plain 1/2/5, core",
    "Core − best plain",
    "Core size, single / multi",
    "Enough/ambiguous/insufficient",
    "AUROC gold removed",
    "AUROC unanswerable",
    "ECE scores",
    "ECE sufficiency",
)


def breadth_experiment(bench: Bench) -> list[Table]:
    """Run every method on every set and return the tables: two of sets, one that sums them up."""
    folder = bench.data / "wide" / "dev"
    limit = bench.limits.slow if bench.limits.is_quick else bench.limits.main
    if not folder.is_dir():
        raise FormatError("the sets of the breadth suite are not here; check --data", file=folder)
    tables: list[Table] = []
    summaries: list[list[Cell]] = []
    for order in ORDERS[:1] if bench.limits.is_quick else ORDERS:
        results = {
            label: bench.execute(
                PoolSetsTask(str(folder), retriever=order, strategy=strategy, support=support, limit=limit),
                _slug("breadth", order, label, limit),
            )
            for label, (strategy, support) in METHODS.items()
        }
        command = f"pagerag reproduce breadth --data {bench.data}{bench.options}"
        table = sets_table(results, order=order, command=command)
        tables.append(bench.write(table))
        for label, result in results.items():
            hostile = _hostile(bench, order, label)
            summaries.append([order, label, *_summary(result), *_hostile_cells(hostile)])
            file = bench.out / f"breadth-reliability-{_slug(order, label)}.svg"
            draw_reliability(result, file, f"{label}, {order} order")
    return [*tables, bench.write(_summary_table(bench, summaries))]


def draw_reliability(result: Result, file: Path, title: str) -> None:
    """Draw the scores of units and the two readings of sufficiency, each with its calibration error."""
    told = result["calibration"]
    curves = {
        "scores": told["scores"],
        "sufficiency (gold in pool)": told["sufficiency_pool"],
        "sufficiency (gold in context)": told["sufficiency_context"],
    }
    reliability(file, curves, title)


def _hostile(bench: Bench, order: str, label: str) -> Result | None:
    """Run the two hostile experiments over HotpotQA; None when its file is not among the data."""
    try:
        file = bench.file("hotpotqa")
    except FormatError:
        return None
    strategy, support = METHODS[label]
    questions = HOSTILE if bench.limits.main is None else min(HOSTILE, bench.limits.main)
    task = HostilePoolsTask(
        str(file), retriever=order, strategy=strategy, support=support, questions=questions
    )
    return bench.execute(task, _slug("hostile", order, label, questions))


def _slug(*parts: object) -> str:
    return "-".join(str(part).replace(" + ", "-") for part in parts if part is not None)


def sets_table(results: Mapping[str, Result], *, order: str = "", command: str = "") -> Table:
    """Return one row per set and method, the plain order first."""
    rows: list[list[Cell]] = []
    rules: list[int] = []
    names = next(iter(results.values()))["sets"]
    for name in names:
        rules.append(len(rows))
        first = next(iter(results.values()))["sets"][name]
        rows.append(_plain_row(name, first))
        rows += [_method_row(name, label, result["sets"][name]) for label, result in results.items()]
    return Table(
        name=f"breadth-{order}" if order else "pools",
        title="Questions with their own pools" + (f", candidates in {order} order" if order else ""),
        columns=COLUMNS,
        rows=rows,
        rules=rules,
        notes=(
            "First unit, MRR (by score), recall and F1 count the alternative gold set that fits best; gold "
            "that the cut to 20 candidates loses counts as missed on both sides.",
            "States and sizes are of questions that have gold. AUROC: sufficiency of the pool against the "
            "same pool without its gold, and against the set's unanswerable questions. ECE of sufficiency: "
            "against whether a whole gold set is in the pool.",
        ),
        command=command,
    )


def _plain_row(name: str, figures: Result) -> list[Cell]:
    if "plain" not in figures:
        return [name, "plain", figures["n"], *[None] * (len(COLUMNS) - 3)]
    plain = figures["plain"]
    cuts = "/".join(f"{100 * value:.1f}" for value in figures["plain_f1"].values())
    found: list[Cell] = [plain["first"], None, plain["mrr"], plain["recall"], plain["full"], cuts]
    return [name, "plain", figures["n"], *found, *[None] * (len(COLUMNS) - 3 - len(found))]


def _method_row(name: str, label: str, figures: Result) -> list[Cell]:
    states = figures["states"]["answerable"] or figures["states"]["unanswerable"]
    shares = "/".join(f"{100 * share:.0f}" for share in states.values()) if states else None
    calibration = figures["calibration"]
    judged: list[Cell] = [
        shares,
        figures["auroc_removed"],
        figures["auroc_unanswerable"],
        calibration["scores"]["error"] if calibration["scores"] else None,
        calibration["sufficiency_pool"]["error"] if calibration["sufficiency_pool"] else None,
    ]
    if "chosen" not in figures:
        return [name, label, figures["n"], *[None] * 8, *judged]
    chosen, sizes = figures["chosen"], figures["core_size"]
    shown = " / ".join("–" if sizes[kind] is None else f"{sizes[kind]:.2f}" for kind in ("single", "multi"))
    return [
        name,
        label,
        figures["n"],
        chosen["first"],
        figures["first_by_score"],
        chosen["mrr"],
        chosen["recall"],
        chosen["full"],
        figures["core_f1"],
        f"{100 * figures['core_minus_best_plain']:+.1f}",
        shown,
        *judged,
    ]


SUMMARY = (
    "Order",
    "Method",
    "Sets worse than plain",
    "Which",
    "Core − best plain, mean",
    "lowest",
    "Core size on single-fact sets",
    "AUROC gold removed, mean",
    "lowest",
    "ECE scores",
    "ECE sufficiency (pool)",
    "ECE sufficiency (context)",
    "Other question's pool: enough",
    "best score, median (own pool)",
    "Four near-copies: full recall@5 lost",
)


SUMMED = 10
"""How many of these columns are over the sets; those behind them are over HotpotQA pools."""


def worse_than_plain(figures: Result) -> list[str]:
    """Return the measures in which a set is more than half a point below the plain order."""
    if "plain" not in figures:
        return []
    named = (("recall@5", "recall"), ("first unit", "first"), ("MRR", "mrr"))
    return [shown for shown, key in named if figures["chosen"][key] < figures["plain"][key] - TOLERANCE]


def single_fact(figures: Result) -> bool:
    """Tell whether every question of a set that has gold needs one unit."""
    kinds = figures["kinds"]
    return bool(kinds.get("single")) and not kinds.get("multi")


def _summary(result: Result) -> list[Cell]:
    sets = result["sets"]
    worse = {name: found for name, figures in sets.items() if (found := worse_than_plain(figures))}
    margins = [figures["core_minus_best_plain"] for figures in sets.values() if "chosen" in figures]
    sizes = [figures["core_size"]["all"] for figures in sets.values() if single_fact(figures)]
    areas = [figures["auroc_removed"] for figures in sets.values() if figures["auroc_removed"] is not None]
    calibration = result["calibration"]
    return [
        f"{len(worse)} of {len(sets)}",
        "; ".join(f"{name} ({', '.join(found)})" for name, found in worse.items()) or None,
        f"{100 * float(np.mean(margins)):+.1f}" if margins else None,
        f"{100 * min(margins):+.1f}" if margins else None,
        f"{float(np.mean(sizes)):.2f}" if sizes else None,
        float(np.mean(areas)) if areas else None,
        min(areas, default=None),
        *(
            calibration[name]["error"] if calibration[name] else None
            for name in ("scores", "sufficiency_pool", "sufficiency_context")
        ),
    ]


def summary_table(results: Mapping[str, Result]) -> Table:
    """Return one row per method over all sets of its run."""
    return Table(
        name="pools-summary",
        title="Summed up over the sets",
        columns=SUMMARY[1 : 2 + SUMMED],
        rows=[[label, *_summary(result)] for label, result in results.items()],
    )


def _hostile_cells(found: Result | None) -> list[Cell]:
    if found is None:
        return [None, None, None]
    own, other = found["own"], found["other"]
    return [
        " / ".join(f"{100 * part['enough']:.1f}" for part in other.values()),
        " / ".join(f"{other[mode]['best_score']:.2f} ({own[mode]['best_score']:.2f})" for mode in other),
        " / ".join(f"{100 * lost:.1f}" for lost in found["copies"]["lost"].values()),
    ]


def _summary_table(bench: Bench, rows: Sequence[Sequence[Cell]]) -> Table:
    return Table(
        name="breadth",
        title="Questions with their own pools, summed up over the sets",
        columns=SUMMARY,
        rows=rows,
        notes=(
            "Worse than plain: recall@5, first unit or MRR more than half a point below the order that the "
            "pool came in. Best plain: the best of the first 1, 2 and 5 units, chosen with hindsight.",
            "Other question's pool: HotpotQA dev questions, each with another question's context in place of "
            "its own, sentence / document units; the score is the best unit's, the own pool's in brackets. "
            "Near-copies: the gold document that ranks first added four times more with a few characters "
            "changed, as documents of their own / under the same source; points of full recall@5 lost by it.",
        ),
        command=f"pagerag reproduce breadth --data {bench.data}{bench.options}",
    )
