"""Define what a pool format is, and how its units are read."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any, ClassVar, Protocol

from numpy.typing import NDArray

from pagerag.promotion.foreign import unique_ids
from pagerag.systems._records import Beside, Companion, Cursor, Layout, Record, entries
from pagerag.units import Candidate, Mode, Pool


class PoolFormat(ABC):
    """How one tool writes its pools, and how to write them back with the promoted units alone.

    Records are JSON objects: one a line, in one array, or a single object; tables of ranked lines override
    that. A format that keeps all questions in one object is ``whole`` and overrides ``split`` and ``join``.
    """

    name: ClassVar[str]
    summary: ClassVar[str]
    unit: ClassVar[Mode] = "document"
    units: ClassVar[tuple[Mode, ...]] = ()
    """Other units the records can be read as, beside ``unit``."""
    companions: ClassVar[tuple[Companion, ...]] = ()
    signs: ClassVar[tuple[str, ...]] = ()
    """The fields by which a record shows its format; used to say which formats came closest."""
    whole: ClassVar[bool] = False
    lists: ClassVar[tuple[str, ...]] = ()
    """Where lists are with an item for each unit, such as ``"found.document"``; those that are there are
    written."""
    needs: ClassVar[Mapping[str, type]] = {}
    """The fields that every record has, with what they hold; ``holds`` may ask for something else."""

    def claims(self, layout: Layout, first: Any) -> bool:
        """Return whether a file of this layout with this first record is in this format."""
        fits = layout in ("lines", "object") if self.whole else layout != "table"
        return fits and isinstance(first, Mapping) and self.holds(first)

    def holds(self, first: Mapping[str, Any]) -> bool:
        """Return whether a record has what this format's records have."""
        return all(isinstance(_at(first, path), kind) for path, kind in self.needs.items())

    def pool(self, record: Record) -> Pool:
        """Return the record's pool, best first; fill ``record.places``."""
        pool = self._read(record.cursor, record)
        if not record.places:  # what its reader has not placed stands in the record in the pool's order
            record.places.update({unit.id: place for place, unit in enumerate(pool.candidates)})
        return pool

    @abstractmethod
    def _read(self, row: Cursor, record: Record) -> Pool:
        """Return the pool of a record, whose content is ``row``."""

    def split(self, whole: Cursor) -> Iterator[Any]:
        """Return the records of the one object that the file is."""
        yield whole.value

    def join(self, whole: Any, parts: Sequence[tuple[int, Any]]) -> Any:  # noqa: ARG002
        """Return the one object again, with the records that were kept, each with its number."""
        return parts[0][1]

    def rewrite(self, record: Record, ids: Sequence[str]) -> Any:
        """Return a copy of ``record.raw`` that holds only these units, in this order."""
        raw, places = dict(record.raw), [record.places[name] for name in ids]
        for path in self.lists:
            found = _at(record.raw, path)
            if isinstance(found, list) and len(found) >= len(record.places):
                raw = _with(raw, path, [found[place] for place in places])
        return raw

    def records(self, path: Path, layout: Layout, beside: Beside, unit: Mode) -> Iterator[Record]:
        """Return the records of the file, one in memory at a time wherever the layout allows."""
        number = 0
        for line, raw in entries(path, layout):
            whole = raw if layout == "object" else None
            for part in [raw] if whole is None else self.split(Cursor(whole, path, None)):
                yield Record(path, self.name, layout, number, line, part, beside, unit, whole)
                number += 1

    def write(self, file: IO[str], kept: Iterable[tuple[Record, Sequence[str], Any]]) -> int:
        """Write each record with only the units of these ids, in this order; return how many records.

        The third item is a small JSON-able account of the promotion to store with the record, or None.
        """
        count, layout, parts, whole = 0, "", [], None
        for record, ids, account in kept:
            raw = self.rewrite(record, ids)
            if account is not None and isinstance(raw, dict):
                raw["pagerag"] = account
            layout, whole = record.layout, record.whole
            if layout == "object":
                parts.append((record.number, raw))
            else:
                before = "" if layout == "lines" else ("[\n" if not count else ",\n")
                file.write(before + json.dumps(raw, ensure_ascii=False) + ("\n" if layout == "lines" else ""))
            count += 1
        if layout == "array":
            file.write("\n]\n")
        elif layout == "object":
            file.write(json.dumps(self.join(whole, parts), ensure_ascii=False, indent=1) + "\n")
        return count


def _at(raw: Any, path: str) -> Any:
    """Return what nested objects hold at the end of a path, None where there is nothing."""
    for name in path.split("."):
        raw = raw.get(name) if isinstance(raw, Mapping) else None
    return raw


def _with(raw: Mapping[str, Any], path: str, value: Any) -> dict[str, Any]:
    """Return a copy of nested objects with another value at the end of a path."""
    name, _, rest = path.partition(".")
    return {**raw, name: _with(raw[name], rest, value) if rest else value}


def named(units: Sequence[Cursor], *fields: str) -> list[tuple[str, Cursor]]:
    """Return each unit with its own identifier, or its place in the list, made unique."""
    found = [None if isinstance(one.value, str) else one.maybe(*fields) for one in units]
    names = unique_ids([str(i) if one is None else one.label() for i, one in enumerate(found)])
    return list(zip(names, units, strict=True))


def pair_of(one: Cursor, wanted: str) -> list[Cursor]:
    """Return the two items of a list that is a pair."""
    parts = one.items()
    if len(parts) != 2:
        raise one.error(f"{wanted} is expected here")
    return parts


def candidate(name: str, unit: Cursor, score: float | None, text: str | None = None) -> Candidate:
    """Return a candidate from an object with ``text`` and maybe ``title``."""
    title = (unit.maybe_text("title") or "").strip() or None
    body = unit.need("text", "paragraph_text", "content").text() if text is None else text
    return Candidate(name, body, title=title, score=score)


class WrittenPromotion(Protocol):
    """Hold the part of a Promotion that is written: its context, and for a trace what it decided."""

    @property
    def context(self) -> tuple[Candidate, ...]: ...

    @property
    def core(self) -> tuple[Candidate, ...]: ...

    @property
    def pool(self) -> tuple[Candidate, ...]: ...

    @property
    def scores(self) -> NDArray[Any]: ...

    @property
    def state(self) -> str: ...

    @property
    def sufficiency(self) -> float: ...
