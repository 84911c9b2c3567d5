"""What several encoders do: texts as tokenizers and endpoints can take them, rows of unit length."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


def encodable(texts: Sequence[str]) -> list[str]:
    """Return the texts with halves of surrogate pairs, which UTF-8 cannot carry, replaced one for one."""
    return [text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8") for text in texts]


def unit_rows(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    """Scale rows to unit length, in place; rows of zeros, which are similar to nothing, stay."""
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    rows /= np.where(lengths > 0, lengths, 1)
    return rows
