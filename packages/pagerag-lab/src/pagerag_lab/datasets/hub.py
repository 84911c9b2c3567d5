"""Benchmarks from a dataset hub, through its own library (extra ``hub``).

``hub:REPO@SPLIT`` or ``hub:REPO/CONFIG@SPLIT`` stands where a file's name would: for example
``--dataset hotpotqa --data hub:hotpotqa/hotpot_qa/distractor@validation``.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

from pagerag.errors import InputError
from pagerag_lab.datasets.records import Record
from pagerag_lab.product import need

__all__ = ["PREFIX", "hub_fingerprint", "hub_records"]

PREFIX = "hub:"


@lru_cache(maxsize=2)
def _load(name: str) -> Any:
    place, at, split = name.removeprefix(PREFIX).partition("@")
    parts = place.split("/")
    if not at or not split or len(parts) not in (1, 2, 3) or not all(parts):
        raise InputError(f"--data {name!r}: write hub:OWNER/NAME@SPLIT or hub:OWNER/NAME/CONFIG@SPLIT")
    library = need("datasets", "datasets", "hub", f"to load {place}")
    repository, config = ("/".join(parts[:2]), parts[2]) if len(parts) == 3 else (place, None)
    return library.load_dataset(repository, config, split=split)


def hub_records(name: str) -> Iterator[Record]:
    """Yield the rows of a hub's dataset as records; a bad one is named by its number."""
    for number, row in enumerate(_load(name), start=1):
        yield Record(value=dict(row), file=Path(name), line=number, number=number)


def hub_fingerprint(name: str) -> str:
    """Return the library's own hash of what was loaded."""
    return f"fingerprint:{_load(name)._fingerprint}"
