"""Tok(x) of the paper: lower-case tokens with stop words removed, for any script.

Words of scripts that write no spaces (Han, kana, Thai, Lao, Khmer, Burmese) become overlapping pairs of
characters, the usual reading of such text where no dictionary is at hand. Accents are folded, so that
"Beyoncé" and "Beyonce" meet. Letters of other scripts keep their vowel signs.
"""

from __future__ import annotations

import re
import unicodedata

from pagerag._visible import short_runs
from pagerag.text.lexicon import STOP_WORDS

# ASCII letters and digits in lower case, a space for everything else: what is left between spaces are the
# words.
_SPACED = "".join([chr(code).lower() if chr(code).isalnum() else " " for code in range(128)])
_PUNCTUATION = "–—‘’“”"  # no word holds them
# \w knows letters and digits of every script but not the combining signs that Indic, Arabic, Hebrew and
# Thai words carry inside; without these ranges such words would fall to pieces.
_SIGNS = (
    "\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06dc\u06df-\u06e8"
    "\u06ea-\u06ed\u0900-\u0903\u093a-\u094f\u0951-\u0957\u0962\u0963\u0981-\u0983\u09bc-\u09cd\u0a01-\u0a4d"
    "\u0a81-\u0acd\u0b01-\u0b4d\u0b82-\u0bcd\u0c00-\u0c4d\u0c81-\u0ccd\u0d00-\u0d4d\u0d81-\u0ddf"
    "\u0e31\u0e34-\u0e3a\u0e47-\u0e4e\u0eb1-\u0ebc\u0ec8-\u0ece\u102b-\u103e\u17b4-\u17d3\u200c\u200d"
)
_ANY_WORD = re.compile(rf"[^\W_](?:[^\W_]|[{_SIGNS}])*").findall
_UNSPACED = re.compile(
    r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
    r"\U00020000-\U0003ffff]+"
)
_ACCENTS = re.compile(r"[\u0300-\u036f]+")


def fold(text: str) -> str:
    """Lower case without accents; compatibility forms (full width, ligatures) become their plain ones."""
    if text.isascii():
        return text.lower()
    plain = _ACCENTS.sub("", unicodedata.normalize("NFKD", short_runs(text)))
    return unicodedata.normalize("NFC", plain).casefold()


def all_words(text: str) -> list[str]:
    """Return every word of ``text``, folded, stop words included."""
    plain = text
    if not plain.isascii():
        for mark in _PUNCTUATION:  # most texts of one language and a dash are plain but for these
            plain = plain.replace(mark, " ")
    if plain.isascii():
        return plain.translate(_SPACED).split()
    words = _ANY_WORD(fold(text))
    if _UNSPACED.search(text) is None:
        return words
    return [piece for word in words for piece in _pairs(word)]


def tokenize(text: str) -> list[str]:
    """Return Tok(x): the words of ``text``, lower-cased, stop words removed.

    A text of nothing but stop words ("The Who", "It") keeps them: it must not collapse to nothing.
    """
    words = all_words(text)
    tokens = [word for word in words if word not in STOP_WORDS]
    return tokens or words


def _pairs(word: str) -> list[str]:
    """Return runs of unspaced script in ``word`` as pairs of neighbouring characters, the rest as it is."""
    pieces: list[str] = []
    end = 0
    for run in _UNSPACED.finditer(word):
        if run.start() > end:
            pieces.append(word[end : run.start()])
        text = run.group()
        pieces += [text[i : i + 2] for i in range(len(text) - 1)] or [text]
        end = run.end()
    if end < len(word):
        pieces.append(word[end:])
    return pieces
