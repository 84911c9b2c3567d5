"""Train the support encoder: ``python -m training.support --config training/support.toml``.

Stages: pretrain, then one run per fold (out-of-fold signals for the learned scorer) and one per seed,
then finish (average, int8, parity). ``--stage`` runs one of them; without it all run in order.
"""

from __future__ import annotations

import argparse
import gzip
import json
from pathlib import Path

import numpy as np
import torch

from pagerag._files import write_atomic
from pagerag.models.decode import sigmoid
from training import score
from training.common import BENCHMARKS, Setting, arguments, fit, log, open_corpus, setting
from training.corpus import FOLDS, Corpus, Row, fold_of
from training.network import Network
from training.stages import finish, keep, wait_for

__all__ = ["main"]


def main() -> None:
    """Run the stages that are missing."""
    parser = arguments(__doc__ or "")
    parser.add_argument(
        "--stage", action="append", help="pretrain, fold0 to fold4, seed0, seed1, ..., finish"
    )
    parser.add_argument(
        "--pools", type=Path, help="gzipped JSON: set-train to question id to its pool's unit ids"
    )
    options = parser.parse_args()
    chosen = setting(options.config)
    folder = options.out / chosen.name
    folder.mkdir(parents=True, exist_ok=True)
    stages = options.stage or [
        "pretrain",
        *(f"fold{n}" for n in range(FOLDS)),
        *(f"seed{s}" for s in chosen.seeds),
        "finish",
    ]
    corpus, base = open_corpus(options, chosen)
    for stage in stages:
        _stage(stage, options, chosen, corpus, base, folder)


def _stage(
    stage: str, options: argparse.Namespace, chosen: Setting, corpus: Corpus, base: Path, folder: Path
) -> None:
    start = folder / "pretrain.safetensors"
    after = tuple(p.name for p in chosen.plan.phases if p.name != "pretrain")
    if stage == "pretrain" and not start.exists():
        keep(
            fit(
                options,
                chosen,
                corpus,
                base,
                fold=None,
                seed=chosen.seeds[0],
                folder=folder / stage,
                phases=("pretrain",),
            ),
            start,
        )
    elif stage.startswith("fold") and not (folder / f"oof-{stage}.jsonl").exists():
        fold = int(stage.removeprefix("fold"))
        network = fit(
            options,
            chosen,
            corpus,
            base,
            fold=fold,
            seed=chosen.seeds[0],
            folder=folder / stage,
            start=wait_for(start),
            phases=after,
        )
        _out_of_fold(network, options, chosen, corpus, fold, folder / f"oof-{stage}.jsonl")
    elif stage.startswith("seed") and not (folder / f"seed-{stage[4:]}.safetensors").exists():
        seed = int(stage.removeprefix("seed"))
        keep(
            fit(
                options,
                chosen,
                corpus,
                base,
                fold=None,
                seed=seed,
                folder=folder / stage,
                start=wait_for(start),
                phases=after,
            ),
            folder / f"seed-{seed}.safetensors",
        )
    elif stage == "finish":
        for seed in chosen.seeds:
            wait_for(folder / f"seed-{seed}.safetensors")
        finish(chosen, base, folder, "support")


def pools_of(rows: list[Row], path: Path | None, part: str = "train") -> list[list[int]]:
    """Each row's pool as unit indices: from the file, else the base encoder's first twenty."""
    given = json.loads(gzip.decompress(path.read_bytes())) if path else {}
    found = []
    for row in rows:
        ids = given.get(f"{row.source}-{part}", {}).get(row.id)
        places = {unit: i for i, unit in enumerate(row.unit_ids)}
        found.append([places[u] for u in ids if u in places] if ids else row.order[:20])
    return found


def signals(
    network: Network,
    corpus: Corpus,
    rows: list[Row],
    picks: list[list[int]],
    options: argparse.Namespace,
    chosen: Setting,
) -> list[np.ndarray]:
    """Support and bearing logits of each pool."""
    return score.pool_signals(
        network,
        corpus,
        rows,
        picks,
        torch.device(options.device),
        cap=chosen.plan.text_cap,
        paragraph_cap=chosen.plan.paragraph_cap,
    )


def _out_of_fold(
    network: Network, options: argparse.Namespace, chosen: Setting, corpus: Corpus, fold: int, path: Path
) -> None:
    """Signals for the held-out questions: of the pool together, and of the other units of the context."""
    rows = [r for r in corpus.whole if r.source in BENCHMARKS and fold_of(r.id) == fold]
    picks = pools_of(rows, options.pools)
    pooled = signals(network, corpus, rows, picks, options, chosen)
    log(json.dumps({"fold": fold} | score.support_scores(rows, picks, pooled)))
    rest = [
        [i for i in range(len(r.texts)) if i not in set(pick)] for r, pick in zip(rows, picks, strict=True)
    ]
    others = signals(network, corpus, rows, rest, options, chosen)
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
