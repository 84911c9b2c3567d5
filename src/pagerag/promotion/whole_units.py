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

from pagerag.promotion.sentence_arrays import Sentences

__all__ = ["WHOLE", "rarity", "whole_units"]

Floats = NDArray[np.float32]

WHOLE: tuple[str, ...] = (
    "w_share", "w_rare", "w_rare_best", "w_rare_two", "w_stem", "w_best", "w_bm25", "w_bm25_rank", "w_run",
    "w_pairs", "w_size", "w_rare_gap", "w_title_only", "w_near",
)  # fmt: skip
"""The measures of a unit, in the order of the columns that ``whole_units`` returns."""

_K1, _B = 1.2, 0.75
_RAREST = 12.0  # what a word that is in no list weighs: about ln(1 / 6e-6)


@cache
def _weights() -> dict[str, float]:
    source = Path(__file__).with_name("data") / "word-rarity.json"
    levels: dict[str, str] = json.loads(source.read_text(encoding="utf-8"))["words"]
    return {word: float(level) for level, words in levels.items() for word in words.split(" ")}


def rarity(tokens: tuple[str, ...]) -> Floats:
    """Return -ln of the share of texts that hold each token, by a list of common words (digits are rare)."""
    known = _weights()
    return np.array([known.get(token, _RAREST) for token in tokens], dtype=np.float32)


def whole_units(
    sentences: Sentences, tokens: tuple[str, ...], units: int
) -> tuple[Floats, NDArray[np.bool_], NDArray[np.bool_]]:
    """Return one row per unit that takes part (``units`` of them), columns ``WHOLE``.

    Which unit holds which of the question's words, in its text or its title; and which title does.

    ``tokens`` are the question's words, each once, in the order of the columns of ``sentences.own``.
    """
    asked = len(tokens)
    rare = rarity(tokens)
    share = rare / max(float(rare.sum()), 1e-6)
    owner = sentences.owner
    own = sentences.own | sentences.title.take(sentences.document, axis=0)
    stem = sentences.stem | sentences.title_stem.take(sentences.document, axis=0)
    has = np.zeros((units, asked), dtype=bool)
    np.logical_or.at(has, owner, own)
    stems = np.zeros((units, asked), dtype=bool)
    np.logical_or.at(stems, owner, stem)
    told = np.zeros((units, asked), dtype=bool)
    np.logical_or.at(told, owner, sentences.own)
    table = np.zeros((units, len(WHOLE)), dtype=np.float32)
    df = np.add.reduce(has, axis=0)
    idf = np.log1p((units - df + 0.5) / (df + 0.5)).astype(np.float32)
    pool_share = idf / max(float(idf.sum()), 1e-6)
    single = sentences.own.astype(np.float32) @ share
    table[:, 0] = has.mean(axis=1) if asked else 0.0
    table[:, 1] = has @ share
    np.maximum.at(table[:, 2], owner, own @ share)
    two = single.copy()
    if len(owner) > 1:
        together = (sentences.own[1:] | sentences.own[:-1]) @ share
        joined = np.where(owner[1:] == owner[:-1], together, 0.0)
        two[1:] = np.maximum(two[1:], joined)
    np.maximum.at(table[:, 3], owner, two)
    table[:, 4] = stems @ share
    np.maximum.at(table[:, 5], owner, own @ pool_share)
    counts, sizes, runs, pairs = _words(sentences, units, asked)
    mean = max(float(sizes.mean()), 1.0)
    damped = counts + _K1 * (1 - _B + _B * sizes / mean)[:, None]
    table[:, 6] = (counts * (_K1 + 1) / damped) @ pool_share / (_K1 + 1)
    table[np.argsort(-table[:, 6], kind="stable"), 7] = np.arange(units)
    table[:, 8] = runs / max(asked, 1)
    table[:, 9] = pairs / max(asked - 1, 1)
    table[:, 10] = np.log1p(sizes)
    table[:, 11] = table[:, 1] - table[:, 1].max(initial=0.0)
    table[:, 12] = (has & ~told) @ share
    document = np.zeros(units, dtype=np.int64)
    document[owner] = sentences.document
    table[:, 13] = _best_beside(table[:, 1], document)
    return table, has, sentences.title.take(document, axis=0)


def _best_beside(value: Floats, document: NDArray[np.int64]) -> Floats:
    """Return the best ``value`` among the other units of each unit's document; 0 where it stands alone."""
    same = document[:, None] == document
    np.fill_diagonal(same, False)
    return np.asarray(np.where(same, value, 0.0).max(axis=1, initial=0.0))


def _words(sentences: Sentences, units: int, asked: int) -> tuple[Floats, Floats, Floats, Floats]:
    """Count words of each unit.

    Return the question's words (units x words), all words, the longest run of question words in the
    question's order, and how many neighbouring pairs of them each unit has.
    """
    lengths = np.asarray(sentences.sizes, dtype=np.int64)
    place = np.arange(len(lengths)).repeat(lengths)
    of_unit = sentences.owner.take(place)
    sizes = np.bincount(of_unit, minlength=units).astype(np.float32)
    counts = np.zeros((units, asked), dtype=np.float32)
    runs, pairs = np.zeros(units, dtype=np.float32), np.zeros(units, dtype=np.float32)
    which = sentences.which
    known = which >= 0
    np.add.at(counts, (of_unit[known], which[known]), 1.0)
    if len(which) > 1:
        follows = known[1:] & (which[1:] == which[:-1] + 1) & known[:-1] & (place[1:] == place[:-1])
        np.add.at(pairs, of_unit[1:][follows], 1.0)
        if follows.any():
            # the length of each run of neighbours: how far back the last break lies
            at = np.arange(1, len(follows) + 1)
            broken = np.maximum.accumulate(np.where(follows, 0, at))
            np.maximum.at(runs, of_unit[1:], (at - broken) * follows + follows)
    np.maximum.at(runs, of_unit[known], 1.0)
    return counts, sizes, runs, np.minimum(pairs, max(asked - 1, 1))
