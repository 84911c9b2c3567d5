"""Ask how far the scorer's signals would carry on sets of questions that it had been fitted on.

    python -m pagerag_lab.tune.ceiling --data ../shared/data/wide/dev

Fits the scorer without support encoder on the questions of the sets in DATA themselves, judges each question
by models that had not seen it, and prints what came out beside the plain order. What is out of reach here
cannot be had by more training data, only by other signals or from other gold. Nothing is written: a model
that has seen reported questions must never be shipped.

Alternative gold sets count as one set of the smallest one's size, so that plain figures are a little above
those of ``pagerag evaluate --dataset pools``.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pagerag.promotion.features import AGGREGATED, FEATURES, OF_QUESTION
from pagerag.promotion.promoter import Promoter
from pagerag.units import Mode
from pagerag_lab.datasets.pool_sets import PoolQuestion, read_pool_sets
from pagerag_lab.tune.labelled import labelled
from pagerag_lab.tune.learned import cross_validate
from pagerag_lab.tune.pool_features import ReadPool, Settings, read_rows
from pagerag_lab.tune.pool_rows import SIZE, Row, pool_rows, ranked

__all__ = ["ceiling", "main", "rows_of"]

_SIZES = ("pool_size", "pool_documents", "doc_size")
_AHEAD = 11
"""The pool of the question so many places further on is another question's."""


def rows_of(questions: list[PoolQuestion]) -> Iterator[Row]:
    """Make the train rows of one set: as BM25 orders it, without its evidence, another question's pool."""
    for place, item in enumerate(questions):
        base = {
            "id": f"{item.set}:{item.id}", "base": f"{item.set}:{item.id}", "set": item.set,
            "question": item.question, "unit": item.mode, "kind": item.kind, "ids": set(item.wanted),
            "sets": [sorted(one) for one in item.gold], "total": min(map(len, item.gold), default=0),
            "size": SIZE,
        }  # fmt: skip
        orders = {"bm25": ranked(item.question, item.candidates, "bm25")}
        other = questions[(place + _AHEAD) % len(questions)]
        yield from pool_rows(base, orders, list(other.candidates) if place % 2 else [])


def ceiling(data: Path, family: Mode, limit: int | None = None, workers: int = 1) -> dict[str, Any]:
    """Return the figures of each set, by models that were fitted on its other questions."""
    by_set: dict[str, list[PoolQuestion]] = defaultdict(list)
    for item in read_pool_sets(data, limit=limit):
        if (item.mode == "sentence") == (family == "sentence"):
            by_set[item.set].append(item)
    rows = [row for part in by_set.values() for row in rows_of(part) if len(row["candidates"]) > 1]
    promoter, settings = Promoter(None, strategy="formula"), Settings()
    read = read_rows(labelled(rows), settings, promoter, lambda _: None, workers)
    for row in read:
        _hide_size(row)
    return cross_validate(read, settings, lambda _: None).figures


def _hide_size(row: ReadPool) -> None:
    """Blank what tells how many units the pool has.

    A set's pools are often of one size, so that a pool without its evidence is known by its number of units
    (on FM2 with an AUROC of 0.88), which is nothing that its questions or texts say.
    """
    features = AGGREGATED if row.item.mode == "document" else FEATURES
    row.table[:, [features.index(name) for name in _SIZES if name in features]] = 0.0
    row.asked[OF_QUESTION.index("pool_size")] = 0.0


def main() -> None:
    """Print a table for the sets of sentences."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--limit", type=int, help="questions of each set")
    parser.add_argument("--workers", type=int, default=2)
    args = parser.parse_args()
    figures = ceiling(args.data, "sentence", args.limit, args.workers)
    verdict = figures["sufficiency"]
    columns = (
        "Set",
        "N",
        "First unit gold",
        "Core F1 (best plain cut)",
        "Core size (gold)",
        "AUROC gold removed",
    )
    print(f"| {' | '.join(columns)} |\n|---{'|---:' * 5}|")
    for name, told in figures.items():
        if isinstance(told, dict) and "core_f1" in told:
            (plain, first), (cut, core), (gold, size) = told["first"], told["core_f1"], told["size"]
            removed = verdict.get(name, {}).get("removed", "–")
            print(
                f"| {name} | {told['n']} | {plain} → {first} | {core} ({cut}) | {size} ({gold}) | {removed} |"
            )


if __name__ == "__main__":
    main()
