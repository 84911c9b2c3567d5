"""Sentence boundaries with offsets into the original text.

A rule splitter, because the core has one dependency and the candidates are mostly clean prose: over the
HotpotQA and 2Wiki train paragraphs its boundaries are compared with the benchmark's own by
``benchmarks/sentences.py``.
"""

from __future__ import annotations

import re

# A stop with its closing quotes or brackets, or a line end; what follows decides whether it is a boundary.
_ASCII_STOP = re.compile(r"[.!?\n][.!?\"')\]]*")
_WIDE = "\u3002\uff01\uff1f"  # full-width stops need no space after them
_ANY_STOP = re.compile(
    rf"[.!?\n\u2026\u061f\u06d4\u0964\u0965\u1362{_WIDE}]"
    rf"[.!?\u2026\u061f\u06d4\u0964\u0965\u1362{_WIDE}\"'\u201d\u2019\u00bb)\]\u300d\u300f\uff09]*"
)
_BLANK_LINE = re.compile(r"\n[ \t\r]*\n")
_OPENING = "([\"'\u201c\u2018"
_ABBREVIATIONS = frozenset(
    (
        "mr mrs ms dr prof rev hon sr jr st mt ft lt col gen maj capt sgt cmdr adm gov sen rep pres dept "
        "univ inc ltd co corp bros no nos vol vols pp p ed eds fig figs al cf vs v viz ca c approx est b d "
        "r fl etc e.g i.e a.m p.m a.k.a u.s u.k jan feb mar apr jun jul aug sep sept oct nov dec"
    ).split()
)
_LONGEST_ABBREVIATION = max(map(len, _ABBREVIATIONS))
_INITIAL = re.compile(r"(?:^|\.)\w$")


def split_sentences(text: str) -> list[tuple[int, int]]:
    """Return the (start, end) offsets of the sentences of ``text``, in order, without surrounding space.

    Every character that is not white space belongs to exactly one sentence.
    """
    spans: list[tuple[int, int]] = []
    start = 0
    size = len(text)
    for match in (_ASCII_STOP if text.isascii() else _ANY_STOP).finditer(text):
        at, after = match.span()
        first = text[at]
        if first == "\n":
            if _BLANK_LINE.match(text, at) is None:
                continue
        elif first not in _WIDE:
            if after < size and not text[after].isspace():
                continue
            # an abbreviation ends in one full stop, with nothing behind it but space
            if first == "." and after == at + 1 and not _ends_sentence(text, at, after):
                continue
        start = _append(spans, text, start, match.end())
    _append(spans, text, start, size)
    return spans


def _append(spans: list[tuple[int, int]], text: str, start: int, end: int) -> int:
    piece = text[start:end].lstrip()
    if piece:
        left = end - len(piece)
        spans.append((left, left + len(piece.rstrip())))
    return end


def _ends_sentence(text: str, stop: int, after: int) -> bool:
    """Return whether the full stop at ``stop`` ends a sentence.

    It does not after an abbreviation or an initial, nor before a lower-case letter.
    """
    follower = text[after : after + 3].lstrip()[:1]
    if follower.islower():
        return False
    space = text.rfind(" ", 0, stop)
    before = text[max(space, text.rfind("\n", space + 1, stop)) + 1 : stop].lstrip(_OPENING)
    if not before:
        return True
    if len(before) <= _LONGEST_ABBREVIATION and before.lower() in _ABBREVIATIONS:
        return False
    # "J. Smith", "U.S. Army": an initial; but "Vitamin C." before a new sentence is one as well, and
    # losing that boundary costs less than cutting a name in two.
    return not before[-1].isupper() or _INITIAL.search(before) is None
