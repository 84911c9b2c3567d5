"""Find regular expressions and functions that take more than linear time on hostile text.

tests/security sweeps every pattern of every room, and the functions that read foreign text. Time is that of the
processor, and what is judged is its growth, so that a busy machine fails no test.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from itertools import product

ATOMS = [
    " ", "\n", "\t", "a", "A", "0", "é", ".", ",", "-", "'", '"', "(", ")", "[", "]", "{", "<", ">", "/", "|",
    "=", "*", "_", "`", "#", "\\", "&", ";", ":", "<!--", "-->", "<a", "</", "](", "![", "```", "<<<", ">>>",
    "[1,", "[1-", "1-", "1 ", "a ", "a.", "A. ", "or ", " or ", "and ", " and ", "( ", "((", "[ ", "[[", "< ",
    "<a ", 'a="', "A b ", "x\n", "\n\n", "\r\n", "- ", "| ", "\u0301", "\u200b", "[unit ", "<think>",
]  # fmt: skip
ENDS = ["", "!", "\n", "x", "]", ")"]
STARTS = ["", "[1", "(", "<<<", "answer", "a"]

FIRST = 2_000
"""Characters of the first try."""
QUICK = 0.001
"""Seconds of processor time below which a text of the first size is not suspicious: a quadratic pattern needs
3 ms and more, a linear one 0.1. A function may take ten times as long as for prose."""
SIZE = 8_000
"""Characters of the second try."""
GROWTH = 9.0
"""Four times the text may take so many times the time: 4 is linear, 16 quadratic."""
PROSE = "Hans Zimmer, who was born in Frankfurt (1957), composed the score of Interstellar. "


def assert_linear(
    subject: re.Pattern[str] | Callable[[str], object],
    atoms: tuple[str, ...] = (),
    words_of: re.Pattern[str] | None = None,
) -> None:
    """Fail when ``subject`` takes more than linear time on one of many adversarial texts.

    ``subject`` is a pattern, searched from end to end, or a function of a text. ``atoms`` are more pieces that
    the texts are made of; the literal words of a pattern are added by themselves, or those of ``words_of``.
    """
    run = subject if not isinstance(subject, re.Pattern) else lambda text: [*subject.finditer(text)]
    source = subject if isinstance(subject, re.Pattern) else words_of
    own = [*atoms, *(_words(source) if source is not None else ())]
    usual = min(_seconds(run, (PROSE * FIRST)[:FIRST]) for _ in range(3))
    quick = QUICK if source is not None else max(2 * QUICK, 10 * usual)
    for make in _texts(own):
        if _seconds(run, make(FIRST)) < quick or _seconds(run, make(FIRST)) < quick:
            continue  # twice, because a busy machine makes one try in a thousand slow
        assert_growth(
            run, make(SIZE), make(4 * SIZE), f"{getattr(subject, 'pattern', subject)!r}: {make(40)!r}..."
        )


def assert_growth(run: Callable[[str], object], short: str, long: str, name: str) -> None:
    """Fail when a text four times as long takes more than ``GROWTH`` times as long."""
    first, again = _best(run, short), _best(run, long)
    assert again < GROWTH * first or again < 20 * QUICK, (
        f"{name} takes {first:.3f} s for {len(short)} characters and {again:.3f} s for {len(long)}"
    )


def _texts(own: list[str]) -> Iterator[Callable[[int], str]]:
    for atom in [*own, *ATOMS]:
        for start, end in (("", ""), *product(STARTS[1:], ("!",)), *(("", end) for end in ENDS[1:])):
            yield lambda size, a=atom, s=start, e=end: s + a * (size // len(a)) + e  # type: ignore[misc]
    for first, second in product([*own[:8], " ", "a", "("], [" ", "a", "1", "(", "[", "<", ",", "\n"]):
        pair = first + second
        yield lambda size, p=pair: p * (size // len(p)) + "!"  # type: ignore[misc]
        yield lambda size, f=first, s=second: f + s * size + "!"  # type: ignore[misc]
        yield lambda size, f=first, s=second: f * (size // 2 // len(f)) + s * (size // 2)  # type: ignore[misc]


def _words(pattern: re.Pattern[str]) -> list[str]:
    return list(dict.fromkeys(re.findall(r"[A-Za-z]{2,}", re.sub(r"\\.|\?P<\w+>", " ", pattern.pattern))))[
        :20
    ]


def _seconds(run: Callable[[str], object], text: str) -> float:
    started = time.thread_time()
    run(text)
    return time.thread_time() - started


def _best(run: Callable[[str], object], text: str) -> float:
    """Return the least of up to three times; what takes long is not repeated."""
    taken = _seconds(run, text)
    return taken if taken > 1 else min(taken, *(_seconds(run, text) for _ in range(2)))
