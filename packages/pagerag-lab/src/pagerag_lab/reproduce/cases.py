"""Case studies (Tables 8 and 9): a missing hop that stood deep in the pool and was promoted."""

from __future__ import annotations

from typing import Any

from pagerag_lab.datasets.registry import Dataset
from pagerag_lab.reproduce.paper import CASES
from pagerag_lab.reproduce.tables import Cell, Table
from pagerag_lab.reproduce.workbench import Bench
from pagerag_lab.runs.results import Row

__all__ = ["cases_experiment"]


def cases_experiment(bench: Bench) -> list[Table]:
    """Find, for each dataset, the questions where promotion moved the deepest gold into a complete context.

    They are picked by rule, not by hand: the plain top five lacks gold, the promoted context has all of it,
    and the sum of places gained is largest.
    """
    summary: list[list[Cell]] = []
    facts: list[list[Cell]] = []
    reader = bench.reader
    limit = bench.limits.answers if reader else bench.limits.side
    for one in bench.present():
        result = bench.run(one.name, limit=limit, reader=reader)
        found = sorted(
            (row for row in bench.rows(result) if _gain(row) > 0), key=lambda row: (-_gain(row), row["id"])
        )
        for row in found[: bench.limits.cases]:
            summary.append(_summary(one, row))
            facts += _facts(one, row)
    ours = len(summary)
    summary += [
        [
            f"the paper: {case['dataset']}",
            *(case[part] for part in ("question", "gold", "before", "after", "moves")),
        ]
        for case in CASES
    ]
    command = f"pagerag reproduce cases --data {bench.data}{bench.options}"
    return [
        bench.write(
            Table(
                name="cases",
                title="Case studies: the plain top five lacks a hop, the promoted context has all",
                columns=[
                    "Dataset",
                    "Question",
                    "Gold answer",
                    "Answer from plain top five",
                    "Answer after promotion",
                    "Places of gold",
                ],
                rows=summary,
                rules=(ours,),
                notes=(
                    "Picked by rule: complete gold after promotion, not before, most places gained. "
                    + (
                        f"Answers by the reader {reader!r}."
                        if reader
                        else "No reader was given, so there are no answers."
                    ),
                ),
                command=command,
            )
        ),
        bench.write(
            Table(
                name="cases-facts",
                title="Promoted supporting facts",
                columns=["Dataset", "Fact", "Place in the pool", "Place in the context"],
                rows=facts,
                command=command,
            )
        ),
    ]


def _gain(row: Row) -> int:
    """Return places gained, or 0 when the question is no case."""
    before, after = row["gold_rank_before"], row["gold_rank_after"]
    if not after or any(rank is None for rank in after.values()):
        return 0
    if all(rank is not None and rank <= 5 for rank in before.values()):
        return 0
    return sum(max(0, before[key] - after[key]) for key in after if before[key] is not None)


def _summary(one: Dataset, row: Row) -> list[Cell]:
    moves = ", ".join(
        f"{row['gold_rank_before'][key]} → {row['gold_rank_after'][key]}" for key in row["gold"]
    )
    return [
        one.title,
        row["question"],
        row["answers"][0] if row["answers"] else None,
        row["baseline"]["answer"],
        row["answer"],
        moves,
    ]


def _facts(one: Dataset, row: dict[str, Any]) -> list[list[Cell]]:
    return [
        [one.title, key, int(row["gold_rank_before"][key]), int(row["gold_rank_after"][key])]
        for key in row["gold"]
        if row["gold_rank_before"][key] > 5
    ]
