"""Evidence by quotes and abstentions: made examples with their outcome by hand, and the public scorer where it is."""

from __future__ import annotations

import importlib.util
import os
import random
from pathlib import Path
from typing import Any

import pytest

from pagerag_lab.metrics.quotes import ContextText, Fact, Quote, abstains, fact_found, says_nothing

LEAVE = "Parents may take up to sixteen weeks of paid leave after a birth"


def found(quote: str, text: str, source: str | None = "handbook/leave.md", **changes: Any) -> bool:
    fact = Fact((Quote(changes.pop("files", ("handbook/leave.md",)), quote, **changes),))
    return fact_found(fact, [ContextText(source, text)])


@pytest.mark.parametrize(
    ("text", "source", "expected"),
    [
        (f"In short: {LEAVE}.", "handbook/leave.md", True),
        (f"In short: {LEAVE}.", "/any/folder/handbook/leave.md#part", True),
        (f"In short: {LEAVE}.", "leave.html", True),  # another extension, at the end of the path
        (f"In short: {LEAVE}.", "other.md", True),  # thirteen words in order count anywhere
        (
            "Parents **may take**\n up to <b>sixteen</b> weeks of [paid leave](x.md) after a birth",
            "leave.md",
            True,
        ),
        ("Parents may, if they wish, take up to sixteen weeks of leave after birth", "leave.md", True),
        ("Parents may, if they wish, take up to sixteen weeks of leave after birth", "other.md", False),
        ("Parents may take leave.", "handbook/leave.md", False),
        ("", "handbook/leave.md", False),
        (f"In short: {LEAVE}.", None, True),
    ],
)
def test_a_long_quote(text: str, source: str | None, expected: bool) -> None:
    assert found(LEAVE, text, source) is expected


def test_short_quotes_must_be_whole_and_in_their_file() -> None:
    assert found("sixteen weeks leave", "At most sixteen weeks of leave.") is False
    assert found("sixteen weeks leave", "At most sixteen weeks -- leave.") is True
    assert found("sixteen weeks leave", "At most leave of sixteen weeks.") is False
    assert found("sixteen weeks leave", "At most sixteen weeks leave.", "other.md") is False


def test_words_that_stand_in_several_files_count_in_theirs_only() -> None:
    assert found(LEAVE, LEAVE, "other.md", this_file_only=True) is False
    assert found(LEAVE, LEAVE, "handbook/leave.md", this_file_only=True) is True
    assert found(LEAVE, LEAVE, "b.md", this_file_only=True, files=("a.md", "b.md")) is True


def test_one_of_several_places_is_enough() -> None:
    fact = Fact((Quote(("a.md",), "never written"), Quote(("b.md",), "written here")))
    assert fact_found(fact, [ContextText("b.md", "It is written here.")])
    assert not fact_found(fact, [ContextText("a.md", "It is written here.")])


def test_markup_of_restructured_text_is_passed_over() -> None:
    text = "Set :setting:`DEBUG <debug>` to ``False`` before `going live <https://x.org/a>`_ with :doc:`~deploy`."
    assert found("Set DEBUG to False before going live with deploy", text)
    assert found("visible text only", "visible <!-- not\nthis --> text only")


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("", True),
        ("  ", True),
        ("I don't know.", True),
        ("The documents do not say who wrote it.", True),
        ("It isn't mentioned.", True),
        ("This cannot be determined", True),
        ("No such details are given.", True),
        ("sixteen weeks", False),
        ("no", False),
        ("He could not swim", False),
        ("x" * 300 + " no answer", False),
    ],
)
def test_abstentions_in_words(answer: str, expected: bool) -> None:
    assert says_nothing(answer) is expected
    assert abstains(answer, "enough") is expected
    assert abstains(answer, "insufficient") is True


DATA = Path(os.environ.get("PAGERAG_DATA", "../shared/data")) / "documents" / "score.py"


@pytest.mark.skipif(not DATA.is_file(), reason="the public scorer is not among the data (PAGERAG_DATA)")
def test_the_public_scorer_says_the_same() -> None:
    spec = importlib.util.spec_from_file_location("public_score", DATA)
    assert spec is not None
    assert spec.loader is not None
    public = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(public)
    rng = random.Random(4)
    words = [
        *LEAVE.split(),
        "<b>",
        "</b>",
        "[x](y)",
        ":ref:`z <q>`",
        "don’t",
        "§",
        "weeks",
        "of",
        "<!--",
        "-->",
    ]
    agreed = 0
    for _ in range(3000):
        quote = " ".join(rng.choices(words, k=rng.randint(1, 14)))
        kept = [word for word in quote.split() if rng.random() < 0.9]
        text = " ".join([*rng.choices(words, k=rng.randint(0, 12)), *kept, *rng.choices(words, k=3)])
        source = rng.choice(["a/b.md", "b.md", "x/a/b.md:3", "b.html", "c.md", "", None, "./A/B.md#s"])
        strict = rng.random() < 0.3
        theirs = public.fact_found(
            {"file": "a/b.md", "quote": quote, "same_text_elsewhere": strict},
            [(source, public.variants(text))],
        )
        ours = found(quote, text, source, files=("a/b.md",), this_file_only=strict)
        assert ours == theirs, (quote, text, source)
        agreed += theirs
    assert 300 < agreed < 2700, "both outcomes must occur"
