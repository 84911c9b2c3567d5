"""Rows of result tables: one method on one dataset, with what the paper has beside it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pagerag_lab.datasets.registry import Dataset
from pagerag_lab.reproduce.paper import Figures
from pagerag_lab.reproduce.tables import Cell, Table
from pagerag_lab.reproduce.workbench import Bench, averages

__all__ = ["Measured", "Method", "average_table", "dataset_table", "measured", "p_text"]


@dataclass(frozen=True, slots=True)
class Method:
    """A row: its label, its run's settings (None: it cannot run here), and which side of the run it shows.

    ``plain`` shows the run's baseline, the pool's own top k. ``paper`` names the paper's row. ``needs`` says
    what is missing where there is nothing to run; ``limit`` is for slow rows.
    """

    label: str
    settings: Mapping[str, Any] | None = None
    plain: bool = False
    paper: str | None = None
    needs: str = ""
    limit: int | None = None
    rule: bool = False


@dataclass(frozen=True, slots=True)
class Measured:
    """What one method got on one dataset."""

    core: float
    filled: float
    recall: float
    full: float
    units: float
    low: float
    high: float
    n: int
    against: str
    answer: float | None = None
    answer_n: int = 0


def measured(bench: Bench, one: Dataset, method: Method, limit: int | None) -> Measured | str:
    """Run a method on a dataset; text says what it needs."""
    if method.settings is None:
        return f"needs {method.needs}"
    settings = dict(method.settings)
    limit = method.limit if method.limit is not None else limit
    result = bench.attempt(lambda: bench.run(one.name, limit=limit, **settings))
    if isinstance(result, str):
        return result
    if result["errors"] == result["n"]:
        return f"failed: {', '.join(result['error_types'])}"
    few = method.limit is not None and method.limit < bench.limits.answers
    answers = None if few else bench.answers(one.name, **settings)
    side, intervals = ("baseline", "baseline_intervals") if method.plain else ("metrics", "intervals")
    scores = result[side]
    test = result["against_baseline"]["sup_f1_core"]
    low, high = result[intervals]["sup_f1_core"]
    return Measured(
        core=scores["sup_f1_core"],
        filled=scores["sup_f1_filled"],
        recall=scores["recall_at_5"],
        full=scores["full_recall_at_5"],
        units=float(result["config"]["k"]) if method.plain else result["mean_units_core"],
        low=low,
        high=high,
        n=result["n"],
        against="" if method.plain else f"{100 * test['difference']:+.1f} ({p_text(test['p'])})",
        answer=answers[side]["ans_f1"] if answers else None,
        answer_n=answers["n"] if answers else 0,
    )


def p_text(p: float) -> str:
    """Return a p value as people write it."""
    return "p < .001" if p < 0.001 else f"p = {p:.3f}".replace("0.", ".")


def dataset_table(
    name: str,
    title: str,
    one: Dataset,
    methods: Sequence[Method],
    found: Mapping[str, Measured | str],
    figures: Figures,
    *,
    notes: Sequence[str],
    command: str,
    ceiling: float,
) -> Table:
    """Return one dataset's table: ours, and the paper's figures beside it."""
    numbers = [value for value in found.values() if not isinstance(value, str)]
    n = max((value.n for value in numbers), default=0)
    answer_n = max((value.answer_n for value in numbers), default=0)
    columns = [
        "Method",
        "Sup F1 core",
        "95 % interval",
        "Sup F1 filled",
        "Recall@5",
        "Full recall@5",
        "Units in core",
        "Core − plain",
        f"Ans F1 (N = {answer_n})" if answer_n else "Ans F1",
        "N",
        "Paper Sup F1",
        "Paper Ans F1",
    ]
    rows: list[list[Cell]] = []
    for method in methods:
        value = found[method.label]
        paper = figures.get(method.paper or "", {}).get(one.name)
        beside: list[Cell] = [f"{paper[1]:.2f}", f"{paper[0]:.2f}"] if paper else [None, None]
        if isinstance(value, str):
            rows.append([method.label, value, *[None] * (len(columns) - 4), *beside])
            continue
        rows.append(
            [
                method.label,
                value.core,
                f"{100 * value.low:.1f}–{100 * value.high:.1f}",
                value.filled,
                value.recall,
                value.full,
                f"{value.units:.2f}",
                value.against or None,
                value.answer,
                value.n,
                *beside,
            ]
        )
    return Table(
        name=f"{name}-{one.name}",
        title=f"{title}: {one.title}, {'document' if 'mixed' in name else one.mode} units, subset of dev, "
        f"N = {n:,}, ceiling of five filled units {100 * ceiling:.1f}",
        columns=columns,
        rows=rows,
        notes=notes,
        ours=(1, 3, 4, 5, 8),
        rules=[number for number, method in enumerate(methods) if method.rule],
        command=command,
    )


def average_table(
    name: str,
    title: str,
    methods: Sequence[Method],
    found: Mapping[str, Mapping[str, Measured | str]],
    figures: Figures,
    *,
    notes: Sequence[str],
    command: str,
) -> Table:
    """Return averages over datasets, each named by how it is made; without rows that did not run on all."""
    rows: list[list[Cell]] = []
    for method in methods:
        values = {dataset: per[method.label] for dataset, per in found.items()}
        numbers = {dataset: value for dataset, value in values.items() if not isinstance(value, str)}
        if len(numbers) < len(values):
            continue
        sizes = {dataset: value.n for dataset, value in numbers.items()}
        core = averages({dataset: value.core for dataset, value in numbers.items()}, sizes)
        filled = averages({dataset: value.filled for dataset, value in numbers.items()}, sizes)
        paper = figures.get(method.paper or "", {}).get("average")
        rows.append([method.label, *core, *filled, sum(sizes.values()), f"{paper[1]:.2f}" if paper else None])
    return Table(
        name=f"{name}-averages",
        title=f"{title}: averages of Sup F1 over {len(found)} datasets",
        columns=[
            "Method",
            "core, by N",
            "core, by official dev sizes",
            "core, plain mean",
            "filled, by N",
            "filled, by official dev sizes",
            "filled, plain mean",
            "N",
            "Paper Avg. Sup F1",
        ],
        rows=rows,
        notes=notes,
        ours=(1, 2, 3, 4, 5, 6),
        command=command,
    )
