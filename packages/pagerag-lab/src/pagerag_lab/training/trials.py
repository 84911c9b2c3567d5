"""Compare settings on held-out train questions.

``python -m pagerag_lab.training.trials --config … --fold 0``.

Prints one JSON line per setting and seed; nothing is exported. Dev files play no part.
"""

from __future__ import annotations

import json
import time
from pathlib import Path

import torch

from pagerag_lab.product import write_atomic
from pagerag_lab.training import score
from pagerag_lab.training.common import arguments, fit, log, open_corpus, setting
from pagerag_lab.training.corpus import fold_of, tokenizer_at
from pagerag_lab.training.network import Network

__all__ = ["main"]


def main() -> None:
    """Train on all folds but one, report on that one."""
    parser = arguments(__doc__ or "")
    parser.add_argument("--fold", type=int, default=0, help="the fold of the train questions to hold out")
    options = parser.parse_args()
    chosen = setting(options.config)
    device = torch.device(options.device)
    corpus, base = open_corpus(options, chosen)
    tokenizer = tokenizer_at(base / "tokenizer.json")
    fold = options.fold
    rows = [r for r in corpus.whole if fold_of(r.base, chosen.folds) == fold]
    pools = [r for r in corpus.pools if fold_of(r.base, chosen.folds) == fold]

    def report(network: Network, phase: str, epoch: int) -> dict[str, object]:
        found: dict[str, object] = {"setting": chosen.name, "phase": phase, "epoch": epoch}
        if chosen.plan.pools:
            read = score.pool_predictions(network, corpus, pools, device, chosen.plan)
            found |= score.pool_figures(pools, [signals for signals, _ in read])
        else:
            found |= score.answers(network, corpus, rows, tokenizer, device)
        log(json.dumps(found))
        return found

    def each(network: Network, phase: str, epoch: int) -> None:
        if epoch % 4 == 0:
            report(network, phase, epoch)

    for seed in chosen.seeds[:1]:
        began = time.monotonic()
        folder = options.out / f"{chosen.name}-fold{fold}-seed{seed}"
        network = fit(options, chosen, corpus, base, fold=fold, seed=seed, folder=folder, every=each)
        result = report(network, "averaged", 0) | {"seed": seed, "seconds": round(time.monotonic() - began)}
        write_atomic(Path(folder) / "result.json", json.dumps(result, indent=1))
        print(json.dumps(result), flush=True)


if __name__ == "__main__":
    main()
