"""WordLlama: static token vectors, averaged. No download, no runtime but NumPy; the fastest encoder."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pagerag._extras import need
from pagerag.retrieve.encoders._text import encodable

__all__ = ["WordLlama"]

_BATCH = 256


class WordLlama:
    """The 256-dimensional vectors that the ``wordllama`` package carries.

    A text in which nothing is known becomes a row of zeros, which is similar to nothing.
    Instances are thread-safe and can be pickled.
    """

    name = "wordllama"
    dimension = 256

    def __init__(self) -> None:
        package = need("wordllama", "wordllama", "wordllama", "the static encoder")
        # Without a folder of its own it looks for a model hub first.
        folder = Path(package.__file__).parent
        self._model = package.WordLlama.load(cache_dir=folder, disable_download=True)

    def __reduce__(self) -> tuple[Any, ...]:
        return WordLlama, ()

    def encode_queries(self, texts: Sequence[str], /) -> NDArray[np.float32]:
        """Unit-length rows, one per text."""
        return self.encode_passages(texts)

    def encode_passages(self, texts: Sequence[str], /) -> NDArray[np.float32]:
        """Unit-length rows, one per text."""
        texts = encodable(texts)
        rows = np.zeros((len(texts), self.dimension), dtype=np.float32)
        filled = [place for place, text in enumerate(texts) if text.strip()]
        # Equal lengths together: the package pads a batch to its longest text.
        filled.sort(key=lambda place: len(texts[place]))
        for start in range(0, len(filled), _BATCH):
            places = filled[start : start + _BATCH]
            rows[places] = self._model.embed([texts[place] for place in places], norm=False)
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        rows /= np.where(lengths > 0, lengths, 1)
        return rows
