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

from pagerag.models.decode import UNIT_CHANNELS, best_spans, log_softmax, sigmoid, unit_logits
from pagerag.models.packing import MARKER, SEP, WHOLE, Frame, TokenUnit, windows
from pagerag_lab.training.batches import Item, collate, show
from pagerag_lab.training.corpus import Corpus, Row
from pagerag_lab.training.network import Network

__all__ = ["answers", "decode_scored", "expected_set", "logits", "pool_signals", "support_scores"]


@torch.inference_mode()
def logits(
    network: Network, items: Sequence[Item], device: torch.device, *, tokens: int = 65536
) -> list[tuple[np.ndarray, np.ndarray]]:
    """(token logits, kind logits) of each item, unpadded."""
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
    """The best-scored units whose number maximises the expected F1, units taken as independent."""
    order = np.argsort(-probabilities, kind="stable")
    gained = np.cumsum(probabilities[order])
    counts = np.arange(1, len(order) + 1)
    worth = 2 * gained / (counts + max(float(probabilities.sum()), 1.0))
    best = int(np.argmax(worth[:most]))
    return order[: best + 1].tolist()


def pool_signals(
    network: Network,
    corpus: Corpus,
    rows: Sequence[Row],
    chosen: Sequence[list[int]],
    device: torch.device,
    *,
    cap: int,
    paragraph_cap: int,
    single: bool = False,
    frame: Frame = WHOLE,
) -> list[np.ndarray]:
    """[units, 2] logits (support, bearing) for the chosen units of each row, in the chosen order."""
    items, owners = [], []
    for n, (row, pick) in enumerate(zip(rows, chosen, strict=True)):
        limit = paragraph_cap if row.source == "musique" else cap
        units = [
            TokenUnit(
                str(row.titles[i]),
                row.positions[i],
                corpus.table[row.titles[i]][:20],
                corpus.table[row.texts[i]][:limit],
            )
            for i in pick
        ]
        for window in [[i] for i in range(len(pick))] if single else windows(row.question, units, frame):
            items.append(show(corpus, row, [pick[i] for i in window], text_cap=limit, frame=frame))
            owners.append((n, window))
    found = [np.zeros((len(pick), 2), np.float32) for pick in chosen]
    for (n, window), item, (tokens, _) in zip(owners, items, logits(network, items, device), strict=True):
        for channel, name in enumerate(("support", "bearing")):
            values = unit_logits(tokens, UNIT_CHANNELS[name], item.markers, item.spans)
            for place, value in zip(item.units, values, strict=True):
                found[n][window[place], channel] = value
    return found


def support_scores(
    rows: Sequence[Row], chosen: Sequence[list[int]], signals: Sequence[np.ndarray]
) -> dict[str, float]:
    """Support F1 of the expected set over each pool, and the share of gold in its first five, by source."""
    every: dict[str, list[float]] = defaultdict(list)
    recall: dict[str, list[float]] = defaultdict(list)
    for row, pick, signal in zip(rows, chosen, signals, strict=True):
        gold = sum(row.support)
        if not gold or not pick:
            continue
        kept = [pick[i] for i in expected_set(sigmoid(signal[:, 0]))]
        hit = sum(row.support[i] for i in kept)
        every[row.source].append(2 * hit / (len(kept) + gold))
        top = [pick[i] for i in np.argsort(-signal[:, 0])[:5]]
        recall[row.source].append(sum(row.support[i] for i in top) / gold)
    return {f"{s} F1": round(100 * float(np.mean(v)), 2) for s, v in every.items()} | {
        f"{s} R@5": round(100 * float(np.mean(v)), 2) for s, v in recall.items()
    }


def normalise(text: str) -> list[str]:
    """The usual answer normalisation: lower case, no punctuation, no articles."""
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
    """The best answer that is not an abstention, as text."""
    return decode_scored(item, tokens, kinds, tokenizer)[0]


def decode_scored(
    item: Item, tokens: np.ndarray, kinds: np.ndarray, tokenizer: Tokenizer
) -> tuple[str, float]:
    """The best answer that is not an abstention, and its raw confidence (a log probability)."""
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
