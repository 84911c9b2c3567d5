"""Define the two kinds of pool format, JSON records and tables of ranked lines, and how units are read."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any, ClassVar

from pagerag.promotion.foreign import unique_ids
from pagerag.systems._records import Beside, Companion, Cursor, Layout, Record, entries
from pagerag.units import Candidate, Mode, Pool


class PoolFormat(ABC):
    """How one tool writes its pools, and how to write them back with the promoted units alone."""

    name: ClassVar[str]
    summary: ClassVar[str]
    unit: ClassVar[Mode] = "document"
    units: ClassVar[tuple[Mode, ...]] = ()
    """Other units the records can be read as, beside ``unit``."""
    companions: ClassVar[tuple[Companion, ...]] = ()
    signs: ClassVar[tuple[str, ...]] = ()
    """The fields by which a record shows its format; used to say which formats came closest."""

    @abstractmethod
    def claims(self, layout: Layout, first: Any) -> bool:
        """Return whether a file of this layout with this first record is in this format."""

    @abstractmethod
    def records(self, path: Path, layout: Layout, beside: Beside, unit: Mode) -> Iterator[Record]:
        """Return the records of the file, one in memory at a time wherever the layout allows."""

    @abstractmethod
    def pool(self, record: Record) -> Pool:
        """Return the record's pool, best first; fill ``record.places``."""

    @abstractmethod
    def write(self, file: IO[str], kept: Iterable[tuple[Record, Sequence[str], Any]]) -> int:
        """Write each record with only the units of these ids, in this order; return how many records.

        The third item is a small JSON-able account of the promotion to store with the record, or None.
        """


class JsonFormat(PoolFormat):
    """Records that are JSON objects: one a line, in one array, or a single object.

    A format that keeps all questions in one object is ``whole`` and overrides ``split`` and ``join``.
    """

    whole: ClassVar[bool] = False
    units_at: ClassVar[tuple[str, ...]] = ()
    """The fields that lead to the list of units, where candidates' places count through one."""
    lists: ClassVar[tuple[str, ...]] = ()
    """Or the fields that are lists, each with an item for each unit; those that are there are written."""
    needs: ClassVar[Mapping[str, type]] = {}
    """The fields that every record has, with what they hold; ``holds`` may ask for something else."""

    def claims(self, layout: Layout, first: Any) -> bool:
        fits = layout in ("lines", "object") if self.whole else layout != "table"
        return fits and isinstance(first, Mapping) and self.holds(first)

    def holds(self, first: Mapping[str, Any]) -> bool:
        """Return whether a record has what this format's records have."""
        return all(isinstance(first.get(name), kind) for name, kind in self.needs.items())

    def pool(self, record: Record) -> Pool:
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
        raw, places = record.raw, [record.places[name] for name in ids]
        if self.units_at:
            return _narrowed(raw, self.units_at, places)
        size = len(record.places)
        there = [key for key in self.lists if isinstance(raw.get(key), list) and len(raw[key]) >= size]
        return {**raw, **{key: [raw[key][place] for place in places] for key in there}}

    def records(self, path: Path, layout: Layout, beside: Beside, unit: Mode) -> Iterator[Record]:
        number = 0
        for line, raw in entries(path, layout):
            whole = raw if layout == "object" else None
            for part in [raw] if whole is None else self.split(Cursor(whole, path, None)):
                yield Record(path, self.name, layout, number, line, part, beside, unit, whole)
                number += 1

    def write(self, file: IO[str], kept: Iterable[tuple[Record, Sequence[str], Any]]) -> int:
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


def _narrowed(raw: Mapping[str, Any], path: Sequence[str], places: Sequence[int]) -> dict[str, Any]:
    """Return a copy of nested objects in which the list at the end of ``path`` has these places alone."""
    inner = raw[path[0]]
    kept = _narrowed(inner, path[1:], places) if path[1:] else [inner[place] for place in places]
    return {**raw, path[0]: kept}


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
