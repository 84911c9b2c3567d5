"""Held-out figures during training: support F1 of the best expected set, answer F1 by context."""

from __future__ import annotations

import random
import re
import string
from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from tokenizers import Tokenizer
from torch.utils.data import DataLoader, Dataset

from pagerag.models.decode import KINDS, UNIT_CHANNELS, best_spans, log_softmax, sigmoid, unit_logits
from pagerag.models.excerpts import Reading, pool_units
from pagerag.models.packing import MARKER, SEP, Frame, pack, windows
from pagerag_lab.metrics.calibration import calibration_error, reliability_bins
from pagerag_lab.training.batches import Item, collate, show
from pagerag_lab.training.corpus import Corpus, Row
from pagerag_lab.training.loop import Plan
from pagerag_lab.training.network import Network

__all__ = [
    "answers",
    "decode_scored",
    "expected_set",
    "logits",
    "pool_figures",
    "pool_predictions",
]

POOLS = 128
"""Pools that are prepared and read together."""


@torch.inference_mode()
def logits(
    network: Network, items: Sequence[Item], device: torch.device, *, tokens: int = 65536
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return (token logits, kind logits) of each item, unpadded."""
    network.eval()
    order = sorted(range(len(items)), key=lambda i: len(items[i].ids))
    found: list[Any] = [None] * len(items)
    group: list[int] = []

    def flush() -> None:
        batch = collate([items[i] for i in group])
        with torch.autocast(device.type, torch.bfloat16, enabled=device.type == "cuda"):
            out, kinds = network(batch.ids.to(device), batch.types.to(device))
        rows, kind_rows = out.float().cpu().numpy(), kinds.float().cpu().numpy()
        for n, i in enumerate(group):
            found[i] = (rows[n, : len(items[i].ids)], kind_rows[n])
        group.clear()

    for i in order:
        if group and (len(group) + 1) * len(items[i].ids) > tokens:
            flush()
        group.append(i)
    if group:
        flush()
    return found


def expected_set(probabilities: np.ndarray, most: int = 6) -> list[int]:
    """Return the best-scored units whose number maximises the expected F1, units taken as independent."""
    order = np.argsort(-probabilities, kind="stable")
    gained = np.cumsum(probabilities[order])
    counts = np.arange(1, len(order) + 1)
    worth = 2 * gained / (counts + max(float(probabilities.sum()), 1.0))
    best = int(np.argmax(worth[:most]))
    return order[: best + 1].tolist()


class _Pools(Dataset[list[tuple[int, list[int], Item]]]):
    """Pools as the runtime reads them, some at a time: (row, its units in the window's order, the window)."""

    def __init__(self, corpus: Corpus, rows: Sequence[Row], reading: Reading, frame: Frame) -> None:
        self.corpus, self.rows, self.reading, self.frame = corpus, rows, reading, frame

    def __len__(self) -> int:
        return (len(self.rows) + POOLS - 1) // POOLS

    def __getitem__(self, place: int) -> list[tuple[int, list[int], Item]]:
        found = []
        for n in range(place * POOLS, min((place + 1) * POOLS, len(self.rows))):
            row = self.rows[n]
            titles = [self.corpus.table[t] for t in row.titles]
            bodies = [self.corpus.body(x) for x in row.texts]
            documents = [str(group) for group in row.groups]
            units, owners = pool_units(row.question, titles, bodies, documents, row.positions, self.reading)
            for window in windows(row.question, units, self.frame):
                packed = pack(row.question, units, window, block=self.frame.block)
                blank = [0] * len(packed.units)
                parts = (packed.ids, packed.types, packed.units, packed.markers, packed.spans)
                item = Item(*parts, blank, blank, [], 0, 0.0, 0.0)
                found.append((n, [owners[i] for i in packed.units], item))
        return found


def pool_predictions(
    network: Network, corpus: Corpus, rows: Sequence[Row], device: torch.device, plan: Plan
) -> list[tuple[np.ndarray, float]]:
    """Return, per row, [units, 2] probabilities (support, bearing) and that of missing evidence.

    The pools are read as the runtime reads them; the last probability is the least of a pool's windows.
    """
    found = [(np.zeros((len(row.texts), 2), np.float32), 1.0) for row in rows]
    loader = DataLoader(
        _Pools(corpus, rows, Reading(average=plan.average_tokens), plan.frame),
        batch_size=None,
        num_workers=plan.workers if device.type == "cuda" else 0,
    )
    for group in loader:
        results = logits(network, [item for _, _, item in group], device)
        for (n, owners, item), (tokens, kinds) in zip(group, results, strict=True):
            for channel, name in enumerate(("support", "bearing")):
                values = unit_logits(tokens, UNIT_CHANNELS[name], item.markers, item.spans)
                found[n][0][owners, channel] = sigmoid(values)
            none = float(np.exp(log_softmax(kinds))[KINDS.index("none")])
            found[n] = (found[n][0], min(found[n][1], none))
    return found


def pool_figures(rows: Sequence[Row], signals: Sequence[np.ndarray]) -> dict[str, float]:
    """Return held-out figures by set.

    They are F1 of the expected set, gold among the first five, the first unit gold, and calibration.

    Pools without evidence count in the calibration alone.
    """
    told: dict[str, list[tuple[float, float, float]]] = defaultdict(list)
    every: dict[str, list[tuple[np.ndarray, np.ndarray]]] = defaultdict(list)
    for row, signal in zip(rows, signals, strict=True):
        name = row.base.partition(":")[0]
        gold, p = np.array(row.support), signal[:, 0]
        every[name].append((p, gold))
        if not gold.any():
            continue
        kept, order = expected_set(p), np.argsort(-p, kind="stable")
        f1 = 2 * gold[kept].sum() / (len(kept) + gold.sum())
        told[name].append((f1, gold[order[:5]].sum() / gold.sum(), gold[order[0]]))
    figures: dict[str, float] = {}
    for name, values in told.items():
        means = 100 * np.mean(values, axis=0)
        figures |= {
            f"{name} {k}": round(float(v), 1) for k, v in zip(("F1", "R@5", "P@1"), means, strict=True)
        }
    for name, pairs in every.items():
        p, y = (np.concatenate(part) for part in zip(*pairs, strict=True))
        figures[f"{name} ECE"] = round(calibration_error(reliability_bins(p, y, bins=15)), 4)
    return figures


def normalise(text: str) -> list[str]:
    """Return the usual answer normalisation: lower case, no punctuation, no articles."""
    plain = "".join(c for c in text.lower() if c not in string.punctuation)
    return re.sub(r"\b(a|an|the)\b", " ", plain).split()


def answer_f1(guess: str, accepted: Sequence[str]) -> float:
    """Token F1 against the best accepted answer; yes and no must match whole."""
    best = 0.0
    for answer in accepted:
        a, b = normalise(guess), normalise(answer)
        if {"yes", "no"} & ({" ".join(a)} | {" ".join(b)}):
            best = max(best, float(a == b))
            continue
        same = sum((Counter(a) & Counter(b)).values())
        if same:
            best = max(best, 2 * same / (len(a) + len(b)))
    return best


def answers(
    network: Network,
    corpus: Corpus,
    rows: Sequence[Row],
    tokenizer: Tokenizer,
    device: torch.device,
    *,
    cap: int = 220,
) -> dict[str, float]:
    """Answer F1 by source over gold alone, plain top-5, and gold among distractors; no abstention."""
    table: dict[str, list[float]] = defaultdict(list)
    for name, choose in CONTEXTS.items():
        rng = random.Random(5)
        usable = [r for r in rows if r.order or name == "gold"]
        items = [show(corpus, r, choose(r, rng), text_cap=cap) for r in usable]
        for row, item, (tokens, kinds) in zip(usable, items, logits(network, items, device), strict=True):
            guess = decode(item, tokens, kinds, tokenizer)
            accepted = [tokenizer.decode(a) for a in row.answers]
            table[f"{row.source} {name}"].append(answer_f1(guess, accepted))
    return {k: round(100 * float(np.mean(v)), 2) for k, v in sorted(table.items())}


def _gold(row: Row, _: random.Random) -> list[int]:
    return [i for i, s in enumerate(row.support) if s] or list(range(min(5, len(row.texts))))


def _plain(row: Row, _: random.Random) -> list[int]:
    return row.order[:5]


def _among(row: Row, _: random.Random) -> list[int]:
    gold = _gold(row, _)
    return (gold + [i for i in row.order if i not in gold])[: max(5, len(gold))]


CONTEXTS = {"gold": _gold, "plain5": _plain, "gold+": _among}


def decode(item: Item, tokens: np.ndarray, kinds: np.ndarray, tokenizer: Tokenizer) -> str:
    """Return the best answer that is not an abstention, as text."""
    return decode_scored(item, tokens, kinds, tokenizer)[0]


def decode_scored(
    item: Item, tokens: np.ndarray, kinds: np.ndarray, tokenizer: Tokenizer
) -> tuple[str, float]:
    """Return the best answer that is not an abstention, and its raw confidence (a log probability)."""
    log_kinds = log_softmax(kinds)
    kind = int(np.argmax(kinds[:3]))
    if kind:
        return ("", "yes", "no")[kind], float(log_kinds[kind])
    asked = np.array(item.types) == 0
    start, end = (log_softmax(np.where(asked, -1e4, tokens[:, c])) for c in (0, 1))
    low = item.types.index(1) if 1 in item.types else len(item.types)
    segments = []
    for place in range(low, len(item.ids)):
        if item.ids[place] in (MARKER, SEP):
            segments.append((low, place))
            low = place + 1
    found = best_spans(start, end, segments)
    if not found:
        return "", float(log_kinds[0])
    score, first, last, _ = found[0]
    return tokenizer.decode(item.ids[first : last + 1]), float(log_kinds[0] + score)
