"""A pipeline that lives long does not grow with the questions it is asked."""

from __future__ import annotations

import gc
import random
import tracemalloc

import pytest

from pagerag.pipeline import PageRAG
from pagerag.read.evidence import EvidenceReader
from pagerag.testing import FakeRetriever
from pagerag.units import Candidate

NAMES = [
    f"{first}{last}"
    for first in ("Al", "Be", "Co", "Du", "El")
    for last in ("bert", "rnd", "rina", "stan", "mo")
]
UNITS = [
    Candidate(
        f"u{n}",
        f"{name} was born in {NAMES[-n]} in {1800 + n}. {name} wrote a book about {NAMES[n // 2]}.",
        name,
    )
    for n, name in enumerate(NAMES)
]
MOST_PER_QUESTION = 8_000
"""Bytes: bounded caches of words and questions still fill. One kept promotion would be 100,000 and more."""


@pytest.mark.slow
def test_memory_does_not_grow_with_the_number_of_questions():
    chance = random.Random(5)
    retriever = FakeRetriever(UNITS)
    pipeline = PageRAG(retriever=retriever, reader=EvidenceReader(), mode="paragraph", k=3)

    def ask(count):
        for _ in range(count):
            name, other = chance.sample(NAMES, 2)
            pipeline.ask(f"Was {name} or {other} born before {chance.randrange(10**6)}?")
        retriever.questions.clear()  # the fake remembers what it was asked
        gc.collect()
        return tracemalloc.get_traced_memory()[0]

    tracemalloc.start()
    try:
        before = ask(100)
        after = ask(200)
    finally:
        tracemalloc.stop()
    assert after - before < 200 * MOST_PER_QUESTION
