"""Which of two was first: a question that compares dates is answered by reading the dates.

A span model points at words; it cannot tell 1921 from 1912. "Who was born earlier, A or B?" is decided here
from the units of A and of B ("Which film has the director who died later, A or B?" from the units of their
directors), by rules made for English. Where a date is missing or both are the same, nothing is decided and
the model's own answer stands.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from pagerag.text.entities import name_key
from pagerag.text.gazetteer import title_entities
from pagerag.units import Candidate

__all__ = ["Comparison", "compare", "dates"]

Date = tuple[int, int, int]
"""Year, month, day; 0 where the text does not tell."""

_MONTHS = [
    "january", "february", "march", "april", "may", "june",
    "july", "august", "september", "october", "november", "december",
]  # fmt: skip
_MONTH = "|".join(_MONTHS)
_DATE = re.compile(
    rf"(?P<d1>\d{{1,2}})(?:st|nd|rd|th)?(?: of)? (?P<m1>{_MONTH}),? (?P<y1>\d{{3,4}})"
    rf"|(?P<m2>{_MONTH}) (?P<d2>\d{{1,2}})(?:st|nd|rd|th)?,? (?P<y2>\d{{3,4}})"
    rf"|(?P<m3>{_MONTH}),? (?P<y3>\d{{4}})"
    r"|\b(?P<y4>1\d{3}|20\d{2})(?!\d)",
    re.IGNORECASE,
)
_EARLY = {"earlier", "first", "older", "sooner", "oldest", "earliest"}
_LATE = {"later", "last", "younger", "more recently", "most recently", "newer", "youngest", "latest"}
_WORDS = "|".join(sorted(_EARLY | _LATE | {"longer"}, key=len, reverse=True))
_ASKS = re.compile(
    rf"^(?P<head>.*?\b(?P<how>{_WORDS})\b(?: than the other)?)[,:]?\s+(?P<options>.+?\s+or\s+.+?)\s*\??\s*$",
    re.IGNORECASE,
)
_OR = re.compile(r" or ")
_LONGEST_QUESTION = 400  # characters; the pattern above takes time cubic in them
_MOST_SPLITS = 8
_PROPERTIES = (
    ("life", re.compile(r"\b(?:lived|lives|life)\b")),
    ("birth", re.compile(r"\b(?:born|birth|older|younger|oldest|youngest)\b")),
    ("death", re.compile(r"\b(?:died|die|death|dead)\b")),
    (
        "start",
        re.compile(
            r"\b(?:released?|came out|come out|published|founded|established|started|formed|opened|created"
            r"|built|launched|premiered|aired|debuted|began|begun|invented|completed)\b"
        ),
    ),
)
_ROLES = {
    "director": re.compile(r"directed(?: and [\w-]{1,30}){0,3} by |director |filmmaker ", re.IGNORECASE),
    "performer": re.compile(
        r"(?:performed|recorded|sung|written and recorded) by |by |singer |band ", re.IGNORECASE
    ),
    "composer": re.compile(r"(?:composed|written|music) by |composer ", re.IGNORECASE),
    "author": re.compile(r"(?:written|authored) by |by |novelist |author ", re.IGNORECASE),
}
_BEGUN = re.compile(
    r"\b(?:founded|established|started|formed|opened|created|launched|published|released|premiered|built|began)\b",
    re.IGNORECASE,
)
_BRACKET = re.compile(r"\(([^()]{3,160})\)")
_END_BRACKET = re.compile(r"(?<!\s)\s*+\([^()]*+\)$")
_DASH = re.compile(r"[-\u2013\u2014]")


@dataclass(frozen=True, slots=True)
class Comparison:
    """The option that the dates decide for, and the units that they stand in, the option's own first."""

    option: str
    units: tuple[int, ...]


def compare(question: str, context: Sequence[Candidate]) -> Comparison | None:
    """Return what the dates in ``context`` decide for a question that compares two; None for nothing."""
    asked = " ".join(question.split())
    asks = _ASKS.match(asked) if len(asked) <= _LONGEST_QUESTION else None
    if asks is None:
        return None
    head, how = asks["head"].lower(), asks["how"].lower()
    wanted = next((name for name, pattern in _PROPERTIES if pattern.search(head)), None)
    if wanted is None or (how == "longer") != (wanted == "life"):
        return None
    role = next((role for role in _ROLES if re.search(rf"\b{role}s?\b", head)), None)
    if role is not None and wanted == "start":
        role = None
    for place in islice(_OR.finditer(asks["options"]), _MOST_SPLITS):
        options = (asks["options"][: place.start()], asks["options"][place.end() :])
        one, two = (_value(option, options, context, wanted, role) for option in options)
        if one is None or two is None:
            continue
        order = _order(one[0], two[0])
        if order == 0:
            return None
        late = how in _LATE or how == "longer"
        first = (order > 0) == late
        chosen, own, other = (options[0], one[1], two[1]) if first else (options[1], two[1], one[1])
        return Comparison(chosen.strip(" \"'"), tuple(dict.fromkeys((*own, *other))))
    return None


