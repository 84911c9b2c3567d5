"""Which of two was first: a question that compares dates is answered by reading the dates.

A span model points at words; it cannot tell 1921 from 1912. "Who was born earlier, A or B?" is decided here
from the units of A and of B ("Which film has the director who died later, A or B?" from the units of their
directors), by rules made for English. Where a date is missing or both are the same, nothing is decided and
the model's own answer stands.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
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
_WORDS = "|".join(sorted(sorted(_EARLY | _LATE | {"longer"}), key=len, reverse=True))
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
    ("start", re.compile(
        r"\b(?:released?|came out|come out|published|founded|established|started|formed|opened|created"
        r"|built|launched|premiered|aired|debuted|began|begun|invented|completed)\b"
    )),
)  # fmt: skip
_ROLES = {
    "director": re.compile(r"(?i)directed(?: and [\w-]{1,30}){0,3} by |director |filmmaker "),
    "performer": re.compile(r"(?i)(?:performed|recorded|sung|written and recorded) by |by |singer |band "),
    "composer": re.compile(r"(?i)(?:composed|written|music) by |composer "),
    "author": re.compile(r"(?i)(?:written|authored) by |by |novelist |author "),
}
_BEGUN = re.compile(
    r"\b(?:founded|established|started|formed|opened|created|launched|published|released|premiered|built|began)\b",
    re.IGNORECASE,
)
_BORN, _DIED = re.compile(r"(?i)\bborn\b"), re.compile(r"(?i)\b(?:died|death)\b")
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
        day = match[f"d{number}"] if number in "12" else 0
        yield match.start(), (int(match[f"y{number}"]), _MONTHS.index(month) + 1 if month else 0, int(day))


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
        return found and (found[0], (found[1],))
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
    return titled or [
        i for i, unit in enumerate(context) if name_key(unit.text[: len(name) + 20]).startswith(key)
    ]


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
    for tell in _TOLD[wanted]:
        for place in units:
            if (value := tell(context[place].text)) is not None:
                return value, place
    return None


def _first_date(text: str) -> Date | None:
    return next((date for _, date in dates(text)), None)


def _age(text: str) -> Date | None:
    """Return the years between birth and death."""
    born, died = _life(text)
    return (died[0] - born[0], 0, 0) if born and died else None


def _life(text: str) -> tuple[Date | None, Date | None]:
    """Return birth and death, from "(3 March 1926 - 7 March 2012)" or from the words."""
    born, died = _after(text, _BORN), _after(text, _DIED)
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


def _after(text: str, word: re.Pattern[str], *, reach: int = 90, clause: bool = True) -> Date | None:
    """Return the date that follows ``word`` within so many characters, in the same ``clause`` if need be."""
    for match in word.finditer(text):
        near = text[match.end() : match.end() + reach]
        date = _first_date(re.split(r"[;)]|(?<=[a-z]{3})\.\s", near)[0] if clause else near)
        if date is not None:
            return date
    return None


_TOLD: dict[str, tuple[Callable[[str], Date | None], ...]] = {
    "life": (_age,),
    "birth": (lambda text: _life(text)[0],),
    "death": (lambda text: _life(text)[1],),
    # a date with a word that says what it is goes before any other
    "start": (lambda text: _after(text, _BEGUN, reach=60, clause=False), _first_date),
}
"""How a unit may tell a property, each way tried on all units before the next one."""
