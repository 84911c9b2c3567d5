"""From rows to padded batches: which units are shown, where the answer lies, what each unit is labelled."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import IterableDataset, get_worker_info

from pagerag.models.excerpts import TITLE_CAP, Reading, excerpt, question_worth
from pagerag.models.packing import WHOLE, Frame, Packed, TokenUnit, pack
from pagerag_lab.training.corpus import Corpus, Row
from pagerag_lab.training.examples import BEARING_UNKNOWN

__all__ = [
    "Batch",
    "Dress",
    "Item",
    "Stream",
    "collate",
    "dressed",
    "grouped",
    "passage_units",
    "passages",
    "pool",
    "reader_context",
    "show",
    "show_passages",
    "show_pool",
]

KIND_LABEL = {"span": 0, "yes": 1, "no": 2, "none": 3, "unknown": -100}
MAX_PAIRS = 16
MAX_PARTS = 4
"""Parts of an answer that are told apart."""
PASSAGE_CAP = 320
"""Tokens that a reader sees of a passage of a document."""
FUNCTION_WORDS = frozenset(
    (1996, 1037, 2019, 2003, 2024, 2001, 2020, 2079, 2515, 2106, 1997, 1999, 2006, 2012, 2000, 2005, 1998,
     2030, 2007, 2011, 2013,
     2008, 2029, 2040, 2054, 2073, 2043, 2129, 2339, 2031, 2038, 2018, 1029, 1012, 1010)
)  # fmt: skip
"""Tokens that people leave out of a search box: articles, forms of be, prepositions, question words."""


@dataclass(slots=True)
class Item:
    """One packed example with its labels: lists of numbers, or arrays where it was read from a file."""

    ids: Any
    types: Any
    units: list[int]
    markers: Any
    spans: Any
    support: Any
    bearing: Any
    pairs: Any
    kind: int
    weight: float
    support_weight: float
    """How much the units' labels count; a bearing of -1 does not count."""
    parts: Any = ()
    """Which part of the answer each of ``pairs`` is; without it all are places of one."""


@dataclass(slots=True)
class Batch:
    """Padded tensors; ``unit_mask``, ``bearing_mask`` and ``pair_mask`` say what is real."""

    ids: Tensor
    types: Tensor
    markers: Tensor
    starts: Tensor
    ends: Tensor
    support: Tensor
    bearing: Tensor
    unit_mask: Tensor
    bearing_mask: Tensor
    pairs: Tensor
    pair_mask: Tensor
    pair_parts: Tensor
    kind: Tensor
    weight: Tensor
    support_weight: Tensor

    def to(self, device: torch.device) -> Batch:
        """Return the batch on a device."""
        return Batch(*(getattr(self, n).to(device, non_blocking=True) for n in self.__slots__))


Chooser = Callable[[Row, random.Random], list[int]]


def occurrences(body: str, needles: list[str]) -> list[tuple[int, int]]:
    """Return (first, last) token of every place of an answer in a text, a character for each token."""
    found = []
    for needle in needles:
        at = body.find(needle)
        while at >= 0:
            found.append((at, at + len(needle) - 1))
            at = body.find(needle, at + 1)
    return found


def reader_context(row: Row, rng: random.Random) -> list[int]:
    """Return what a reader may be given.

    That is gold alone, gold among distractors, part of the gold, or plain top-k.

    Indices at or above ``len(row.texts)`` are the row's hard distractors.
    """
    gold = [i for i, s in enumerate(row.support) if s]
    others = [i for i in (row.order or range(len(row.texts))) if not row.support[i]]
    others += range(len(row.texts), len(row.texts) + len(row.hard))
    size = rng.choice((3, 4, 5, 5, 5, 6, 7, 8))
    draw = rng.random()
    if row.kind == "none" or (not row.labelled and draw < 0.3):  # the passage as it is
        chosen = list(range(len(row.texts)))[:12]
    elif draw < 0.25:
        chosen = gold
    elif draw < 0.72:
        chosen = gold + _near(others, size - len(gold), rng)
    elif draw < 0.87 and len(gold) > 1:
        kept = rng.sample(gold, rng.randint(1, len(gold) - 1))
        chosen = kept + _near(others, size - len(kept), rng)
    elif draw < 0.93 and row.order:
        chosen = row.order[:size]
    elif draw < 0.97:
        chosen = _near(others, size, rng) or gold
    else:
        chosen = gold + _near(others, 12, rng)
    chosen = list(dict.fromkeys(chosen)) or others[:size]
    rng.shuffle(chosen)
    return chosen


