"""Words as numbers: what a question is held against a pool with, all words at a time.

A code is a hash of 64 bits: that two words of a pool share one happens by chance in fewer than one of 10^12
pools. Codes hold within one process only, so they are never stored.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from pagerag._remember import remember
from pagerag.text.lexicon import STOP_WORDS

MARKS = 1024
STEM = 5  # "composer" and "composed" meet in their first letters; good enough for a soft signal
_PLACES = np.array(
    [0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB, 0xD6E8FEB86659FD93, 0xA0761D6478BD642F],
    dtype=np.uint64,
)

Ints = NDArray[np.int64]


class Codes:
    """A unit's words as numbers, made once for each unit."""

    __slots__ = ("marks", "repeats", "sizes", "words")

    def __init__(self, words: Ints, sizes: list[int], repeats: bool, marks: int | None) -> None:
        self.words = words  # 2 x tokens of all sentences, see ``word_codes``
        self.sizes = sizes  # how many tokens each sentence has
        self.repeats = repeats  # a sentence is there twice
        self.marks = marks  # see ``mark_words``; None where a sentence has nothing but stop words


def unit_codes(units: Sequence[Sequence[tuple[str, ...]]]) -> list[Codes]:
    """Return the codes of several units, each given by the tokens of its sentences.

    Quicker than one unit at a time.
    """
    words = word_codes(list(chain.from_iterable(chain.from_iterable(units))))
    sizes = [list(map(len, tokens)) for tokens in units]
    totals = list(map(sum, sizes))
    table = np.zeros((len(units), MARKS), dtype=np.bool_)
    table[np.arange(len(units)).repeat(totals), words[0] & (MARKS - 1)] = True
    packed = np.packbits(table, axis=1, bitorder="little").tobytes()
    found = []
    start = 0
    for place, tokens in enumerate(units):
        end = start + totals[place]
        repeats = len(tokens) > 1 and len(set(tokens)) < len(tokens)
        marks: int | None = None
        if STOP_WORDS.isdisjoint([row[0] for row in tokens if row]):
            marks = int.from_bytes(packed[place * MARKS // 8 : (place + 1) * MARKS // 8], "little")
        # a copy, so that one unit does not keep the words of all
        found.append(Codes(words[:, start:end].copy(), sizes[place], repeats, marks))
        start = end
    return found


def mark_words(words: Sequence[str]) -> int:
    """Return a set of words as bits of one number, each word's by its code.

    Two sets differ in at least as many words as there are bits that only one of them has.
    """
    marks = 0
    for code in set(map(hash, words)):
        marks |= 1 << (code & (MARKS - 1))
    return marks


def word_codes(words: Sequence[str]) -> Ints:
    """Return 2 x words: the code of each word, and of its stem.

    A stem's code is a sum of its letters, each times a number for its place: quicker than the hash of a
    part of each word.
    """
    codes = np.empty((2, len(words)), dtype=np.int64)
    codes[0] = np.fromiter(map(hash, words), dtype=np.int64, count=len(words))
    letters = np.array(words, dtype=f"U{STEM}").view(np.uint32).reshape(len(words), STEM)
    codes[1] = (letters @ _PLACES).view(np.int64)
    return codes


@remember(2 << 20)
def question_codes(tokens: tuple[str, ...]) -> Ints:
    """Return the codes of a question's words, each once.

    Kept, because one question is often put to several pools.
    """
    return word_codes(list(dict.fromkeys(tokens)))
