"""Words and names as 64-bit numbers, the same on every machine.

A word's number is a hash. A name's is the sum of its words' numbers, each times a power of one odd
constant, modulo 2**64: so the numbers of all runs of words in a text follow from one running sum, and
looking a passage's two hundred possible names up takes no string at all.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

__all__ = ["name_hash", "run_hashes", "word_hash", "word_hashes"]

_BASE = 0x9E3779B97F4A7C15
_INVERSE = pow(_BASE, -1, 1 << 64)
_FULL = (1 << 64) - 1


@lru_cache(maxsize=1 << 17)
def word_hash(word: str) -> int:
    """An unsigned 64-bit hash of a word."""
    return int.from_bytes(hashlib.blake2b(word.encode("utf-8", "replace"), digest_size=8).digest(), "little")


def word_hashes(words: Iterable[str]) -> NDArray[np.uint64]:
    """``word_hash`` of each word."""
    return np.fromiter(map(word_hash, words), dtype=np.uint64)


def name_hash(words: Iterable[str]) -> int:
    """The number of a name, as a signed integer (what columns and indexes hold)."""
    total, power = 0, 1
    for word in words:
        total = (total + word_hash(word) * power) & _FULL
        power = (power * _BASE) & _FULL
    return total - (1 << 64) if total >> 63 else total


@lru_cache(maxsize=8)
def _powers(size: int) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """The first ``size`` powers of the base, and of its inverse."""
    both = []
    for base in (_BASE, _INVERSE):
        powers = [1]
        for _ in range(size - 1):
            powers.append((powers[-1] * base) & _FULL)
        both.append(np.array(powers, dtype=np.uint64))
    return both[0], both[1]


def run_hashes(
    words: NDArray[np.uint64], first: NDArray[np.intp], end: NDArray[np.intp]
) -> NDArray[np.int64]:
    """``name_hash`` of the runs ``words[first:end]``, from the words' numbers."""
    size = 1 << max(6, len(words).bit_length())
    powers, inverses = _powers(size)
    sums = np.zeros(len(words) + 1, dtype=np.uint64)
    np.cumsum(words * powers[: len(words)], out=sums[1:])
    found: NDArray[np.uint64] = (sums[end] - sums[first]) * inverses[first]
    return found.view(np.int64)
