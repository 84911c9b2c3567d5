"""Train the extractive reader.

``python -m pagerag_lab.training.reader --config packages/pagerag-lab/src/pagerag_lab/training/reader.toml``.

The stages are those of ``training.stages``; the one fold that is held out gives the held-out figures, and
``training.confidence`` fits the confidence on it.
"""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path

import torch

from pagerag_lab.product import write_atomic
from pagerag_lab.training import calibration, score
from pagerag_lab.training.common import BENCHMARKS, arguments, log
from pagerag_lab.training.corpus import fold_of, tokenizer_at
from pagerag_lab.training.network import Network
from pagerag_lab.training.stages import Task, run

__all__ = ["main"]

HELD = 0
"""The fold of the train questions that confidence is fitted on."""


def main() -> None:
    """Run the stages that are missing."""
    run(arguments(__doc__ or ""), "reader", (HELD,), "calibration.json", _calibrate)


def _calibrate(network: Network, task: Task, fold: int, path: Path) -> None:
    corpus, device = task.corpus, torch.device(task.options.device)
    rows = [r for r in corpus.whole if r.source in BENCHMARKS and fold_of(r.base, task.chosen.folds) == fold]
    tokenizer = tokenizer_at(task.base / "tokenizer.json")
    figures = score.answers(network, corpus, rows, tokenizer, device)
    log(json.dumps({"held out": figures}))
    pools = [
        r
        for r in corpus.pools
        if r.source and not r.source.endswith("_joined") and fold_of(r.base, task.chosen.folds) == fold
    ]
    points = calibration.points(network, corpus, pools, tokenizer, device)
    by_source = defaultdict(list)
    for point in points:
        if point["complete"] and point["kind"] == "span":
            by_source[f"{point['source']} {point['context']}"].append(point["f1"])
    log(
        json.dumps({"held out pools": {k: (len(v), round(sum(v) / len(v), 3)) for k, v in by_source.items()}})
    )
    write_atomic(path.with_name("points.json"), json.dumps(points, ensure_ascii=False))
    found = calibration.fit(network, corpus, rows, tokenizer, device) | {"held_out": figures}
    write_atomic(path, json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
