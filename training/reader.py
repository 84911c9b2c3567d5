"""Train the extractive reader: ``python -m training.reader --config training/reader.toml``.

Stages: pretrain, calibrate (a run without one fold, on which confidence and abstention are fitted), one
run per seed, then finish (average, int8, parity). ``--stage`` runs one; without it all run in order.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import torch

from pagerag._files import write_atomic
from training import calibration, score
from training.common import BENCHMARKS, Setting, arguments, fit, log, open_corpus, setting
from training.corpus import Corpus, fold_of, tokenizer_at
from training.stages import finish, keep, wait_for

__all__ = ["main"]

HELD = 0
"""The fold of the train questions that confidence is fitted on."""


def main() -> None:
    """Run the stages that are missing."""
    parser = arguments(__doc__ or "")
    parser.add_argument("--stage", action="append", help="pretrain, calibrate, seed0, seed1, ..., finish")
    options = parser.parse_args()
    chosen = setting(options.config)
    folder = options.out / chosen.name
    folder.mkdir(parents=True, exist_ok=True)
    corpus, base = open_corpus(options, chosen)
    for stage in options.stage or ["pretrain", "calibrate", *(f"seed{s}" for s in chosen.seeds), "finish"]:
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
    elif stage == "calibrate" and not (folder / "calibration.json").exists():
        device = torch.device(options.device)
        network = fit(
            options,
            chosen,
            corpus,
            base,
            fold=HELD,
            seed=chosen.seeds[0],
            folder=folder / stage,
            start=wait_for(start),
            phases=after,
        )
        rows = [r for r in corpus.whole if r.source in BENCHMARKS and fold_of(r.id) == HELD]
        tokenizer = tokenizer_at(base / "tokenizer.json")
        figures = score.answers(network, corpus, rows, tokenizer, device)
        log(json.dumps({"held out": figures}))
        found = calibration.fit(network, corpus, rows, tokenizer, device) | {"held_out": figures}
        write_atomic(folder / "calibration.json", json.dumps(found, indent=1))
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
        finish(chosen, base, folder, "reader")


if __name__ == "__main__":
    main()
