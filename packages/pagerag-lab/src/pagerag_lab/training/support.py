"""Train the support encoder: ``python -m pagerag_lab.training.support --config packages/pagerag-lab/src/pagerag_lab/training/support.toml``.

The stages are those of ``training.stages``; each fold that is held out gives out-of-fold signals for the
learned scorer (``oof-fold0.jsonl``, ...).
"""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import torch

from pagerag._files import write_atomic
from pagerag.models.decode import sigmoid
from pagerag_lab.training import score
from pagerag_lab.training.common import BENCHMARKS, arguments, log
from pagerag_lab.training.corpus import FOLDS, Row, fold_of
from pagerag_lab.training.network import Network
from pagerag_lab.training.stages import Task, run

__all__ = ["main"]


def main() -> None:
    """Run the stages that are missing."""
    parser = arguments(__doc__ or "")
    parser.add_argument(
        "--pools", type=Path, help="gzipped JSON: set-train to question id to its pool's unit ids"
    )
    run(parser, "support", range(FOLDS), "oof-fold{}.jsonl", _out_of_fold)


def pools_of(rows: list[Row], path: Path | None, part: str = "train") -> list[list[int]]:
    """Each row's pool as unit indices: from the file, else the base encoder's first twenty."""
    given = json.loads(gzip.decompress(path.read_bytes())) if path else {}
    found = []
    for row in rows:
        ids = given.get(f"{row.source}-{part}", {}).get(row.id)
        places = {unit: i for i, unit in enumerate(row.unit_ids)}
        found.append([places[u] for u in ids if u in places] if ids else row.order[:20])
    return found


def _out_of_fold(network: Network, task: Task, fold: int, path: Path) -> None:
    """Signals for the held-out questions: of the pool together, and of the other units of the context."""
    corpus, plan = task.corpus, task.chosen.plan
    rows = [r for r in corpus.whole if r.source in BENCHMARKS and fold_of(r.id) == fold]
    picks = pools_of(rows, task.options.pools)
    rest = [
        [i for i in range(len(r.texts)) if i not in set(pick)] for r, pick in zip(rows, picks, strict=True)
    ]

    def signals(chosen: list[list[int]]) -> list[np.ndarray]:
        return score.pool_signals(
            network,
            corpus,
            rows,
            chosen,
            torch.device(task.options.device),
            cap=plan.text_cap,
            paragraph_cap=plan.paragraph_cap,
            frame=plan.frame,
        )

    pooled, others = signals(picks), signals(rest)
    log(json.dumps({"fold": fold} | score.support_scores(rows, picks, pooled)))
    lines = []
    for row, *parts in zip(rows, picks, pooled, rest, others, strict=True):
        for pick, values in (parts[:2], parts[2:]):
            for place, pair in zip(pick, sigmoid(values), strict=True):
                line = {
                    "set": row.source,
                    "id": row.id,
                    "unit": row.unit_ids[place],
                    "signals": np.round(pair, 5).tolist(),
                }
                lines.append(json.dumps(line, ensure_ascii=False))
    write_atomic(path, "\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
