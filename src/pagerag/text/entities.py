"""Ent(x): the entities a text names, before anything is known about the pool around it.

Capitalised spans, quoted titles, numbers and dates. What only the pool can tell (titles named in lower
case, surnames, acronyms) is resolved in ``gazetteer.py``.
"""

from __future__ import annotations

import re

from pagerag._remember import remember
from pagerag.text.lexicon import NAME_JOINERS, RELATION_OF, STOP_WORDS
from pagerag.text.tokens import all_words

MAX_NAME_TOKENS = 12


def _upper_case() -> str:
    """Return the capitals of the cased scripts as ranges for patterns: ``re`` has no class of them."""
    capitals = [*range(0x41, 0x5B), *(code for code in range(0xC0, 0x590) if chr(code).isupper())]
    known = set(capitals)
    starts = [code for code in capitals if code - 1 not in known]
    ends = [code for code in capitals if code + 1 not in known]
    return "".join(f"{chr(start)}-{chr(end)}" for start, end in zip(starts, ends, strict=True))


_U = _upper_case()
_GAP = r"[^\S\n]"  # not a line's end, behind which another item or sentence may begin with a capital
_JOINERS = "|".join(NAME_JOINERS.split())
# No look-behind: it would be tried at every character. A capital inside a word ("iPhone") is rare and
# harmless. Eight digits at most: a run of them without a capital behind it would be read from each digit.
_ASCII_NAME = re.compile(
    r"[0-9]{0,8}[A-Z][\w'.&-]*(?:(?: (?:" + _JOINERS + r")){0,2} (?:[A-Z][\w'.&-]*|\d[\d,]*\b))*"
).findall
_ANY_NAME = re.compile(
    rf"[0-9]{{0,8}}[{_U}][\w'’.&-]*(?:(?:{_GAP}(?:{_JOINERS})){{0,2}}{_GAP}(?:[{_U}][\w'’.&-]*|\d[\d,]*\b))*"
).findall
# Opens with what it looks for: a look-behind would be tried at every character of the sentence.
_NUMBER = re.compile(r"\d[\d,.]*\d").finditer
_ASCII_NUMBER = re.compile(r"[0-9][0-9,.]*[0-9]").finditer
_HAS_DIGITS = re.compile(r"\d\d").search
_HAS_ASCII_DIGITS = re.compile(r"[0-9][0-9]").search
_QUOTED = re.compile(
    r"\"[^\"\n]{2,80}\"|“[^”\n]{2,80}”|«[^»\n]{2,80}»|「[^」\n]{1,40}」|『[^』\n]{1,40}』|《[^》\n]{1,40}》"
).findall
_HAS_QUOTE = re.compile(r"[\"“«「『《]").search
# What looks like names and is none: addresses, paths of files, fields of templates.
_ADDRESS = re.compile(
    r"\b[a-z]{2,10}://[^\s<>\"]+|\{[{%][^{}]{0,80}[%}]\}|(?<![\w/])(?:[\w.-]{1,60}/){2,8}[\w.-]{1,60}"
)
# What is a name without a capital: confirmation_prompt, --max-time, __init__
_IDENTIFIER = re.compile(
    r"(?<![\w-])--[a-z][\w-]{2,40}|\b_{0,2}[a-zA-Z0-9]{1,40}(?:_[a-zA-Z0-9]{1,40}){1,6}\b"
).findall
_FATHER = re.compile(r" (?:bin|binti|ibn) ")
_LONGEST_DATED = 10_000  # characters of names in which each number is looked for
_TAIL = ".'’-&"
_GENITIVE = ("'s", "’s")


def extract_entities(text: str) -> list[str]:
    """Return the entities that ``text`` (one sentence) names, as they are spelled there.

    Names come first, then numbers, then titles in quotes, each in order of appearance.
    A capital at the head of a sentence proves little, so a lone opening word counts only when it is
    neither a stop word nor a relation cue ("Directed by ...").
    """
    found: list[str] = []
    plain = text.isascii()
    if "/" in text or "{" in text:
        text = _ADDRESS.sub(" ", text)
    for surface in _ASCII_NAME(text) if plain else _ANY_NAME(text):
        surface = _bare(surface)
        if " " not in surface:
            lower = surface.lower()
            if not (lower in STOP_WORDS or (lower in RELATION_OF and text.startswith(surface))):
                found.append(surface)
            continue
        head, _, rest = surface.partition(" ")
        if head != "The" and head.lower() in STOP_WORDS and text.startswith(surface):
            surface = rest  # a capital by its place alone: "If Guido", "This PEP"
        found.append(surface)
        if ("bin" in surface or "ibn" in surface) and _FATHER.search(surface) is not None:
            found += _FATHER.split(surface)  # a name that contains the father's
    if (_HAS_ASCII_DIGITS(text) if plain else _HAS_DIGITS(text)) is not None:
        found += _numbers(text, found)
    if "_" in text or "--" in text:
        known = set(found)
        found += [name for name in dict.fromkeys(_IDENTIFIER(text)) if name not in known]
    if ('"' in text) if plain else (_HAS_QUOTE(text) is not None):
        known = set(found)
        titles = (quoted[1:-1].strip(" ,.;:!?") for quoted in _QUOTED(text))
        short = [title for title in titles if title and title.count(" ") < MAX_NAME_TOKENS]
        found += [title for title in dict.fromkeys(short) if title not in known]
    return found


def _bare(surface: str) -> str:
    """Return a name without the punctuation or the genitive at its end."""
    last = surface[-1]
    if last in _TAIL:
        surface = surface.rstrip(_TAIL)
        last = surface[-1]
    return surface[:-2] if last == "s" and surface[-2:] in _GENITIVE else surface


def _numbers(text: str, names: list[str]) -> list[str]:
    """Return the numbers of a text that belong to none of its names ("April 1943" is one)."""
    dated = " ".join(names)[:_LONGEST_DATED]
    found: list[str] = []
    for match in _ASCII_NUMBER(text) if text.isascii() else _NUMBER(text):
        start = match.start()
        before = text[start - 1 : start]
        if match[0] not in dated and not (before.isalnum() or before in {"_", "."}):
            found.append(match[0])
    return found


def name_key(surface: str) -> str:
    """Return the form in which two spellings of a name meet: folded words without stop words.

    Empty when nothing is left to tell it by (a name of stop words alone, or punctuation).
    """
    if surface.isascii():
        lower = surface.lower()
        if lower.isalnum():  # most names are one plain word or several; the pattern is for the others
            return "" if lower in STOP_WORDS else lower
        words = lower.split()
        if "".join(words).isalnum():
            return " ".join([word for word in words if word not in STOP_WORDS][:MAX_NAME_TOKENS])
    return _folded_key(surface)


@remember(4 << 20)  # what is plain is read again faster than it is looked up
def _folded_key(surface: str) -> str:
    return " ".join([word for word in all_words(surface) if word not in STOP_WORDS][:MAX_NAME_TOKENS])
