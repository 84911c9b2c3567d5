"""Yes or no: what sentences of the context say to a question that wants one of the two.

A network of this size hardly tells yes from no over documents, so its word needs a reason that can be shown:
a sentence that says what is asked, denies it, or says something else in its place. English rules; where they
find nothing, nothing is decided. Time is linear in the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

from pagerag.models.blocks import block_starts
from pagerag.read.citations import locate
from pagerag.read.compose import Composed
from pagerag.text import split_sentences
from pagerag.text.lexicon import COMPARATIVES, QUESTION_WORDS
from pagerag.text.terms import term_of
from pagerag.text.tokens import all_words
from pagerag.units import Candidate, Citation

__all__ = ["Reason", "asks_yes_no", "borne_out", "compares", "said_outright"]

_OPENING = frozenset(
    "is are was were am do does did has have had can could may might must shall should will would isn "
    "aren wasn weren don doesn didn hasn haven hadn won wouldn shouldn couldn".split()
)
_LIGHT = _OPENING | frozenset(
    "a an the of in on at to for from by with and or as it its this that these those there here be been "
    "being i you we he she they my your our his her their us me them one any some all every each so "
    "such just really actually currently still ever already yet now then today default using use used "
    "via into about having doing done possible able allowed supposed get got if when please s t d ll re "
    "ve m".split()
)
"""Words of a question that a sentence that answers it need not hold."""
_DENIES = frozenset("not no never cannot neither nor none nothing nobody nowhere unsupported cant".split())
_LACKS = frozenset(
    "without only unlike removed deprecated obsolete dropped fail fails failed unable lack lacks "
    "lacking disabled impossible instead missing unavailable forbidden prohibited hardly rarely "
    "incompatible refuses refuse rejected stopped ceased abandoned limitation limitations undocumented "
    "false wrong incorrect unless except until former formerly previously longer rather".split()
)
"""Words with which a sentence takes back what it speaks of, in whole or in part."""
_HEDGES = frozenset(
    "if may might could would should future planned plan plans wish todo whether hope hopefully maybe "
    "perhaps bug discuss discussed consider considered propose proposed proposal request requested "
    "question".split()
)
"""Words of a sentence that speaks of what may be, and need not say that it is."""
_CONTRACTED = re.compile(r"n['\u2019]t\b", re.IGNORECASE)
_NEGATED_QUESTION = re.compile(r"\b(?:not|never|without|no)\b|n['\u2019]t\b", re.IGNORECASE)
_PLAIN = re.compile(r"(?:yes|yep|yeah|no|nope)\b(?![ -](?:one|matter|longer|more))", re.IGNORECASE)
_ASKED_CLAUSE = re.compile(r"[:;,.?!] ")
_CLAUSE = re.compile(r"[,;:()\u2013\u2014] ?| (?:and|but|while|because|although|whereas|which|if|when) ")
_FIELD = re.compile(r"; ")
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_YEAR = re.compile(r"(?<![\d.,])(?:1\d|20)\d\d(?![\d]|[.,]\d)")
_COMPARES = COMPARATIVES - {"first", "last", "most", "later", "recently"} | {
    "than",
    "shared",
    "neither",
    "above",
    "below",
}
_TWO = re.compile(r"(?<![^\s,])[A-Z0-9][^\s,]*+,? and [A-Z0-9]")
_AS = re.compile(r"\bas \w{1,20} as\b")
_TIMED = re.compile(r"\b(?:before|after) (?:the )?(?:[a-z]+ ){0,2}[\"\u201cA-Z]")
_RELATIVE = re.compile(r"\b(?:before|after|since|until|till|between|from|by)\b(?= (?:the )?(?:year )?\d)")
_SINCE = re.compile(r"\b(?:since|from|after|begin\w{0,6}|began|start\w{0,4})\b", re.IGNORECASE)
_UNTIL = re.compile(
    r"\b(?:until|till|before|by|to|up to)\b(?= (?:the )?(?:[A-Z][a-z]{2,8} )?\d)", re.IGNORECASE
)
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
_LONGEST_SENTENCE = 60
"""Words of a sentence that decides; a longer one may hold a question's words by chance."""
_HEADING = 3
"""Words of a heading; among sentences that share as much with the question a longer one is shown."""
LONGEST_QUESTION = 400
MARGIN = 2.4
"""By which log-odds a network's yes or no counts without a sentence that bears it out.

Of 101 made questions over documents whose sentence says no, and of 130 whose sentence says yes, it takes none
for the other by so much.
"""
UNREASONED = 0.3
"""The confidence that such an answer has at most otherwise."""


