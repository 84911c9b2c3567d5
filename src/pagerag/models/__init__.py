"""Run the small models of the package ``pagerag-models``: files, tokens, logits and the support encoder.

onnxruntime and tokenizers run them; neither is imported before a model is opened.
"""

from __future__ import annotations

from pathlib import Path

from pagerag.errors import InputError, MissingExtraError
from pagerag.models.files import Model
from pagerag.models.support import PoolSupport
from pagerag.protocols import SupportEncoder
from pagerag.units import SupportChoice

__all__ = ["Model", "PoolSupport", "support_encoder", "support_named"]


def support_encoder(*, folder: str | Path | None = None, threads: int | None = None) -> PoolSupport:
    """Open the shipped support encoder, or one whose files lie in ``folder``."""
    return PoolSupport(folder=folder, threads=threads)


def support_named(choice: SupportChoice) -> SupportEncoder | None:
    """Return the support encoder that a setting names.

    ``none`` is no encoder, ``default`` the shipped one, ``auto`` the shipped one where it is installed.
    """
    if choice == "none":
        return None
    if choice == "default":
        return support_encoder()
    if choice != "auto":
        raise InputError(f"support is {choice!r}; it must be one of: auto, default, none")
    try:
        return support_encoder()
    except MissingExtraError:
        return None
