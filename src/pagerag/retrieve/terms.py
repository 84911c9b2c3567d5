"""Text to the terms that lexical search counts."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

__all__ = ["STOP", "terms"]

# Runs of scripts that are written without spaces are cut into pairs of characters.
_UNSPACED = (
    "\u0e00-\u0eff\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0002ffff"
)
_WORD = re.compile(rf"[{_UNSPACED}]+|[^\W_{_UNSPACED}]+(?:['’][^\W_{_UNSPACED}]+)*")
_UNSPACED_RUN = re.compile(rf"[{_UNSPACED}]")

STOP = frozenset(
    "a an and are as at be been but by did do does for from had has have he her his how i in into is it "  # noqa: SIM905
    "its of on or she that the their them then there these they this those to was we were what when where "
    "which who whom whose why will with you".split()
)


def terms(text: str) -> list[str]:
    """The terms of a text in order, with repetition: words folded in case and accents, plurals cut.

    Function words are left out. Scripts without spaces give pairs of characters.
    """
    found: list[str] = []
    for match in _WORD.finditer(_fold(text)):
        word = match.group()
        if _UNSPACED_RUN.match(word):
            found.extend(word[i : i + 2] for i in range(max(1, len(word) - 1)))
        elif (term := _stem(word)) and term not in STOP:
            found.append(term)
    return found


def _fold(text: str) -> str:
    if text.isascii():
        return text.lower()
    decomposed = unicodedata.normalize("NFKD", text.casefold())
    return unicodedata.normalize("NFC", "".join(c for c in decomposed if unicodedata.category(c) != "Mn"))


@lru_cache(maxsize=1 << 16)
def _stem(word: str) -> str:
    """The word without possessive and plural endings; names and numbers stay as they are."""
    for mark in ("'s", "’s"):
        word = word.removesuffix(mark)
    word = word.replace("'", "").replace("’", "")
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word
