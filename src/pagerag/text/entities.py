"""Ent(x): the entities a text names, before anything is known about the pool around it.

Capitalised spans, quoted titles, numbers and dates. What only the pool can tell (titles named in lower
case, surnames, acronyms) is resolved in ``gazetteer.py``.
"""

from __future__ import annotations

import re

from pagerag.text.lexicon import NAME_JOINERS, RELATION_OF, STOP_WORDS
from pagerag.text.tokens import all_words

__all__ = ["extract_entities", "name_key"]

MAX_NAME_TOKENS = 12


def _upper_case() -> str:
    """The capitals of the cased scripts, as regular-expression ranges (``re`` has no \\p{Lu})."""
    ranges: list[str] = []
    start = previous = -2
    for code in [*range(0x41, 0x5B), *(c for c in range(0xC0, 0x590) if chr(c).isupper()), 0x110000]:
        if code != previous + 1:
            if start >= 0:
                ranges.append(chr(start) if start == previous else f"{chr(start)}-{chr(previous)}")
            start = code
        previous = code
    return "".join(ranges)


_U = _upper_case()
_JOINERS = "|".join(NAME_JOINERS.split())
_ASCII_NAME = (
    r"[A-Z][\w'.&-]*(?:(?: (?:" + _JOINERS + r")){0,2} (?:[A-Z][\w'.&-]*|\d[\d,]*\b))*"
)
_ANY_NAME = (
    rf"[{_U}][\w'’.&-]*(?:(?:\s(?:{_JOINERS})){{0,2}}\s(?:[{_U}][\w'’.&-]*|\d[\d,]*\b))*"
)
_QUOTED = r"\"[^\"\n]{2,80}\"|“[^”\n]{2,80}”|«[^»\n]{2,80}»|「[^」\n]{1,40}」|『[^』\n]{1,40}』|《[^》\n]{1,40}》"
_NUMBER = r"\d[\d,.]*\d"
_ASCII_MENTION = re.compile(rf"(?<![\w]){_ASCII_NAME}|{_QUOTED}|(?<![\w.])(?:{_NUMBER})")
_ANY_MENTION = re.compile(rf"(?<![\w]){_ANY_NAME}|{_QUOTED}|(?<![\w.])(?:{_NUMBER})")
_OPENERS = "\"“«「『《"


def extract_entities(text: str) -> list[str]:
    """The entities that ``text`` (one sentence) names, as spelled there, in order of appearance.

    A capital at the head of a sentence proves little, so a lone opening word counts only when it is
    neither a stop word nor a relation cue ("Directed by ...").
    """
    found: list[str] = []
    pattern = _ASCII_MENTION if text.isascii() else _ANY_MENTION
    for match in pattern.finditer(text):
        surface = match.group()
        first = surface[0]
        if first in _OPENERS:
            surface = surface[1:-1].strip(" ,.;:!?")
            if surface.count(" ") >= MAX_NAME_TOKENS:
                continue
        elif first.isdigit():
            surface = surface.rstrip(".,")
        else:
            surface = surface.rstrip(".'’-&")
            if surface.endswith(("'s", "’s")):
                surface = surface[:-2]
            if " " not in surface:
                lower = surface.lower()
                if lower in STOP_WORDS or (not match.start() and lower in RELATION_OF):
                    continue
        if surface:
            found.append(surface)
    return found


def name_key(surface: str) -> str:
    """The form in which two spellings of a name meet: folded words without stop words.

    Empty when nothing is left to tell it by (a name of stop words alone, or punctuation).
    """
    return " ".join([word for word in all_words(surface) if word not in STOP_WORDS][:MAX_NAME_TOKENS])
