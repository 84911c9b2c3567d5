"""A small encyclopaedia written for these tests, and an encoder that needs no model."""

from __future__ import annotations

import zlib
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import settings
from numpy.typing import NDArray

from pagerag.text import tokenize
from pagerag.units import Candidate

settings.register_profile("retrieve", deadline=None)  # a busy machine is no failure
settings.load_profile("retrieve")


class HashedWords:
    """Bags of hashed words: deterministic, fast, similar where words are shared."""

    name = "hashed-words"
    dimension = 64

    def encode_queries(self, texts: Sequence[str], /) -> NDArray[np.float32]:
        return self.encode_passages(texts)

    def encode_passages(self, texts: Sequence[str], /) -> NDArray[np.float32]:
        rows = np.zeros((len(texts), self.dimension), dtype=np.float32)
        for row, text in zip(rows, texts, strict=True):
            for word in tokenize(text):
                row[zlib.crc32(word.encode()) % self.dimension] += 1.0
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        return rows / np.where(lengths > 0, lengths, 1)


PAGES = {
    "Interstellar (film)": "Interstellar is a 2014 science fiction film directed by Christopher Nolan. "
    "The score was composed by Hans Zimmer.",
    "Christopher Nolan": "Christopher Nolan is a film director who grew up in London and Chicago.",
    "Hans Zimmer": "Hans Zimmer is a composer of film music. He was born in Frankfurt in 1957.",
    "Gravity (2013 film)": "Gravity is a 2013 film about two astronauts, directed by Alfonso Cuarón.",
    "Alfonso Cuarón": "Alfonso Cuarón is a director from Mexico City.",
    "Frankfurt": "Frankfurt is a city on the river Main.",
    "Steven Price": "Steven Price is a composer who won an award for the score of Gravity.",
    "Rainfall": "Rainfall is measured in millimetres by weather stations.",
    "Film score": "A film score is original music written to accompany a film.",
    "Mexico City": "Mexico City is the capital of Mexico.",
    "London": "London is the capital of the United Kingdom.",
    "Astronomy": "Astronomy is the study of stars, planets and galaxies.",
}


@pytest.fixture
def words() -> HashedWords:
    return HashedWords()


@pytest.fixture
def pages() -> list[Candidate]:
    return [Candidate(title, text, title=title) for title, text in PAGES.items()]
