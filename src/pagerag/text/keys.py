"""The keys by which documents are looked up by name, as text and as 64-bit numbers.

A key is the folded words of a name, joined by spaces. A title has the keys of its shorter forms as well,
since text names "Brecha (2009 film)" as "Brecha", "Fred F. Sears" as "Fred Sears" and "Edward of the North,
Duke of Kent" as "Edward of the North".

A word's number is a hash that is the same on every machine. A key's number is the sum of its words' numbers,
each times a power of one odd constant, modulo 2**64: the numbers of all runs of words in a text follow from
one running sum, so that the two hundred possible names of a passage are looked up without building a
string.

These keys keep stop words ("The Who" is a title). Promotion links entities by ``entities.name_key``, which
leaves them out.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterable
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from pagerag._remember import remember
from pagerag.text.lexicon import STOP_WORDS
from pagerag.text.tokens import all_words

_BASE = 0x9E3779B97F4A7C15
_INVERSE = pow(_BASE, -1, 1 << 64)
_FULL = (1 << 64) - 1

_IS_KEY = re.compile(r"[a-z0-9]+(?: [a-z0-9]+)*").fullmatch
_OPENING = {")": "(", "）": "（", "]": "["}


@remember(12 << 20)
def word_number(word: str) -> int:
    """Return an unsigned 64-bit hash of a word."""
    return int.from_bytes(hashlib.blake2b(word.encode("utf-8", "replace"), digest_size=8).digest(), "little")


def word_numbers(words: Collection[str]) -> NDArray[np.int64]:
    """Return the hashes of many different words at once, as the signed integers that databases hold."""
    digests = [hashlib.blake2b(word.encode("utf-8", "replace"), digest_size=8).digest() for word in words]
    return np.frombuffer(b"".join(digests), dtype="<i8").astype(np.int64)


def words_number(words: Iterable[str]) -> int:
    """Return the number of a name given by its words, as the signed integer that databases hold."""
    total, power = 0, 1
    for word in words:
        total = (total + word_number(word) * power) & _FULL
        power = (power * _BASE) & _FULL
    return total - (1 << 64) if total >> 63 else total


def key_number(key: str) -> int:
    """Return the number of a key."""
    return words_number(key.split(" "))


@lru_cache(maxsize=8)
def _powers(size: int) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """Return the first ``size`` powers of the base, and of its inverse."""
    steps = np.empty((2, size), dtype=np.uint64)
    steps[0], steps[1] = _BASE, _INVERSE
    steps[:, 0] = 1
    powers, inverses = np.multiply.accumulate(steps, axis=1)  # modulo 2**64, as unsigned numbers are
    return powers, inverses


def run_numbers(
    words: NDArray[np.uint64], first: NDArray[np.intp], end: NDArray[np.intp]
) -> NDArray[np.int64]:
    """Return ``words_number`` of the runs ``words[first:end]``, given the words' own numbers."""
    size = 1 << max(6, len(words).bit_length())
    powers, inverses = _powers(size)
    sums = np.zeros(len(words) + 1, dtype=np.uint64)
    np.cumsum(words * powers[: len(words)], out=sums[1:])
    found: NDArray[np.uint64] = (sums[end] - sums[first]) * inverses[first]
    return found.view(np.int64)


@remember(8 << 20)
def title_keys(title: str) -> tuple[str, ...]:
    """Return the keys of a title, the most exact first.

    They are: the whole title; without a bracket at its end; then without initials; then what stands before a
    comma. The last two must keep two telling words, or they would name anybody.
    """
    short = without_bracket(title)
    words = all_words(short)
    keys = [" ".join(all_words(title)), " ".join(words)]
    shorter = [[word for word in words if len(word) > 1]]
    if "," in short:
        shorter.append(all_words(short.split(",", 1)[0]))
    telling = (form for form in shorter if sum(len(w) > 1 and w not in STOP_WORDS for w in form) > 1)
    keys += map(" ".join, telling)
    return tuple(dict.fromkeys(key for key in keys if key))


def title_key(title: str) -> str:
    """Return the first of ``title_keys``: what a title is looked up by."""
    return title if _IS_KEY(title) else " ".join(all_words(title))


def name_numbers(title: str | None, names: Iterable[str] = ()) -> list[int]:
    """Return the numbers of a unit's keys: its title's, the most exact first, then its other names'."""
    keys = dict.fromkeys(key for name in (title, *names) if name for key in title_keys(name))
    return [key_number(key) for key in keys]


def without_bracket(title: str, kinds: str = "(（") -> str:
    """Return the title without the bracketed qualifier at its end, if it has one of these kinds.

    By hand, because a pattern that starts with optional blanks is tried at every blank of a hostile title.
    """
    bare = title.rstrip()
    if _OPENING.get(bare[-1:], "-") not in kinds:
        return title
    inside = bare[:-1]
    start = max(map(inside.rfind, kinds))
    if start < 0 or any(closing in inside[start:] for closing in _OPENING if _OPENING[closing] in kinds):
        return title
    return bare[:start].rstrip()
