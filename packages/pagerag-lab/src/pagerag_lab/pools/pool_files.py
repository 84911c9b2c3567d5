"""Pools that something else made, read from a file: one JSON object per line, one line per question.

A line has the question's ``id`` and its candidates, best first, under ``candidates``, ``pool``, ``ctxs``
or ``docs``; each is an object with ``text`` (or ``contents``) and, where there are, ``id``, ``title``,
``source``, ``position`` and ``score``. A candidate is matched with the benchmark's unit by id, else by
title and text; one that matches none is a candidate like any other, and never gold.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from pagerag.errors import InputError
from pagerag.systems.formats import read_candidates
from pagerag.units import Candidate, Mode, Pool
from pagerag_lab.datasets.questions import Question
from pagerag_lab.datasets.records import read_records

__all__ = ["FiledPools"]

_FIELDS = {"candidates": ("candidates", "pool", "ctxs", "docs"), "text": ("text", "contents")}


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
            self.pools[str(name)] = read_candidates(
                record.value, file=record.file, line=record.line, fields=_FIELDS
            )

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