def dates(text: str) -> Iterator[tuple[int, Date]]:
    """Yield the dates of ``text`` with where they start, in order."""
    for match in _DATE.finditer(text):
        number = next(n for n in "1234" if match[f"y{n}"])
        month = match[f"m{number}"].lower() if number in "123" else None
        if month is not None and month not in _MONTHS:  # without case, "ı" counts as "i" in a pattern
            continue
        day = match[f"d{number}"] if number in "12" else None
        yield (
            match.start(),
            (int(match[f"y{number}"]), _MONTHS.index(month) + 1 if month else 0, int(day or 0)),
        )


def _order(one: Date, two: Date) -> int:
    """Return -1, 0 or 1; 0 as well where the texts are not exact enough to tell."""
    for a, b in zip(one, two, strict=True):
        if a != b:
            return 0 if 0 in (a, b) else (1 if a > b else -1)
    return 0


def _value(
    option: str, options: Sequence[str], context: Sequence[Candidate], wanted: str, role: str | None
) -> tuple[Date, tuple[int, ...]] | None:
    """Return the date that counts for ``option``, and the units it was read from."""
    own = _units_of(option, context)
    if not own:
        return None
    if role is None:
        found = _read(own, context, wanted)
        return None if found is None else (found[0], (found[1],))
    for person, film in _people(own, options, context, _ROLES[role]):
        found = _read(person, context, wanted)
        if found is not None:
            return found[0], (film, found[1])
    return None


def _units_of(name: str, context: Sequence[Candidate]) -> list[int]:
    """Return the units of the document called ``name``, or, if none is, those that open with it."""
    key = name_key(name)
    if not key:
        return []
    titled = [i for i, unit in enumerate(context) if unit.title and key in title_entities(unit.title)]
    if titled:
        return titled
    return [i for i, unit in enumerate(context) if name_key(unit.text[: len(name) + 20]).startswith(key)]


def _people(
    film: Sequence[int], options: Sequence[str], context: Sequence[Candidate], cue: re.Pattern[str]
) -> Iterator[tuple[list[int], int]]:
    """Yield the documents that the film's units name in the role, best cued first, with the naming unit."""
    shown = {name_key(option) for option in options}
    found: list[tuple[int, int, str]] = []
    for place in film:
        text = context[place].text
        cued = cue.search(text)
        after = cued.end() if cued is not None else 0
        for unit in context:
            title = unit.title or ""
            base = _END_BRACKET.sub("", title)
            at = text.lower().find(base.lower()) if base else -1
            if at >= 0 and name_key(base) not in shown:
                found.append((abs(at - after) if cued is not None else 1_000 + at, place, title))
    for _, place, title in sorted(found):
        yield [i for i, unit in enumerate(context) if unit.title == title], place


def _read(units: Sequence[int], context: Sequence[Candidate], wanted: str) -> tuple[Date, int] | None:
    """Return the first of ``units`` that tells the date, and the date."""
    if wanted == "start":
        # a date with a word that says what it is goes before any other
        for told in (_founded, _first_date):
            for place in units:
                value = told(context[place].text)
                if value is not None:
                    return value, place
        return None
    for place in units:
        text = context[place].text
        if wanted == "life":
            born, died = _life(text)
            value = (died[0] - born[0], 0, 0) if born and died else None
        else:
            value = _life(text)[wanted == "death"]
        if value is not None:
            return value, place
    return None


def _founded(text: str) -> Date | None:
    """Return the date after a word that says how something came into the world."""
    for match in _BEGUN.finditer(text):
        near = next(dates(text[match.end() : match.end() + 60]), None)
        if near is not None:
            return near[1]
    return None


def _first_date(text: str) -> Date | None:
    first = next(dates(text), None)
    return None if first is None else first[1]


def _life(text: str) -> tuple[Date | None, Date | None]:
    """Return birth and death, from "(3 March 1926 - 7 March 2012)" or from the words."""
    born, died = _after(text, r"\bborn\b"), _after(text, r"\b(?:died|death)\b")
    for match in _BRACKET.finditer(text[:400]):
        inside = match.group(1)
        found = [date for _, date in dates(inside)]
        if not found:
            continue
        if len(found) > 1 and _DASH.search(inside):
            born, died = born or found[0], died or found[-1]
        elif len(found) == 1 and re.search(r"(?:^|[\s;,])(?:born|b\.)", inside):
            born = born or found[0]
        elif len(found) == 1 and re.search(r"(?:^|[\s;,])(?:died|d\.)", inside):
            died = died or found[0]
        break
    return born, died


def _after(text: str, word: str) -> Date | None:
    """Return the date that follows ``word`` in the same clause."""
    for match in re.finditer(word, text, re.IGNORECASE):
        clause = re.split(r"[;)]|(?<=[a-z]{3})\.\s", text[match.end() : match.end() + 90])[0]
        near = next(dates(clause), None)
        if near is not None:
            return near[1]
    return None
