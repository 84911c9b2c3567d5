"""Run the networks of our model packages: files, tokens, logits and the support encoder.

onnxruntime and tokenizers run them; neither is imported before a model is opened.
"""

from __future__ import annotations

from pagerag.errors import InputError, MissingExtraError
from pagerag.models.files import Model
from pagerag.models.support import PoolSupport
from pagerag.protocols import SupportEncoder
from pagerag.units import SUPPORT_CHOICES, SupportChoice

__all__ = ["LARGER", "Model", "PoolSupport", "support_encoder", "support_named"]

LARGER = {"auto": False, "default": True, "small": False}
"""Whether the larger network takes part, by the name of our support encoder."""


support_encoder = PoolSupport
"""Open the shipped support encoder, or one whose files lie in ``folder``."""


def support_named(choice: SupportChoice) -> SupportEncoder | None:
    """Return the support encoder that a setting names.

    ``none`` is no encoder; ``small`` is the one of ``pagerag-models``, ``auto`` the same where it is
    installed; ``default`` is the larger one of ``pagerag-judge``, where that is installed, and the small one
    where not: better evidence, for ten times the time (docs/models.md).
    """
    if choice not in SUPPORT_CHOICES:
        raise InputError(f"support is {choice!r}; it must be one of: {', '.join(SUPPORT_CHOICES)}")
    if choice == "none":
        return None
    try:
        return support_encoder(larger=LARGER[choice])
    except MissingExtraError:
        if choice != "auto":
            raise
        return None
