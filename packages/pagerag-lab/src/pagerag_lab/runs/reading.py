"""A reader for a run: the same for every row of a table, and no context read twice.

Every context is read with state ``enough``: promotion's verdict would let one row of a table abstain
where another must answer.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from functools import cache
from typing import Literal

from pagerag.endpoint import ResponseCache
from pagerag.protocols import Reader
from pagerag.read import reader
from pagerag.retrieve.encoders import cache_folder
from pagerag.units import Candidate
from pagerag_lab.runs.versions import reader_hash

__all__ = ["CachedReader", "make_reader"]


class CachedReader:
    """A reader whose answers are kept on disk by reader, question and context."""

    def __init__(self, inner: Reader, cache: ResponseCache) -> None:
        self.inner, self.cache = inner, cache
        self.name = inner.name

    @property
    def prefers(self) -> Literal["core", "filled"]:
        """Which context this reader does better on, by its own account."""
        return "core" if self.inner.prefers == "core" else "filled"

    def read(self, question: str, context: Sequence[Candidate]) -> str:
        """Return the short answer."""
        content = [
            self.inner.identity,
            question,
            [[unit.title, unit.text] for unit in context],
        ]
        key = hashlib.sha256(json.dumps(content, ensure_ascii=True).encode()).hexdigest()
        known = self.cache.get(key)
        if known is not None:
            return str(known["text"])
        text = self.inner.read(question, context).text
        self.cache.put(key, {"text": text})
        return text


@cache
def make_reader(name: str) -> CachedReader:
    """Return the reader of this name, with its answers cached; another model or prompt has another cache."""
    file = cache_folder("answers") / f"{name.replace('/', '_')}-{reader_hash()}.sqlite"
    return CachedReader(_made(name), ResponseCache(file))


def _made(name: str) -> Reader:
    if name not in {"extractive", "extractive-small"}:
        return reader(name)
    from pagerag.models.files import package_folder
    from pagerag.read.extractive import extractive_reader

    # Benchmark questions have answers: no row of a table may gain by keeping silent.
    folder = package_folder() if name == "extractive-small" else None
    return extractive_reader(folder=folder, least_confidence=0.0, threads=1)
