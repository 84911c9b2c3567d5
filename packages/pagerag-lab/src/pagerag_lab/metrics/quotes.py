"""Tell whether a context holds a fact, by the words of a quote, and whether an answer is an abstention.

A fact is found when a passage of the right file holds the words of its quote in order, whatever white space
and markup stand between them, or four fifths of them within a stretch of about twice the quote's length. A
quote of fewer than five words must be there whole. One of eight words or more, whole and in order, counts
in any file, unless the same words stand in several files.
"""

from __future__ import annotations

import html
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

__all__ = [
    "ContextText",
    "Fact",
    "Quote",
    "abstains",
    "fact_found",
    "in_order",
    "plain_words",
    "says_nothing",
]

NEAR_SHARE = (4, 5)
LEAST_NEAR = 5
LEAST_ANYWHERE = 8
LOOKED_AT = 300
"""How many characters of an answer are looked through for an abstention."""

Words = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Quote:
    """Words copied from a file; ``this_file_only`` when other files have the same words."""

    files: tuple[str, ...]
    text: str
    this_file_only: bool = False


@dataclass(frozen=True, slots=True)
class Fact:
    """The places that say the same thing: one of them is enough."""

    quotes: tuple[Quote, ...]


class ContextText:
    """A passage of a context as it is searched: its file, and its words with and without markup."""

    def __init__(self, source: str | None, text: str) -> None:
        self.source = _path(source or "")
        self.readings = _readings(text)


def fact_found(fact: Fact, context: Iterable[ContextText]) -> bool:
    """Tell whether one of the fact's quotes is in one of the passages."""
    quotes = [(quote, [_path(file) for file in quote.files], _readings(quote.text)) for quote in fact.quotes]
    return any(
        _quoted(passage, quote, files, readings) for passage in context for quote, files, readings in quotes
    )


def _quoted(passage: ContextText, quote: Quote, files: Sequence[str], readings: Sequence[Words]) -> bool:
    right_file = any(_same_file(passage.source, file) for file in files)
    for wanted in readings:
        whole = right_file or (len(wanted) >= LEAST_ANYWHERE and not quote.this_file_only)
        close_by = right_file and len(wanted) >= LEAST_NEAR
        for words in passage.readings:
            if (whole and in_order(words, wanted)) or (close_by and _close_by(words, wanted)):
                return True
    return False


def in_order(words: Words, wanted: Words) -> bool:
    """Tell whether the words have the wanted ones in a row."""
    size = len(wanted)
    return any(words[place : place + size] == wanted for place in range(len(words) - size + 1))


def _close_by(words: Words, wanted: Words) -> bool:
    """Tell whether one window of the words has enough of the wanted ones, repetitions counted."""
    share, whole = NEAR_SHARE
    enough = -(-len(wanted) * share // whole)
    width = min(len(words), 2 * len(wanted) + 8)
    missing = Counter(wanted)
    held = 0
    for place, word in enumerate(words):
        if word in missing:
            held += missing[word] > 0
            missing[word] -= 1
        if place >= width and (gone := words[place - width]) in missing:
            missing[gone] += 1
            held -= missing[gone] > 0
        if held >= enough:
            return True
    return False


_JOINT = re.compile(r"(?<=\w)'(?=\w)")
_WORD = re.compile(r"[^\W_]+")


def _words(text: str) -> Words:
    folded = unicodedata.normalize("NFKC", text).lower().replace("’", "'").replace("‘", "'")
    return tuple(_WORD.findall(_JOINT.sub("", folded)))


def plain_words(text: str) -> Words:
    """Return the words of the text without markup."""
    return _words(_without_markup(text))


def _readings(text: str) -> list[Words]:
    """Return the words of the text as it stands and without markup; no reading twice, none empty."""
    return [words for words in dict.fromkeys((_words(text), plain_words(text))) if words]


_MARKUP: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"\]\([^)\s]{0,400}\)"), "] "),  # the target of a Markdown link
    (re.compile(r"<?https?://[^\s>)\]]+>?"), " "),  # a bare address
    (re.compile(r":[a-zA-Z:]{1,60}:`([^`<]{0,400}?)\s{0,9}<[^`>]{0,400}>`_*"), r"\1"),  # a role with target
    (re.compile(r":[a-zA-Z:]{1,60}:`[~.!]*([^`]*)`"), r"\1"),  # a role
    (re.compile(r"`([^`<]+?)\s*<[^`>]*>`_+"), r"\1"),  # a reStructuredText link
)
_TAG = re.compile(r"</?[a-zA-Z][^<>]*>")


