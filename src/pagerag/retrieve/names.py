"""Names in running text.

A text is read into the keys of every run of words that starts where a name can start; a passage is named
in it where one of the passage's title keys (``pagerag.store.titles``) is among them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from pagerag.text.entities import extract_entities
from pagerag.text.lexicon import RELATION_OF, STOP_WORDS
from pagerag.text.tokens import all_words

__all__ = ["Reading", "head_name", "read"]

MAX_WORDS = 10
"""The longest name that is looked for."""

# No name ends with one of these: a third of the runs need not be looked up.
_NO_END = frozenset(
    "a an and as at by for from his her in is its of on or that the their to was were which who with".split()  # noqa: SIM905
)
_CHUNK = re.compile(r"[^\s/–—-]+")
_MARKS = "\"'“”‘’«»„()[]{}.,;:!?…*_"


def head_name(text: str) -> str | None:
    """The name that a text opens with: what a passage without a title is about, when it says so.

    Encyclopaedic and reference texts open with their subject; "He was" and "In 1957" are no names.
    """
    opening = text.lstrip(" \"'“«(").removeprefix("The ").removeprefix("the ")[:160]
    for name in extract_entities(opening):
        if not opening.startswith(name) or name[0].isdigit() or all_words(name)[:1] == ["in"]:
            return None
        return name
    return None


@dataclass(frozen=True, slots=True)
class Reading:
    """A text as follow-up search reads it.

    ``words`` are folded; ``names`` maps the key of each possible name to the place of its first word;
    ``cues`` are the places and relations (numbers of ``lexicon.RELATIONS``) of relation words;
    ``length`` counts the words.
    """

    words: tuple[str, ...]
    names: dict[str, int] = field(hash=False)
    cues: tuple[tuple[int, int], ...]
    length: int


def read(text: str, *, max_words: int = 400) -> Reading:
    """Read the first ``max_words`` words of ``text``."""
    words: list[str] = []
    starts: list[int] = []  # where a name can start
    ends: list[int] = []  # where none can run on
    for chunk in _CHUNK.findall(text):
        bare = chunk.strip(_MARKS)
        # The common case first: reading is most of the time that follow-up search takes.
        pieces = [bare.lower()] if bare.isascii() and bare.isalnum() else all_words(chunk)
        if not pieces:
            continue
        if bare[:1].isupper() or bare[:1].isdigit():
            starts.append(len(words))
        elif bare.upper() == bare.lower():  # a script without capitals may start a name anywhere
            starts += range(len(words), len(words) + len(pieces))
        words += pieces
        # No name runs on over the end of a sentence; "Jr." and initials do not end one.
        if chunk[-1] in ".;?!" and len(bare) > 3:
            ends.append(len(words))
        if len(words) >= max_words:
            break
    names: dict[str, int] = {}
    _collect(names, words, list(range(len(words))), starts, ends)
    kept = [place for place, word in enumerate(words) if len(word) > 1]
    if len(kept) < len(words):  # the same without initials: "Fred F. Sears" names "Fred Sears"
        _collect(names, words, kept, starts, ends)
    cues = tuple((place, RELATION_OF[word]) for place, word in enumerate(words) if word in RELATION_OF)
    return Reading(tuple(words), names, cues, len(words))


def _collect(
    names: dict[str, int], words: list[str], kept: list[int], starts: list[int], ends: list[int]
) -> None:
    """Put the keys of the runs of ``kept`` words into ``names``, each with its first place."""
    number = {place: index for index, place in enumerate(kept)}
    boundaries = iter([*ends, len(words)])
    boundary = next(boundaries)
    for start in starts:
        while boundary <= start:
            boundary = next(boundaries)
        if start not in number:
            continue
        key = words[start]
        if len(key) > 1 and key not in STOP_WORDS:
            names.setdefault(key, start)
        for place in kept[number[start] + 1 : number[start] + MAX_WORDS]:
            if place >= boundary:
                break
            word = words[place]
            key = f"{key} {word}"
            if word not in _NO_END and key not in names:
                names[key] = start
