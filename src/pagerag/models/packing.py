"""Question and units as one token sequence, the same in training and at run time.

::

    [CLS] question [SEP] title  • unit  • unit [SEP] title  • unit [SEP]

Units of one document stand together in document order under one title; ``•`` is a marker token whose
state speaks for its unit. Pure Python over token ids: no tokenizer, no array library is needed here.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

__all__ = ["LIMIT", "MARKER", "WHOLE", "Frame", "Packed", "TokenUnit", "block_count", "pack", "windows"]

CLS, SEP, MARKER = 101, 102, 1
LIMIT = 1024
"""Positions that the reader was trained with (the base's 512, repeated once)."""


@dataclass(frozen=True, slots=True)
class Frame:
    """How much an encoder reads together.

    ``limit`` tokens in one pass. Where ``block`` is set, the first layers read the units in blocks of about
    so many tokens, each block with the question; the others read everything.
    """

    limit: int = LIMIT
    block: int = 0

    def room(self, question: Sequence[int]) -> int:
        """Return how many tokens of units fit behind the question, whatever equal blocks may add."""
        left = self.limit - len(question) - 2
        return left - (block_count(left, self.block) - 1)


WHOLE = Frame()
"""Every layer reads everything."""


@dataclass(frozen=True, slots=True)
class TokenUnit:
    """One unit as token ids; ``document`` groups, ``position`` orders within the document."""

    document: str
    position: int
    title: list[int]
    text: list[int]


@dataclass(frozen=True, slots=True)
class Packed:
    """A sequence and where its parts lie; the lists are aligned with ``units`` (indices of the input).

    ``markers[i]`` is the marker's place, ``spans[i]`` the unit's tokens and ``titles[i]`` its document's
    title, as (first, one past the last).
    """

    ids: list[int]
    types: list[int]
    units: list[int]
    markers: list[int]
    spans: list[tuple[int, int]]
    titles: list[tuple[int, int]]


def block_count(length: int, block: int) -> int:
    """Return into how many blocks ``length`` tokens behind the question are cut, none over ``block``."""
    return max(1, -(-length // block)) if block else 1


def pack(
    question: Sequence[int],
    units: Sequence[TokenUnit],
    chosen: Sequence[int] | None = None,
    *,
    block: int = 0,
) -> Packed:
    """Pack the ``chosen`` units (all of them by default); documents keep their order of appearance.

    [SEP] follows as often as equal blocks need it.
    """
    ids = [CLS, *question, SEP]
    asked = len(ids)
    packed = Packed(ids, [], [], [], [], [])
    for members in _documents(units, range(len(units)) if chosen is None else chosen):
        members.sort(key=lambda i: units[i].position)
        title = (len(ids), len(ids) + len(units[members[0]].title))
        ids.extend(units[members[0]].title)
        for i in members:
            packed.units.append(i)
            packed.titles.append(title)
            packed.markers.append(len(ids))
            ids.append(MARKER)
            packed.spans.append((len(ids), len(ids) + len(units[i].text)))
            ids.extend(units[i].text)
        ids.append(SEP)
    length = len(ids) - asked
    ids += [SEP] * (-length % block_count(length, block))
    packed.types.extend([0] * asked + [1] * (len(ids) - asked))
    return packed


def _documents(units: Sequence[TokenUnit], chosen: Iterable[int]) -> list[list[int]]:
    """Return the chosen units by document, documents in their order of appearance."""
    found: dict[str, list[int]] = {}
    for i in chosen:
        found.setdefault(units[i].document, []).append(i)
    return list(found.values())


def windows(question: Sequence[int], units: Sequence[TokenUnit], frame: Frame = WHOLE) -> list[list[int]]:
    """Split the units into runs that each fit the frame when packed, in order, balanced.

    A unit must fit by itself; the caller caps unit lengths. Units of one document stay together where
    they can.
    """
    if not units:
        return []
    costs = [len(u.text) + 1 + len(u.title) + 1 for u in units]
    room = frame.room(question)
    flat = [i for members in _documents(units, range(len(units))) for i in members]
    count = max(1, -(-sum(costs) // room))
    while True:
        share = max(sum(costs) / count, *costs)
        found, used = [list[int]()], 0
        for i in flat:
            if found[-1] and (used + costs[i] > room or (used >= share and len(found) < count)):
                found.append([])
                used = 0
            found[-1].append(i)
            used += costs[i]
        if len(found) <= count or count > len(flat):
            return found
        count += 1
