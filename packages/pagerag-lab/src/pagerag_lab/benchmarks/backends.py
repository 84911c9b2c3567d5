"""Measure pairs: the same pool read plainly and with promotion, for retrievers and for compact systems.

    python -m pagerag_lab.benchmarks.backends pairs --data ../shared/data
    python -m pagerag_lab.benchmarks.backends systems --data ../shared/data --chat smollm2 --limit 20

Each row is one run of ``pagerag evaluate`` (its folder is kept under --out and resumed), which measures both
sides of the pair. Systems with a chat model run over the first --limit questions, the others over all; what
the model said is kept, so that a run that was stopped or whose code changed asks it nothing twice. Prints
Markdown; the exit code is 1 when promotion does not raise a figure in some pair.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pagerag_lab.runs.benchmark import run
from pagerag_lab.runs.config import RunConfig

MEASURES = (("sup_f1_filled", "Sup F1 filled"), ("full_recall_at_5", "full recall@5"))


@dataclass(frozen=True)
class Row:
    """One pair of a table: a pool read plainly and promoted."""

    benchmark: str
    pool: str
    settings: dict[str, Any]
    few: bool = False
    """Whether its questions are expensive: it takes the first --limit of them alone."""


def benchmarks(data: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the benchmarks of the data folder with their run settings."""
    yield "HotpotQA dev", {"dataset": "hotpotqa", "data": str(data / "hotpotqa/dev.json")}
    wiki = data / "2wikimultihopqa"
    yield (
        "2Wiki open dev",
        {"dataset": "open", "data": str(wiki / "open_dev.jsonl"), "corpus": str(wiki / "open_corpus.jsonl")},
    )


def pairs(data: Path) -> Iterator[Row]:
    """Document pools of three retrievers on two benchmarks."""
    for benchmark, settings in benchmarks(data):
        for label, retriever in (("MiniLM", "minilm"), ("BM25", "bm25"), ("hybrid", "hybrid")):
            yield Row(benchmark, label, {**settings, "retriever": retriever, "mode": "document"})


def systems(data: Path, base: str, chat: str) -> Iterator[Row]:
    """Return each compact system over ``base``; RECOMP needs no chat model and reads sentences."""
    from pagerag_lab.compact.registry import systems as known

    for benchmark, settings in benchmarks(data):
        for one in known().values():
            if one.unit == "sentence":
                if "corpus" in settings:
                    continue  # its gold is documents
                name = f"{one.name}@{base}"
            else:
                name = f"{one.name}@{base}@{chat}"
            label = f"{one.label} over {base}" + ("" if one.unit == "sentence" else f", {chat}")
            settled = {**settings, "retriever": name, "mode": one.unit}
            yield Row(benchmark, label, settled, few=one.unit != "sentence")


def measure(row: Row, out: Path, limit: int | None, workers: int | None, *, fresh: bool) -> dict[str, Any]:
    """Run one row and return its result."""
    config = RunConfig(**row.settings, limit=limit)
    name = "-".join((row.benchmark, config.retriever, config.mode, str(limit or "all")))
    folder = out / "".join(c if c.isalnum() else "-" for c in name.lower())
    return run(config, folder, workers=workers, fresh=fresh)


def main(arguments: list[str] | None = None) -> int:
    """Print the tables as Markdown."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=("pairs", "systems"))
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--out", type=Path, default=Path("runs/backends"))
    parser.add_argument(
        "--limit", type=int, help="questions of a pair; of systems, where a chat model is asked"
    )
    parser.add_argument("--only", default="", help="rows whose data or retriever has this in its name")
    parser.add_argument("--workers", type=int)
    parser.add_argument("--fresh", action="store_true", help="discard runs of other versions of the code")
    parser.add_argument("--base", default="minilm", help="the retriever under the systems")
    parser.add_argument("--chat", default="smollm2", help="smollm2, or chat for the endpoint of the settings")
    args = parser.parse_args(arguments)
    rows = pairs(args.data) if args.what == "pairs" else systems(args.data, args.base, args.chat)
    print("| data | pool | N | " + " | ".join(f"{label} | + PAGE-RAG" for _, label in MEASURES) + " | p |")
    print("|---|---|---:|" + "---:|" * (2 * len(MEASURES) + 1))
    lost = []
    for row in rows:
        if not any(args.only in str(row.settings[key]) for key in ("data", "retriever")):
            continue
        limit = args.limit if row.few or args.what == "pairs" else None
        result = measure(row, args.out, limit, args.workers, fresh=args.fresh)
        ours, plain = result["metrics"], result["baseline"]
        cells = [row.benchmark, row.pool, str(result["n"])]
        for key, label in MEASURES:
            cells += [f"{100 * plain[key]:.1f}", f"{100 * ours[key]:.1f}"]
            if ours[key] <= plain[key]:
                lost.append(f"{row.benchmark}, {row.pool}: {label}")
        cells.append(f"{result['against_baseline']['sup_f1_filled']['p']:.4f}")
        print("| " + " | ".join(cells) + " |", flush=True)
        if result["errors"]:
            lost.append(f"{row.benchmark}, {row.pool}: {result['errors']} questions failed")
    for one in lost:
        print(f"not raised: {one}", file=sys.stderr)
    return 1 if lost else 0


if __name__ == "__main__":
    sys.exit(main())
