"""Two questions asked as one: its answer has two parts, and both must be found.

People ask for several things in one sentence ("who signs it, and by when?"), and the files hold few such
questions. These are made of two that each have their evidence in a pool of the same collection.
"""

from __future__ import annotations

import random
import zlib
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import replace

from pagerag_lab.training.examples import Example, Unit
from pagerag_lab.training.spans import Place

__all__ = ["joined"]

SHARES = 10
"""Questions are joined within so many shares, so that a fold of 2 or of 5 never holds half of one."""
UNITS = 20
_BETWEEN = (" and ", ", and ", "; ", ", also ", " - and ", ". And ", " / ")


def joined(examples: Iterable[Example], seed: int) -> Iterator[Example]:
    """Yield pairs of the questions that have one known answer: each question is once the first of a pair."""
    groups: dict[tuple[str, str], list[Example]] = defaultdict(list)
    seen: set[tuple[str, str]] = set()
    for example in examples:
        placed = _with_places(example)
        key = (example.base, plain_key(example.question))
        if placed is not None and key not in seen:
            seen.add(key)
            name = str(example.extra.get("file", ""))
            # Documents are a collection by themselves; the passages of the other sets are one.
            share = example.base if name == "documents" else str(zlib.crc32(example.base.encode()) % SHARES)
            groups[name, share].append(placed)
    for (name, share), members in sorted(groups.items()):
        rng = random.Random(f"{seed}/{name}/{share}")
        for first in members:
            others = [m for m in members if plain_key(m.question) != plain_key(first.question)]
            if others:
                second = rng.choice(others)
                yield _join(first, second, "documents" if name == "documents" else "reading", rng)


def plain_key(question: str) -> str:
    """Return a question in the form in which two spellings of it meet."""
    return " ".join(question.lower().split()).rstrip("?. ")


def _with_places(example: Example) -> Example | None:
    """Return the example with the exact places of its answer, or nothing where it has no single span."""
    if example.kind != "span" or not example.complete or not example.source:
        return None
    if example.source not in {"documents", "nq_pool", "xquad_pool"}:
        return None
    if example.spots:
        return example if {spot.part for spot in example.spots} == {0} else None
    found = []
    for number, unit in enumerate(example.units):
        for answer in example.answers if unit.support else ():
            at = unit.text.find(answer) if answer else -1
            if at >= 0:
                found.append(Place(number, at, at + len(answer)))
                break
    return replace(example, spots=tuple(found)) if found else None


def _join(first: Example, second: Example, name: str, rng: random.Random) -> Example:
    """Return one question over the evidence of both and what else their searches found."""
    units: list[Unit] = []
    places: dict[str, int] = {}

    def place(unit: Unit) -> int:
        if unit.text not in places:
            places[unit.text] = len(units)
            units.append(replace(unit, id=f"j{len(units)}"))
        elif unit.support and not units[places[unit.text]].support:
            known = units[places[unit.text]]
            units[places[unit.text]] = replace(known, support=True, bearing=unit.bearing)
        return places[unit.text]

    spots: list[Place] = []
    for part, example in enumerate((first, second)):
        for number, unit in enumerate(example.units):
            if unit.support:
                at = place(unit)
                spots += [Place(at, s.start, s.end, part) for s in example.spots if s.text == number]
    rest = [u for pair in zip(first.units, second.units, strict=False) for u in pair if not u.support]
    for unit in rest:
        if len(units) < UNITS:
            place(unit)
    opening = first.question.strip().rstrip("?. ")
    follow = second.question.strip().rstrip("?. ")
    follow = follow if follow[1:2].isupper() else follow[:1].lower() + follow[1:]
    return Example(
        f"{first.id}+{second.id}",
        f"{name}_joined",
        f"{opening}{rng.choice(_BETWEEN)}{follow}{rng.choice(('?', '?', ''))}",
        tuple(units),
        (),
        "span",
        base=first.base,
        bearings=True,
        spots=tuple(spots),
        extra={"file": name},
    )