def _without_markup(text: str) -> str:
    text = html.unescape(_TAG.sub(" ", _without_comments(text)))
    for pattern, put in _MARKUP:
        text = pattern.sub(put, text)
    return text


def _without_comments(text: str) -> str:
    parts, rest = [], text
    while (start := rest.find("<!--")) >= 0 and (end := rest.find("-->", start + 4)) >= 0:
        parts += [rest[:start], " "]
        rest = rest[end + 3 :]
    return "".join([*parts, rest])


def _path(path: str) -> str:
    """Return a path as it is compared: no fragment, no line number, forward slashes, lower case."""
    plain = re.split(r"[#?]", path.replace("\\", "/"), maxsplit=1)[0].strip()
    plain = re.sub(r":\d+(-\d+)?$", "", plain)
    while plain.startswith("./"):
        plain = plain[2:]
    return plain.strip("/").lower()


def _same_file(one: str, other: str) -> bool:
    """Tell whether two paths name one file: equal, one at the end of the other, or but for the extension."""
    if not one:
        return False
    if one == other or one.endswith(f"/{other}") or other.endswith(f"/{one}"):
        return True
    return re.sub(r"\.[a-z]+$", "", one) == re.sub(r"\.[a-z]+$", "", other)


_NOT = r"(?:do not|does not|don'?t|doesn'?t|did not|didn'?t)"
_SOURCES = (
    r"(?:context|passages?|documents?|documentation|sources?|texts?|evidence|excerpts?|corpus|pages?|files?"
    r"|minutes|handbook|recipes?|law|code|it|they)"
)
_TELLS = (
    r"(?:say|contain|include|list|mention|specify|state|give|provide|answer|cover|tell|name|describe|disclose"
    r"|indicate)"
)
_ABSTENTIONS = (
    r"i (?:do not|don'?t) know",
    r"not enough (?:information|evidence|context)",
    r"insufficient (?:information|evidence|context|data)",
    r"no (?:relevant |specific |such )?(?:information|evidence|answer|mention|passages?|details?|data)"
    r" (?:is |was |were |are )?(?:found|given|available|provided|about|on|in|for|of)",
    r"(?:is|are|was|were|has been|have been)(?: not|n'?t) (?:explicitly |directly )?(?:mentioned|specified"
    r"|stated|given|provided|disclosed|found in|covered in|available in|documented)",
    r"not (?:explicitly |directly )?(?:mentioned|specified|stated|provided|found) (?:in|by|anywhere)",
    rf"{_SOURCES} {_NOT} (?:explicitly |directly |actually )?{_TELLS}",
    r"(?:can ?not|can'?t|could not|couldn'?t|unable to) (?:be )?(?:find|found|determined?|answer(?:ed)?"
    r"|tell from|say from)",
    r"unanswerable",
    r"no answer",
)
_ABSTAINS = re.compile(rf"\b(?:{'|'.join(_ABSTENTIONS)})\b", re.IGNORECASE)


def says_nothing(answer: str | None) -> bool:
    """Tell whether an answer is empty or says in words that there is none."""
    told = (answer or "").strip()
    return not told or _ABSTAINS.search(told[:LOOKED_AT]) is not None


def abstains(answer: str | None, state: str | None) -> bool:
    """Tell whether an answer is an abstention: by its state, by being empty, or in words."""
    return state == "insufficient" or says_nothing(answer)
