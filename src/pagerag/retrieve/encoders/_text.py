"""Text as tokenizers and endpoints can take it."""

from __future__ import annotations

from collections.abc import Sequence


def encodable(texts: Sequence[str]) -> list[str]:
    """Return the texts with halves of surrogate pairs, which UTF-8 cannot carry, replaced one for one."""
    return [text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8") for text in texts]
