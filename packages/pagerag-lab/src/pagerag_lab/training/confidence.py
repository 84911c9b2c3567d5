r"""Fit what the reader's confidence is read from, on train questions that its network had not seen.

    python -m pagerag_lab.training.confidence --run RUNS/reader --beside RUNS/reader-small \
        --pools POOLS --data DATA --unseen TUNED/unseen-sentence-support.json \
        --unseen TUNED/unseen-document-support.json

Reads ``fold0.onnx`` of a training run (the network that held fold 0 out; with ``--beside``, of two runs whose
networks read together) and the pools of that fold: of each the core and the whole context are read, and
a logistic regression tells from the signs of an answer (``Composed.signs``) and from promotion's state
whether it is right. Core, context and state are those of models that had not seen the question (``pagerag
tune`` writes them), and the pools are those that search brought: cores and states that are too good, or
pools whose evidence was taken away, are not what ``ask`` meets. Writes ``confidence.json``: weights, offset,
and how coverage and right share go together when the reader reads on where the core leaves doubt
(cross-validated by question).
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import shutil
import sys
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pagerag import Candidate
from pagerag.models.decode import sigmoid
from pagerag.read.compose import SIGNS
from pagerag.read.extractive import DOUBT, ExtractiveReader
from pagerag.units import State
from pagerag_lab.metrics.answers import score_answer
from pagerag_lab.product import sha256_file, write_atomic
from pagerag_lab.training.corpus import fold_of
from pagerag_lab.training.examples import read_json, read_lines

__all__ = ["fit", "main"]

FOLDS, HELD = 5, 0
MOST = {"documents": 600, "reading": 200, "benchmarks": 200}
"""Pools of each file that are read."""
CUTS = (0.2, 0.3, 0.35, 0.4, 0.45, 0.5, 0.55, 0.6, 0.7, 0.8)
RIGHT = 0.72
"""The least share of right answers over documents, unanswerable questions among them, that is good enough."""
Floats = NDArray[np.float64]


def fit(signs: Floats, right: Floats, weight: Floats, penalty: float = 1.0) -> tuple[Floats, float]:
    """Return the weights and the offset of a logistic regression with a penalty on the weights' squares."""
    table = np.c_[signs, np.ones(len(signs))]
    found = np.zeros(table.shape[1])
    ridge = np.diag([penalty] * signs.shape[1] + [1e-6])
    for _ in range(50):
        p = sigmoid(table @ found)
        gradient = table.T @ (weight * (p - right)) + ridge @ found
        hessian = (table * (weight * p * (1 - p))[:, None]).T @ table + ridge
        found = found - np.linalg.solve(hessian, gradient)
    return found[:-1], float(found[-1])


