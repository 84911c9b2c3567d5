"""Inline markup of reStructuredText: which characters a reader sees, in linear time."""

from __future__ import annotations

import re
from collections.abc import Collection

from pagerag.ingest.formats.stretch import Marks

_ROLE = re.compile(r":(?:[A-Za-z][\w+.-]{0,40}:){1,4}(?=`)")
_ROLE_BEHIND = re.compile(r":(?:[A-Za-z][\w+.-]{0,40}:){1,4}")
_SUBSTITUTION = re.compile(r"\|([^\s|][^|\n]{0,100})\|_{0,2}")
_NOTE = re.compile(r"\[(\d{1,6}|#[\w-]{0,80}|\*|[\w.-]{1,80})\]_(?!\w)")
_REFERENCE = re.compile(r"[\w.+-]{1,80}\Z")
_EMBEDDED = re.compile(r"\s{0,20}<[^<>]{1,1000}>\Z")
_EDGE = frozenset(" \t\n'\"([{<-/:.,;!?")


class RestructuredMarks(Marks):
    """The marks of reStructuredText; ``targets`` are names that ``name_`` may refer to."""

    special = re.compile(r"[`*|\\:\[_]")

    def __init__(self, text: str, targets: Collection[str]) -> None:
        super().__init__(text)
        self.targets = targets
        self.missing: set[str] = set()  # marks of which no other one follows: looked for once

    def _mark(self, found: re.Match[str]) -> int:
        text, start, mark = self.text, found.start(), found.group()
        if mark == "\\":
            self.cut(start, start + (2 if text[start + 1 : start + 2] in (" ", "\n") else 1))
            return start + 2
        if mark == "`":
            return self._quoted(start, start)
        if mark == "*":
            return self._starred(start)
        if mark == "_":
            return self._reference(start)
        if mark == ":" and (role := _ROLE.match(text, start)):
            return self._quoted(role.end(), start)
        if mark == "|" and (name := _SUBSTITUTION.match(text, start)):
            return self.only(name)
        if mark == "[" and (note := _NOTE.match(text, start)):
            return self.cut(note.end() - 1 if note.group(1)[0].isalpha() else start, note.end())
        return start + 1

    def _closing(self, mark: str, at: int) -> int:
        found = -1 if mark in self.missing else self.text.find(mark, at)
        if found < 0:
            self.missing.add(mark)
        return found

    def _quoted(self, start: int, whole: int) -> int:
        """Read text in backticks that begins at ``start``; a role before it begins at ``whole``."""
        text = self.text
        mark = "``" if text.startswith("``", start) else "`"
        first = start + len(mark)
        last = self._closing(mark, first)
        if last < 0:
            return first
        if mark == "``":
            last = self.run(last) - 2
            self.cut(whole, first)
            return self.cut(last, last + 2)
        after = last + 1
        if embedded := _EMBEDDED.search(text, max(first, last - 1100), last):
            if embedded.start() > first:
                last = embedded.start()
            else:
                first = text.find("<", first, last) + 1
                last -= 1
        elif text[first] == "~":  # ":func:`~package.module.name`" shows the last part alone
            first = max(first + 1, text.rfind(".", first, last) + 1)
        elif text[first] == "!":
            first += 1
        while text[after : after + 1] == "_":
            after += 1
        if start == whole and (behind := _ROLE_BEHIND.match(text, after)):
            after = behind.end()
        self.cut(whole, first)
        return self.cut(last, after)

    def _starred(self, start: int) -> int:
        """Read emphasis: a mark at a word's beginning, and one at a word's end."""
        text = self.text
        mark = "**" if text.startswith("**", start) else "*"
        first = start + len(mark)
        if (start and text[start - 1] not in _EDGE) or text[first : first + 1] in ("", " ", "\n", "*"):
            return first
        end = self._closing(mark, first)
        if end < 0 or text[end - 1] in " \n":
            return first
        self.cut(start, first)
        self.cut(end, end + len(mark))
        return first if end > first else end + len(mark)

    def _reference(self, start: int) -> int:
        """Take the underscore off a ``name_`` that refers to something."""
        text, end = self.text, self.run(start)
        after = text[end : end + 1]
        if self.targets and end - start <= 2 and (not after or after in _EDGE or after in ")]}>"):
            name = _REFERENCE.search(text, max(0, start - 80), start)
            if name and name.group().lower() in self.targets:
                self.cut(start, end)
        return end
