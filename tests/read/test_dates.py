"""Questions that compare two dates, decided by the dates."""

from __future__ import annotations

from typing import Any

import pytest

from pagerag import Candidate
from pagerag.read.dates import compare, dates


def unit(title: str, text: str) -> Candidate:
    return Candidate(f"{title}#0", text, title=title)


PEOPLE = [
    unit("Ada Brook", "Ada Brook (3 March 1926 – 7 March 2012) was a painter."),
    unit("Ben Field", "Ben Field (born March 9, 1926, in Leeds) was a pilot. He died in May 2001."),
]
FILMS = [
    unit("Low Tide", "Low Tide is a 1951 drama directed by Ada Brook and starring Carl Moss."),
    unit("High Road (film)", "High Road is a film of 1949 directed by Ben Field."),
]


@pytest.mark.parametrize(
    ("question", "answer", "first"),
    [
        ("Who was born earlier, Ada Brook or Ben Field?", "Ada Brook", 0),
        ("Who is younger, Ada Brook or Ben Field?", "Ben Field", 1),
        ("Who died first, Ada Brook or Ben Field?", "Ben Field", 1),
        ("Who lived longer, Ada Brook or Ben Field?", "Ada Brook", 0),
        ("Which film was released more recently, Low Tide or High Road?", "Low Tide", 2),
        ("Which film came out first, Low Tide or High Road?", "High Road", 3),
        ("Which film has the director who died later, Low Tide or High Road?", "Low Tide", 2),
        ("Which film has the director who is older than the other, High Road or Low Tide?", "Low Tide", 2),
    ],
)
def test_dates_decide(question: str, answer: str, first: int) -> None:
    found = compare(question, [*PEOPLE, *FILMS])
    assert found is not None
    assert found.option == answer
    assert found.units[0] == first


@pytest.mark.parametrize(
    "question",
    [
        "Who composed the score of Low Tide?",
        "Who was born earlier, Ada Brook or Dora Lane?",  # nothing is known of one
        "Which is larger, Low Tide or High Road?",  # not a matter of dates
        "Which film was directed by Ada Brook, Low Tide or High Road?",
        "",
    ],
)
def test_nothing_is_decided_without_dates(question: str) -> None:
    assert compare(question, [*PEOPLE, *FILMS]) is None


def test_equal_or_vague_dates_decide_nothing() -> None:
    same = [unit("A Bell", "A Bell, born in 1950."), unit("C Dorn", "C Dorn, born 4 May 1950.")]
    assert compare("Who was born first, A Bell or C Dorn?", same) is None


def test_titles_with_commas_and_or() -> None:
    films = [
        unit("See You, My Darling", "See You, My Darling is a film of 1999."),
        unit("Do or Die", "Do or Die is a film of 1991."),
    ]
    found = compare("Which film was released first, See You, My Darling or Do or Die?", films)
    assert found is not None
    assert found.option == "Do or Die"


def test_dates_are_read_in_every_form() -> None:
    text = "On 3 March 1926, on March 4th, 1927, in May 1928 and in 1929."
    assert [date for _, date in dates(text)] == [(1926, 3, 3), (1927, 3, 4), (1928, 5, 0), (1929, 0, 0)]


def test_the_reader_answers_by_dates_and_cites_them(reader: Any) -> None:
    answer = reader.read("Who was born earlier, Ada Brook or Ben Field?", PEOPLE)
    assert answer.text == "Ada Brook"
    assert [citation.candidate_id for citation in answer.citations] == ["Ada Brook#0", "Ben Field#0"]


def test_letters_that_only_look_like_a_month_are_none() -> None:
    assert [date for _, date in dates("3 apr\u0131l 1913, 4 april 1914")] == [(1914, 4, 4)]
