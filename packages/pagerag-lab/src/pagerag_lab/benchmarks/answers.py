"""Answer F1 of the extractive reader by context, and what its confidence is worth.

``python -m pagerag_lab.benchmarks.answers --dataset musique --data dev.jsonl --out runs/answers/musique``

Contexts: the gold units, the retriever's first five, promotion's core, and the core filled to five. The
reader always answers here, as in every benchmark table; its confidence orders the risk-coverage curve.
Answers are kept per question, so a killed run goes on. Pictures: reliability.svg, risk-coverage.svg.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pagerag import Promoter
from pagerag.read.extractive import ExtractiveReader, extractive_reader
from pagerag_lab.datasets.questions import Question
from pagerag_lab.datasets.registry import dataset, read_questions
from pagerag_lab.metrics.answers import score_answer
from pagerag_lab.metrics.calibration import calibration_error, reliability_bins
from pagerag_lab.pools.rankers import Pools
from pagerag_lab.pools.retrievers import ranker
from pagerag_lab.product import need, write_atomic
from pagerag_lab.rivals.selection import named_support

CONTEXTS = ("gold", "plain", "core", "filled")
Row = dict[str, Any]


def answer(
    question: Question,
    pools: Pools,
    promoter: Promoter,
    reader: ExtractiveReader,
    wanted: list[str],
    shuffle: int | None = None,
) -> list[Row]:
    """Return one row per context: F1, confidence, and whether the context holds all gold."""
    gold = question.gold_ids(pools.mode)
    contexts = {"gold": [unit for unit in question.units(pools.mode) if unit.id in gold]}
    if wanted != ["gold"]:
        pool = pools(question)
        promotion = promoter.promote(pool.question, pool, k=5, mode=pools.mode)
        contexts["plain"] = list(pool.candidates[:5])
        contexts["core"], contexts["filled"] = list(promotion.core), list(promotion.context)
    rows = []
    for name, context in ((name, contexts[name]) for name in wanted):
        if shuffle is not None:
            random.Random(f"{shuffle}/{question.id}").shuffle(context)
        said = reader.read(question.question, context)
        score = score_answer(said.text, question.answers, question.answer_rule)
        cited = {c.candidate_id for c in said.citations}
        rows.append(
            {
                "id": question.id,
                "context": name,
                "f1": score.f1,
                "em": score.em,
                "confidence": said.confidence or 0.0,  # no answer is never right
                "cites_gold": bool(cited & gold),
                "full": gold <= {unit.id for unit in context},
            }
        )
    return rows


def risk_coverage(
    confidence: NDArray[np.float64], f1: NDArray[np.float64]
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return coverage and 1 - F1 among the answers given, the surest first."""
    order = np.argsort(-confidence, kind="stable")
    given = np.arange(1, len(order) + 1)
    return given / len(order), 1 - np.cumsum(f1[order]) / given


def pictures(rows: dict[str, list[Row]], folder: Path, title: str) -> dict[str, float]:
    """Draw both curves for every context; returns the calibration errors."""
    need("matplotlib", "matplotlib", "plots", "the figures").use("Agg")
    pyplot = need("matplotlib.pyplot", "matplotlib", "plots")
    errors = {}
    reliability, left = pyplot.subplots(figsize=(4.5, 4.5))
    risk, right = pyplot.subplots(figsize=(5, 4))
    left.plot([0, 1], [0, 1], color="0.7", linewidth=1)
    for name, found in rows.items():
        confidence = np.array([row["confidence"] for row in found])
        f1 = np.array([row["f1"] for row in found])
        bins = reliability_bins(confidence, f1 >= 0.5)
        errors[name] = calibration_error(bins)
        label = f"{name} (ECE {100 * errors[name]:.1f})"
        left.plot([b.probability for b in bins], [b.share for b in bins], marker="o", label=label)
        right.plot(*risk_coverage(confidence, f1), label=name)
    left.set(
        xlabel="confidence", ylabel="share right (F1 at least 0.5)", title=title, xlim=(0, 1), ylim=(0, 1)
    )
    right.set(xlabel="share of questions answered", ylabel="1 - answer F1", title=title, xlim=(0, 1))
    for figure, axis, name in ((reliability, left, "reliability"), (risk, right, "risk-coverage")):
        axis.legend(frameon=False, fontsize=8)
        figure.tight_layout()
        figure.savefig(folder / f"{name}.svg", metadata={"Date": None})
        pyplot.close(figure)
    return errors


def main() -> None:
    """Answer what is not answered yet, then print the table and draw the pictures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dataset", required=True)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--retriever", default="minilm")
    parser.add_argument("--support", action="store_true", help="promote with the support encoder")
    parser.add_argument("--contexts", nargs="+", choices=CONTEXTS, default=list(CONTEXTS))
    parser.add_argument("--shuffle", type=int, metavar="SEED", help="show the units in a chance order")
    parser.add_argument("--limit", type=int)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    file = options.out / "answers.jsonl"
    lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
    found = [json.loads(line) for line in lines if line.endswith("}")]
    known = {row["id"] for row in found}
    one = dataset(options.dataset)
    pools = Pools(ranker(options.retriever), mode=one.mode, size=20)
    promoter = Promoter(support=named_support() if options.support else None)
    reader = extractive_reader(threads=options.threads, least_confidence=0.0)
    with file.open("a", encoding="utf-8") as handle:
        for number, question in enumerate(
            read_questions(options.dataset, options.data, limit=options.limit), 1
        ):
            if question.id in known:
                continue
            rows = answer(question, pools, promoter, reader, options.contexts, options.shuffle)
            found += rows
            handle.write("".join(json.dumps(row) + "\n" for row in rows))
            handle.flush()
            print(f"\r{number} questions", end="", file=sys.stderr, flush=True)
    by_context: dict[str, list[Row]] = defaultdict(list)
    for row in found:
        by_context[row["context"]].append(row)
    errors = pictures(by_context, options.out, one.title)
    print(
        f"\n| {one.title}, N = {len(found) // max(1, len(by_context))} | answer F1 | EM | cites gold "
        "| all gold there | ECE |"
    )
    print("|---|---|---|---|---|---|")
    table = {}
    for name, rows in by_context.items():
        mean = {k: 100 * float(np.mean([r[k] for r in rows])) for k in ("f1", "em", "cites_gold", "full")}
        table[name] = mean | {"ece": 100 * errors[name]}
        print(f"| {name} | " + " | ".join(f"{value:.1f}" for value in table[name].values()) + " |")
    result = {
        "dataset": one.name,
        "n": len(found) // max(1, len(by_context)),
        "support": options.support,
        "contexts": table,
    }
    write_atomic(options.out / "result.json", json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
