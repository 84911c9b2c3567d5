"""What a corpus of any size and a stream of questions need: a model on paper, from measured costs per unit.

    python -m pagerag_lab.benchmarks.capacity --measured FILE [--passages N ...] [--rate Q]

FILE is what ``pagerag_lab.benchmarks.scale --json FILE`` wrote for at least two sizes, four for a check. The
costs per unit are the straight lines through its first and last size. Each size is then left out in turn and
the model made from the others is asked for it. Money is counted with the prices below, which are assumptions
of this file and not of anybody's price list.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

CORES, MEMORY_GB = 16, 64
MACHINE_PER_HOUR = 0.80
DISK_PER_GB_MONTH = 0.08
HOURS = 730
BUSY = 0.6  # of a machine's cores, so that queues stay short

ASK = "warm retrieve + promote, CPU ms"
INGEST, ENCODE, DISK = "ingest without encoding, CPU s", "encoding, CPU s", "disk, MB"
MEMORY = "memory of ask without the support encoder, MB"


@dataclass(frozen=True, slots=True)
class Line:
    """A cost that grows with the passages: ``fixed`` + ``each`` · passages."""

    fixed: float
    each: float

    @classmethod
    def through(cls, first: tuple[float, float], last: tuple[float, float]) -> Line:
        """Return the line through two points; it never falls, and never begins below zero."""
        each = max(0.0, (last[1] - first[1]) / (last[0] - first[0]))
        return cls(max(0.0, first[1] - each * first[0]), each)

    def at(self, passages: float) -> float:
        """Return the cost of this many passages."""
        return self.fixed + self.each * passages


@dataclass(frozen=True, slots=True)
class Costs:
    """What one passage and one question cost: processor milliseconds, megabytes, processor seconds."""

    question: Line
    memory: Line
    disk: Line
    ingest: Line

    @classmethod
    def of(cls, first: dict[str, float], last: dict[str, float]) -> Costs:
        """Return the costs that two measured sizes give."""

        def line(*names: str) -> Line:
            at = [(float(row["passages"]), float(sum(row[name] for name in names))) for row in (first, last)]
            return Line.through(at[0], at[1])

        return cls(line(ASK), line(MEMORY), line(DISK), line(INGEST, ENCODE))


@dataclass(frozen=True, slots=True)
class Plan:
    """Machines for a corpus that is spread over shards, each held by as many replicas as questions need."""

    shards: int
    replicas: int
    machine_memory: float
    disk: float
    ingest_hours: float
    money: float
    bottleneck: str


def plan(costs: Costs, passages: float, rate: float) -> Plan:
    """Return what ``passages`` passages and ``rate`` questions a second need.

    A shard is as large as half of a machine's memory, the other half being for the operating system, and no
    larger than what lets one question be searched in half a second of one core. Every question goes to all
    shards; what does not depend on the size (reading the question, promotion) is done once.
    """
    by_memory = max(1.0, (MEMORY_GB * 1000 / 2 - costs.memory.fixed) / max(costs.memory.each, 1e-12))
    by_time = max(1.0, 500.0 / max(costs.question.each, 1e-12))
    shards = max(1, math.ceil(passages / min(by_memory, by_time)))
    searching = costs.question.each * passages / 1000  # core seconds a question, over all shards
    cores = rate * (searching + costs.question.fixed / 1000)
    replicas = max(1, math.ceil(cores / (shards * CORES * BUSY)))
    disk = costs.disk.at(passages) / 1000
    machines = shards * replicas
    money = machines * MACHINE_PER_HOUR * HOURS + replicas * disk * DISK_PER_GB_MONTH
    bottleneck = (
        "processors of the search"
        if replicas > 1 or by_time < by_memory
        else "memory of the vectors"
        if shards > 1
        else "promotion"
    )
    return Plan(
        shards,
        replicas,
        costs.memory.at(passages / shards) / 1000,
        disk,
        costs.ingest.at(passages) / 3600 / (machines * CORES),
        money,
        bottleneck,
    )


def show(costs: Costs, sizes: Sequence[int], rate: float) -> None:
    """Print the costs per unit and the plans."""
    print("| cost | fixed | each million passages |\n|---|---:|---:|")
    for name, line, unit in (
        ("a question, processor", costs.question, "ms"),
        ("memory", costs.memory, "MB"),
        ("disk", costs.disk, "MB"),
        ("ingest with encoding, processor", costs.ingest, "s"),
    ):
        print(f"| {name} | {line.fixed:,.1f} {unit} | {line.each * 1e6:,.0f} {unit} |")
    print(f"\n{rate:,.0f} questions a second:\n")
    print(
        "| passages | shards × replicas | memory each, GB | disk, GB | ingest on them, h | money a month "
        "| first bottleneck |"
    )
    print("|---:|---:|---:|---:|---:|---:|---|")
    for size in sizes:
        one = plan(costs, size, rate)
        print(
            f"| {size:,} | {one.shards:,} × {one.replicas:,} | {one.machine_memory:,.1f} | {one.disk:,.0f} | "
            f"{one.ingest_hours:,.1f} | {one.money:,.0f} | {one.bottleneck} |"
        )


def check(rows: Sequence[dict[str, float]]) -> None:
    """Print what the model says of measured sizes that it was not made from, and what was measured."""
    print("\n| check | passages | model | measured |\n|---|---:|---:|---:|")
    for place, row in enumerate(rows):
        others = [one for number, one in enumerate(rows) if number != place]
        if len(others) < 2:
            continue
        costs = Costs.of(others[0], others[-1])
        size = float(row["passages"])
        said = (
            ("a question, CPU ms", costs.question, float(row[ASK])),
            ("memory, MB", costs.memory, float(row[MEMORY])),
            ("disk, MB", costs.disk, float(row[DISK])),
            ("ingest with encoding, CPU s", costs.ingest, float(row[INGEST] + row[ENCODE])),
        )
        for name, line, measured in said:
            print(f"| {name} | {size:,.0f} | {line.at(size):,.1f} | {measured:,.1f} |")


def main() -> int:
    """Read the measurements and print the model."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--measured", type=Path, required=True)
    parser.add_argument("--passages", type=int, nargs="+", default=[10_000_000, 1_000_000_000])
    parser.add_argument("--rate", type=float, default=1000.0)
    args = parser.parse_args()
    rows = sorted(json.loads(args.measured.read_text(encoding="utf-8")), key=lambda row: row["passages"])
    if len(rows) < 2:
        print("two sizes at least are needed: --sizes 6119 100000 of the benchmark of scale", file=sys.stderr)
        return 1
    print(
        f"A machine: {CORES} cores, {MEMORY_GB} GB, {MACHINE_PER_HOUR} an hour; a disk {DISK_PER_GB_MONTH} "
        f"a GB and month; cores busy to {BUSY:.0%}. Costs from {len(rows)} measured sizes.\n"
    )
    show(Costs.of(rows[0], rows[-1]), args.passages, args.rate)
    check(rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
