from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pagerag.models.blocks import block_starts, clean_span, token_blocks

PAGE = """# Storage

Keep the flour dry
and dark.
- rice: one year
- oats: six months
1. Wash.
Cleaning
--------
Wipe the shelf."""


def test_blocks_are_paragraphs_headings_and_items() -> None:
    bounds = [0, *block_starts(PAGE), len(PAGE)]
    blocks = [PAGE[a:b].strip() for a, b in pairwise(bounds)]
    assert [block for block in blocks if block] == [
        "# Storage",
        "Keep the flour dry\nand dark.",
        "- rice: one year",
        "- oats: six months",
        "1. Wash.",
        "Cleaning",
        "--------",
        "Wipe the shelf.",
    ]


def test_runs_of_tokens_end_with_their_block() -> None:
    text = "one two\n\nthree\n- four"
    offsets = [(0, 3), (4, 7), (9, 14), (15, 16), (17, 21)]
    assert token_blocks(block_starts(text), offsets) == [(0, 2), (2, 3), (3, 5)]
    assert token_blocks(block_starts(text), offsets[1:3]) == [(0, 1), (1, 2)]
    assert token_blocks(block_starts(text), []) == []


@pytest.mark.parametrize(
    ("text", "span", "clean"),
    [
        ("by Perttu Ahola (celeron55) of Oulu", "Perttu Ahola (celeron55", "Perttu Ahola (celeron55)"),
        ("by Perttu Ahola (known as celeron55)", "Perttu Ahola (known", "Perttu Ahola"),
        ("see (Frankfurt) there", "Frankfurt)", "(Frankfurt)"),
        ("in Hesse) there", "Hesse)", "Hesse"),
        ("the tempera", "temp", "tempera"),
        ('say "Sam" now', 'Sam"', "Sam"),
        ("it is **14 days**, or so", "**14 days**,", "14 days"),
        ("in Washington.", "Washington.", "Washington"),
        ("in the U.S.", "U.S.", "U.S."),
        ("put it in /etc/hosts", "/etc/hosts", "/etc/hosts"),
        ("written in C++ and C#", "C++ and C#", "C++ and C#"),
        ("出生在法兰克福。", "法兰克福。", "法兰克福"),
        ("a ( ; b", "( ;", ""),
        ('It removes "extraneous" packages.', 'extraneous" packages', '"extraneous" packages'),
        ('It is the song "Yes" of 1990.', 'the song "Yes', 'the song "Yes"'),
        ('A 5" disk of plastic', '5" disk', '5" disk'),
        ("Do so:\n\n    $ pip install -U Flask \nThen go.", "$ pip", "pip install -U Flask"),
        ("$ pip install Flask", "pip", "pip"),
        ("It costs\n$ 500 a year", "$ 500", "$ 500"),
        ("Pay in $ or in euros", "$ or", "$ or"),
    ],
)
def test_answers_are_whole_words_without_loose_ends(text: str, span: str, clean: str) -> None:
    start = text.index(span)
    first, last = clean_span(text, start, start + len(span))
    assert text[first:last] == clean


@given(st.text('ab (]"*.,\n法', max_size=30), st.data())
def test_any_span_stays_inside_its_text(text: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    first, last = clean_span(text, start, end)
    assert 0 <= first <= last <= len(text)
    assert text[first:last] == text[first:last].strip()


@pytest.mark.timeout(60)  # quadratic time would be hours
def test_hostile_text_takes_linear_time() -> None:
    for text in ("-" * 200_000, " " * 200_000, "- \n" * 60_000, "(" * 200_000, "a" * 200_000):
        block_starts(text)
        clean_span(text, 100, 200)
