"""Sentence boundaries with offsets into the original text.

A rule splitter, because the core has one dependency and the candidates are mostly clean prose: over the
HotpotQA and 2Wiki train paragraphs its boundaries are compared with the benchmark's own by
``benchmarks/sentences.py``.
"""

from __future__ import annotations

import re

__all__ = ["split_sentences"]

# A stop, its closing quotes or brackets, then space; or a full-width stop, which needs no space; or a
# blank line, which ends a heading or a list item.
_STOP = re.compile(
    r"(?P<stop>[.!?\u2026\u061f\u06d4\u0964\u0965\u1362]+)[\"'\u201d\u2019\u00bb)\]]*(?=\s)"
    r"|[\u3002\uff01\uff1f]+[\u300d\u300f\u201d\u2019\uff09]*"
    r"|\n[ \t]*\n"
)
_WORD_BEFORE = re.compile(r"[^\s(\[\"'\u201c\u2018]+$")
_ABBREVIATIONS = frozenset(
    "mr mrs ms dr prof rev hon sr jr st mt ft lt col gen maj capt sgt cmdr adm gov sen rep pres dept univ "
    "inc ltd co corp bros no nos vol vols pp p ed eds fig figs al cf vs v viz ca c approx est b d r fl etc "
    "e.g i.e a.m p.m a.k.a u.s u.k jan feb mar apr jun jul aug sep sept oct nov dec".split()
)
_INITIAL = re.compile(r"(?:^|\.)\w$")


def split_sentences(text: str) -> list[tuple[int, int]]:
    """The (start, end) offsets of the sentences of ``text``, in order, without surrounding space.

    Every character that is not white space belongs to exactly one sentence.
    """
    spans: list[tuple[int, int]] = []
    start = 0
    for match in _STOP.finditer(text):
        if match.group("stop") == "." and not _ends_sentence(text, match.start(), match.end()):
            continue
        start = _append(spans, text, start, match.end())
    _append(spans, text, start, len(text))
    return spans


def _append(spans: list[tuple[int, int]], text: str, start: int, end: int) -> int:
    piece = text[start:end]
    body = piece.strip()
    if body:
        left = start + len(piece) - len(piece.lstrip())
        spans.append((left, left + len(body)))
    return end


def _ends_sentence(text: str, stop: int, after: int) -> bool:
    """Whether the full stop at ``stop`` ends a sentence: not after an abbreviation or an initial, and
    not before a lower-case letter."""
    follower = text[after : after + 3].lstrip()[:1]
    if follower.islower():
        return False
    word = _WORD_BEFORE.search(text, max(0, stop - 24), stop)
    if word is None:
        return True
    before = word.group()
    if before.lower() in _ABBREVIATIONS:
        return False
    # "J. Smith", "U.S. Army": an initial; but "Vitamin C." before a new sentence is one as well, and
    # losing that boundary costs less than cutting a name in two.
    return _INITIAL.search(before) is None or not before[-1].isupper()
