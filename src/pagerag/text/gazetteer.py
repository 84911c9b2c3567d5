"""The query-local gazetteer: what only the pool can tell about the names in it.

Document titles found literally, parts of titles, surnames and acronyms that stand for one name in the
pool, and, in text without capitals, rare words that several units share.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable

from pagerag._remember import remember
from pagerag.text.entities import name_key
from pagerag.text.keys import without_bracket

_LONGEST_NAME = 8
_NUMBERED = re.compile(r"\s{0,8}\d{1,4}(?:(?:\.\d{1,4}){0,5}[.)]|(?:\.\d{1,4}){1,5})\s{1,8}[^\W\d]").match

_AMBIGUOUS = ""


def title_entities(title: str) -> tuple[str, str]:
    """Return a title as entities are linked, without the bracket that tells namesakes apart, and whole.

    >>> title_entities("Get Low (film)")
    ('get low', 'get low film')
    """
    full = name_key(title)
    return name_key(without_bracket(title, "(（[")) or full, full


class Gazetteer:
    """Names of one pool and the aliases that are unambiguous in it.

    >>> names = Gazetteer(["hans zimmer", "christopher nolan"], ["zimmer"])
    >>> names.resolve("zimmer", "Zimmer")
    'hans zimmer'
    """

    __slots__ = ("_acronyms", "_aliases", "_surnames", "short", "titles")

    def __init__(
        self,
        titles: Iterable[str],
        mentions: Iterable[str],
        acronyms: Iterable[str] = (),
        *,
        numbered: Collection[str] = (),
    ) -> None:
        """Take the keys of all names found, and those of them that are written in capitals.

        ``numbered`` are the titles that a list or a chapter numbers: the number alone is no name of theirs.
        """
        self.titles = dict.fromkeys(titles)
        self._aliases: dict[str, str] = {}
        self._acronyms: dict[str, str] = {}
        self._surnames: dict[str, str] = {}
        known = frozenset(mentions)
        short = {key for key in acronyms if 2 <= len(key) <= 6}
        for title in self.titles:
            _, aliases, initials = title_parts(title)
            for alias in known.intersection(aliases):
                if title not in numbered or any(map(str.isalpha, alias)):
                    _claim(self._aliases, alias, title)
            if initials in short:
                _claim(self._acronyms, initials, title)
        longer = [key for key in known.difference(self.titles) if " " in key]
        for key in longer:
            last = key[key.rfind(" ") + 1 :]
            if last in known:
                _claim(self._surnames, last, key)
        if short:
            letters = {key[0] for key in short}
            for key in [key for key in longer if key[0] in letters]:
                initials = "".join([word[0] for word in key.split(" ")])
                if initials in short:
                    _claim(self._acronyms, initials, key)
        self.short = {*self._aliases, *self._acronyms, *self._surnames}  # what ``resolve`` may change

    def resolve(self, key: str, surface: str) -> str:
        """Return the name that ``key`` stands for in this pool; itself when nothing better is certain."""
        if key not in self.short or key in self.titles:
            return key
        whole = self._aliases.get(key)
        if whole:
            return whole
        if " " not in key:
            if 2 <= len(key) <= 6 and surface.isupper() and (name := self._acronyms.get(key)):
                return name
            if whole is None and (name := self._surnames.get(key)):
                return self._aliases.get(name) or name
        return key


def is_numbered(title: str) -> bool:
    """Return whether a title begins with its number in a list or of a chapter.

    Not one that is a number ("1984", "2012 (film)") or tells a year or an amount ("12 Angry Men").

    >>> [is_numbered(title) for title in ("10. Upgrading checklist", "5.2 Appointment", "12 Angry Men")]
    [True, True, False]
    """
    return _NUMBERED(title) is not None


@remember(4 << 20)
def title_parts(title: str) -> tuple[tuple[str, ...], tuple[str, ...], str]:
    """Return the words of a title, the shorter names it may go by, and its initials.

    Nothing for a title that has no shorter name or is too long for a name. Kept, because titles come again
    and again.
    """
    words = title.split(" ")
    if len(words) < 2 or len(words) > _LONGEST_NAME:
        return (), (), ""
    aliases = [" ".join(part) for cut in range(1, len(words)) for part in (words[cut:], words[:cut])]
    return tuple(words), tuple(aliases), "".join([word[0] for word in words])


def _claim(names: dict[str, str], alias: str, name: str) -> None:
    """Let ``alias`` stand for ``name``, unless it stands for another already: then for none."""
    if names.setdefault(alias, name) != name:
        names[alias] = _AMBIGUOUS
