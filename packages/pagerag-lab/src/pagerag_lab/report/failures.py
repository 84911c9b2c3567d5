"""Print failures of a run over pools, with their texts, to be read.

    python -m pagerag_lab.report.failures runs/pools --data ../shared/data/wide/dev --each 10

A question fails when its core is not one of its gold sets, when its pool with gold is called insufficient, or
when a pool without gold (its own with the gold removed, or that of an unanswerable question) is called
enough. Which of them are printed is drawn with a fixed seed, the same number of each set.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pagerag_lab.datasets.pool_sets import PoolQuestion, read_pool_sets
from pagerag_lab.runs.results import read_rows

__all__ = ["failures", "main", "reasons"]

SHOWN = 240
"""How many characters of a text are printed."""

ALTERNATIVES = 2
"""How many of a question's gold sets are printed."""

Row = Mapping[str, Any]


def reasons(row: Row) -> list[str]:
    """Return what is wrong with a row of predictions.jsonl; empty when nothing is."""
    if row["error"] is not None:
        return ["error"]
    if "metrics" not in row:
        return ["enough, though nothing answers"] if row["state"] == "enough" else []
    found = []
    if row["metrics"]["core_f1"] < 1.0:
        found.append(f"core F1 {row['metrics']['core_f1']:.2f}")
    if row["state"] == "insufficient":
        found.append("insufficient, though gold is there")
    if row.get("removed", {}).get("state") == "enough":
        found.append("enough without the gold")
    return found


def failures(rows: Iterator[Row], each: int, seed: int = 0) -> dict[str, tuple[int, int, list[Row]]]:
    """Return, for each set, how many rows it has, how many fail, and ``each`` of those, drawn by chance."""
    sets: dict[str, list[Row]] = {}
    for row in rows:
        sets.setdefault(row["set"], []).append(row)
    drawn = {}
    for name, some in sets.items():
        wrong = [row for row in some if reasons(row)]
        chosen = random.Random(seed).sample(wrong, min(each, len(wrong)))
        drawn[name] = len(some), len(wrong), chosen
    return drawn


def told(row: Row, question: PoolQuestion) -> Iterator[str]:
    """Yield the lines that tell of one failure."""
    units = {unit.id: unit for unit in question.candidates}

    def text(name: str) -> str:
        if name not in units:
            return f"{name}: not among the candidates"
        unit = units[name]
        title = f"[{unit.title}] " if unit.title else ""
        return f"{name}: {title}{' '.join(unit.text.split())[:SHOWN]}"

    yield f"{question.kind}: {question.question}"
    yield f"  {'; '.join(reasons(row))} ({row.get('state')}, sufficiency {row.get('sufficiency')})"
    core = row.get("core") or ()
    for name in core:
        yield f"  core{' and gold' if name in question.wanted else ''}: {text(name)}"
    for number, gold in enumerate(question.gold[:ALTERNATIVES], start=1):
        for name in sorted(gold - set(core)):
            where = "context" if name in (row.get("context") or ()) else "missed"
            yield f"  gold {number}, {where}: {text(name)}"


def main(arguments: list[str] | None = None) -> None:
    """Print the failures of a run."""
    form = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=form)
    parser.add_argument("run", type=Path, help="a folder that pagerag evaluate --dataset pools has written")
    parser.add_argument("--data", type=Path, required=True, help="the sets that it was run on")
    parser.add_argument("--each", type=int, default=10, help="failures of each set (default: 10)")
    parser.add_argument("--seed", type=int, default=0, help="another seed draws others")
    args = parser.parse_args(arguments)
    questions = {(one.set, one.id): one for one in read_pool_sets(args.data)}
    for name, (size, wrong, chosen) in failures(read_rows(args.run), args.each, args.seed).items():
        print(f"\n## {name}: {wrong} of {size} questions fail\n")
        for number, row in enumerate(chosen, start=1):
            lines = told(row, questions[name, row["id"]])
            print(f"{number}. {next(lines)}", *lines, sep="\n")


if __name__ == "__main__":
    main()
