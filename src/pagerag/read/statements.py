"""The sentences of a unit as the rules for yes and no read them: their words, and what they deny.

English rules. Time is linear in the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from pagerag.models.blocks import block_starts
from pagerag.text import split_sentences
from pagerag.text.terms import term_of
from pagerag.text.tokens import all_words
from pagerag.units import Candidate

__all__ = [
    "DENIES",
    "LACKS",
    "NUMBER",
    "OPENING",
    "YEAR",
    "Statement",
    "StatingUnit",
    "read_unit",
    "statements",
    "stem",
    "telling_terms",
]

OPENING = frozenset(
    "is are was were am do does did has have had can could may might must shall should will would isn "
    "aren wasn weren don doesn didn hasn haven hadn won wouldn shouldn couldn".split()
)
_LIGHT = OPENING | frozenset(
    "a an the of in on at to for from by with and or as it its this that these those there here be been "
    "being i you we he she they my your our his her their us me them one any some all every each so "
    "such just really actually currently still ever already yet now then today default using use used "
    "via into about having doing done possible able allowed supposed get got if when please s t d ll re "
    "ve m".split()
)
"""Words of a question that a sentence that answers it need not hold."""
DENIES = frozenset("not no never cannot neither nor none nothing nobody nowhere unsupported cant".split())
LACKS = frozenset(
    "without only unlike removed deprecated obsolete dropped fail fails failed unable lack lacks "
    "lacking disabled impossible instead missing unavailable forbidden prohibited hardly rarely "
    "incompatible refuses refuse rejected stopped ceased abandoned limitation limitations undocumented "
    "false wrong incorrect unless except until former formerly previously longer rather".split()
)
"""Words with which a sentence takes back what it speaks of, in whole or in part."""
_BEHIND = {"without": "", "unlike": "", "except": "", "instead": "of", "rather": "than"}
"""Words that take back only what stands behind them, each with the word that must follow it."""
_LIMITS = frozenset(
    "unless until only instead rather longer previously formerly former limitation limitations "
    "undocumented".split()
)
"""Words of ``LACKS`` with which a sentence limits what it says, and denies nothing of it."""
_NEGATED_AUX = frozenset(
    "isn aren wasn weren don doesn didn hasn haven hadn won wouldn shouldn couldn can mustn needn ain".split()
)
_ALONE = frozenset("nothing nobody none nowhere unsupported".split())
"""Words that deny their whole clause."""
_PART = frozenset("all every always only just everyone everything necessarily".split())
"""Words that a "not" before them denies in part alone."""
_SKIPPED = frozenset("longer more yet also even position designed intended meant t".split())
"""Words between a negation and what it denies: "not in a position to", "not meant for"."""
_GENERAL = frozenset(
    "work works working support supports supported allow allows permit permits permitted offer offers "
    "include includes included exist exists implement implemented available enabled valid true case way "
    "such so there".split()
)
"""What is denied of anything with them: "zstd does not work", "there is no support for zstd"."""
_CONTRACTED = re.compile(r"n['\u2019]t\b", re.IGNORECASE)
_CLAUSE = re.compile(r"[,;:()\u2013\u2014] ?| (?:and|but|while|because|although|whereas|which|if|when) ")
_FIELD = re.compile(r"; ")
NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
YEAR = re.compile(r"(?<![\d.,])(?:1\d|20)\d\d(?![\d]|[.,]\d)")
_IRREGULAR = {
    "wrote": "write", "written": "write", "made": "make", "ran": "run", "sent": "send", "built": "build",
    "kept": "keep", "held": "hold", "came": "come", "took": "take", "taken": "take", "gave": "give",
    "given": "give", "found": "find", "began": "begin", "begun": "begin", "went": "go", "saw": "see",
    "seen": "see", "known": "know", "knew": "know", "chosen": "choose", "chose": "choose", "bought": "buy",
    "died": "die", "dead": "die", "death": "die", "paid": "pay", "lost": "lose", "met": "meet",
    "left": "leave",
    "thought": "think", "said": "say", "told": "tell", "became": "become", "got": "get", "led": "lead",
}  # fmt: skip
_VOWELS = frozenset("aeiouy")
_ENDINGS = ("ing", "ed", "ion", "er", "or", "ly", "e", "y", "i")


class Statement:
    """A sentence with the words in it."""

    def __init__(self, text: str, start: int, end: int) -> None:
        self.start, self.end, self.text = start, end, text[start:end]

    @cached_property
    def words(self) -> list[str]:
        """Its words, folded."""
        return all_words(self.text)

    @cached_property
    def terms(self) -> frozenset[str]:
        """Its words without their endings."""
        return frozenset(map(stem, self.words))

    @property
    def asks(self) -> bool:
        """Whether it is a question."""
        return self.text.rstrip(" \"')*_").endswith("?")

    def touches(self, asked: frozenset[str], words: frozenset[str], *, least: int = 1) -> bool:
        """Tell whether one of ``words`` stands in a clause with ``least`` of what is asked.

        A contracted "not" counts as a word that denies.
        """
        for clause in _CLAUSE.split(self.text):
            said = all_words(clause)
            bare = words is DENIES and _CONTRACTED.search(clause) is not None
            if (bare or not words.isdisjoint(said)) and len(asked.intersection(map(stem, said))) >= least:
                return True
        return False

    def denies(self, asked: frozenset[str], told: frozenset[str], *, least: int = 1) -> bool:
        """Tell whether a clause with ``least`` of ``told`` denies what is asked, not something beside it.

        "Extensions that predate async support do not expect async views" denies no support.
        """
        for clause in _CLAUSE.split(self.text):
            words = all_words(clause)
            if len(told.intersection(map(stem, words))) >= least and any(
                _negates(words, place) and _is_about(words, place, asked) for place in range(len(words))
            ):
                return True
        return False

    def lacks(self, asked: frozenset[str], open_: frozenset[str]) -> bool:
        """Tell whether the sentence says that something of what is asked is gone, missing or excluded.

        ``open_`` is what is asked and not in it: "only on Linux" is a no for Windows, not for Linux.
        """
        for clause in _CLAUSE.split(self.text):
            words = all_words(clause)
            terms = list(map(stem, words))
            for place, word in enumerate(words):
                if word not in LACKS or terms[place] in asked:
                    continue
                if word in _BEHIND and _BEHIND[word] in ("", *words[place + 1 : place + 2]):
                    if asked.intersection(terms[place + 1 :]).difference(terms[:place]):
                        return True
                elif (word not in _LIMITS and not asked.isdisjoint(terms)) or (
                    word == "only" and open_ and not asked.isdisjoint(terms)
                ):
                    return True
        return False

    def other_value(self, asked: frozenset[str], head: frozenset[str]) -> bool:
        """Tell whether the field that speaks of what is asked has another number, or another year."""
        numbers = {term for term in asked if term.isdigit()}
        if len(numbers) != 1:
            return False
        (number,) = numbers
        pattern = YEAR if YEAR.fullmatch(number) else NUMBER
        for field in _FIELD.split(self.text):
            terms = set(map(stem, all_words(field)))
            if number not in terms and not (asked - head - numbers).isdisjoint(terms):
                found = set(pattern.findall(field))
                if len(found) == 1:
                    return True
        return False

    def joined(self, asked: frozenset[str]) -> bool:
        """Tell whether each number that is asked for stands in a field with something else of it."""
        fields = [asked.intersection(map(stem, all_words(field))) for field in _FIELD.split(self.text)]
        if len(fields) == 1:
            return True
        numbers = (term for term in asked & self.terms if term.isdigit())
        return all(any(number in field and len(field) > 1 for field in fields) for number in numbers)


def _negates(words: list[str], place: int) -> bool:
    return words[place] in DENIES or (words[place] in _NEGATED_AUX and words[place + 1 : place + 2] == ["t"])


def _is_about(words: list[str], place: int, asked: frozenset[str]) -> bool:
    """Tell whether what a negation denies is asked: the word behind it that tells, of "no" a few."""
    behind = words[place + 1 :]
    if words[place] in _ALONE:
        return True
    if behind and behind[0] in _PART:
        return False
    passed = _LIGHT | _SKIPPED
    telling = [word for word in behind if word not in passed and not word.endswith("ly")]
    near = telling[: 3 if words[place] == "no" else 1]
    return not near or any(stem(word) in asked or word in _GENERAL for word in near)


@dataclass(frozen=True, slots=True)
class StatingUnit:
    """A unit by its sentences."""

    place: int
    head: frozenset[str]
    """Terms of its title and its headings."""
    weakened: bool
    """Its headings take back what stands below them ("Missing features")."""
    sentences: list[Statement]


def read_unit(place: int, unit: Candidate) -> StatingUnit:
    """Read the unit at a place of the context."""
    heads = [word for name in (unit.title or "", *unit.sections) for word in all_words(name[:300])]
    weakened = not (LACKS | DENIES).isdisjoint(heads)
    return StatingUnit(place, frozenset(map(stem, heads)), weakened, list(statements(unit.text)))


def statements(text: str) -> Iterator[Statement]:
    """Yield the sentences of a text; none goes on over the end of a block."""
    cuts = iter([*block_starts(text), len(text) + 1])
    cut = next(cuts)
    for start, end in split_sentences(text):
        while cut <= start:
            cut = next(cuts)
        low = start
        while cut < end:
            piece = text[low:cut].rstrip()
            if piece.strip():
                yield Statement(text, low, low + len(piece))
            low, cut = cut, next(cuts)
        while low < end and text[low].isspace():
            low += 1
        if low < end:
            yield Statement(text, low, end)


def telling_terms(text: str) -> frozenset[str]:
    """Return the words of a text without their endings, and without those that tell nothing."""
    return frozenset(stem(word) for word in all_words(text) if word not in _LIGHT)


def stem(word: str) -> str:
    """Return a word without its ending, so that "supports", "supported" and "support" are one."""
    if not word.isalpha() or len(word) < 4 or _VOWELS.isdisjoint(word[:-1]):  # HTTPS is not HTTP
        return word
    plain = _IRREGULAR.get(word) or term_of(word) or word
    for _ in range(2):  # "registered" has an ending more than "register"
        for ending in _ENDINGS:
            if plain.endswith(ending) and len(plain) - len(ending) >= 3:
                plain = plain[: -len(ending)]
                break
    return plain[:-1] if len(plain) > 2 and plain[-1] == plain[-2] else plain
