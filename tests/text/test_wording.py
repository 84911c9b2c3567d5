"""Words in a text: inflections meet, other words with the same beginning do not, identifiers are whole."""

from __future__ import annotations

import pytest

from pagerag.text.wording import PlainText, bases


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("composer", "composed"),
        ("composing", "composes"),
        ("studies", "studied"),
        ("running", "runs"),
        ("invention", "invented"),
        ("writers", "writing"),
        ("quickly", "quick"),
    ],
)
def test_inflections_meet(one: str, other: str) -> None:
    assert bases(one) & bases(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [("pagerag", "pager"), ("station", "state"), ("car", "care"), ("universe", "university"), ("2x", "2xs")],
)
def test_other_words_do_not(one: str, other: str) -> None:
    assert not bases(one) & bases(other)


@pytest.mark.parametrize(
    ("word", "text", "there"),
    [
        ("2.11.0", "since 2.11.0.", True),
        ("2.11", "since 2.11.0", False),
        ("1.2", "since v1.2", True),
        ("v1.2", "since version 1.2", True),
        ("10.16+", "macOS 10.16+ only", True),
        ("10.16+", "macOS 10.16 only", False),
        ("man-db", "MAN-DB", True),
        ("man-db", "a man and a db", False),
        ("foo_bar", "call foo_bar()", True),
        ("foo_bar", "call foo_bar_baz()", False),
        ("C++", "written in C++, mostly", True),
        ("C++", "written in C", False),
        ("T-shirts", "a T-shirt", True),
        ("J.R.R", "J. R. R. Tolkien", True),
        ("1914-1918", "the war of 1914–1918", True),
    ],
)
def test_identifiers_are_there_whole(word: str, text: str, there: bool) -> None:
    assert PlainText(text).has_literally(word) is there


def test_a_number_is_no_part_of_a_version() -> None:
    assert not PlainText("the 2.X line").has("2")
    assert PlainText("64MB").may_have("64")
    assert not PlainText("64MB").has("64")
