"""Yes or no: what sentences of the context say to a question that wants one of the two.

A network of this size hardly tells yes from no over documents, so its word needs a reason that can be shown:
a sentence that says what is asked, denies it, or says something else in its place. English rules; where they
find nothing, nothing is decided. Time is linear in the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from pagerag.read.citations import locate
from pagerag.read.compose import Composed
from pagerag.read.statements import (
    DENIES,
    LACKS,
    OPENING,
    YEAR,
    Statement,
    StatingUnit,
    read_unit,
    statements,
    stem,
    telling_terms,
)
from pagerag.text.lexicon import COMPARATIVES, QUESTION_WORDS
from pagerag.text.tokens import all_words
from pagerag.units import Candidate, Citation

__all__ = ["Reason", "asks_yes_no", "borne_out", "compares", "said_outright"]

_HEDGES = frozenset(
    "if may might could would should future planned plan plans wish todo whether hope hopefully maybe "
    "perhaps bug discuss discussed consider considered propose proposed proposal request requested "
    "question".split()
)
"""Words of a sentence that speaks of what may be, and need not say that it is."""
_NEGATED_QUESTION = re.compile(r"\b(?:not|never|without|no)\b|n['\u2019]t\b", re.IGNORECASE)
_PLAIN = re.compile(r"(?:yes|yep|yeah|no|nope)\b(?![ -](?:one|matter|longer|more))", re.IGNORECASE)
_ASKED_CLAUSE = re.compile(r"[:;,.?!] ")
_COMPARES = COMPARATIVES - {"first", "last", "most", "later", "recently"} | {
    "than",
    "shared",
    "neither",
    "above",
    "below",
}
_THAN = re.compile(
    r"^(?P<one>.+?) (?:(?:more|less|fewer) (?P<more>[^\W_]+)|(?P<er>[^\W_]{2,}er|worse|more|less))\b.{0,80}? "
    r"than (?P<other>.+)",
    re.IGNORECASE | re.DOTALL,
)
_MEASURED = frozenset(
    "older younger taller higher lower longer shorter larger bigger smaller heavier lighter earlier later "
    "more less fewer wider deeper newer greater hotter colder warmer cheaper members people".split()
)
"""What numbers tell of two things."""
_TWO = re.compile(r"(?<![^\s,])[A-Z0-9][^\s,]*+,? and [A-Z0-9]")
_AS = re.compile(r"\bas \w{1,20} as\b")
_TIMED = re.compile(r"\b(?:before|after) (?:the )?(?:[a-z]+ ){0,2}[\"\u201cA-Z]")
_RELATIVE = re.compile(r"\b(?:before|after|since|until|till|between|from|by)\b(?= (?:the )?(?:year )?\d)")
_SINCE = re.compile(r"\b(?:since|from|after|begin\w{0,6}|began|start\w{0,4})\b", re.IGNORECASE)
_UNTIL = re.compile(
    r"\b(?:until|till|before|by|to|up to)\b(?= (?:the )?(?:[A-Z][a-z]{2,8} )?\d)", re.IGNORECASE
)
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


def asks_yes_no(question: str) -> bool:
    """Tell whether a question wants yes or no: it, or a clause of it, opens with a verb that asks so."""
    clauses = [all_words(clause) for clause in _ASKED_CLAUSE.split(question[:LONGEST_QUESTION])]
    opened = [words[0] for words in clauses if words]
    return not QUESTION_WORDS.intersection(opened) and not OPENING.isdisjoint(opened)


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
    units = [read_unit(place, unit) for place, unit in enumerate(context)]
    answered = [reason for unit in units for reason in _answered(asked, unit, context[unit.place])]
    if answered:
        return answered[0] if len({reason.said for reason in answered}) == 1 else None
    found = sorted(_stated(asked, units), key=lambda pair: pair[0])
    return found[0][1] if found and len({reason and reason.said for _, reason in found}) == 1 else None


def _asked(question: str) -> frozenset[str] | None:
    """Return the terms of a question; None where it denies something itself, or says too little."""
    if len(question) > LONGEST_QUESTION or _NEGATED_QUESTION.search(question):
        return None
    terms = telling_terms(question)
    return terms if len(terms) > 1 else None


def _answered(asked: frozenset[str], unit: StatingUnit, given: Candidate) -> Iterator[Reason]:
    """Yield each "Yes" and "No" that stands right behind the question's own words."""
    heading = given.sections[-1][:300] if given.sections else given.title or ""
    before, start = Statement(heading, 0, len(heading)), -1
    for sentence in unit.sentences:
        if before.asks and (said := _PLAIN.match(sentence.text)):
            repeated = frozenset(term for term in telling_terms(before.text) if not term.isdigit())
            if asked <= repeated | unit.head and len(repeated - asked - unit.head) <= len(asked) // 4:
                yes = said[0].lower().startswith("y")
                low = sentence.start if start < 0 else start
                yield Reason("yes" if yes else "no", unit.place, low, sentence.end)
        if len(sentence.words) > 1 or not sentence.words[:1] or not sentence.words[0].isdigit():
            before, start = sentence, sentence.start