def passages(row: Row, rng: random.Random) -> list[int]:
    """Return what a reader may be given of a retriever's pool.

    That is the first few, gold among them, part of it, or no gold at all.
    """
    hidden = set(row.hidden)
    every = [i for i in range(len(row.texts)) if i not in hidden]
    gold = [i for i in every if row.support[i]]
    others = [i for i in every if not row.support[i]]
    size = rng.choice((2, 3, 4, 5, 5, 5, 5, 6))
    draw = rng.random()
    if not gold:
        chosen = every[:size] if draw < 0.6 else _near(others, size, rng)
    elif draw < 0.12:
        chosen = gold
    elif draw < 0.62:
        chosen = gold + _near(others, size - len(gold), rng)
    elif draw < 0.74:
        chosen = gold + others[: max(0, size - len(gold))]
    elif draw < 0.82 and len(gold) > 1:
        kept = rng.sample(gold, rng.randint(1, len(gold) - 1))
        chosen = kept + _near(others, size - len(kept), rng)
    elif draw < 0.90:
        chosen = every[:size]
    else:
        chosen = others[:size] if draw < 0.95 else _near(others, size, rng)
    chosen = list(dict.fromkeys(chosen)) or every[:size]
    rng.shuffle(chosen)
    return chosen


def pool(row: Row, rng: random.Random) -> list[int]:
    """Return a retriever's pool.

    It has about twenty units, mostly with the gold, in chance order; at times without any gold.
    """
    count = len(row.texts)
    hidden = set(row.hidden)
    every = [i for i in (row.order or range(count)) if i not in hidden]
    gold = [i for i in every if row.support[i]]
    others = [i for i in every if not row.support[i]] + list(range(count, count + len(row.hard)))
    size = rng.choice((6, 10, 14, 18, 20, 20, 20, 24))
    draw = rng.random()
    if row.order and draw < 0.6:  # as similarity ranks them
        chosen = every[:size]
    elif row.order:
        chosen = rng.sample(every[: 2 * size], min(size, len(every[: 2 * size])))
    else:
        rest = (
            others
            if len(others) + len(gold) <= 26 and draw < 0.6
            else rng.sample(others, min(size, len(others)))
        )
        chosen = [*gold, *rest]
    if row.order and rng.random() < 0.5:
        chosen = [*chosen, *gold]
    draw = rng.random()
    if draw < 0.1 and len(set(chosen) - set(gold)) > 1:
        chosen = [i for i in chosen if i not in set(gold)]
    elif draw < 0.2 and len(gold) > 1:
        lost = set(rng.sample(gold, rng.randint(1, len(gold) - 1)))
        chosen = [i for i in chosen if i not in lost]
    chosen = list(dict.fromkeys(chosen)) or every[:size]
    rng.shuffle(chosen)
    return chosen


@dataclass(frozen=True, slots=True)
class Dress:
    """How a pool is shown.

    It says how much of each unit, with titles or not, known documents or not, the question shortened.
    """

    reading: Reading
    titles: bool = True
    documents: bool = True
    keywords: bool = False


def dressed(rng: random.Random) -> Dress:
    """Draw how a pool is shown."""
    titles = rng.random() > 0.2
    return Dress(
        Reading(average=rng.choice((40, 56, 72, 80, 80, 96, 128))),
        titles,
        titles or rng.random() < 0.5,
        rng.random() < 0.12,
    )


def _near(others: list[int], count: int, rng: random.Random) -> list[int]:
    """Return ``count`` distractors, the plausible ones more often."""
    if count <= 0 or not others:
        return []
    head = others[: max(3 * count, 8)]
    return rng.sample(head, min(count, len(head)))


