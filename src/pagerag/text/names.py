"""Find names in running text.

A text is read into the keys of every run of words that starts where a name can start; a passage is named
in it where one of the passage's title keys (``pagerag.text.keys``) is among them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntFlag
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from pagerag._remember import remember
from pagerag.text.entities import extract_entities
from pagerag.text.keys import run_numbers, word_number, words_number
from pagerag.text.lexicon import RELATION_OF, STOP_WORDS
from pagerag.text.tokens import all_words

MAX_WORDS = 10
"""The longest name that is looked for."""

MAX_READ = 400
"""How many words of a text are read for names."""

# No name ends with one of these: a third of the runs need not be looked up.
_NO_END = frozenset(
    "a an and as at by for from his her in is its of on or that the their to was were which who with".split()
)
_CHUNK = re.compile(r"[^\s/–—-]+")
_MARKS = "\"'“”‘’«»„()[]{}.,;:!?…*_"


def opening_name(text: str) -> str | None:
    """Return the name that a text opens with, or None.

    It tells what a passage without a title is about.

    Encyclopaedic and reference texts open with their subject; "He was" and "In 1957" are no names.
    """
    opening = text.lstrip(" \"'“«(").removeprefix("The ").removeprefix("the ")[:160]
    name = next(iter(extract_entities(opening)), "")
    named = name and opening.startswith(name) and not name[0].isdigit() and all_words(name)[:1] != ["in"]
    return name if named else None


@dataclass(frozen=True)
class NameReading:
    """The words of a text with the places where names can stand.

    ``words`` are folded, ``numbers`` are their numbers (``pagerag.text.keys``) and ``flags`` (``NameWord``)
    say what a word can be in a name; ``starts`` are the places where a name can start, ``ends`` those that
    no name crosses; ``cues`` are the places and relations (numbers of ``lexicon.RELATIONS``) of relation
    words; ``length`` counts the words.
    """

    words: list[str]
    numbers: list[int]
    flags: list[int]
    starts: list[int]
    ends: list[int]
    cues: list[tuple[int, int]]
    length: int

    @cached_property
    def places(self) -> dict[int, int]:
        """Map the number of each possible name to the place of its first word."""
        numbers, places = numbered_names([self]).of(0)
        # reversed, so that the first place of a name stands
        return dict(zip(numbers[::-1].tolist(), places[::-1].tolist(), strict=True))

    def spelled(self, number: int, place: int) -> str:
        """Return the key that has this number and starts at this word; empty if there is none."""
        kept = [p for p in range(place, self.length) if self.flags[p] & _LONG]
        for places in (range(place, self.length), kept):
            words = [self.words[p] for p in places[:MAX_WORDS]]
            for size in range(1, len(words) + 1):
                if words_number(words[:size]) == number:
                    return " ".join(words[:size])
        return ""


@dataclass(frozen=True, slots=True)
class NumberedNames:
    """The names of several readings as numbers (``pagerag.text.keys``).

    For each name: its number, the reading it stands in, and the place of its first word there; in order of
    readings, runs of all words before those without initials ("Fred F. Sears" names "Fred Sears"). A name
    that stands twice comes twice.
    """

    numbers: NDArray[np.int64]
    owners: NDArray[np.intp]
    places: NDArray[np.intp]

    def of(self, owner: int) -> tuple[NDArray[np.int64], NDArray[np.intp]]:
        """Return the numbers of the names of one reading, and their places."""
        first, end = np.searchsorted(self.owners, [owner, owner + 1])
        return self.numbers[first:end], self.places[first:end]

    def __add__(self, other: NumberedNames) -> NumberedNames:
        pairs = (self.numbers, other.numbers), (self.owners, other.owners), (self.places, other.places)
        return NumberedNames(*map(np.concatenate, pairs))


def numbered_names(readings: Sequence[NameReading], first_owner: int = 0) -> NumberedNames:
    """Return the names of all readings at once, computed without building a string.

    Readings are numbered from ``first_owner``.
    """
    lengths = np.array([reading.length for reading in readings], dtype=np.intp)
    ends = np.cumsum(lengths)
    firsts = ends - lengths
    words = np.array([n for reading in readings for n in reading.numbers], dtype=np.uint64)
    flags = np.array([f for reading in readings for f in reading.flags], dtype=np.int8)
    pairs = list(zip(firsts.tolist(), readings, strict=True))
    starts = np.array([first + s for first, reading in pairs for s in reading.starts], dtype=np.intp)
    stops = np.array([first + e for first, r in pairs for e in (*r.ends, r.length)], dtype=np.intp)
    owners = np.searchsorted(ends, starts, side="right")
    limits = stops[np.searchsorted(stops, starts, side="right")] if len(starts) else starts
    parts = []
    every = np.arange(len(words), dtype=np.intp)
    long = np.flatnonzero(flags & _LONG)
    for kept in (every, long) if len(long) < len(words) else (every,):
        number = np.searchsorted(kept, starts)
        here = number < len(kept)
        here[here] = kept[number[here]] == starts[here]
        number, start, limit = number[here], starts[here], limits[here]
        last = np.minimum(number[:, None] + np.arange(MAX_WORDS), max(len(kept) - 1, 0))
        named = (kept[last] < limit[:, None]) & (flags[kept[last]] & _LAST > 0)
        named[:, 0] = flags[start] & _ALONE > 0
        named[:, 1:] &= last[:, 1:] > last[:, :-1]
        if kept is long:  # a run that leaves nothing out was there before
            named &= kept[last] - start[:, None] > np.arange(MAX_WORDS)
        rows, columns = np.nonzero(named)
        first = number[rows]
        numbers = run_numbers(words[kept], first, first + columns + 1)
        parts.append((numbers, owners[here][rows], start[rows] - firsts[owners[here][rows]]))
    numbers, owner, places = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    order = np.argsort(owner, kind="stable")
    return NumberedNames(numbers[order], owner[order] + first_owner, places[order])


class NameWord(IntFlag):
    """What a word can be in a name."""

    LONG = 1
    """More than an initial."""
    LAST = 2
    """A name may end with it."""
    ALONE = 4
    """It may be a name by itself."""


# As plain numbers: operations on members of an IntFlag take a microsecond each, and there is one for each
# word.
_LONG, _LAST, _ALONE = map(int, NameWord)
_Piece = tuple[tuple[str, ...], tuple[int, ...], tuple[int, ...], int, bool]


@remember(12 << 20)
def _piece(chunk: str) -> _Piece:
    """Read a piece of text between blanks; kept, because the same pieces come again and again.

    Returns its words, their numbers and flags, how many of them may start a name (counted from the first),
    and whether a sentence ends with the piece.
    """
    bare = chunk.strip(_MARKS)
    words = [bare.lower()] if bare.isascii() and bare.isalnum() else all_words(chunk)
    starts = 0
    if bare[:1].isupper() or bare[:1].isdigit():
        starts = 1
    elif bare.upper() == bare.lower():  # a script without capitals may start a name anywhere
        starts = len(words)
    flags = [
        _LONG * (len(word) > 1)
        | _LAST * (word not in _NO_END)
        | _ALONE * (len(word) > 1 and word not in STOP_WORDS)
        for word in words
    ]
    # No name runs on over the end of a sentence; "Jr." and initials do not end one.
    ends = chunk[-1] in ".;?!" and len(bare) > 3
    return tuple(words), tuple(map(word_number, words)), tuple(flags), starts if words else 0, ends


def read_names(text: str) -> NameReading:
    """Read the first ``MAX_READ`` words of ``text`` for names and relation cues."""
    words: list[str] = []
    numbers: list[int] = []
    flags: list[int] = []
    starts: list[int] = []
    ends: list[int] = []
    length = 0
    for pieces, own, kinds, opening, closing in map(_piece, _CHUNK.findall(text)):
        if not pieces:
            continue
        starts += range(length, length + opening)
        words += pieces
        numbers += own
        flags += kinds
        length = len(words)
        if closing:
            ends.append(length)
        if length >= MAX_READ:
            break
    cues = [(place, RELATION_OF[word]) for place, word in enumerate(words) if word in RELATION_OF]
    return NameReading(words, numbers, flags, starts, ends, cues, length)
