"""Words as numbers: what a question is held against a pool with, all words at a time.

A code is the hash of a word, 64 bits: that two words of a pool share one happens by chance in fewer than one
of 10^12 pools. Codes hold within one process only, so they are never stored.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import chain

import numpy as np
from numpy.typing import NDArray

__all__ = ["Codes", "bigrams", "question_codes", "stem_codes", "unit_codes", "word_codes"]

STEM = 5  # "composer" and "composed" meet in their first letters; good enough for a soft signal
_ODD = np.int64(0x1E3779B97F4A7C15)

Ints = NDArray[np.int64]


class Codes:
    """A unit's words as numbers, made once for each unit."""

    __slots__ = ("repeats", "sizes", "stems", "words")

    def __init__(self, words: Ints, stems: Ints, sizes: list[int], repeats: bool) -> None:
        self.words = words  # the code of each token of all sentences
        self.stems = stems  # and of its stem
        self.sizes = sizes  # how many tokens each sentence has
        self.repeats = repeats  # a sentence is there twice


def unit_codes(units: Sequence[Sequence[tuple[str, ...]]]) -> list[Codes]:
    """The codes of several units, each given by the tokens of its sentences: quicker than one at a time."""
    flat = [list(chain.from_iterable(tokens)) for tokens in units]
    every = list(chain.from_iterable(flat))
    words, stems = word_codes(every), stem_codes(every)
    found = []
    start = 0
    for own, tokens in zip(flat, units, strict=True):
        end = start + len(own)
        repeats = len(tokens) > 1 and len(set(tokens)) < len(tokens)
        # copies, so that one unit does not keep the arrays of all
        found.append(Codes(words[start:end].copy(), stems[start:end].copy(), list(map(len, tokens)), repeats))
        start = end
    return found


def word_codes(words: Sequence[str]) -> Ints:
    """The code of each word."""
    return np.array(list(map(hash, words)), dtype=np.int64)


def stem_codes(words: Sequence[str]) -> Ints:
    """The code of each word's stem."""
    return np.array([hash(word[:STEM]) for word in words], dtype=np.int64)


def bigrams(codes: Ints) -> Ints:
    """One code for each two neighbours."""
    return codes[:-1] * _ODD + codes[1:]


@lru_cache(maxsize=256)
def question_codes(tokens: tuple[str, ...]) -> tuple[Ints, Ints]:
    """The codes of a question's words, each once, and of their stems. Kept, because one question is often put
    to several pools."""
    once = tuple(dict.fromkeys(tokens))
    return word_codes(once), stem_codes(once)
