"""Comparisons of two dates over pages of the train contexts: whichever page says when something began.

The annotated comparisons ask of people and films, and most of them for a country. Here the dates are read
from the pages' own words, so that magazines, museums and bands are compared as well, and the sentence with
the date is often not the first. Nothing here knows of a question or its annotation.
"""

from __future__ import annotations

import random
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from pagerag_lab.training.examples import Example, Unit
from pagerag_lab.training.synthetic import FORMS, PAREN

__all__ = ["Fact", "dated", "facts_of"]

_YEAR = r"(1[0-9]{3}|20[0-2][0-9])"
_MADE = "film|album|song|single|novel|book|game|opera"
_BEGUN = (
    "magazine|newspaper|journal|band|group|company|university|college|school|museum|club|team|airline|church|"
    "party|organization|organisation|station|label|festival|hospital|library|brewery|theatre|gallery|network|league"
)
_SOMEONE = "person"
_NOUN = re.compile(rf"\b(?:is|was|are|were) (?:an?|the)\b[^.;]*?\b(?:({_MADE})|({_BEGUN}))\b")
_OUT = re.compile(
    rf"\b(?:released|premiered|published|came out|recorded|issued)\b[^.;]{{0,60}}?\b{_YEAR}\b"
    rf"|\bis an? {_YEAR}\b"
)
_START = re.compile(
    rf"\b(?:founded|established|formed|launched|created|started|opened|began|organi[sz]ed|first published)\b"
    rf"[^.;]{{0,60}}?\b{_YEAR}\b"
)
_LIFE = re.compile(rf"\([^()]*?\b{_YEAR}\s*[–—-][^()]*?\b{_YEAR}\s*\)")
_BORN = re.compile(rf"\(\s*born\b[^()]*?\b{_YEAR}\s*\)")

Form = tuple[str, bool]
"""A question, and whether the earlier one (or the shorter span) is the answer."""

_FORMS: dict[str, tuple[Form, ...]] = {
    "born": (
        ("Who is older, {a} or {b}?", True),
        ("Who was born first, {a} or {b}?", True),
        ("Was {a} or {b} born first?", True),
        ("Who is younger, {a} or {b}?", False),
        ("Who was born later, {a} or {b}?", False),
    ),
    "died": FORMS["date of death"],
    "lived": (("Who lived longer, {a} or {b}?", False), ("Who had the longer life, {a} or {b}?", False)),
    "made": (
        ("Which {n} came out first, {a} or {b}?", True),
        ("Which {n} came out earlier, {a} or {b}?", True),
        ("Which {n} was released first, {a} or {b}?", True),
        ("Was {a} or {b} released first?", True),
        ("Which {n} was released more recently, {a} or {b}?", False),
        ("Which {n} came out later, {a} or {b}?", False),
    ),
    "begun": (
        ("Which {n} was founded first, {a} or {b}?", True),
        ("Which {n} was established first, {a} or {b}?", True),
        ("Which {n} is older, {a} or {b}?", True),
        ("Which {n} was started first, {a} or {b}?", True),
        ("Was {a} or {b} founded first?", True),
        ("Which {n} was founded later, {a} or {b}?", False),
    ),
}


@dataclass(frozen=True, slots=True)
class Fact:
    """A page's ``value`` (a year, or years lived) of one ``property``, and the sentence that says it."""

    title: str
    noun: str
    property: str
    value: int
    unit: Unit


def facts_of(units: Sequence[Unit]) -> Iterator[Fact]:
    """Return what one page, its units in order, says of its own dates."""
    opening = units[0]
    life = _LIFE.search(opening.text)
    if life is not None:
        first, last = int(life[1]), int(life[2])
        if 0 < last - first < 110:
            for name, value in (("born", first), ("died", last), ("lived", last - first)):
                yield Fact(opening.title, _SOMEONE, name, value, opening)
        return
    born = _BORN.search(opening.text)
    if born is not None:
        yield Fact(opening.title, _SOMEONE, "born", int(born[1]), opening)
        return
    noun = _NOUN.search(opening.text)
    if noun is None:
        return
    name, pattern = ("made", _OUT) if noun[1] else ("begun", _START)
    for unit in units:
        found = pattern.search(unit.text)
        if found is not None:
            yield Fact(unit.title, noun[1] or noun[2], name, int(next(filter(None, found.groups()))), unit)
            return


def dated(pools: Sequence[Example], count: int, seed: int) -> list[Example]:
    """Comparisons of two pages of different questions; the other units are of both questions' pages."""
    rng = random.Random(seed)
    groups: dict[tuple[str, str], list[tuple[Fact, Example]]] = defaultdict(list)
    seen: set[tuple[str, str]] = set()
    for example in pools:
        pages: dict[str, list[Unit]] = defaultdict(list)
        for unit in example.units:
            pages[unit.title].append(unit)
        for units in pages.values():
            for fact in facts_of(sorted(units, key=lambda u: u.position)):
                if (fact.title, fact.property) not in seen:
                    seen.add((fact.title, fact.property))
                    groups[fact.property, fact.noun].append((fact, example))
    usable = {key: members for key, members in groups.items() if len(members) > 3}
    by_property: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for key in usable:
        by_property[key[0]].append(key)
    # People's dates stand in the opening sentence; those of things are harder to find, so they are asked for
    # more.
    drawn = [
        name for name in ("born", "died", "lived", "made", "made", "begun", "begun") if name in by_property
    ]
    found: list[Example] = []
    while len(found) < count and drawn:
        key = rng.choice(by_property[rng.choice(drawn)])
        (a, from_a), (b, from_b) = rng.sample(usable[key], 2)
        if a.value == b.value or from_a is from_b:
            continue
        form, earlier = rng.choice(_FORMS[a.property])
        answer = a.title if (a.value < b.value) == earlier else b.title
        found.append(
            Example(
                f"dated{len(found)}",
                "dated",
                form.format(a=a.title, b=b.title, n=a.noun),
                _among([a.unit, b.unit], [*from_a.units, *from_b.units], rng),
                (answer, PAREN.sub("", answer)),
                "span",
            )
        )
    return found


def _among(gold: Sequence[Unit], others: Sequence[Unit], rng: random.Random) -> tuple[Unit, ...]:
    """Return the gold units, the rest of their pages, and some sentences of other pages."""
    ids, titles = {u.id for u in gold}, {u.title for u in gold}
    own = [u for u in others if u.title in titles and u.id not in ids]
    rest = [u for u in others if u.title not in titles]
    chosen = [*own[:10], *rng.sample(rest, min(12, len(rest)))]
    return (
        *(replace(u, support=True) for u in gold),
        *(replace(u, support=False) for u in {u.id: u for u in chosen}.values()),
    )
