"""The small models of the package ``pagerag-models``: an extractive reader and a support encoder.

onnxruntime and tokenizers run them; neither is imported before a model is opened.
"""

from __future__ import annotations

from pathlib import Path

from pagerag.models.files import Model
from pagerag.models.reader import ExtractiveReader
from pagerag.models.support import PoolSupport

__all__ = ["ExtractiveReader", "Model", "PoolSupport", "extractive_reader", "support_encoder"]


def extractive_reader(
    *,
    folder: str | Path | None = None,
    threads: int | None = None,
    none_threshold: float | None = None,
    least_confidence: float = 0.12,
) -> ExtractiveReader:
    """The shipped reader, or one whose files lie in ``folder``."""
    return ExtractiveReader(
        folder=folder, threads=threads, none_threshold=none_threshold, least_confidence=least_confidence
    )


def support_encoder(*, folder: str | Path | None = None, threads: int | None = None) -> PoolSupport:
    """The shipped support encoder, or one whose files lie in ``folder``."""
    return PoolSupport(folder=folder, threads=threads)
