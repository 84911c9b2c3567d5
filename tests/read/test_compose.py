"""An answer of one span, of several parts, of yes and no; what its confidence is read from."""

import math

import pytest

from pagerag.read.compose import Composed, Span, Window, compose, together
from pagerag.units import Citation


def span(text, p, unit="a", start=0, support=1.0):
    return Span(text, p, support, Citation(1, unit, start, start + len(text), text))


def window(*spans, kinds=(0.9, 0.02, 0.02, 0.06), support=2.0):
    logs = dict(zip(("span", "yes", "no", "none"), map(math.log, kinds), strict=True))
    return Window(logs, tuple(spans), (Citation(2, "b"),), support)


def test_one_thing_is_asked_and_one_span_given():
    found = compose("Who signs the contract?", [window(span("Ada", 0.6), span("Bob", 0.3, start=40))])
    assert found.text == "Ada"
    assert found.parts == 1
    assert found.raw == pytest.approx(math.log(0.9 * 0.6))


def test_two_things_are_asked_and_two_spans_given_with_their_places():
    spans = (span("Ada", 0.4), span("Ada Lovelace", 0.3), span("by May", 0.25, start=60))
    found = compose("Who signs the contract, and when must it be done?", [window(*spans)])
    assert found.text == "Ada; by May"  # not the other spelling of the first part
    assert [c.start for c in found.citations] == [0, 60]
    assert found.raw == pytest.approx(math.log(0.9 * 0.65))


def test_a_part_that_is_hardly_probable_is_left_out():
    found = compose("Who signs it, and when?", [window(span("Ada", 0.8), span("May", 0.01, start=60))])
    assert found.text == "Ada"


def test_parts_may_come_from_several_windows():
    first, second = window(span("Ada", 0.9)), window(span("May", 0.8, unit="b"))
    assert compose("Who signs it, and when?", [first, second]).text == "Ada; May"


def test_overlapping_spans_are_one_part():
    spans = (span("the first of May", 0.4, start=10), span("May 2020", 0.35, start=23))
    assert compose("Who signs it, and when?", [window(*spans)]).parts == 1


def test_yes_rests_on_the_supporting_units():
    found = compose("Is it signed?", [window(span("Ada", 0.2), kinds=(0.1, 0.8, 0.05, 0.05))])
    assert (found.text, found.citations) == ("yes", (Citation(2, "b"),))


def test_the_window_that_holds_an_answer_counts_for_none():
    empty = window(kinds=(0.05, 0.01, 0.01, 0.93))
    assert compose("Who?", [empty, window(span("Ada", 0.9))]).none == pytest.approx(0.06)


def test_nothing_read_is_no_answer():
    assert compose("Who?", []) is None
    assert compose("Who?", [window()]).text == ""


def test_signs_are_bounded():
    signs = compose("Who?", [window(span("Ada", 1e-30, support=math.inf))]).signs("enough")
    assert 0 <= signs["p"] < 1e-20
    assert signs["support"] == 1.0


def part(asked, text, raw, start=0, unit="a"):
    cited = Citation(1, unit, start, start + len(text), text)
    return Composed(text, (cited,), raw, 0.1, 1.0, 1, asked=asked)


def test_the_best_part_is_what_there_is_hope_for():
    found = together([part("who", "Ada", -0.1), part("when", "May", -9.0, 60)])
    assert (found.text, found.raw, found.hope) == ("Ada; May", -9.0, -0.1)
    assert found.of[1].text == "May"


@pytest.mark.parametrize(
    ("asked", "text"),
    [
        (("Who wrote it", "when"), "Ada"),
        (("Which tool wrote it", "in which version"), "Ada"),
        (("Who wrote it", "who drew it"), "Ada"),
    ],
)
def test_one_place_is_the_answer_to_one_question(asked, text):
    found = together([part(asked[0], "Ada", -0.2), part(asked[1], "Ada", -0.1)])
    assert found.text == text
    given = [one.text for one in found.of]
    assert given == (["Ada", "Ada"] if asked[1].startswith("who") else ["", "Ada"])


def test_the_same_amount_may_be_the_answer_for_each_thing():
    same = [part("A", "ten", -0.2), part("B", "ten", -0.1)]
    assert together(same, each=True).text == "ten; ten"