@dataclass(frozen=True, slots=True)
class Reason:
    """What says yes or no: characters of a unit of the context."""

    said: Literal["yes", "no"]
    unit: int
    start: int
    end: int

    def cited(self, context: Sequence[Candidate]) -> Citation:
        """Return the sentence as a citation."""
        one = context[self.unit]
        return Citation(self.unit + 1, one.id, self.start, self.end, one.text[self.start : self.end])


class _Sentence:
    """A sentence with the words in it."""

    def __init__(self, text: str, start: int, end: int) -> None:
        self.start, self.end, self.text = start, end, text[start:end]

    @cached_property
    def words(self) -> list[str]:
        return all_words(self.text)

    @cached_property
    def terms(self) -> frozenset[str]:
        return frozenset(map(_stem, self.words))

    @property
    def asks(self) -> bool:
        return self.text.rstrip(" \"')*_").endswith("?")

    def speaks(self, asked: frozenset[str], words: frozenset[str], *, least: int = 1) -> bool:
        """Tell whether one of ``words`` stands in a clause with ``least`` of what is asked.

        A contracted "not" counts as a word that denies.
        """
        for clause in _CLAUSE.split(self.text):
            said = all_words(clause)
            bare = words is _DENIES and _CONTRACTED.search(clause) is not None
            marked = bare or not words.isdisjoint(said)
            if marked and len(asked.intersection(map(_stem, said))) >= least:
                return True
        return False

    def denies(self, asked: frozenset[str], *, least: int = 1) -> bool:
        """Tell whether the sentence denies ``least`` of what is asked."""
        return self.speaks(asked, _DENIES, least=least)

    def other_value(self, asked: frozenset[str], head: frozenset[str]) -> bool:
        """Tell whether the field that speaks of what is asked has another number, or another year."""
        numbers = {term for term in asked if term.isdigit()}
        if len(numbers) != 1:
            return False
        (number,) = numbers
        pattern = _YEAR if _YEAR.fullmatch(number) else _NUMBER
        for field in _FIELD.split(self.text):
            terms = set(map(_stem, all_words(field)))
            if number not in terms and not (asked - head - numbers).isdisjoint(terms):
                found = set(pattern.findall(field))
                if len(found) == 1:
                    return True
        return False

    def joined(self, asked: frozenset[str]) -> bool:
        """Tell whether each number that is asked for stands in a field with something else of it."""
        fields = [asked.intersection(map(_stem, all_words(field))) for field in _FIELD.split(self.text)]
        if len(fields) == 1:
            return True
        numbers = (term for term in asked & self.terms if term.isdigit())
        return all(any(number in field and len(field) > 1 for field in fields) for number in numbers)


@dataclass(frozen=True, slots=True)
class _Unit:
    place: int
    head: frozenset[str]
    """Terms of its title and its headings."""
    weakened: bool
    """Its headings take back what stands below them ("Missing features")."""
    sentences: list[_Sentence]


def asks_yes_no(question: str) -> bool:
    """Tell whether a question wants yes or no: it, or a clause of it, opens with a verb that asks so."""
    clauses = [all_words(clause) for clause in _ASKED_CLAUSE.split(question[:LONGEST_QUESTION])]
    opened = [words[0] for words in clauses if words]
    return not QUESTION_WORDS.intersection(opened) and not _OPENING.isdisjoint(opened)


def compares(question: str) -> bool:
    """Tell whether a question weighs things against each other, which no sentence alone tells."""
    asked = question[:LONGEST_QUESTION]
    if not _COMPARES.isdisjoint(all_words(asked)) or _TIMED.search(asked) is not None:
        return True
    return _TWO.search(asked) is not None or _AS.search(asked) is not None


def said_outright(question: str, context: Sequence[Candidate]) -> Reason | None:
    """Return what the context itself says to a question that wants yes or no; None where it is unclear.

    The question's own words with "Yes" or "No" after them (an FAQ) decide; then a sentence that holds them
    all and denies nothing, denies it, or has another number in the place of the one that is asked.
    """
    asked = _asked(question)
    if asked is None or not asks_yes_no(question) or compares(question):
        return None
    units = [_read(place, unit) for place, unit in enumerate(context)]
    answered = [reason for unit in units for reason in _answered(asked, unit, context[unit.place])]
    found = answered or [reason for _, reason in sorted(_stated(asked, units), key=lambda pair: pair[0])]
    return found[0] if len({reason.said for reason in found}) == 1 else None


def _asked(question: str) -> frozenset[str] | None:
    """Return the terms of a question; None where it denies something itself, or says too little."""
    if len(question) > LONGEST_QUESTION or _NEGATED_QUESTION.search(question):
        return None
    terms = _terms(question)
    return terms if len(terms) > 1 else None


