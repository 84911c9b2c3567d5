"""Our own pool lines: a question with its candidates, as ``promote`` takes them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pagerag.systems._common import unique_ids
from pagerag.systems.formats._base import JsonFormat
from pagerag.systems.formats._records import Beside, Cursor, Layout, Record
from pagerag.units import Candidate, Mode, Pool, Relation

__all__ = ["Native"]

_LISTS = ("candidates", "documents", "passages", "contexts")


class Native(JsonFormat):
    """``{"question", "candidates": ["text" or {text, id, title, source, position, score, entities}]}``."""

    name = "pagerag"
    summary = "question + candidates [text, or {text, id, title, source, position, score}] + relations"
    units = ("sentence", "paragraph", "document")

    def claims(self, layout: Layout, first: Any) -> bool:
        return (
            layout != "table"
            and isinstance(first, Mapping)
            and any(isinstance(first.get(key), list) for key in _LISTS)
            and ("question" in first or "query" in first)
        )

    def pool(self, record: Record, beside: Beside, unit: Mode) -> Pool:  # noqa: ARG002
        row = record.cursor
        units = row.need(*_LISTS).items()
        given = [None if isinstance(one.value, str) else one.maybe("id") for one in units]
        names = unique_ids([one.label() if one is not None else str(i) for i, one in enumerate(given)])
        record.places.update({name: place for place, name in enumerate(names)})
        candidates = tuple(
            Candidate(name, one.value) if isinstance(one.value, str) else _candidate(one, name)
            for one, name in zip(units, names, strict=True)
        )
        relations = row.maybe("relations")
        return Pool(
            row.need("question", "query").text(),
            candidates,
            relations=tuple(_relation(one) for one in relations.items()) if relations is not None else (),
            origin=self.name,
        )

    def rewrite(self, record: Record, ids: Sequence[str]) -> Any:
        key = next(key for key in _LISTS if record.raw.get(key) is not None)
        return {**record.raw, key: [record.raw[key][record.places[name]] for name in ids]}


def _candidate(one: Cursor, name: str) -> Candidate:
    score, position, entities = one.maybe("score"), one.maybe("position"), one.maybe("entities")
    title, source = one.maybe("title"), one.maybe("source", "doc_id")
    place = None
    if position is not None:
        if isinstance(position.value, bool) or not isinstance(position.value, int):
            raise position.error("a whole number is expected here")
        place = position.value
    return Candidate(
        id=name,
        text=one.need("text", "content").text(),
        title=title.text() if title is not None else None,
        source=source.label() if source is not None else None,
        position=place,
        score=score.number() if score is not None else None,
        entities=tuple(e.text() for e in entities.items()) if entities is not None else None,
    )


def _relation(one: Cursor) -> Relation:
    units, confidence = one.maybe("units"), one.maybe("confidence")
    return Relation(
        one.need("head").text(),
        one.need("relation").text(),
        one.need("tail").text(),
        tuple(unit.label() for unit in units.items()) if units is not None else (),
        confidence.number() if confidence is not None else 1.0,
    )
