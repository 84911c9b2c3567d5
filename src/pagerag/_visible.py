"""Text that others wrote, without the characters that a person cannot see."""

from __future__ import annotations

import re
import unicodedata
from functools import cache

# Format characters (category Cf) go as a class; these are invisible and filed elsewhere.
_INVISIBLE = frozenset(
    [
        *(0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x3164, 0xFFA0),
        *range(0x180B, 0x1810),  # Mongolian selectors
        *range(0xFE00, 0xFE10),  # variation selectors
        *range(0xE0100, 0xE01F0),  # supplementary variation selectors
    ]
)
_HIDDEN_KINDS = frozenset({"Cc", "Cf", "Cs", "Co"})
_LONGEST_RUN = 30
_BEYOND_LATIN = re.compile(f"[\u0300-\U0001e94f]{{{_LONGEST_RUN + 1}}}")  # the patterns below cost 10 ms
_LINE_BREAKS = frozenset("\n\r\u2028\u2029\x85\x0b\x0c")


class _Visible(dict[int, str | None]):
    """A translation table that looks each character up once."""

    def __missing__(self, code: int) -> str | None:
        letter = chr(code)
        kept: str | None = letter
        if letter in _LINE_BREAKS:
            kept = "\n"
        elif letter != "\t" and (code in _INVISIBLE or unicodedata.category(letter) in _HIDDEN_KINDS):
            kept = None
        self[code] = kept
        return kept


_TABLE = _Visible()


def visible(text: str) -> str:
    """Return ``text`` without the characters that a person cannot see; tabs stay, breaks become line feeds.

    Zero-width joiners go too. Scripts that shape letters with them stay readable to a model, and
    nothing can hide behind them.
    """
    return text.replace("\r\n", "\n").translate(_TABLE)


def well_formed(text: str) -> str:
    """Return ``text`` with lone surrogates replaced, so that it can be written as UTF-8."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def composed(text: str) -> str:
    """Return ``text`` in Unicode's composed form (NFC), runs of combining marks cut to thirty."""
    return text if text.isascii() else unicodedata.normalize("NFC", short_runs(text))


def short_runs(text: str) -> str:
    """Return ``text`` with runs of combining marks cut to thirty; do so before any normal form is made.

    Normalising sorts each run of marks, and Python's sort takes time quadratic in the run: 40,000 marks took
    4.5 s. Thirty is the limit of Unicode's stream-safe format (UAX 15); no language needs more.
    """
    if len(text) <= _LONGEST_RUN or _BEYOND_LATIN.search(text) is None:
        return text
    suspected, run = _mark_runs()
    return text if suspected.search(text) is None else run.sub(r"\1", text)


@cache
def _mark_runs() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Return a quick pattern that long runs of marks match, and others, and an exact one.

    Made at first use (about 10 ms). The quick one takes every character of the supplementary planes up to the
    last mark, U+1E94A, for one: ``re`` looks single ones up one by one, which made it 15 times as slow.
    """
    marks = "".join(chr(code) for code in range(0x300, 0x1E950) if unicodedata.combining(chr(code)))
    basic = "".join(mark for mark in marks if mark < "\U00010000")
    return (
        re.compile(f"[{basic}\U00010000-\U0001e94f]{{{_LONGEST_RUN + 1}}}"),
        re.compile(f"([{marks}]{{{_LONGEST_RUN}}})[{marks}]+"),
    )
