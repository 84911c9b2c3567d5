"""What the reader's abstaining costs and saves, on train questions that the network did not see.

It abstains when "no answer" is more likely than not; what other thresholds would cost is in the curve. Its
confidence is fitted by ``training.confidence``.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from tokenizers import Tokenizer

from pagerag.models.decode import log_softmax
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
    """Return the threshold, and what it and others cost and save."""
    rng = random.Random(3)
    right, none, answerable = [], [], []
    for choose in (*score.CONTEXTS.values(), _without):
        items = [show(corpus, r, choose(r, rng), text_cap=220) for r in rows]
        for row, item, (tokens, kinds) in zip(rows, items, score.logits(network, items, device), strict=True):
            guess, _ = score.decode_scored(item, tokens, kinds, tokenizer)
            accepted = [tokenizer.decode(a) for a in row.answers]
            right.append(score.answer_f1(guess, accepted))
            none.append(float(np.exp(log_softmax(kinds))[3]))
            answerable.append(choose is not _without and (item.kind in (0, 1, 2)))
    p_none, f1, can = np.array(none), np.array(right), np.array(answerable)
    curve = []
    for threshold in np.round(np.arange(0.3, 1.0, 0.02), 2):
        kept = p_none <= threshold
        curve.append((float(threshold), float((f1 * kept)[can].mean()), float((~kept)[~can].mean())))
    return {
        "none_threshold": NONE_THRESHOLD,
        "threshold_curve": [
            dict(zip(("threshold", "answerable_f1", "abstains_without_answer"), c, strict=True))
            for c in curve
        ],
        "points": len(f1),
        "right": float((f1 >= 0.5).mean()),
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