def _read(place: int, unit: Candidate) -> _Unit:
    heads = [word for name in (unit.title or "", *unit.sections) for word in all_words(name[:300])]
    weakened = not (_LACKS | _DENIES).isdisjoint(heads)
    return _Unit(place, frozenset(map(_stem, heads)), weakened, list(_sentences(unit.text)))


def _sentences(text: str) -> Iterator[_Sentence]:
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
                yield _Sentence(text, low, low + len(piece))
            low, cut = cut, next(cuts)
        while low < end and text[low].isspace():
            low += 1
        if low < end:
            yield _Sentence(text, low, end)


def _answered(asked: frozenset[str], unit: _Unit, given: Candidate) -> Iterator[Reason]:
    """Yield each "Yes" and "No" that stands right behind the question's own words."""
    heading = given.sections[-1][:300] if given.sections else given.title or ""
    before, start = _Sentence(heading, 0, len(heading)), -1
    for sentence in unit.sentences:
        if before.asks and (said := _PLAIN.match(sentence.text)):
            repeated = frozenset(term for term in _terms(before.text) if not term.isdigit())
            if asked <= repeated | unit.head and len(repeated - asked - unit.head) <= len(asked) // 4:
                yes = said[0].lower().startswith("y")
                low = sentence.start if start < 0 else start
                yield Reason("yes" if yes else "no", unit.place, low, sentence.end)
        if len(sentence.words) > 1 or not sentence.words[:1] or not sentence.words[0].isdigit():
            before, start = sentence, sentence.start


