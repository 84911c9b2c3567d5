"""Train the support encoder.

``python -m pagerag_lab.training.support --config .../support.toml --pools FOLDER``.

The stages are those of ``training.stages``; each fold that is held out gives the signals of all pools whose
questions the network has not seen (``oof-fold0.npz``, ...), which the learned scorer is fitted on.
``training.together`` runs the stages side by side, ``training.signals`` writes the signals in a form that
``pagerag tune`` reads.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import torch

from pagerag_lab.training import score
from pagerag_lab.training.common import arguments, log
from pagerag_lab.training.corpus import fold_of
from pagerag_lab.training.network import Network
from pagerag_lab.training.stages import Task, run

__all__ = ["main"]


def main() -> None:
    """Run the stages that are missing."""
    run(arguments(__doc__ or ""), "support", None, "oof-fold{}.npz", _out_of_fold)


def _out_of_fold(network: Network, task: Task, fold: int, path: Path) -> None:
    """Write support and bearing of every unit of the held-out pools, and how likely evidence is missing."""
    rows = [row for row in task.corpus.pools if fold_of(row.base, task.chosen.folds) == fold]
    device = torch.device(task.options.device)
    found = score.pool_predictions(network, task.corpus, rows, device, task.chosen.plan)
    signals = np.concatenate([s for s, _ in found]) if found else np.zeros((0, 2))
    log(json.dumps({"fold": fold} | score.pool_figures(rows, [s for s, _ in found])))
    ids = np.frombuffer(json.dumps([row.id for row in rows], ensure_ascii=False).encode(), np.uint8)
    part = path.with_suffix(".part.npz")
    np.savez_compressed(
        part,
        ids=ids,
        lengths=np.array([len(s) for s, _ in found], np.int32),
        signals=signals.astype(np.float16),
        none=np.array([none for _, none in found], np.float16),
    )
    part.replace(path)


if __name__ == "__main__":
    main()
