"""Whether a text has a word: as it is, inflected, or in another form that says the same."""

from __future__ import annotations

import re
from collections import defaultdict
from functools import cached_property

from pagerag.text.tokens import all_words, fold

_SIGN = re.compile(r"[._,+#-]")
_ANY_WORD = re.compile(r"\w+")
_INSIDE_NAMES = frozenset(["of", "the", "and", "for"])
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_HYPHEN = "[-\u2010-\u2013]"
_LONGEST = 60  # letters of a word whose spelling may differ: what is longer is no word
_MOST_SEARCHES = 100  # of a word in the text, some milliseconds each where it is long
_LOOSE_STEM = 5  # letters that a word and one of its family share: German, Germany

_COUNTS = (
    "one first 1 1st earliest initial initially original originally debut; two second 2 2nd ii; "
    "three third 3 3rd iii; four fourth 4 4th iv; five fifth 5 5th v; six sixth 6 6th vi; "
    "seven seventh 7 7th vii; eight eighth 8 8th viii; nine ninth 9 9th ix; ten tenth 10 10th x; "
    "eleven eleventh 11 11th xi; twelve twelfth 12 12th xii"
)
_SAME_COUNT = {word: frozenset(row.split()) for row in _COUNTS.split(";") for word in row.split()}


def is_identifier(word: str) -> bool:
    """Return whether a word has signs inside or behind it (9.9.9, man-db, foo_bar, C++)."""
    return _SIGN.search(word) is not None


class PlainText:
    """A text that is read once to be asked for many words."""

    def __init__(self, text: str) -> None:
        self._text = _THOUSANDS.sub("", text)
        self._words = frozenset(all_words(self._text))
        self._searched: dict[str, bool] = {}

    @cached_property
    def _folded(self) -> str:
        return fold(self._text)

    @cached_property
    def _by_start(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = defaultdict(list)
        for word in self._words:
            found[word[:3]].append(word)
        return found

    @cached_property
    def _initials(self) -> str:
        """First letters of words with capitals, a blank for any other but those that hold names together."""
        words = _ANY_WORD.findall(self._text)
        return "".join(w[0] if w[0].isupper() else "" if w in _INSIDE_NAMES else " " for w in words)

    def has(self, word: str) -> bool:
        """Return whether the text has a folded word, as it is or inflected; a number only whole."""
        if word in self._words:
            return not word.isdigit() or self.has_literally(word)
        return any(not bases(word).isdisjoint(bases(other)) for other in self._by_start.get(word[:3], ()))

    def has_literally(self, word: str) -> bool:
        """Return whether the text has a word with signs whole: "2.1" is not in "2.1.3", nor "man" "man-db".

        A hyphen may be another dash, a blank or nothing, initials may have blanks, and letters a plural.
        """
        plain = _THOUSANDS.sub("", fold(word))
        if plain not in self._searched:
            if len(plain) > _LONGEST or len(self._searched) >= _MOST_SEARCHES:
                return plain in self._folded
            self._searched[plain] = re.search(_pattern(plain), self._folded) is not None
        return self._searched[plain]

    def may_have(self, word: str) -> bool:
        """Return whether the text has a folded word in any form: of its family, as a numeral, spelled out."""
        if is_identifier(word):
            parts = word.split("-")
            apart = len(parts) > 1 and all(part.isalpha() and self.may_have(part) for part in parts)
            return apart or self.has_literally(word) or self._spells_out(word)
        if self.has(word) or any(map(self.has, _SAME_COUNT.get(word, ()))):
            return True
        if word.isdigit():  # "64 MB" and "64MB"
            return any(other.startswith(word) and other[len(word) :].isalpha() for other in self._words)
        stem = word[:_LOOSE_STEM]
        family = word.isalpha() and any(
            other.startswith(stem) for other in self._by_start.get(word[:3], ()) if len(stem) == _LOOSE_STEM
        )
        return family or self._spells_out(word)

    def _spells_out(self, word: str) -> bool:
        """Return whether words with capitals in a row begin with the letters of a short word (UK, U.S.)."""
        letters = word.replace(".", "")
        short = letters.isascii() and letters.isalpha() and 2 <= len(letters) <= 5
        return short and letters.upper() in self._initials


def _pattern(word: str) -> str:
    """Return the pattern of a word with signs: wholly there, and no part of a longer one."""
    initials = re.fullmatch(r"(?:[^\W\d_]\.)+[^\W\d_]", word) is not None
    loose = {"-": rf"(?:{_HYPHEN}|\s)?"} | ({".": r"\.?\s?"} if initials else {})
    body = "".join(loose.get(sign, re.escape(sign)) for sign in word)
    if re.fullmatch(r"v\d.*", word):
        body = f"v?{body[1:]}"  # version 1.2 is v1.2
    elif word[0].isdigit():
        body = f"v?{body}"
    if word[-1].isalpha() and not initials and not any(sign.isdigit() for sign in word):
        body = rf"{body[:-1] if word.endswith('s') else body}(?:['’]?s|es)?"
    return rf"(?<![\w.]){body}(?![\w+#]|[._]\w)" if body else r"(?!)"


def bases(word: str) -> frozenset[str]:
    """Return a word and what it may be an inflection of: plural, tense, adverb, and who or what does it.

    >>> sorted(bases("composing") & bases("composers"))
    ['compos', 'compose']
    >>> bases("pagerag") & bases("pager")
    frozenset()
    """
    if not word.isalpha():
        return frozenset([word])
    forms = {word}
    if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        forms.add(word[:-1])
        if word.endswith("es"):
            forms.add(word[:-2])
        if word.endswith("ies"):
            forms.add(f"{word[:-3]}y")
    for form in tuple(forms):
        forms |= _without_ending(form)
    return frozenset(form for form in forms if len(form) > 2 or form == word)


_ENDINGS = {"ing": 3, "ed": 3, "er": 4, "or": 4, "ly": 3, "ion": 5}
"""Each with the fewest letters that stay: "station" is no form of "state"."""


def _without_ending(word: str) -> set[str]:
    found = set()
    for ending, least in _ENDINGS.items():
        stem = word[: -len(ending)]
        if not word.endswith(ending) or len(stem) < least:
            continue
        found.add(stem)
        if ending != "ly":
            found.add(f"{stem}e")
            if stem[-1] == stem[-2] and len(stem) > least:
                found.add(stem[:-1])
        if stem.endswith("i"):
            found.add(f"{stem[:-1]}y")
    return found