def _stated(
    asked: frozenset[str], units: Sequence[StatingUnit]
) -> Iterator[tuple[tuple[int, int], Reason | None]]:
    """Yield each sentence that says what is asked or denies it, with its rank: what holds most is first.

    None is for one that holds it all and denies something beside it: it may mean either.
    """
    hedges, lacks = (frozenset(w for w in words if stem(w) not in asked) for words in (_HEDGES, LACKS))
    for unit in units:
        for sentence in unit.sentences:
            if sentence.asks or len(sentence.words) > _LONGEST_SENTENCE:
                continue
            held = asked & sentence.terms
            open_ = asked - held - unit.head
            rank = -len(held - unit.head), len(sentence.words)
            said: Literal["yes", "no"] | None = None
            if 2 * len(held) >= len(asked) and not open_:
                half = (len(held) + 1) // 2
                if sentence.touches(held, DENIES):
                    if sentence.denies(asked, held, least=half):
                        said = "no"
                    elif sentence.touches(held, DENIES, least=half):
                        yield rank, None
                elif sentence.joined(asked) and not unit.weakened and hedges.isdisjoint(sentence.words):
                    said = None if sentence.touches(held, lacks) else "yes"
            elif len(held) > 1 and all(map(str.isdigit, open_)) and sentence.other_value(asked, unit.head):
                said = "no"
            if said is not None:
                yield rank, Reason(said, unit.place, sentence.start, sentence.end)


def borne_out(found: Composed, question: str, context: Sequence[Candidate]) -> Composed:
    """Return a network's answer as sure as its sentences let it be; a yes or no with those that it rests on.

    What compares things is left to the network where the sentences tell of both, and so is what it says by
    ``MARGIN``; else one of the cited sentences must bear it out. None may bear out the opposite as well.
    """
    if found.kind not in ("yes", "no"):
        wrong = _contradicts_year(found, question, context)
        cited = tuple(
            one if one.start is not None else _titled(one, question, context) for one in found.citations
        )
        return replace(found, citations=cited, ceiling=UNREASONED if wrong else 1.0)
    places = [citation.number - 1 for citation in found.citations]
    reason, opposed = weighed("yes" if found.kind == "yes" else "no", question, context, places)
    resting = [_supporting(question, context, place) for place in places]
    if reason is not None:
        resting = [reason.cited(context), *(one for one in resting if one.number != reason.unit + 1)]
    if compares(question):
        # What compares is seldom said by one sentence; where one says all of it, it counts.
        whole = opposed == len(_asked(question) or "")
        given = tells_of_both(question, [context[place] for place in places]) and not whole
    else:
        given = not opposed and (reason is not None or found.margin >= MARGIN)
    return replace(found, citations=tuple(resting), ceiling=1.0 if given else UNREASONED)


def weighed(
    said: Literal["yes", "no"], question: str, context: Sequence[Candidate], places: Sequence[int]
) -> tuple[Reason | None, int]:
    """Return the sentence of the units at ``places`` that bears out a yes or no; how much opposes it.

    A sentence bears out what it shares two of the question's words with at least: for a yes three of four,
    with its headings, and it takes nothing back; for a no half of those that its headings have not, and it
    denies them, lacks them, or has another value. What has as many words and says the opposite opposes it
    (a yes without the help of headings); the number of these words is told.
    """
    asked = _asked(question) or frozenset[str]()
    best: tuple[tuple[int, int], Reason] | None = None
    against = (0, 0)
    for place in places if asked else ():
        unit = read_unit(place, context[place])
        for sentence in unit.sentences:
            held = asked & sentence.terms
            if sentence.asks or len(held) < 2:
                continue
            covered, own = len(held | (unit.head & asked)), asked - unit.head or asked
            told = held & own
            half = 2 * len(told) >= len(own) and len(told) >= min(2, len(own))
            gone = sentence.denies(asked, held) or sentence.lacks(held, own - held)
            no = half and (
                sentence.denies(asked, told)
                or sentence.lacks(told, own - held)
                or sentence.other_value(asked, unit.head)
            )
            plain = not (gone or no or sentence.touches(held, DENIES) or sentence.touches(held, LACKS))
            rank = covered, len(held)
            if no if said == "no" else plain and 4 * covered >= 3 * len(asked):
                if best is None or rank > best[0]:
                    best = rank, Reason(said, place, sentence.start, sentence.end)
            elif (4 * len(held) >= 3 * len(asked) and not gone) if said == "no" else no:
                against = max(against, rank)
    weightier = best is None or against >= best[0]
    return (None if best is None else best[1]), against[0] if weightier else 0


