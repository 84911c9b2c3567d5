"""Inline markup of reStructuredText: which characters a reader sees, in linear time."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from pagerag.ingest.formats.stretch import Cut, Kept, kept_between

_SPECIAL = re.compile(r"[`*|\\:\[_]")
_ROLE = re.compile(r":(?:[A-Za-z][\w+.-]{0,40}:){1,4}(?=`)")
_ROLE_BEHIND = re.compile(r":(?:[A-Za-z][\w+.-]{0,40}:){1,4}")
_SUBSTITUTION = re.compile(r"\|([^\s|][^|\n]{0,100})\|_{0,2}")
_NOTE = re.compile(r"\[(\d{1,6}|#[\w-]{0,80}|\*|[\w.-]{1,80})\]_(?!\w)")
_REFERENCE = re.compile(r"[\w.+-]{1,80}\Z")
_EMBEDDED = re.compile(r"\s{0,20}<[^<>]{1,1000}>\Z")
_EDGE = frozenset(" \t\n'\"([{<-/:.,;!?")


def inline(text: str, targets: Collection[str] = ()) -> Iterator[Kept]:
    """Return what is seen of a paragraph; ``targets`` are names that ``name_`` may refer to."""
    return kept_between(text, _cuts(text, targets))


def _cuts(text: str, targets: Collection[str]) -> list[Cut]:
    cuts: list[Cut] = []
    missing: set[str] = set()  # marks of which no other one follows: looked for once
    at = 0
    while found := _SPECIAL.search(text, at):
        start = found.start()
        mark = found.group()
        if mark == "\\":
            space = text[start + 1 : start + 2] in (" ", "\n")
            cuts.append((start, start + (2 if space else 1), ""))
            at = start + 2
        elif mark == "`":
            at = _quoted(text, start, start, cuts, missing)
        elif mark == ":":
            role = _ROLE.match(text, start)
            at = _quoted(text, role.end(), start, cuts, missing) if role else start + 1
        elif mark == "*":
            at = _starred(text, start, cuts, missing)
        elif mark == "|":
            name = _SUBSTITUTION.match(text, start)
            if name:
                cuts += [(start, start + 1, ""), (name.end(1), name.end(), "")]
            at = name.end() if name else start + 1
        elif mark == "[":
            note = _NOTE.match(text, start)
            if note:
                plain = note.group(1)[:1].isalpha()
                cuts.append((note.end() - 1 if plain else start, note.end(), ""))
            at = note.end() if note else start + 1
        else:
            at = _reference(text, start, cuts, targets)
    return cuts


def _closing(text: str, mark: str, at: int, missing: set[str]) -> int:
    if mark in missing:
        return -1
    found = text.find(mark, at)
    if found < 0:
        missing.add(mark)
    return found


def _quoted(text: str, start: int, whole: int, cuts: list[Cut], missing: set[str]) -> int:
    """Read text in backticks that begins at ``start``; a role before it begins at ``whole``."""
    if text.startswith("``", start):
        end = _closing(text, "``", start + 2, missing)
        if end < 0:
            return start + 2
        while text[end + 2 : end + 3] == "`":
            end += 1
        cuts += [(whole, start + 2, ""), (end, end + 2, "")]
        return end + 2
    end = _closing(text, "`", start + 1, missing)
    if end < 0:
        return start + 1
    first, last = start + 1, end
    after = end + 1
    if embedded := _EMBEDDED.search(text, max(first, last - 1100), last):
        if embedded.start() > first:
            last = embedded.start()
        else:
            first = text.find("<", first, last) + 1
            last -= 1
    elif text[first : first + 1] in ("~", "!"):
        # ":func:`~package.module.name`" shows the last part alone.
        tilde = text[first] == "~"
        first = max(first + 1, text.rfind(".", first, last) + 1) if tilde else first + 1
    while text[after : after + 1] == "_":
        after += 1
    if start == whole and (behind := _ROLE_BEHIND.match(text, after)):
        after = behind.end()
    cuts += [(whole, first, ""), (last, after, "")]
    return after


def _starred(text: str, start: int, cuts: list[Cut], missing: set[str]) -> int:
    """Read emphasis: a mark at a word's beginning, and one at a word's end."""
    mark = "**" if text.startswith("**", start) else "*"
    first = start + len(mark)
    before = text[start - 1] if start else " "
    if before not in _EDGE or text[first : first + 1] in ("", " ", "\n", "*"):
        return first
    end = _closing(text, mark, first, missing)
    if end < 0 or text[end - 1] in " \n":
        return first
    cuts += [(start, first, ""), (end, end + len(mark), "")]
    return first if end > first else end + len(mark)


def _reference(text: str, start: int, cuts: list[Cut], targets: Collection[str]) -> int:
    """Take the underscore off a ``name_`` that refers to something."""
    end = start + 1
    while text[end : end + 1] == "_":
        end += 1
    after = text[end : end + 1]
    if targets and end - start <= 2 and (not after or after in _EDGE or after in ")]}>"):
        name = _REFERENCE.search(text, max(0, start - 80), start)
        if name and name.group().lower() in targets:
            cuts.append((start, end, ""))
    return end