def show(corpus: Corpus, row: Row, chosen: list[int], *, text_cap: int, frame: Frame = WHOLE) -> Item:
    """Pack the chosen units, find the answer's places, and set the labels."""
    table, count = corpus.table, len(row.texts)
    keys = [(row.titles[i], row.texts[i]) if i < count else row.hard[i - count] for i in chosen]
    units = [
        TokenUnit(str(t), row.positions[i] if i < count else 0, table[t][:20], table[x][:text_cap])
        for i, (t, x) in zip(chosen, keys, strict=True)
    ]
    packed = pack(row.question, units[: _fitting(row.question, units, frame)], block=frame.block)
    flags = [row.support[i] if i < count else False for i in chosen]
    support = [int(flags[u]) for u in packed.units]
    pairs, holds = _places(row, packed, units, support)
    whole = sum(support) == sum(row.support)
    if row.kind == "span":
        kind = "span" if pairs else "unknown" if whole else "none"
    else:
        kind = row.kind if whole else "none"
    bearing = [int(h and (s or not any(support))) for h, s in zip(holds, support, strict=True)]
    trust = row.weight if row.labelled else 0.5 * row.weight if row.kind != "none" else 0.0
    return _item(packed, support, bearing, pairs, KIND_LABEL[kind], row.weight, trust)


def _item(packed: Packed, support: list[int], bearing: list[int], *labels: Any) -> Item:
    """Return a packed sequence with its labels; ``labels`` are the fields of ``Item`` behind bearing."""
    where = (packed.ids, packed.types, packed.units, packed.markers, packed.spans)
    return Item(*where, support, bearing, *labels)


def passage_units(corpus: Corpus, row: Row, chosen: Sequence[int], *, titles: bool = True) -> list[TokenUnit]:
    """Return the chosen units of a pool as a reader sees them."""
    table = corpus.table
    return [
        TokenUnit(
            f"g{row.groups[i]}",
            row.positions[i],
            table[row.titles[i]][:TITLE_CAP] if titles else [],
            table[row.texts[i]][:PASSAGE_CAP],
        )
        for i in chosen
    ]


def show_passages(
    corpus: Corpus, row: Row, chosen: list[int], *, frame: Frame = WHOLE, titles: bool = True
) -> Item:
    """Pack units of a pool as the reader reads them; the answer counts in gold units alone.

    Where it stands is known exactly, or by its words. A context without gold that has the answer's words all
    the same says nothing about its kind, and neither does one whose evidence is not complete.
    """
    units = passage_units(corpus, row, chosen, titles=titles)
    packed = pack(row.question, units[: _fitting(row.question, units, frame)], block=frame.block)
    shown = [chosen[u] for u in packed.units]
    support = [row.support[i] for i in shown]
    pairs, parts = _known_places(row, packed, shown)
    elsewhere = False
    if not row.spots and row.kind == "span" and row.answers:
        found, holds = _places(row, packed, units, support)
        elsewhere = any(h and not s for h, s in zip(holds, support, strict=True))
        pairs = found if any(h and s for h, s in zip(holds, support, strict=True)) else []
        parts = []
    whole = row.complete and sum(support) == sum(row.support) and any(support)
    wanted = set(row.spots[3::4])
    if row.kind in {"yes", "no"}:
        kind = row.kind if whole else "none"
    elif row.kind in {"none", "unknown"} and not (whole and row.kind == "unknown"):
        kind = "unknown" if pairs else "none"
    elif pairs:
        kind = "span" if whole or set(parts) >= wanted else "unknown"
    else:
        kind = "unknown" if whole or elsewhere else "none"
    bearing = [row.bearing[i] for i in shown]
    return _item(packed, support, bearing, pairs, KIND_LABEL[kind], row.weight, row.weight, parts)


def _known_places(row: Row, packed: Packed, shown: list[int]) -> tuple[list[tuple[int, int]], list[int]]:
    """Return the answer's exact places in a sequence, and which part of the answer each is."""
    found = []
    for n, unit in enumerate(shown):
        for place in range(0, len(row.spots), 4):
            owner, first, last, part = row.spots[place : place + 4]
            if owner == unit:
                origin = packed.spans[n][0]
                found.append(((origin + first, origin + last), min(part, MAX_PARTS - 1)))
    found = found[:MAX_PAIRS]
    return [pair for pair, _ in found], [part for _, part in found]


