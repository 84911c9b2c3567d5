"""The keys of titles, their numbers, and the terms of lexical search."""

from __future__ import annotations

import time

import numpy as np
import pytest

from pagerag.text import encoded_text
from pagerag.text.keys import (
    key_number,
    name_numbers,
    run_numbers,
    title_key,
    title_keys,
    word_number,
    words_number,
)
from pagerag.text.terms import terms

HANS, ZIMMER = 12172359176196661222, -3999501074720805888


@pytest.mark.parametrize(
    ("title", "keys"),
    [
        ("Alien (film)", ("alien film", "alien")),
        ("Alien (1979) (film) ", ("alien 1979 film", "alien 1979")),
        ("Alien (film) II", ("alien film ii",)),
        ("Alien ((film)", ("alien film", "alien")),
        ("Fred F. Sears", ("fred f sears", "fred sears")),
        ("Edward, Duke of Kent", ("edward duke of kent",)),
        ("Edward of the North, Duke of Kent", ("edward of the north duke of kent", "edward of the north")),
        ("The Who", ("the who",)),
        ("A.I.", ("a i",)),
        ("(500) Days of Summer", ("500 days of summer",)),
        ("Beyoncé", ("beyonce",)),
        ("東京（曖昧さ回避）", ("東京 曖昧 昧さ さ回 回避", "東京")),
        ("!!", ()),
        ("", ()),
    ],
)
def test_the_keys_of_a_title(title: str, keys: tuple[str, ...]) -> None:
    assert title_keys(title) == keys
    assert title_key(title) == next(iter(keys), "")


def test_numbers_are_the_same_everywhere() -> None:
    assert word_number("hans") == HANS
    assert key_number("hans") == np.array([HANS], np.uint64).view(np.int64)[0]
    assert key_number("hans zimmer") == ZIMMER
    assert key_number("zimmer hans") != ZIMMER
    assert name_numbers("Alien (film)") == [key_number("alien film"), key_number("alien")]
    assert name_numbers(None) == []
    assert name_numbers(None, ["Alien"]) == [key_number("alien")]


def test_the_numbers_of_runs_are_those_of_names() -> None:
    words = [f"word{n % 17}" for n in range(300)]
    numbers = np.array([word_number(word) for word in words], dtype=np.uint64)
    first = np.array([0, 3, 250, 299, 7], dtype=np.intp)
    end = np.array([1, 9, 260, 300, 7], dtype=np.intp)
    want = [words_number(words[a:b]) for a, b in zip(first, end, strict=True)]
    assert run_numbers(numbers, first, end).tolist() == want
    nothing = np.empty(0, np.intp)
    assert run_numbers(np.empty(0, np.uint64), nothing, nothing).tolist() == []


@pytest.mark.parametrize("title", ["(" * 50_000, " " * 50_000 + ")", "( " * 30_000 + ")", "a (" * 30_000])
def test_hostile_titles_take_linear_time(title: str) -> None:
    started = time.process_time()
    title_keys(title)
    assert time.process_time() - started < 2


def test_terms() -> None:
    assert terms("The cities of the boxers were on the bus") == ["city", "boxer", "bus"]
    assert terms("The Who") == ["the", "who"]
    assert terms("") == []
    assert encoded_text("T", "x.") == "T. x."
    assert encoded_text(None, "x.") == encoded_text("", "x.") == "x."
