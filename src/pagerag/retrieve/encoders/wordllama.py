"""WordLlama: static token vectors, averaged. No download, no runtime but NumPy; the fastest encoder.

The vectors and the tokenizer are read from the installed ``wordllama`` package without importing it: its
import brings a validation library and an HTTP client, which take a third of a second of processor time,
more than everything else that a question takes. The result is the package's own, bit for bit (a test
compares them).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pagerag._extras import need
from pagerag._numbers import widened
from pagerag.errors import MissingExtraError, StoreError
from pagerag.retrieve.encoders._shared import encodable, unit_rows

_BATCH = 256
_WEIGHTS = Path("weights") / "l2_supercat_256.safetensors"
_TOKENIZER = Path("tokenizers") / "l2_supercat_tokenizer_config.json"
_TENSOR = "embedding.weight"
_LONGEST_HEADER = 1 << 20


class WordLlama:
    """The 256-dimensional vectors that the ``wordllama`` package carries.

    A text in which nothing is known becomes a row of zeros, which is similar to nothing.
    Instances are thread-safe and can be pickled.
    """

    name = "wordllama"
    dimension = 256

    def __init__(self) -> None:
        found = find_spec("wordllama")
        if found is None or not found.submodule_search_locations:
            raise MissingExtraError("wordllama", "wordllama", "the static encoder")
        folder = Path(found.submodule_search_locations[0])
        for part in (_WEIGHTS, _TOKENIZER):
            if not (folder / part).is_file():
                raise StoreError(
                    f"{folder / part} is missing; reinstall it with: pip install --force-reinstall wordllama"
                )
        tokenizers = need("tokenizers", "tokenizers", "wordllama", "the static encoder")
        self._vectors = _mapped(folder / _WEIGHTS, self.dimension)
        self._tokenizer = tokenizers.Tokenizer.from_file(str(folder / _TOKENIZER))
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()

    def __reduce__(self) -> tuple[Any, ...]:
        return WordLlama, ()

    def encode_queries(self, texts: Sequence[str], /) -> NDArray[np.float32]:
        """Return unit-length rows, one per text."""
        return self.encode_passages(texts)

    def encode_passages(self, texts: Sequence[str], /) -> NDArray[np.float32]:
        """Return unit-length rows, one per text."""
        texts = encodable(texts)
        rows = np.zeros((len(texts), self.dimension), dtype=np.float32)
        for start in range(0, len(texts), _BATCH):
            some = [text if text.strip() else "" for text in texts[start : start + _BATCH]]
            encoded = self._tokenizer.encode_batch(some, add_special_tokens=False)
            for place, tokens in enumerate(encoded, start):
                if tokens.ids:
                    ids = np.minimum(tokens.ids, len(self._vectors) - 1)
                    vectors = widened(self._vectors[ids])
                    rows[place] = vectors.sum(axis=0, dtype=np.float32) / np.float32(len(ids))
        return unit_rows(rows)


def _mapped(file: Path, dimension: int) -> NDArray[np.float16]:
    """Return the vectors of a safetensors file, mapped: a question needs a few rows, not all 16 MB.

    The file is eight bytes that say how long its description is, the description in JSON, and the numbers;
    the library reads all of them.
    """
    try:
        with file.open("rb") as opened:
            size = int.from_bytes(opened.read(8), "little")
            said = json.loads(opened.read(min(size, _LONGEST_HEADER)))[_TENSOR]
        rows, columns = said["shape"]
        if said["dtype"] != "F16" or columns != dimension:
            raise ValueError(f"it holds {columns} numbers of type {said['dtype']} a row")
        mapped = np.memmap(file, "<f2", "r", 8 + size + said["data_offsets"][0], (rows, columns))
        return mapped.view(np.ndarray)  # the same memory, indexed without the subclass in between
    except (OSError, ValueError, TypeError, KeyError) as broken:
        raise StoreError(
            f"{file} does not hold vectors of {dimension} numbers ({broken}); reinstall it with: "
            "pip install --force-reinstall wordllama"
        ) from broken