def _fitting(question: list[int], units: list[TokenUnit], frame: Frame) -> int:
    """Return how many of the units fit one window."""
    room, kept = frame.room(question), 0
    for unit in units:
        room -= len(unit.text) + len(unit.title) + 2
        if room < 0 and kept:
            break
        kept += 1
    return kept


def show_pool(corpus: Corpus, row: Row, chosen: list[int], dress: Dress, frame: Frame) -> Item:
    """Pack the chosen units as the support encoder reads them, and set the labels."""
    table, count = corpus.table, len(row.texts)
    keys = [(row.titles[i], row.texts[i]) if i < count else row.hard[i - count] for i in chosen]
    question = row.question
    if dress.keywords:
        question = [t for t in question if t not in FUNCTION_WORDS] or question
    titles = [table[t][:TITLE_CAP] if dress.titles else [] for t, _ in keys]
    bodies = [corpus.body(x) for _, x in keys]
    cap = dress.reading.cap([len(b.ids) for b in bodies], [len(t) for t in titles])
    worth = question_worth(question, bodies)
    units = []
    for n, i in enumerate(chosen):
        known = i < count and dress.documents
        document = f"g{row.groups[i]}" if known else f"u{n}"
        units.append(
            TokenUnit(document, row.positions[i] if known else 0, titles[n], excerpt(bodies[n], worth, cap))
        )
    units = units[: _fitting(question, units, frame)]
    packed = pack(question, units, block=frame.block)
    places = [chosen[u] for u in packed.units]
    support = [row.support[i] if i < count else 0 for i in places]
    pairs, holds = _places(row, packed, units, support)
    whole = row.complete and sum(support) == sum(row.support)
    if row.bearing:
        bearing = [row.bearing[i] if i < count else 0 for i in places]
    else:
        bearing = [int(h and (s or not any(support))) for h, s in zip(holds, support, strict=True)]
        if row.kind != "span" and any(support):
            bearing = [BEARING_UNKNOWN if s else 0 for s in support]
    trust = row.weight if row.labelled else 0.5 * row.weight if row.kind != "none" else 0.0
    kind = row.kind if whole and any(support) else "none"
    if kind == "span" and not pairs and not row.bearing:
        kind = "unknown"
    return _item(packed, support, bearing, pairs, KIND_LABEL[kind], row.weight, trust)


def _places(
    row: Row, packed: Packed, units: list[TokenUnit], support: list[int]
) -> tuple[list[tuple[int, int]], list[bool]]:
    """Return where the answer stands, in gold units if it does there, and which units hold it."""
    found: dict[bool, list[tuple[int, int]]] = {True: [], False: []}
    holds = [False] * len(packed.units)
    if row.kind != "span" or not row.answers:
        return [], holds
    needles = ["".join(map(chr, answer)) for answer in row.answers]
    for n, u in enumerate(packed.units):
        for origin, body in ((packed.spans[n][0], units[u].text), (packed.titles[n][0], units[u].title)):
            hits = occurrences("".join(map(chr, body)), needles)
            found[bool(support[n])] += [(origin + a, origin + b) for a, b in hits]
            holds[n] |= bool(hits) and origin == packed.spans[n][0]
    return list(dict.fromkeys(found[True] or found[False]))[:MAX_PAIRS], holds


