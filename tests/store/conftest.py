"""Units of a small corpus, and a store of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from pagerag.store import SqliteCorpus, Unit, open_store
from pagerag.testing import FakeEncoder
from pagerag.text import Analyzer

TEXTS = {
    "Interstellar (film)": "Interstellar is a film about a journey to a far star. Hans Zimmer composed it.",
    "Hans Zimmer": "Hans Zimmer is a composer. He was born in Frankfurt am Main. He lives in California.",
    "Frankfurt": "Frankfurt is a city on the river Main. It's known for its banks.",
    "東京": "東京は日本の首都です。人口は約1400万人です。",
    "Λευκός Πύργος": "Ο Λευκός Πύργος βρίσκεται στη Θεσσαλονίκη.",
    "Fred F. Sears": "Fred F. Sears directed many films.",
    "Edward of the North, Duke of Kent": "He fought in the wars.",
}


def unit(number: int, title: str | None, text: str, *, source: str | None = None, digest: str = "d") -> Unit:
    analysis = Analyzer().analyze(text)
    source = source or f"doc{number}.txt"
    return Unit(
        id=f"{source}#0",
        text=text,
        title=title,
        source=source,
        path=source,
        end=len(text),
        sentences=analysis.spans,
        digest=digest,
        analysis=analysis.to_bytes(),
    )


@pytest.fixture
def make_unit() -> Callable[..., Unit]:
    return unit


@pytest.fixture
def units() -> Sequence[Unit]:
    return [unit(number, title, text) for number, (title, text) in enumerate(TEXTS.items())]


@pytest.fixture
def encoder() -> FakeEncoder:
    return FakeEncoder(256)


@pytest.fixture
def store(tmp_path: Path, units: Sequence[Unit], encoder: FakeEncoder) -> SqliteCorpus:
    made = open_store(tmp_path / "store", encoder, create=True)
    made.upsert(units)
    return made
