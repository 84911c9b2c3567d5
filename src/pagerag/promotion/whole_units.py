"""Measure each unit as a whole against the question, in ways that mean the same in every pool.

The graph reads the most telling sentences of a pool; these measures read all of them. Those weighted by
rarity in the language do not depend on the other units, so that "nothing here fits" can be seen.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pagerag._remember import remember
from pagerag.promotion.sentence_arrays import Sentences

__all__ = ["WHOLE", "listed_words", "rarity", "whole_units"]

Floats = NDArray[np.float32]

WHOLE: tuple[str, ...] = (
    "w_share", "w_rare", "w_rare_best", "w_rare_two", "w_stem", "w_best", "w_bm25", "w_bm25_rank", "w_run",
    "w_pairs", "w_size", "w_rare_gap", "w_title_only", "w_near",
)  # fmt: skip
"""The measures of a unit, in the order of the columns that ``whole_units`` returns."""

_K1, _B = 1.2, 0.75
_RAREST = 12.0  # what a word that is in no list weighs: about ln(1 / 6e-6)


@cache
def listed_words() -> dict[str, float]:
    """Return the common words of the language, each with its rarity, in the order of their list."""
    source = Path(__file__).with_name("data") / "word-rarity.json"
    levels: dict[str, str] = json.loads(source.read_text(encoding="utf-8"))["words"]
    return {word: float(level) for level, words in levels.items() for word in words.split(" ")}


@remember(1 << 20)
def rarity(tokens: tuple[str, ...]) -> tuple[Floats, Floats]:
    """Return -ln of the share of texts that hold each token, by a list of common words (digits are rare).

    And each token's share of their sum. Kept, because a promotion asks for a question's words several times.
    """
    known = listed_words()
    rare = np.array([known.get(token, _RAREST) for token in tokens], dtype=np.float32)
    return rare, rare / max(float(rare.sum()), 1e-6)


def whole_units(
    sentences: Sentences, tokens: tuple[str, ...], units: int
) -> tuple[Floats, NDArray[np.bool_], NDArray[np.bool_]]:
    """Return one row per unit that takes part (``units`` of them), columns ``WHOLE``.

    Which unit holds which of the question's words, in its text or its title; and which title does.

    ``tokens`` are the question's words, each once, in the order of the columns of ``sentences.found``.
    """
    asked = len(tokens)
    _, share = rarity(tokens)
    owner, single = sentences.owner, sentences.found[0]
    own = single | sentences.titles[0].take(sentences.document, axis=0)
    # where each unit's sentences start; a unit that has none (white space as far as it is read) holds nothing
    opens = np.ones(len(owner), dtype=bool)
    np.not_equal(owner[1:], owner[:-1], out=opens[1:])
    starts = opens.nonzero()[0]
    present = owner.take(starts) if len(starts) < units else slice(None)
    document = np.zeros(units, dtype=np.int64)
    document[present] = sentences.document.take(starts)
    inside, titles = np.zeros((2, 2, units, asked), dtype=bool)
    inside[:, present] = np.logical_or.reduceat(sentences.found, starts, axis=1)
    titles[:, present] = sentences.titles.take(sentences.document.take(starts), axis=1)
    has, stems = inside | titles
    table = np.zeros((units, len(WHOLE)), dtype=np.float32)
    df = np.add.reduce(has, axis=0)
    idf = np.log1p((units - df + 0.5) / (df + 0.5)).astype(np.float32)
    pool_share = idf / max(float(np.add.reduce(idf)), 1e-6)
    best = np.empty((3, len(owner)), dtype=np.float32)
    best[0] = own @ share
    best[1] = single.astype(np.float32) @ share
    if len(owner) > 1:
        together = (single[1:] | single[:-1]) @ share
        together[opens[1:]] = 0.0
        np.maximum(best[1, 1:], together, out=best[1, 1:])
    best[2] = own @ pool_share
    table[present, 2], table[present, 3], table[present, 5] = np.maximum.reduceat(best, starts, axis=1)
    table[:, 0] = np.add.reduce(has, axis=1) / max(asked, 1)
    table[:, 1] = has @ share
    table[:, 4] = stems @ share
    counts, runs, pairs = _words(sentences, units, asked)
    sizes = np.array(sentences.counts, dtype=np.float32)
    mean = max(float(np.float32(len(sentences.words) / units)), 1.0)
    damped = counts + _K1 * (1 - _B + _B * sizes / mean)[:, None]
    table[:, 6] = (counts * (_K1 + 1) / damped) @ pool_share / (_K1 + 1)
    table[(-table[:, 6]).argsort(kind="stable"), 7] = np.arange(units)
    table[:, 8] = runs / max(asked, 1)
    table[:, 9] = pairs / max(asked - 1, 1)
    table[:, 10] = np.log1p(sizes)
    table[:, 11] = table[:, 1] - np.maximum.reduce(table[:, 1], initial=0.0)
    table[:, 12] = (has & ~inside[0]) @ share
    table[:, 13] = _best_beside(table[:, 1], document)
    return table, has, titles[0]


def _best_beside(value: Floats, document: NDArray[np.int64]) -> Floats:
    """Return the best ``value`` among the other units of each unit's document; 0 where it stands alone."""
    same = document[:, None] == document
    same.ravel()[:: len(document) + 1] = False
    return np.asarray(np.maximum.reduce(same * value, axis=1))


def _words(sentences: Sentences, units: int, asked: int) -> tuple[Floats, Floats, Floats]:
    """Count words of each unit.

    Return the question's words (units x words), the longest run of question words in the question's order,
    and how many neighbouring pairs of them each unit has.
    """
    # Of all words only those are looked at that the question has as well.
    at = (sentences.which >= 0).nonzero()[0]
    which, row = sentences.which.take(at), sentences.row.take(at)
    unit = sentences.owner.take(row)
    counts = np.bincount(unit * asked + which, minlength=units * asked).reshape(units, asked)
    follows = (at[1:] == at[:-1] + 1) & (which[1:] == which[:-1] + 1) & (row[1:] == row[:-1])
    pairs = np.bincount(unit[1:][follows], minlength=units)
    # the length of each run of neighbours: how far back the last break lies
    place = np.arange(len(at))
    broken = place.copy()
    broken[1:][follows] = 0
    runs = np.zeros(units, dtype=np.int64)
    np.maximum.at(runs, unit, place - np.maximum.accumulate(broken) + 1)
    return (
        counts.astype(np.float32),
        runs.astype(np.float32),
        np.minimum(pairs, max(asked - 1, 1)).astype(np.float32),
    )