def tells_of_both(question: str, cited: Sequence[Candidate]) -> bool:
    """Tell whether units speak of both things of "is A faster than B?", and of how fast.

    Of what compares in other words it is not asked.
    """
    found = _THAN.search(question[:LONGEST_QUESTION])
    if found is None:
        return True
    said = [telling_terms(f"{unit.title or ''} {unit.text}") for unit in cited]
    by = found["more"] or found["er"]
    quality = stem(by.lower())
    sides = [telling_terms(found[name]) - {quality} for name in ("one", "other")]
    about = [[terms for terms in said if side and 2 * len(side & terms) >= len(side)] for side in sides]
    if not all(about):
        return False
    if any(quality in terms for terms in said):
        return True
    measured = by.lower() in _MEASURED
    return measured and all(any(any(map(str.isdigit, " ".join(terms))) for terms in side) for side in about)


def _contradicts_year(found: Composed, question: str, context: Sequence[Candidate]) -> bool:
    """Tell whether an answer's sentence says all that is asked of another year than the question's.

    Not where it says only a part (another sentence may hold the year: "the 1994 film's director"), where a
    neighbour or a heading has the year, or where it speaks of a time that may hold it ("since 1990").
    """
    years = set(YEAR.findall(question[:LONGEST_QUESTION]))
    if found.kind != "span" or len(years) != 1 or _RELATIVE.search(question[:LONGEST_QUESTION]):
        return False
    (year,) = years
    asked = frozenset(telling_terms(question[:LONGEST_QUESTION]) - years - _QUESTION_TERMS)
    return bool(found.citations) and all(
        _of_another_year(year, asked, context[one.number - 1], one) for one in found.citations
    )


def _of_another_year(year: str, asked: frozenset[str], given: Candidate, cited: Citation) -> bool:
    if cited.start is None or cited.end is None:
        return False
    unit = read_unit(0, given)
    at = [n for n, one in enumerate(unit.sentences) if one.start < cited.end and one.end > cited.start]
    if not at or year in unit.head:
        return False
    said = " ".join(one.text for one in unit.sentences[at[0] : at[-1] + 1])
    near = " ".join(one.text for one in unit.sentences[max(0, at[0] - 1) : at[-1] + 2])
    told = sorted(YEAR.findall(said))
    if not told or year in YEAR.findall(near) or not asked <= unit.head | telling_terms(said):
        return False
    holds = told[0] < year < told[-1]
    since, until = told[-1] < year and _SINCE.search(said), told[0] > year and _UNTIL.search(said)
    return not (holds or since or until)


def _supporting(question: str, context: Sequence[Candidate], place: int) -> Citation:
    """Return the sentence of a unit that shares most with the question, as a citation."""
    asked, unit = telling_terms(question[:LONGEST_QUESTION]), context[place]
    telling = [one for one in statements(unit.text) if not one.asks]
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
    own = telling_terms(question[:LONGEST_QUESTION]) - _QUESTION_TERMS - read_unit(place, unit).head
    if said.quote and own and 2 * len(own & telling_terms(said.quote)) >= len(own):
        return said
    units = [n for n, one in enumerate(context) if one.title == unit.title and one.document == unit.document]
    for n in (place, *units):
        for found in locate(cited.quote or "", context[n : n + 1]):
            return replace(found, number=n + 1)
    first = min(units, key=lambda n: (context[n].position or 0, n))
    return Citation(first + 1, context[first].id, 0, 0, "")


_QUESTION_TERMS = frozenset(map(stem, QUESTION_WORDS))