def _stated(asked: frozenset[str], units: Sequence[_Unit]) -> Iterator[tuple[tuple[int, int], Reason]]:
    """Yield each sentence that says what is asked or denies it, with its rank: what holds most is first."""
    hedges, lacks = (frozenset(w for w in words if _stem(w) not in asked) for words in (_HEDGES, _LACKS))
    for unit in units:
        for sentence in unit.sentences:
            if sentence.asks or len(sentence.words) > _LONGEST_SENTENCE:
                continue
            held = asked & sentence.terms
            open_ = asked - held - unit.head
            said: Literal["yes", "no"] | None = None
            if 2 * len(held) >= len(asked) and not open_:
                if sentence.denies(held):
                    said = "no" if sentence.denies(held, least=(len(held) + 1) // 2) else None
                elif sentence.joined(asked) and not unit.weakened and hedges.isdisjoint(sentence.words):
                    said = None if sentence.speaks(held, lacks) else "yes"
            elif len(held) > 1 and all(map(str.isdigit, open_)) and sentence.other_value(asked, unit.head):
                said = "no"
            if said is not None:
                rank = -len(held - unit.head), len(sentence.words)
                yield rank, Reason(said, unit.place, sentence.start, sentence.end)


def borne_out(found: Composed, question: str, context: Sequence[Candidate]) -> Composed:
    """Return a network's answer as sure as its sentences let it be; a yes or no with those that it rests on.

    What compares things is left to the network, and so is what it says by ``MARGIN``; else one of the cited
    sentences must bear it out.
    """
    if found.kind not in ("yes", "no"):
        wrong = _contradicts_year(found, question, context)
        cited = tuple(
            one if one.start is not None else _titled(one, question, context) for one in found.citations
        )
        return replace(found, citations=cited, ceiling=UNREASONED if wrong else 1.0)
    places = [citation.number - 1 for citation in found.citations]
    reason = reason_for("yes" if found.kind == "yes" else "no", question, context, places)
    resting = [_supporting(question, context, place) for place in places]
    if reason is not None:
        resting = [reason.cited(context), *(one for one in resting if one.number != reason.unit + 1)]
    given = reason is not None or found.margin >= MARGIN or compares(question)
    return replace(found, citations=tuple(resting), ceiling=1.0 if given else UNREASONED)


def reason_for(
    said: Literal["yes", "no"], question: str, context: Sequence[Candidate], places: Sequence[int]
) -> Reason | None:
    """Return the sentence of the units at ``places`` that bears out a network's yes or no, if one does.

    It shares two of the question's words at least. For a yes it has three of four, with its headings; for a
    no, half of those that its headings have not.
    """
    asked = _asked(question) or frozenset[str]()
    best: tuple[tuple[int, int], Reason] | None = None
    for place in places if asked else ():
        unit = _read(place, context[place])
        for sentence in unit.sentences:
            held = asked & sentence.terms
            covered, own = len(held | (unit.head & asked)), asked - unit.head or asked
            told = held & own
            denied = 2 * len(told) >= len(own) and len(told) >= min(2, len(own))
            enough = 4 * covered >= 3 * len(asked) if said == "yes" else denied
            if sentence.asks or len(held) < 2 or not enough:
                continue
            about = told if said == "no" else held
            takes_back = sentence.denies(about) or sentence.speaks(about, _LACKS)
            other = said == "no" and sentence.other_value(asked, unit.head)
            rank = covered, len(held)
            if (takes_back or other) == (said == "no") and (best is None or rank > best[0]):
                best = rank, Reason(said, place, sentence.start, sentence.end)
    return None if best is None else best[1]


def _contradicts_year(found: Composed, question: str, context: Sequence[Candidate]) -> bool:
    """Tell whether an answer's sentence says all that is asked of another year than the question's.

    Not where it says only a part (another sentence may hold the year: "the 1994 film's director"), where a
    neighbour or a heading has the year, or where it speaks of a time that may hold it ("since 1990").
    """
    years = set(_YEAR.findall(question[:LONGEST_QUESTION]))
    if found.kind != "span" or len(years) != 1 or _RELATIVE.search(question[:LONGEST_QUESTION]):
        return False
    (year,) = years
    asked = frozenset(_terms(question[:LONGEST_QUESTION]) - years - _QUESTION_TERMS)
    return bool(found.citations) and all(
        _of_another_year(year, asked, context[one.number - 1], one) for one in found.citations
    )


def _of_another_year(year: str, asked: frozenset[str], given: Candidate, cited: Citation) -> bool:
    if cited.start is None or cited.end is None:
        return False
    unit = _read(0, given)
    at = [n for n, one in enumerate(unit.sentences) if one.start < cited.end and one.end > cited.start]
    if not at or year in unit.head:
        return False
    said = " ".join(one.text for one in unit.sentences[at[0] : at[-1] + 1])
    near = " ".join(one.text for one in unit.sentences[max(0, at[0] - 1) : at[-1] + 2])
    told = sorted(_YEAR.findall(said))
    if not told or year in _YEAR.findall(near) or not asked <= unit.head | _terms(said):
        return False
    holds = told[0] < year < told[-1]
    since, until = told[-1] < year and _SINCE.search(said), told[0] > year and _UNTIL.search(said)
    return not (holds or since or until)


def _supporting(question: str, context: Sequence[Candidate], place: int) -> Citation:
    """Return the sentence of a unit that shares most with the question, as a citation."""
    asked, unit = _terms(question[:LONGEST_QUESTION]), context[place]
    telling = [one for one in _sentences(unit.text) if not one.asks]
    if not telling:
        return Citation(place + 1, unit.id)
    best = max(telling, key=lambda one: (len(asked & one.terms), len(one.words) > _HEADING))
    return Citation(place + 1, unit.id, best.start, best.end, best.text)


def _titled(cited: Citation, question: str, context: Sequence[Candidate]) -> Citation:
    """Return the citation of an answer that stands in a title, at a place that has to do with it.

    That is the sentence that says what is asked, if the unit has one ("Written by Ada Lovelace" under the
    title "tee"); else where a unit of the document repeats the answer; else its first unit, and no words.
    """
    place = cited.number - 1
    unit = context[place]
    said = _supporting(question, context, place)
    own = _terms(question[:LONGEST_QUESTION]) - _QUESTION_TERMS - _read(place, unit).head
    if said.quote and own and 2 * len(own & _terms(said.quote)) >= len(own):
        return said
    units = [n for n, one in enumerate(context) if one.title == unit.title and one.document == unit.document]
    for n in (place, *units):
        for found in locate(cited.quote or "", context[n : n + 1]):
            return replace(found, number=n + 1)
    first = min(units, key=lambda n: (context[n].position or 0, n))
    return Citation(first + 1, context[first].id, 0, 0, "")


def _terms(text: str) -> frozenset[str]:
    return frozenset(_stem(word) for word in all_words(text) if word not in _LIGHT)


def _stem(word: str) -> str:
    """Return a word without its ending, so that "supports", "supported" and "support" are one."""
    if not word.isalpha() or len(word) < 4 or _VOWELS.isdisjoint(word[:-1]):  # HTTPS is not HTTP
        return word
    plain = _IRREGULAR.get(word) or term_of(word) or word
    for ending in _ENDINGS:
        if plain.endswith(ending) and len(plain) - len(ending) >= 3:
            plain = plain[: -len(ending)]
            break
    return plain[:-1] if len(plain) > 2 and plain[-1] == plain[-2] else plain


_QUESTION_TERMS = frozenset(map(_stem, QUESTION_WORDS))
