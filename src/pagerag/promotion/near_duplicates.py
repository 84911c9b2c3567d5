"""Find units that say the same: copies that differ in case, punctuation or a slip of the pen.

Two units say the same when their words are the same but for a few that are misspellings of each other or
carry no meaning. A differing number, name or negation is a difference of meaning: "born in 1957" does not
repeat "born in 1975". The mark of a footnote behind a sentence ("[1]", "[citation needed]") is no number.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from pagerag.text.analysis import Analysis, codes_of
from pagerag.text.codes import mark_words
from pagerag.text.lexicon import STOP_WORDS
from pagerag.text.tokens import all_words
from pagerag.units import Candidate

__all__ = ["Statements", "says_the_same"]

_AHEAD = 20
_READ = 4_000  # characters at either end
_SLIPS = 0.06  # share of the words that may differ
# Behind a blank or the end of a sentence alone: "rows[1]" and "rows[2]" are different things.
_FOOTNOTE = re.compile(
    r"(?<=[\s.,;:!?\"”’)\]])\[(?:\d{1,3}|[a-z]|note \d{1,2}|citation needed)\](?=[\s\[]|$)"
)
_NEGATIONS = frozenset("no not never none nor neither without cannot nobody nothing".split())


class Statements:
    """Number what the units of a pool say, so that copies share a number; made unit by unit, as asked for.

    Most units differ in many words: their ``mark_words`` tell that, which come with an analysis. Only units
    that may be copies are read word by word.
    """

    def __init__(self, pool: Sequence[Candidate], analyses: Sequence[Analysis | None] | None = None) -> None:
        self._pool = pool
        self._analyses = analyses or (None,) * len(pool)
        # Codes are made together, which is quicker, of as many units as are asked about in most pools.
        ahead = {unit: one for unit, one in enumerate(self._analyses[:_AHEAD]) if one is not None}
        self._codes = dict(zip(ahead, codes_of(list(ahead.values())), strict=True))
        self._number: dict[int, int] = {}  # unit → the first unit that says the same
        self._texts: dict[str, int] = {}
        self._marks: dict[int, int] = {}  # of the first units
        self._words: dict[int, list[str]] = {}  # of those that were read
        self._exact: dict[str, int] = {}

    def first(self, unit: int) -> int:
        """Return the unit that was asked about first among those that say the same as this one."""
        known = self._number.get(unit)
        if known is None:
            known = self._number[unit] = self._find(unit)
        return known

    def copies(self) -> dict[int, int]:
        """Return the units that repeat another, of those that were asked about so far, each with that one."""
        return {unit: first for unit, first in self._number.items() if unit != first}

    def _find(self, unit: int) -> int:
        same = self._texts.setdefault(self._pool[unit].text, unit)
        if same != unit:
            return self._number[same]
        marks, most = self._sketch(unit)
        near = [other for other, theirs in self._marks.items() if (marks ^ theirs).bit_count() <= most]
        first = self._copied(unit, marks, near) if near else unit
        if first == unit:
            self._marks[unit] = marks
        return first

    def _sketch(self, unit: int) -> tuple[int, int]:
        """Return the marks of the unit's words without stop words, and how many a copy's may differ in."""
        text, codes, analysis = self._pool[unit].text, self._codes.get(unit), self._analyses[unit]
        if codes is None and analysis is not None:
            (codes,) = codes_of([analysis])
        if codes is None or codes.marks is None or "[" in text or len(text) > 2 * _READ:
            words = self._read(unit)
            marks, size = mark_words([word for word in words if word not in STOP_WORDS]), len(words)
        else:  # an analysis has no stop words; between any two of them there is a blank
            marks, size = codes.marks, codes.words.shape[1] + len(text) // 2 + 1
        return marks, 2 * _most_slips(size + _most_slips(size))  # a copy is a little longer at most

    def _copied(self, unit: int, marks: int, near: Sequence[int]) -> int:
        """Return the unit that this one repeats, word by word if there is one, else itself."""
        words = self._read(unit)
        slack = _most_slips(len(words))
        close = []
        for other in near:
            size = len(self._read(other))
            most = 2 * _most_slips(max(len(words), size))
            if abs(size - len(words)) <= slack and (marks ^ self._marks[other]).bit_count() <= most:
                close.append(other)
        same = unit
        for other in (*close, unit):
            key = " ".join(self._read(other)) or self._pool[other].text.strip()
            same = self._exact.setdefault(key, other)
        if same != unit:
            return self._number[same]
        by_length = sorted(close, key=lambda other: len(self._read(other)))
        return next((other for other in by_length if says_the_same(words, self._read(other))), unit)

    def _read(self, unit: int) -> list[str]:
        """Return the unit's words, stop words included."""
        if unit not in self._words:
            text = self._pool[unit].text
            # Of a long unit its beginning and its end are read, and how long it is.
            told = text if len(text) <= 2 * _READ else f"{text[:_READ]} {text[-_READ:]} {len(text)}"
            self._words[unit] = all_words(_FOOTNOTE.sub(" ", told) if "[" in told else told)
        return self._words[unit]


def _most_slips(words: int) -> int:
    """Return in how many words a text of so many may differ from a copy."""
    return int(_SLIPS * words) + 1


def says_the_same(one: Sequence[str], other: Sequence[str]) -> bool:
    """Tell whether two texts, as words in order, differ in slips alone."""
    most = _most_slips(max(len(one), len(other)))
    if abs(len(one) - len(other)) > most:
        return False
    if len(one) < 4 or len(other) < 4:
        return list(one) == list(other)
    left, right = Counter(one), Counter(other)
    extra, missing = list((left - right).elements()), list((right - left).elements())
    if max(len(extra), len(missing)) > most:
        return False
    return all(_is_slip(word, missing) for word in extra) and all(_is_slip(word, extra) for word in missing)


def _is_slip(word: str, others: Sequence[str]) -> bool:
    """Tell whether a word that only one text has is no difference of meaning."""
    if word in _NEGATIONS or any(letter.isdigit() for letter in word):
        return False
    return word in STOP_WORDS or any(_one_slip_apart(word, other) for other in others)


def _one_slip_apart(one: str, other: str) -> bool:
    """Tell whether two words of four letters or more differ by one letter added, lost, changed or swapped."""
    if min(len(one), len(other)) < 4 or abs(len(one) - len(other)) > 1:
        return False
    if any(letter.isdigit() for letter in other):
        return False
    start = 0
    while start < min(len(one), len(other)) and one[start] == other[start]:
        start += 1
    end = 0
    while end < min(len(one), len(other)) - start and one[-1 - end] == other[-1 - end]:
        end += 1
    a, b = one[start : len(one) - end], other[start : len(other) - end]
    return (len(a) <= 1 and len(b) <= 1) or (len(a) == 2 and a == b[::-1])
