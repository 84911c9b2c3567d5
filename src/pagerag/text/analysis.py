"""Read one unit's text into an Analysis, made once and kept with the index if there is one."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from enum import IntFlag
from typing import Any

from pagerag.protocols import EntityExtractor
from pagerag.text.codes import Codes, unit_codes
from pagerag.text.entities import extract_entities, name_key
from pagerag.text.lexicon import PRONOUNS, STOP_WORDS
from pagerag.text.questions import relation_mask
from pagerag.text.sentences import split_sentences
from pagerag.text.tokens import all_words
from pagerag.units import ANALYSIS_VERSION as VERSION
from pagerag.units import Analysis

__all__ = ["MAX_CHARACTERS", "VERSION", "Analysis", "Analyzer", "SentenceFlag", "codes_of"]

MAX_CHARACTERS = 200_000
"""How much of one unit is read. A longer unit is kept whole for the reader, but only this much of it is
analysed."""


class SentenceFlag(IntFlag):
    """What is said of a sentence in ``Analysis.flags``."""

    PRONOUN = 1
    """It opens with a pronoun."""
    YEAR = 2
    NUMBER = 4
    CASELESS = 8
    """It has no capitals to tell names by."""


# As plain numbers: operations on members of an IntFlag take a microsecond each.
_PRONOUN, _YEAR, _NUMBER, _CASELESS = map(int, SentenceFlag)
_HAS_YEAR = re.compile(r"\b[12]\d{3}\b").search
# "(3 March 1926 – 7 March 2012)" after a name says when somebody was born and died without the words.
_HAS_LIFE = re.compile(r"\([^()]{0,80}?\b\d{3,4}\b[^()]{0,30}?[-\u2013\u2014][^()]{0,40}?\b\d{3,4}\b").search
_LIFE_CUES = relation_mask(["born", "died"])
_HAS_DIGIT = re.compile(r"\d").search
_HAS_ASCII_DIGIT = re.compile(r"[0-9]").search
_HAS_CAPITAL = re.compile(r"[A-Z]").search


def codes_of(analyses: Sequence[Analysis]) -> list[Codes]:
    """Return the words of each analysis as numbers.

    They are made when first asked for, kept with the analysis, and never stored.
    """
    missing = [analysis for analysis in analyses if analysis._codes is None]
    if missing:
        for analysis, codes in zip(missing, unit_codes([one.tokens for one in missing]), strict=True):
            # Two threads may both make them; they make the same.
            object.__setattr__(analysis, "_codes", codes)
    return [analysis._codes for analysis in analyses if analysis._codes is not None]


class Analyzer:
    """Turns text into an Analysis.

    ``extractor`` replaces the built-in entity extraction (spaCy, GLiNER, ...).

    >>> reading = Analyzer().analyze("Hans Zimmer composed the score of Interstellar. He was born in 1957.")
    >>> len(reading), reading.entities[0]
    (2, ('hans zimmer', 'interstellar'))
    """

    def __init__(
        self, extractor: EntityExtractor | None = None, *, max_characters: int = MAX_CHARACTERS
    ) -> None:
        self.extractor: EntityExtractor = extractor or extract_entities
        self.max_characters = max_characters

    def analyze(self, text: str, *, whole: bool = False) -> Analysis:
        """Read ``text``; ``whole`` keeps it as one sentence (it is one, or it is a paragraph unit)."""
        text = text[: self.max_characters]
        spans = [(0, len(text))] if whole else split_sentences(text)
        sentences = []
        extract = self.extractor
        for start, end in spans:
            sentence = text[start:end]
            words = all_words(sentence)
            row = tuple([word for word in words if word not in STOP_WORDS]) or tuple(words)
            # reversed, so that the first spelling of a name stands
            names = {name_key(surface): surface for surface in reversed(extract(sentence.strip()))}
            names.pop("", None)
            flag = _flags(sentence, words, bool(names))
            cues = relation_mask(row)
            if flag & _YEAR and _HAS_LIFE(sentence) is not None:
                cues |= _LIFE_CUES
            sentences.append((row, tuple(reversed(names)), tuple(reversed(names.values())), cues, flag))
        columns: Iterable[tuple[Any, ...]] = zip(*sentences, strict=True) if sentences else [()] * 5
        tokens, entities, surfaces, relations, flags = columns
        return Analysis(tuple(spans), tokens, entities, surfaces, relations, flags, whole)


def _flags(sentence: str, words: list[str], named: bool) -> int:
    flag = _PRONOUN if words and words[0] in PRONOUNS else 0
    if _HAS_ASCII_DIGIT(sentence) if sentence.isascii() else _HAS_DIGIT(sentence):
        flag |= _NUMBER
        if _HAS_YEAR(sentence):
            flag |= _YEAR
        named = False  # a number is a name without a capital
    if not named and _HAS_CAPITAL(sentence) is None and sentence == sentence.lower():
        flag |= _CASELESS
    return flag
