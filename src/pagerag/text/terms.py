"""What encoders and lexical search read of a unit: its text with its title, and the terms of that."""

from __future__ import annotations

from pagerag._remember import remember
from pagerag.text.tokens import all_words

# Shorter than the stop words of promotion: in a search, "after" or "own" may be the one telling word.
_STOP = frozenset(
    "a an and are as at be been but by d did do does for from had has have he her his how i in into is it "
    "its ll of on or re s she t that the their them then there these they this those to ve was we were what "
    "when where which who whom whose why will with you".split()
)


def encoded_text(title: str | None, text: str) -> str:
    """Return what encoders and lexical search read of a unit: ``title. text``, or the text alone."""
    return f"{title}. {text}" if title else text


def terms(text: str) -> list[str]:
    """Return the terms of a text in order, with repetition: folded words without function words and plurals.

    A text of function words alone ("The Who") keeps them, so that it can be found.
    """
    return terms_of(all_words(text))


def terms_of(words: list[str]) -> list[str]:
    """Return ``terms`` of a text that has been split already."""
    return [term for word in words if (term := _remembered(word))] or words


def term_of(word: str) -> str:
    """Return the term of a word: the word without its plural ending, and nothing for a function word.

    What might be a name or a number stays as it is.
    """
    if word in _STOP:
        return ""
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word


_remembered = remember(6 << 20)(term_of)
