"""What the checks share: how a broken contract is reported, and the odd texts that must not break anyone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NoReturn, TypeVar

import numpy as np
from numpy.typing import NDArray

T = TypeVar("T")

PLAIN_TEXTS = (
    "Marie Curie was born in Warsaw. She won the Nobel Prize in Physics in 1903.",
    "Warsaw is the capital of Poland.",
    "The Eiffel Tower was built by the company of Gustave Eiffel for the World's Fair of 1889.",
)

ODD_TEXTS = {
    "one character": "a",
    "stop words alone": "the of and",
    "punctuation alone": "?!…—",
    "digits": "1234567890",
    "Chinese": "玛丽·居里出生于华沙。",
    "Arabic": "وُلدت ماري كوري في وارسو.",
    "Hindi": "मैरी क्यूरी का जन्म वारसॉ में हुआ था।",
    "Thai": "มารี กูว์รี เกิดที่วอร์ซอ",
    "emoji": "👩‍🔬 🇵🇱 born in 🏙️",
    "combining marks": "Cafe\u0301 Z\u0335a\u0301lgo\u0336",
    "control characters": "a\x00b\x07c\x1bd\u200be\ufefff",
    "a lone surrogate": "broken \ud83d character",
    "line breaks": "\n\r\n\u2028line\u2029\tend\n",
    "markup": "<script>alert('x')</script> [1] {braces} %s \\n",
    "one long word": "w" * 5_000,
    "a long text": "Warsaw is the capital of Poland. " * 1_500,
}

BLANK_TEXTS = {"an empty text": "", "spaces": " \t\n"}


class Checker:
    """Asks for one contract after the other and words the failure."""

    def __init__(self, check: str, subject: object) -> None:
        self.component = subject
        self.label = f"{check}({getattr(subject, '__name__', type(subject).__name__)})"

    def expect(self, condition: object, contract: str, seen: object) -> None:
        """Fail with the contract and what was seen instead, unless ``condition`` holds."""
        if not condition:
            self.fail(contract, seen)

    def equal(self, seen: object, wanted: object, contract: str) -> None:
        self.expect(seen == wanted, contract, seen)

    def array(self, value: object, shape: tuple[int, ...], label: str) -> NDArray[np.float32]:
        """Return the value, if it is a finite float32 array of this shape."""
        if not isinstance(value, np.ndarray):
            self.fail(f"{label} gives a NumPy array", type(value).__name__)
        self.expect(value.shape == shape, f"{label} has shape {shape}", value.shape)
        self.expect(value.dtype == np.float32, f"{label} is float32", value.dtype)
        self.expect(np.isfinite(value).all(), f"{label} is finite", "NaN or infinity")
        return value

    def fail(self, contract: str, seen: object) -> NoReturn:
        raise AssertionError(f"{self.label}: {contract}; seen: {shorten(seen)}")

    def call(
        self, what: str, function: Callable[[], T], allowed: tuple[type[Exception], ...] = ()
    ) -> T | None:
        """Return the function's value; None when it raised an error that the contract allows."""
        try:
            return function()
        except allowed:
            return None
        except Exception as problem:
            names = ", ".join(error.__name__ for error in allowed)
            contract = f"{what} must not raise" + (f" anything but {names}" if names else "")
            seen = f"{type(problem).__name__}: {problem}"
            raise AssertionError(f"{self.label}: {contract}; seen: {seen}") from problem

    def refused(self, what: str, function: Callable[[], object], error: type[Exception]) -> None:
        given = self.call(what, function, (error,))
        self.expect(given is None, f"{what} is refused with {error.__name__}", given)

    def member(self, name: str, kind: type[Any], contract: str) -> Any:
        value = getattr(self.component, name, _MISSING)
        if value is _MISSING:
            self.fail(contract, f"no attribute {name!r}")
        good = isinstance(value, kind) and not (kind is int and isinstance(value, bool))
        self.expect(good, contract, f"{name} = {value!r}")
        return value

    def method(self, name: str, contract: str) -> Any:
        value = getattr(self.component, name, None)
        self.expect(callable(value), contract, f"{name} = {value!r}")
        return value

    def name(self) -> None:
        """Fail unless the component has a name: people read it in traces and tables."""
        contract = "name is a text that is not blank"
        value: str = self.member("name", str, contract)
        self.expect(value.strip(), contract, f"name = {value!r}")


_MISSING = object()


def in_threads(function: Callable[[], T], threads: int = 4) -> list[T]:
    """Return the values of the same call made by several threads at once."""
    with ThreadPoolExecutor(threads) as pool:
        return [future.result() for future in [pool.submit(function) for _ in range(threads)]]


def shorten(value: object, longest: int = 300) -> str:
    """Return a value as text that fits in a message; lone surrogates are escaped for printing."""
    text = value if isinstance(value, str) else repr(value)
    text = text.encode("utf-8", "backslashreplace").decode("utf-8")
    return text if len(text) <= longest else f"{text[:longest]}… ({len(text)} characters)"


def names_of(values: Sequence[object]) -> str:
    """Return up to three values, for a message."""
    shown = ", ".join(shorten(value, 60) for value in values[:3])
    return shown + (f" and {len(values) - 3} more" if len(values) > 3 else "")
