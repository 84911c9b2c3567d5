"""Questions that compare amounts: what they compare, what a text tells, and which amount wins."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pagerag import Candidate
from pagerag.read.amounts import Amount, Contest, amounts, contest, decide, told_amount, units_about


@pytest.mark.parametrize(
    ("question", "options", "asked", "greatest"),
    [
        ("what cooks longer, goulash or broth?", ("goulash", "broth"), "cooks how long: goulash?", True),
        ("more votes: Ann Lee or Bo Ray?", ("Ann Lee", "Bo Ray"), "how many votes: Ann Lee?", True),
        ("tram vs bus, which is cheaper", ("tram", "bus"), "how much cost: tram?", False),
        ("does the red or the blue paint need more water?", ("the red", "the blue paint"), "", True),
        ("Of oak, ash and elm, which is tallest?", ("oak", "ash", "elm"), "how tall: oak?", True),
        (
            "which is checked more often, the log or the disk?",
            ("the log", "the disk"),
            "checked how often: the log?",
            True,
        ),
        (
            "which arrived earlier: maps or charts? give both",
            ("maps", "charts"),
            "arrived when: maps?",
            False,
        ),
    ],
)
def test_what_is_compared(question: str, options: tuple[str, ...], asked: str, greatest: bool) -> None:
    found = contest(question)
    assert found is not None
    assert (found.options, found.greatest) == (options, greatest)
    assert len(found.asked) == len(options)
    assert not asked or found.asked[0] == asked


@pytest.mark.parametrize(
    "question",
    [
        "Who wrote more than ten operas?",
        "How much longer is the Nile?",
        "Should I take the bus or the tram?",
        "list the first three kings",
        "Which city was the composer of Interstellar born in?",
        "more " * 200 + ": a or b",
        "which is no longer sold, the lamp or the desk?",
        "which needs at least 3 years, oak or ash?",
        "which is the second highest, the K2 or the Lhotse?",
        "which cooks more quickly, rice or barley?",
        "which is h\u0131gher, the tower or the dome?",
    ],
)
def test_what_is_no_comparison(question: str) -> None:
    assert contest(question) is None


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        ("8 hr 30 min", "time", 30_600),
        ("an hour", "time", 3_600),
        ("2-hour window", "time", 7_200),
        ("3 consecutive years", "time", 3 * 3.156e7),
        ("every 15 minutes", "time", 900),
        ("10-14 days", "time", 864_000),
        ("1 1/2 cups", "volume", 360),
        ("½ litre", "volume", 500),
        ("twenty-five dollars a week", "=dollar/week", 25),
        ("two hundred feet", "length", 60.96),
        ("$100 million", "$", 1e8),
        ("256 KiB", "bytes", 262_144),
        ("87K", "", 87_000),
        ("150,000–160,000 platelets", "=platelet", 150_000),
        ("fifty ducats", "=ducat", 50),
        ("10 000 kg", "mass", 1e7),
        ("-10 degrees", "=degree", -10),
        ("Soyuz-10 rockets", "=rocket", 10),
        ("$5M", "$", 5e6),
        ("€1.5bn", "€", 1.5e9),
        ("forty to fifty minutes", "time", 2_400),
        ("200 km/h", "length/h", 200_000),
        ("5 per day", "/day", 5),
        ("2 and 3 hours", "time", 10_800),
    ],
)
def test_what_a_text_tells(text: str, kind: str, value: float) -> None:
    found = amounts(text)[0]
    assert found.kind == kind
    assert found.value == pytest.approx((value,))


@pytest.mark.parametrize("text", ["3 times a day", "1,5 kg", "three and a half hours", "5M people"])
def test_what_is_not_clear_is_no_amount(text: str) -> None:
    assert not [found for found in amounts(text) if found.kind != "time"]
    assert told_amount(text, "how much: it?") is None or text == "3 times a day"


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        ("March 30", "deadline when: it?"),
        ("12 pm", "starts when: it?"),
        ("1000 BC", "since when: it?"),
        ("80 km/h", "goes how much time: it?"),
        ("5 kg", "cooks how long: it?"),
    ],
)
def test_an_amount_of_another_kind_is_none(text: str, asked: str) -> None:
    assert told_amount(text, asked) is None


def test_versions_and_dates_where_the_question_is_when() -> None:
    assert amounts("since 2.8.13") == [Amount("version", (2, 8, 13))]
    assert told_amount("1.21", "enabled when: maps?") == Amount("version", (1, 21))
    assert told_amount("April 2013", "began when: maps?") == Amount("date", (2013, 4, 0))
    assert told_amount("1.21", "how much: maps?") == Amount("", (1.21,))
    assert told_amount("nobody knows", "how much: maps?") is None


MORE, LESS = Contest(("A", "B"), ("how much: A?", "how much: B?"), True), Contest(("A", "B"), ("", ""), False)
HOURS, DAYS = Amount("time", (7_200,)), Amount("time", (86_400,))


def test_which_amount_wins() -> None:
    assert decide([HOURS, DAYS], MORE) == 1
    assert decide([HOURS, DAYS], LESS) == 0
    assert decide([Amount("version", (1, 9)), Amount("version", (1, 10))], MORE) == 1
    assert decide([Amount("", (20,)), Amount("=ducat", (50,))], MORE) == 1  # a bare number may be of any word


def test_more_often_is_the_shorter_time_or_the_greater_count() -> None:
    often = Contest(("A", "B"), ("how often: A?", "how often: B?"), True, often=True)
    assert decide([HOURS, DAYS], often) == 0
    assert decide([Amount("=run", (3,)), Amount("=run", (7,))], often) == 1


def test_an_age_does_not_say_what_is_older() -> None:
    found = contest("who is older, the admiral or the mate?")
    assert found is not None
    assert told_amount("seventy-two years", found.asked[0]) is None
    assert told_amount("1801", found.asked[0]) == Amount("date", (1801, 0, 0))


def test_what_does_not_compare_decides_nothing() -> None:
    assert decide([HOURS, HOURS], MORE) is None
    assert decide([HOURS, Amount("mass", (5,))], MORE) is None
    assert decide([HOURS, Amount("", (3,))], MORE) is None, "three of what?"
    assert decide([Amount("date", (2013, 4, 0)), Amount("", (5,))], MORE) is None
    assert decide([Amount("date", (2013, 0, 0)), Amount("date", (2013, 4, 0))], MORE) is None


@given(st.lists(st.floats(0, 1e9), min_size=2, max_size=4, unique=True), st.booleans())
def test_the_winner_is_the_greatest_or_the_least(values: list[float], greatest: bool) -> None:
    best = decide([Amount("mass", (value,)) for value in values], MORE if greatest else LESS)
    assert best is not None
    assert values[best] == (max if greatest else min)(values)


@given(st.text(max_size=300) | st.from_regex(r"([0-9]{1,3}[ ,./-]?|m\u0131ll\u0131on |and |\u017f |[$k])+"))
def test_any_text_is_read(text: str) -> None:
    assert all(math.isfinite(part) for found in amounts(text) for part in found.value)
    contest(text)


def test_umlauts_may_be_written_with_an_e() -> None:
    units = [Candidate("g", "Two star anise.", "Glühwein"), Candidate("i", "One star anise.", "Mulled wine")]
    assert units_about(("gluehwein", "mulled wine"), units) == [[0], [1]]
    assert units_about(("Glühwein", "blue wine"), units)[0] == [0]


def test_the_units_about_an_option_have_its_own_words() -> None:
    units = [
        Candidate("a", "Bake the oat biscuits for ten minutes.", "Biscuits"),
        Candidate("b", "Rye biscuits rest for a day.", "Rye biscuits"),
    ]
    options = ("oat biscuits", "rye biscuits")
    assert units_about(options, units) == [[0], [1]]
    assert units_about(("spelt bread", "rye biscuits"), units)[0] == []