def pools(folder: Path, data: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the held-out fold's pools with their answers, at most ``MOST`` of each file."""
    answers: dict[str, list[str]] = {}
    for name in ("hotpotqa", "2wikimultihopqa"):
        answers |= {row["question"]: [row["answer"]] for row in read_json(data / name / "train.json")}
    for row in read_lines(data / "musique/train.jsonl"):
        answers[row["question"]] = [row["answer"], *row.get("answer_aliases", [])]
    for name, most in MOST.items():
        rows = []
        for row in read_lines(folder / f"{name}-train.jsonl"):
            row["answer"] = row.get("answer") or answers.get(row["question"])
            whole = name != "benchmarks" or row["unit"] == "sentence"
            known = row["answer"] or row["kind"] == "unanswerable"
            held = fold_of(row["base"], FOLDS) == HELD and not row["id"].endswith(("~stranger", "~removed"))
            if whole and known and held:
                rows.append(row)
        rows.sort(key=lambda row: zlib.crc32(row["id"].encode()))
        yield from ((name, row) for row in rows[:most])


def is_right(row: dict[str, Any], text: str) -> bool:
    """Tell whether an answer is accepted: by the question's pattern, or with half of the words right."""
    if not row["answer"] or row["kind"] == "unanswerable":
        return False
    if row.get("answer_re"):
        return re.search(row["answer_re"], text, re.IGNORECASE) is not None
    return score_answer(text, row["answer"]).f1 >= 0.5


def unseen(files: Sequence[Path]) -> dict[str, tuple[State, list[str], list[str]]]:
    """Return state, core and context of each pool by the models that had not seen its question."""
    found: dict[str, tuple[State, list[str], list[str]]] = {}
    for file in files:
        told = json.loads(file.read_text(encoding="utf-8"))
        for pool, each in told["pools"].items():
            p = each["sufficiency"]
            some: State = "ambiguous" if p >= told["some"] else "insufficient"
            state: State = "enough" if p >= told["enough"] else some
            found[pool] = state, each["core"], each["context"]
    return found


def held_out_reader(run: Path, beside: Path | None = None) -> ExtractiveReader:
    """Return a reader with the network that has not seen the held-out fold, or with two of them."""
    second = None if beside is None else held_out_files(beside)
    return ExtractiveReader(folder=held_out_files(run), beside=second)


def held_out_files(run: Path) -> Path:
    """Return a folder with the network of a run that has not seen the held-out fold."""
    folder = run / "held-out"
    folder.mkdir(exist_ok=True)
    import pagerag_models

    shipped = Path(pagerag_models.__file__).parent
    shutil.copyfile(run / "fold0.onnx", folder / "reader.onnx")
    shutil.copyfile(shipped / "tokenizer.json", folder / "tokenizer.json")
    manifest = json.loads((shipped / "manifest.json").read_text(encoding="utf-8"))
    plain = {"weights": dict.fromkeys(SIGNS, 0.0), "offset": 0.0}
    plain |= {"none_threshold": 0.5, "least_confidence": 0.0}
    manifest["models"]["reader"]["calibration"] = plain
    manifest["files"] = {
        name: {"sha256": sha256_file(folder / name), "bytes": (folder / name).stat().st_size}
        for name in ("reader.onnx", "tokenizer.json")
    }
    write_atomic(folder / "manifest.json", json.dumps(manifest))
    return folder


def main() -> None:
    """Read the held-out pools, fit, and write the file."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--run", type=Path, required=True, help="folder with fold0.onnx")
    parser.add_argument("--beside", type=Path, help="the run of a second reader that reads with it")
    parser.add_argument("--pools", type=Path, required=True)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument(
        "--unseen", type=Path, action="append", required=True, help="a file that pagerag tune wrote"
    )
    options = parser.parse_args()
    promoted = unseen(options.unseen)
    reader = held_out_reader(options.run, options.beside)
    readings = Readings()
    for number, (name, row) in enumerate(pools(options.pools, options.data)):
        if row["id"] not in promoted:
            continue
        state, core, context = promoted[row["id"]]
        units = {c["id"]: c for c in row["candidates"]}
        for filled, ids in enumerate((core, context)):
            read = [
                Candidate(c["id"], c["text"], c["title"], c["source"], c["position"], c["score"])
                for c in (units[unit] for unit in ids)
            ]
            found, _ = reader.find(row["question"], read)
            told = dict.fromkeys(SIGNS, 0.0) if found is None else found.signs(state, filled=bool(filled))
            gold = bool(set(ids) & set(row["gold"]))
            right = found is not None and gold and is_right(row, found.text)
            readings.add([told[sign] for sign in SIGNS], right, name == "documents", row["base"])
        if number % 200 == 0:
            print(f"{number} pools read", file=sys.stderr, flush=True)
    result = summary(readings)
    write_atomic(options.run / "confidence.json", json.dumps(result, indent=1) + "\n")
    print(json.dumps(result, indent=1))


class Readings:
    """What was read: for each pool two rows, the core's and the context's."""

    def __init__(self) -> None:
        self.signs: list[list[float]] = []
        self.right: list[bool] = []
        self.documents: list[bool] = []
        self.fold: list[int] = []

    def add(self, signs: list[float], right: bool, documents: bool, base: str) -> None:
        """Add one row; all pools of a question are in one fold."""
        self.signs.append(signs)
        self.right.append(right)
        self.documents.append(documents)
        # another hash than that of the training folds, of which all these questions are in one
        self.fold.append(hashlib.sha256(base.encode()).digest()[0] % FOLDS)


def share(told: dict[str, int]) -> float:
    """Return which part of the answers that were given is right."""
    return told["right"] / max(1, told["answered"])


def summary(readings: Readings) -> dict[str, Any]:
    """Return weights and offset, and the curve that cross-validation gives."""
    signs, right = np.array(readings.signs), np.array(readings.right, dtype=float)
    documents, held = np.array(readings.documents), np.array(readings.fold)
    # documents alone: with the others in it promotion's state, good over encyclopedias, counts too much
    weight = documents.astype(float)
    weights, offset = fit(signs, right, weight)
    p = np.zeros(len(right))
    for fold in range(FOLDS):
        inside = held != fold
        part, base = fit(signs[inside], right[inside], weight[inside])
        p[~inside] = sigmoid(signs[~inside] @ part + base)
    # as the reader does it: the core, and the context where the core leaves doubt and the context is surer
    core, context = p[::2], p[1::2]
    on = (DOUBT[0] <= core) & (core < DOUBT[1]) & (context > core)
    p, right, documents = np.where(on, context, core), np.where(on, right[1::2], right[::2]), documents[::2]
    curve: list[dict[str, Any]] = []
    for cut in CUTS:
        kept = documents & (p >= cut)
        other = ~documents & (p >= cut)
        curve.append(
            {
                "least_confidence": cut,
                "documents": {"answered": int(kept.sum()), "right": int(right[kept].sum())},
                "others": {"answered": int(other.sum()), "right": int(right[other].sum())},
            }
        )
    return {
        "weights": dict(zip(SIGNS, weights.round(4).tolist(), strict=True)),
        "offset": round(offset, 4),
        "least_confidence": max(curve, key=lambda row: min(share(row["documents"]), RIGHT))[
            "least_confidence"
        ],
        "pools": {"documents": int(documents.sum()), "others": int((~documents).sum())},
        "curve": curve,
    }


if __name__ == "__main__":
    main()
