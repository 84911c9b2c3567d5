"""What a confidence is worth: fitted on train questions that the network did not see.

The raw confidence is log P(kind) + log P(span | span kind). Two numbers turn it into the probability that
the answer is right, P = sigmoid(slope * raw + offset), fitted by Newton's method on log loss. The reader
abstains when "no answer" is more likely than not; what other thresholds would cost is in the curve.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from tokenizers import Tokenizer

from pagerag.models.decode import log_softmax, sigmoid
from pagerag.models.packing import WHOLE, pack, windows
from pagerag_lab.training import score
from pagerag_lab.training.batches import Item, passage_units, show
from pagerag_lab.training.corpus import Corpus, Row
from pagerag_lab.training.network import Network

__all__ = ["fit", "points"]

NONE_THRESHOLD = 0.5


def fit(
    network: Network, corpus: Corpus, rows: Sequence[Row], tokenizer: Tokenizer, device: torch.device
) -> dict[str, object]:
    """Slope, offset and threshold, with the points they were fitted on."""
    rng = random.Random(3)
    raw, right, none, answerable = [], [], [], []
    for choose in (*score.CONTEXTS.values(), _without):
        items = [show(corpus, r, choose(r, rng), text_cap=220) for r in rows]
        for row, item, (tokens, kinds) in zip(rows, items, score.logits(network, items, device), strict=True):
            guess, confidence = score.decode_scored(item, tokens, kinds, tokenizer)
            accepted = [tokenizer.decode(a) for a in row.answers]
            raw.append(confidence)
            right.append(score.answer_f1(guess, accepted))
            none.append(float(np.exp(log_softmax(kinds))[3]))
            answerable.append(choose is not _without and (item.kind in (0, 1, 2)))
    x, y = np.array(raw), (np.array(right) >= 0.5).astype(float)
    slope, offset = _platt(x, y)
    p_none, f1, can = np.array(none), np.array(right), np.array(answerable)
    curve = []
    for threshold in np.round(np.arange(0.3, 1.0, 0.02), 2):
        kept = p_none <= threshold
        curve.append((float(threshold), float((f1 * kept)[can].mean()), float((~kept)[~can].mean())))
    return {
        "slope": slope,
        "offset": offset,
        "none_threshold": NONE_THRESHOLD,
        "threshold_curve": [
            dict(zip(("threshold", "answerable_f1", "abstains_without_answer"), c, strict=True))
            for c in curve
        ],
        "points": len(x),
        "right": float(y.mean()),
        "ece": _ece(sigmoid(slope * x + offset), y),
    }


def points(
    network: Network, corpus: Corpus, rows: Sequence[Row], tokenizer: Tokenizer, device: torch.device
) -> list[dict[str, Any]]:
    """Return what the network makes of held-out pools, read window by window as the runtime does.

    Each pool is read as its first five units, and with its gold among five where it has any. Whether a guess
    is right is not judged here: the corpus holds no patterns.
    """
    asked: list[tuple[Row, str, list[int]]] = []
    for row in rows:
        gold = [i for i, s in enumerate(row.support) if s]
        asked.append((row, "first", list(range(min(5, len(row.texts))))))
        if gold and any(i >= 5 for i in gold):
            others = [i for i in range(len(row.texts)) if not row.support[i]]
            asked.append((row, "gold", sorted([*gold, *others][: max(5, len(gold))])))
    items: list[Item] = []
    owners: list[int] = []
    for number, (row, _, chosen) in enumerate(asked):
        units = passage_units(corpus, row, chosen)
        for window in windows(row.question, units, WHOLE):
            packed = pack(row.question, units, window)
            blank = [0] * len(packed.units)
            parts = (packed.ids, packed.types, packed.units, packed.markers, packed.spans)
            items.append(Item(*parts, blank, blank, [], 0, 0.0, 0.0))
            owners.append(number)
    read: list[list[tuple[float, str, list[float]]]] = [[] for _ in asked]
    for owner, item, (tokens, kinds) in zip(owners, items, score.logits(network, items, device), strict=True):
        guess, raw = score.decode_scored(item, tokens, kinds, tokenizer)
        read[owner].append((raw, guess, np.exp(log_softmax(kinds)).round(4).tolist()))
    found = []
    for (row, context, chosen), guesses in zip(asked, read, strict=True):
        if not guesses:
            continue
        raw, guess, kinds = max(guesses)
        found.append(
            {
                "id": row.id,
                "source": row.source,
                "context": context,
                "units": chosen,
                "gold": sum(row.support[i] for i in chosen),
                "complete": row.complete and sum(row.support[i] for i in chosen) == sum(row.support),
                "kind": row.kind,
                "guess": guess,
                "raw": round(raw, 4),
                "kinds": kinds,
                "none": min(k[3] for _, _, k in guesses),
                "f1": round(score.answer_f1(guess, [tokenizer.decode(a) for a in row.answers]), 3),
            }
        )
    return found


def _without(row: Row, _: random.Random) -> list[int]:
    """Five plausible units, none of them gold."""
    return [i for i in row.order if not row.support[i]][:5] or row.order[:1]


def _platt(x: np.ndarray, y: np.ndarray) -> tuple[float, float]:
    a, b = 1.0, 0.0
    for _ in range(100):
        p = sigmoid(a * x + b)
        w = np.maximum(p * (1 - p), 1e-9)
        gradient = np.array([((p - y) * x).sum() + 1e-3 * (a - 1), (p - y).sum()])
        hessian = np.array([[(w * x * x).sum() + 1e-3, (w * x).sum()], [(w * x).sum(), w.sum() + 1e-6]])
        step = np.linalg.solve(hessian, gradient)
        a, b = float(a - step[0]), float(b - step[1])
        if np.abs(step).max() < 1e-9:
            break
    return a, b


def _ece(p: np.ndarray, y: np.ndarray, bins: int = 10) -> float:
    places = np.minimum((p * bins).astype(int), bins - 1)
    return float(
        sum(
            abs(p[places == b].mean() - y[places == b].mean()) * (places == b).mean()
            for b in range(bins)
            if (places == b).any()
        )
    )
