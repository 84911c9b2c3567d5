"""Read our own pool lines: a question with its candidates, as ``promote`` takes them.

``candidates_in`` is the one parser of such candidates; other rooms use it through ``read_candidates``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pagerag.errors import InputError
from pagerag.promotion.foreign import unique_ids
from pagerag.systems.formats._base import JsonFormat
from pagerag.systems.formats._records import Cursor, Record
from pagerag.units import Candidate, Pool, Relation

FIELDS: Mapping[str, tuple[str, ...]] = {
    "question": ("question", "query"),
    "candidates": ("candidates", "documents", "passages", "contexts", "pool"),
    "id": ("id", "_id"),
    "text": ("text", "content", "contents", "page_content", "paragraph_text"),
    "title": ("title",),
    "source": ("source", "doc_id"),
    "position": ("position",),
    "score": ("score",),
    "entities": ("entities",),
}
"""The fields of a line and of its candidates, each with the names it may go by."""

_QUESTION_IDS = ("id", "_id", "question_id", "qid")


class Native(JsonFormat):
    """``{"question", "candidates": ["text" or {text, id, title, source, position, score, entities}]}``.

    ``fields`` gives fields other names: ``Native({"candidates": "retrieved", "text": "body"})``.
    """

    name = "pagerag"
    summary = "question + candidates [text, or {text, id, title, source, position, score}] + relations"
    units = ("sentence", "paragraph", "document")
    signs = ("question", "candidates")

    def __init__(self, fields: Mapping[str, str] | None = None) -> None:
        for name in fields or {}:
            if name not in FIELDS:
                raise InputError(f"there is no field {name!r} to rename; one of: {', '.join(FIELDS)}")
        self.fields = {**FIELDS, **{name: (own,) for name, own in (fields or {}).items()}}
        self._renamed = bool(fields)

    def holds(self, first: Mapping[str, Any]) -> bool:
        """Return whether a record has what this format's records have."""
        return any(isinstance(first.get(key), list) for key in self.fields["candidates"]) and (
            self._renamed or any(key in first for key in self.fields["question"])
        )

    def _read(self, row: Cursor, record: Record) -> Pool:
        candidates = candidates_in(row, self.fields)
        record.found["candidates"] = row.need(*self.fields["candidates"]).path
        relations, name = row.maybe("relations"), row.maybe(*_QUESTION_IDS)
        pool = Pool(
            row.need(*self.fields["question"]).text(),
            candidates,
            relations=tuple(map(_relation, relations.items())) if relations is not None else (),
            origin=self.name,
            metadata={} if name is None else {"id": name.label()},
        )
        return record.placed(pool)

    def rewrite(self, record: Record, ids: Sequence[str]) -> Any:
        """Return a copy of the record that holds only these units, in this order."""
        key = record.found["candidates"]
        return {**record.raw, key: [record.raw[key][record.places[name]] for name in ids]}


def candidates_in(row: Cursor, fields: Mapping[str, tuple[str, ...]] = FIELDS) -> tuple[Candidate, ...]:
    """Return the candidates of one line, in its order; what has no id gets its place as its id."""
    units = row.need(*fields["candidates"]).items()
    given = [None if isinstance(one.value, str) else one.maybe(*fields["id"]) for one in units]
    names = unique_ids([one.label() if one is not None else str(i) for i, one in enumerate(given)])
    return tuple(
        Candidate(name, one.value) if isinstance(one.value, str) else _candidate(one, name, fields)
        for one, name in zip(units, names, strict=True)
    )


def looks_like_candidates(value: object) -> bool:
    """Return whether a field's value may be a list of candidates: texts, or objects with a text."""
    if not isinstance(value, list) or not value:
        return False
    return all(
        isinstance(one, str)
        or (isinstance(one, Mapping) and any(isinstance(one.get(key), str) for key in FIELDS["text"]))
        for one in value[:20]
    )


def _candidate(one: Cursor, name: str, fields: Mapping[str, tuple[str, ...]]) -> Candidate:
    source, position, entities = (one.maybe(*fields[key]) for key in ("source", "position", "entities"))
    if position is not None and (isinstance(position.value, bool) or not isinstance(position.value, int)):
        raise position.error("a whole number is expected here")
    return Candidate(
        id=name,
        text=one.need(*fields["text"]).text(),
        title=one.maybe_text(*fields["title"]),
        source=source.label() if source is not None else None,
        position=position.value if position is not None else None,
        score=one.maybe_number(*fields["score"]),
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