def collate(items: list[Item]) -> Batch:
    """Pad to a multiple of 8 tokens."""
    items = [item for item in items if len(item.markers)] or list(items)  # a pool may be left without a unit
    size = len(items)
    length = -(-max(len(i.ids) for i in items) // 8) * 8
    units = max(len(i.markers) for i in items)
    pairs = max(1, *(len(i.pairs) for i in items))
    ids, types = np.zeros((size, length), np.int64), np.zeros((size, length), np.int64)
    marks, starts, ends = (np.zeros((size, units), np.int64) for _ in range(3))
    support, bearing, mask, told = (np.zeros((size, units), np.float32) for _ in range(4))
    places, there = np.zeros((size, pairs, 2), np.int64), np.zeros((size, pairs), bool)
    parts = np.zeros((size, pairs), np.int64)
    for n, item in enumerate(items):
        ids[n, : len(item.ids)], types[n, : len(item.ids)] = item.ids, item.types
        count = len(item.markers)
        marks[n, :count] = item.markers
        if count:  # a question whose answer stands nowhere has no span
            starts[n, :count], ends[n, :count] = np.asarray(item.spans).T
        support[n, :count], mask[n, :count] = item.support, 1
        bearing[n, :count] = np.maximum(item.bearing, 0)
        told[n, :count] = np.array(item.bearing) != BEARING_UNKNOWN
        if len(item.pairs):
            places[n, : len(item.pairs)] = item.pairs
            there[n, : len(item.pairs)] = True
        if len(item.parts):
            parts[n, : len(item.parts)] = item.parts
    arrays = (
        ids,
        types,
        marks,
        starts,
        ends,
        support,
        bearing,
        mask,
        told,
        places,
        there,
        parts,
        np.array([i.kind for i in items]),
        np.array([i.weight for i in items], np.float32),
        np.array([i.support_weight for i in items], np.float32),
    )
    return Batch(*(torch.from_numpy(a) for a in arrays))


def grouped(items: list[Item], batch_tokens: int, rng: random.Random) -> list[list[Item]]:
    """Sort examples of like length into batches, in an order that chance decides."""
    items = sorted(items, key=lambda item: len(item.ids))
    groups: list[list[Item]] = [[]]
    for item in items:
        if groups[-1] and (len(groups[-1]) + 1) * len(item.ids) > batch_tokens:
            groups.append([])
        groups[-1].append(item)
    rng.shuffle(groups)
    return groups


class Stream(IterableDataset[Batch]):
    """One epoch's batches: rows drawn by the mixture, shown by the chooser, bucketed by length."""

    def __init__(
        self,
        corpus: Corpus,
        rows: list[Row],
        mixture: dict[str, float],
        chooser: Chooser,
        *,
        text_cap: int,
        batch_tokens: int,
        seed: int,
        paragraph_cap: int | None = None,
        frame: Frame = WHOLE,
        pools: bool = False,
    ) -> None:
        self.corpus, self.rows, self.mixture, self.chooser = corpus, rows, mixture, chooser
        self.text_cap, self.batch_tokens, self.seed = text_cap, batch_tokens, seed
        self.paragraph_cap, self.frame, self.pools = paragraph_cap or text_cap, frame, pools

    def __iter__(self) -> Iterator[Batch]:
        worker = get_worker_info()
        number, count = (worker.id, worker.num_workers) if worker else (0, 1)
        rng = random.Random(f"{self.seed}/{number}")
        drawn = self.draw(range(number, len(self.rows), count), rng)
        for start in range(0, len(drawn), 1024):
            items = [self.item(self.rows[row], rng) for row in drawn[start : start + 1024]]
            yield from map(collate, grouped(items, self.batch_tokens, rng))

    def draw(self, share: Sequence[int], rng: random.Random) -> list[int]:
        """Draw the numbers of rows for one pass over a share of them, each as often as the mixture says."""
        drawn = []
        for row in share:
            times = self.mixture.get(self.rows[row].source, 0.0)
            drawn += [row] * (int(times) + (rng.random() < times % 1))
        rng.shuffle(drawn)
        return drawn

    def item(self, row: Row, rng: random.Random) -> Item:
        """Show one row, in a way that chance decides."""
        if self.pools:
            return show_pool(self.corpus, row, self.chooser(row, rng), dressed(rng), self.frame)
        if row.bearing:
            chosen = passages(row, rng)
            return show_passages(self.corpus, row, chosen, frame=self.frame, titles=rng.random() > 0.15)
        cap = (
            self.paragraph_cap
            if row.source in {"musique", "musique_step", "triple", "paragraph", "page"}
            else self.text_cap
        )
        return show(self.corpus, row, self.chooser(row, rng), text_cap=cap, frame=self.frame)
