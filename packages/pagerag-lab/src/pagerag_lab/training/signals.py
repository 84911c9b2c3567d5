"""Write held-out signals for the learned scorer.

``python -m pagerag_lab.training.signals --runs FOLDER --pools FOLDER``.

Reads ``oof-fold*.npz`` and the pools files, and writes ``signals.npz`` beside them: ``pools`` (ids, JSON as
bytes), ``lengths`` (units of each), ``signals`` [units, 2] (support, bearing; float16, in the pool's own
order) and ``none`` (that evidence is missing, one for each pool). ``load_signals`` reads it.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pagerag_lab.training.examples import read_lines

__all__ = ["load_signals", "main"]


def load_signals(path: Path) -> dict[str, tuple[NDArray[np.float32], float]]:
    """Return, per pool id, its units' (support, bearing) in order and how likely evidence is missing."""
    with np.load(path, allow_pickle=False) as held:
        ids = json.loads(held["ids"].tobytes())
        ends = np.cumsum(held["lengths"])
        rows = np.split(held["signals"].astype(np.float32), ends[:-1]) if len(ids) else []
        return {key: (row, float(none)) for key, row, none in zip(ids, rows, held["none"], strict=True)}


def main() -> None:
    """Join the folds, check that every pool is there once and has as many signals as units."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=Path, required=True, help="the folder with oof-fold*.npz")
    parser.add_argument("--pools", type=Path, required=True, help="the folder of the pools files")
    options = parser.parse_args()
    found: dict[str, tuple[NDArray[np.float32], float]] = {}
    for path in sorted(options.runs.glob("oof-fold*.npz")):
        found |= load_signals(path)
    missing, kept = 0, {}
    for path in sorted(options.pools.glob("*-train.jsonl.gz")):
        for row in read_lines(path.with_suffix("")):
            signals = found.get(row["id"])
            if signals is None or len(signals[0]) != len(row["candidates"]):
                missing += 1
            else:
                kept[row["id"]] = signals
    np.savez_compressed(
        options.runs / "signals.npz",
        ids=np.frombuffer(json.dumps(list(kept), ensure_ascii=False).encode(), np.uint8),
        lengths=np.array([len(s) for s, _ in kept.values()], np.int32),
        signals=np.concatenate([s for s, _ in kept.values()]).astype(np.float16),
        none=np.array([none for _, none in kept.values()], np.float16),
    )
    print(f"{len(kept)} pools with signals, {missing} without")


if __name__ == "__main__":
    main()
