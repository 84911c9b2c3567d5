"""Find regular expressions and functions that take more than linear time on hostile text.

A room's test hands its patterns over::

    @pytest.mark.parametrize("pattern", patterns_of(my_module), ids=lambda p: p.pattern[:40])
    def test_patterns_are_linear(pattern):
        assert_linear(pattern)
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from itertools import product
from types import ModuleType

ATOMS = [
    " ", "\n", "\t", "a", "A", "0", "é", ".", ",", "-", "'", '"', "(", ")", "[", "]", "{", "<", ">", "/", "|",
    "=", "*", "_", "`", "#", "\\", "&", ";", ":", "<!--", "-->", "<a", "</", "](", "![", "```", "<<<", ">>>",
    "[1,", "[1-", "1-", "1 ", "a ", "a.", "A. ", "or ", " or ", "and ", " and ", "( ", "((", "[ ", "[[", "< ",
    "<a ", 'a="', "A b ", "x\n", "\n\n", "\r\n", "- ", "| ", "\u0301", "\u200b", "[unit ", "<think>",
]  # fmt: skip
ENDS = ["", "!", "\n", "x", "]", ")"]
STARTS = ["", "[1", "(", "<<<", "answer", "a"]

SIZE = 8_000
"""Characters of the first try: a quadratic pattern needs 50 ms and more for them, a linear one below 1 ms."""
SUSPICIOUS = 0.02
"""Seconds of processor time from which a text is tried again four times as long."""
GROWTH = 9.0
"""Four times the text may take so many times the time: 4 is linear, 16 quadratic."""


def patterns_of(*modules: ModuleType) -> list[re.Pattern[str]]:
    """Return the compiled patterns that are module attributes, alone or inside dicts, lists and tuples."""
    found: dict[str, re.Pattern[str]] = {}

    def look(value: object) -> None:
        if isinstance(value, re.Pattern) and isinstance(value.pattern, str):
            found[value.pattern] = value
        elif isinstance(value, dict):
            for item in value.values():
                look(item)
        elif isinstance(value, list | tuple):
            for item in value:
                look(item)

    for module in modules:
        for value in vars(module).values():
            look(value)
    return list(found.values())


def assert_linear(subject: re.Pattern[str] | Callable[[str], object], atoms: tuple[str, ...] = ()) -> None:
    """Fail when ``subject`` takes more than linear time on one of many adversarial texts.

    ``subject`` is a pattern, searched from end to end, or a function of a text. ``atoms`` are more pieces that
    the texts are made of; the literal words of a pattern are added by themselves.
    """
    run = subject if not isinstance(subject, re.Pattern) else lambda text: [*subject.finditer(text)]
    own = [*atoms, *(_words(subject) if isinstance(subject, re.Pattern) else ())]
    for make in _texts(own):
        first = _seconds(run, make(SIZE))
        if first < SUSPICIOUS:
            continue
        first = min(first, _seconds(run, make(SIZE)))  # a busy machine, perhaps
        again = _seconds(run, make(4 * SIZE))
        assert again < GROWTH * max(first, SUSPICIOUS / 2), (
            f"{getattr(subject, 'pattern', subject)!r}: {make(40)!r}... takes {first:.3f} s for {SIZE} "
            f"characters and {again:.3f} s for {4 * SIZE}"
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
