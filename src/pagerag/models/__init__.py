"""Run the small models of the package ``pagerag-models``: files, tokens, logits and the support encoder.

onnxruntime and tokenizers run them; neither is imported before a model is opened.
"""

from __future__ import annotations

from pathlib import Path

from pagerag.models.files import Model
from pagerag.models.support import PoolSupport

__all__ = ["Model", "PoolSupport", "support_encoder"]


def support_encoder(*, folder: str | Path | None = None, threads: int | None = None) -> PoolSupport:
    """Open the shipped support encoder, or one whose files lie in ``folder``."""
    return PoolSupport(folder=folder, threads=threads)
