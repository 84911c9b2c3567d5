"""What the reader's least confidence costs and saves, on held-out train questions over documents.

``python -m pagerag_lab.training.thresholds --run runs/reader --pools documents-train.jsonl.gz``

Reads ``points.json`` and ``calibration.json`` of a training run. An answer is right when the question's
pattern accepts it. Pools of other sources have no patterns: their answer F1 is printed, an abstention
counting as 0.
"""

from __future__ import annotations

import argparse
import gzip
import json
import re
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from pagerag.models.decode import sigmoid

__all__ = ["main", "table"]

SIGNS = re.compile(r"\s*([^\w\s])\s*")
LEVELS = (0.12, 0.3, 0.4, 0.5, 0.6, 0.7, 0.73)
SHOWN = ("nq_pool", "xquad_pool")


def right(guess: str, pattern: str) -> bool:
    """Whether the pattern accepts a guess, with the spaces that decoding put around signs or without them."""
    return any(re.search(pattern, text, re.IGNORECASE) for text in (guess, SIGNS.sub(r"\1", guess)))


def table(
    points: Sequence[dict[str, Any]], calibration: dict[str, float], patterns: dict[str, str]
) -> list[dict[str, float]]:
    """Return one row for each level of confidence, over the first five units of every pool."""
    first = [point for point in points if point["context"] == "first"]
    raw = np.array([point["raw"] for point in first])
    sure = sigmoid(calibration["slope"] * raw + calibration["offset"])
    open_ = np.array([point["none"] for point in first]) <= calibration["none_threshold"]
    rows = []
    for level in LEVELS:
        row: dict[str, float] = defaultdict(float, {"least": level})
        f1: dict[str, list[float]] = defaultdict(list)
        for point, given in zip(first, open_ & (sure >= level), strict=True):
            source = point["source"]
            f1[source].append(point["f1"] * bool(given))
            if not source.startswith("documents") or not given:
                continue
            if source != "documents":
                row["made_up"] += 1
                continue
            accepted = point["gold"] > 0 and right(point["guess"], patterns[point["id"]])
            row["answered"] += 1
            row["right"] += accepted
            row["answered_with_gold"] += point["gold"] > 0
        row["precision"] = row["right"] / max(1.0, row["answered"])
        row["precision_with_gold"] = row["right"] / max(1.0, row["answered_with_gold"])
        rows.append(dict(row) | {f"{s}_f1": 100 * float(np.mean(f1[s])) for s in SHOWN if f1[s]})
    return rows


def main() -> None:
    """Print the table, one row of JSON for each level."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--run", type=Path, required=True, help="folder with points.json and calibration.json"
    )
    parser.add_argument("--pools", type=Path, required=True, help="pools of document questions with patterns")
    options = parser.parse_args()
    patterns = {}
    with gzip.open(options.pools, "rt", encoding="utf-8") as lines:
        for line in lines:
            row = json.loads(line)
            patterns[row["id"]] = row["answer_re"] or r"(?!)"
    points = json.loads((options.run / "points.json").read_text(encoding="utf-8"))
    calibration = json.loads((options.run / "calibration.json").read_text(encoding="utf-8"))
    for found in table(points, calibration, patterns):
        print(json.dumps({name: round(value, 3) for name, value in found.items()}))


if __name__ == "__main__":
    main()
