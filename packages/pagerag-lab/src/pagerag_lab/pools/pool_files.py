"""Pools that something else made, read from a file: one JSON object per line, one line per question.

A line has the question's ``id`` and its candidates, best first, under ``candidates``, ``pool``, ``ctxs``
or ``docs``; each is an object with ``text`` (or ``contents``) and, where there are, ``id``, ``title``,
``source``, ``position`` and ``score``. A candidate is matched with the benchmark's unit by id, else by
title and text; one that matches none is a candidate like any other, and never gold.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pagerag.errors import InputError
from pagerag.units import Candidate, Mode, Pool
from pagerag_lab.datasets.questions import Question
from pagerag_lab.datasets.records import Record, read_records

__all__ = ["FiledPools"]

_LISTS = ("candidates", "pool", "ctxs", "docs")


class FiledPools:
    """The pools of a file, by question id."""

    def __init__(self, path: str | Path, *, mode: Mode, size: int) -> None:
        self.path, self.mode, self.size = Path(path), mode, size
        self.pools: dict[str, tuple[Candidate, ...]] = {}
        for record in read_records(self.path):
            name = record.value.get("id", record.value.get("_id"))
            if not isinstance(name, str | int):
                raise record.bad("id", "a pool needs its question's id")
            if str(name) in self.pools:
                raise record.bad("id", f"there are two pools for {name!r}; remove one")
            self.pools[str(name)] = _candidates(record)

    def __call__(self, question: Question) -> tuple[Pool, Mapping[str, str]]:
        """Return the pool of the question, and the gold key of each unit id."""
        if question.id not in self.pools:
            raise InputError(f"{self.path} has no pool for question {question.id!r}; add one or use --limit")
        units = question.units(self.mode)
        names = question.keys(self.mode)
        by_text = {(unit.title, " ".join(unit.text.split())): names[unit.id] for unit in units}
        keys = dict(names)
        for candidate in self.pools[question.id]:
            match = by_text.get((candidate.title, " ".join(candidate.text.split())))
            if candidate.id not in keys:
                # Without a context of its own (open corpus), gold is named by title.
                keys[candidate.id] = match or (
                    candidate.title if not units and candidate.title else candidate.id
                )
        candidates = self.pools[question.id][: self.size]
        return Pool(question=question.question, candidates=candidates, origin=self.path.name), keys


def _candidates(record: Record) -> tuple[Candidate, ...]:
    field = next((name for name in _LISTS if isinstance(record.value.get(name), list)), None)
    if field is None:
        raise record.bad("candidates", f"must be a list of candidates (or one of {', '.join(_LISTS[1:])})")
    return tuple(_candidate(record, field, place, item) for place, item in enumerate(record.value[field]))


def _candidate(record: Record, field: str, place: int, item: Any) -> Candidate:
    where = f"{field}[{place}]"
    if isinstance(item, str):
        return Candidate(id=str(place), text=item)
    if not isinstance(item, dict):
        raise record.bad(where, "must be text or an object with text")
    text = item.get("text", item.get("contents"))
    if not isinstance(text, str) or not text.strip():
        raise record.bad(f"{where}.text", "a candidate needs its text")
    score = item.get("score")
    if score is not None and (isinstance(score, bool) or not isinstance(score, int | float)):
        raise record.bad(f"{where}.score", "must be a number or absent")
    position = item.get("position")
    if position is not None and (isinstance(position, bool) or not isinstance(position, int)):
        raise record.bad(f"{where}.position", "must be a whole number or absent")
    texts: dict[str, str | None] = {}
    for name in ("title", "source"):
        value = item.get(name)
        if value is not None and not isinstance(value, str):
            raise record.bad(f"{where}.{name}", "must be text or absent")
        texts[name] = value
    return Candidate(
        id=str(item.get("id", place)),
        text=text,
        title=texts["title"],
        source=texts["source"],
        position=position,
        score=None if score is None else float(score),
    )
