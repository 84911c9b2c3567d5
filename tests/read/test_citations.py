"""Citations: read, checked against the context, located where none was given."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pagerag.read.citations import answer_from, locate, parse
from pagerag.units import Candidate


@pytest.mark.parametrize(
    ("reply", "text", "numbers"),
    [
        ("Frankfurt [2]", "Frankfurt", [2]),
        ("Frankfurt [1][2].", "Frankfurt", [1, 2]),
        ("Frankfurt [1, 2]", "Frankfurt", [1, 2]),
        ("Frankfurt [1-3]", "Frankfurt", [1, 2, 3]),
        ("Frankfurt 【2】", "Frankfurt", [2]),
        ("Frankfurt [unit 2]", "Frankfurt", [2]),
        ("[2] Frankfurt", "Frankfurt", [2]),
        ("Answer: **Frankfurt** [2]", "Frankfurt", [2]),
        ('"Frankfurt" [2]', "Frankfurt", [2]),
        ("<think>London [3]?</think>Frankfurt [2]", "Frankfurt", [2]),
        ("<think>cut off in thought [3]", "", []),
        ("Frankfurt [2] [2]", "Frankfurt", [2]),
        ("In 1957 [2]. He moved to London [3].", "In 1957. He moved to London.", [2, 3]),
        ("J. R. Smith", "J. R. Smith", []),
        ("", "", []),
    ],
)
def test_replies_are_taken_apart(reply, text, numbers, context):
    said = parse(reply, context)
    assert said.text == text
    assert [c.number for c in said.citations] == numbers
    assert [c.candidate_id for c in said.citations] == [context[n - 1].id for n in numbers]


def test_numbers_outside_the_context_are_rejected_not_guessed(context):
    said = parse("Frankfurt [0][2][4][999999]", context)
    assert [c.number for c in said.citations] == [2]
    assert said.rejected == (0, 4, 999999)


def test_a_huge_range_is_no_bomb(context):
    assert parse("x [1-999999]", context).rejected == (999999,)


@pytest.mark.parametrize(
    "reply", ["NOT ENOUGH EVIDENCE", "Not enough evidence.", "not enough information [1]"]
)
def test_refusals_are_understood(reply, context):
    said = parse(reply, context)
    assert said.declined
    assert said.text == ""


def test_a_cited_unit_that_holds_the_words_gets_their_place(context):
    (citation,) = parse("frankfurt [2]", context).citations
    assert context[1].text[citation.start : citation.end] == citation.quote == "Frankfurt"


def test_answers_without_citations_are_located_by_whole_words(context):
    assert [c.number for c in locate("Frankfurt", context)] == [2]
    assert [c.number for c in locate("Zimmer", context)] == [1, 2]
    assert [c.quote for c in locate("Frankfurt, Germany", context)] == ["Frankfurt"]
    assert locate("Frank", context) == ()
    assert locate("No, Frankfurt", context) == ()
    assert locate("yes", context) == ()
    assert locate("", context) == ()


@given(st.text(max_size=60))
def test_no_reply_breaks_the_parser_or_cites_outside(reply):
    units = [Candidate("a", "one two"), Candidate("b", "three")]
    said = parse(reply, units)
    assert all(units[c.number - 1].id == c.candidate_id for c in said.citations)
    for c in (*said.citations, *locate(said.text, units)):
        if c.start is not None:
            assert units[c.number - 1].text[c.start : c.end] == c.quote


def test_where_citations_come_from_is_told(context):
    def made(reply, **options):
        return answer_from(reply, context, reader="r", state="enough", usage={}, **options)

    assert made("Frankfurt [2]").usage["citations"] == "given"
    assert made("Frankfurt").usage["citations"] == "located"
    assert made("Munich").usage["citations"] == "none"
    assert made("Frankfurt [7]").usage["rejected_citations"] == [7]


def test_insufficient_answers_are_tentative_or_nothing(context):
    def made(reply, strict):
        return answer_from(reply, context, reader="r", state="insufficient", usage={}, strict=strict)

    assert made("Frankfurt [2]", strict=False).usage["tentative"]
    assert made("Munich", strict=True).abstained
    assert made("Munich", strict=False).text == "Munich"
    assert made("NOT ENOUGH EVIDENCE", strict=False).abstained
