"""How fast batches are on Ray, against the processes of the same machine.

    python -m pagerag_lab.benchmarks.batches --data ../shared/data [--workers 2] [--pools 512] [--rounds 3]

The work is promotion of pools of 20 candidates in chunks of 32, as ``pagerag promote --workers`` and
``--engine ray`` do it. Both engines are started and warmed up first; then they take turns, and the best round
of each counts: on a machine with other work, the mean measures the others. Rows are compared as well.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from itertools import islice
from pathlib import Path
from typing import Any

from pagerag.batch import Hands, in_order, open_hands
from pagerag.cli.promoting import PromotionTask, promote_chunk
from pagerag.units import Candidate, Mode, Pool

CHUNK = 32
TASK = PromotionTask(k=5, max_tokens=None, strategy=None, weights=None, support=False)


def pools(corpus: Path, count: int) -> list[tuple[Pool, Mode]]:
    """Return pools of twenty neighbouring passages of the corpus, each with a question about the first."""
    with corpus.open(encoding="utf-8") as lines:
        rows = [json.loads(line) for line in islice(lines, count + 20)]
    made: list[tuple[Pool, Mode]] = []
    for first in range(count):
        units = tuple(
            Candidate(id=str(place), title=row["title"], text=row["text"])
            for place, row in enumerate(rows[first : first + 20])
        )
        made.append((Pool(f"When was {units[0].title} made, and who made it?", units), "document"))
    return made


def timed(hands: Hands, work: list[tuple[Pool, Mode]]) -> tuple[float, list[list[dict[str, Any]]]]:
    """Return seconds and rows."""
    started = time.perf_counter()
    chunks = [work[place : place + CHUNK] for place in range(0, len(work), CHUNK)]
    rows = [found for _, found in in_order(hands, promote_chunk, TASK, chunks)]
    return time.perf_counter() - started, rows


def main() -> int:
    """Measure both and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--pools", type=int, default=512)
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    work = pools(args.data / "2wikimultihopqa" / "open_corpus.jsonl", args.pools)
    best: dict[str, float] = {}
    rows: dict[str, Any] = {}
    with open_hands("local", args.workers) as local, open_hands("ray", args.workers) as ray:
        engines = {"processes": local, "Ray": ray}
        for hands in engines.values():
            timed(hands, work[: 4 * CHUNK])
        for _ in range(args.rounds):
            for name, hands in engines.items():
                seconds, rows[name] = timed(hands, work)
                best[name] = min(seconds, best.get(name, seconds))
    print("| engine | workers | pools a second |\n|---|---:|---:|")
    for name, seconds in best.items():
        print(f"| {name} | {args.workers} | {args.pools / seconds:,.0f} |")
    print(f"\nRay ÷ processes: {best['processes'] / best['Ray']:.2f} (at least 0.9)")
    print(f"rows are equal: {rows['processes'] == rows['Ray']}; load {os.getloadavg()[0]:.1f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
