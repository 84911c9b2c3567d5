from __future__ import annotations

import itertools
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pagerag.serve.dialects import falling, read_document
from pagerag.serve.problems import Unusable

LONG = "Hans Zimmer is a German composer who was born in the city of Frankfurt am Main in 1957."


@pytest.mark.parametrize(
    ("sent", "title", "text"),
    [
        (LONG, None, LONG),
        (f"Hans Zimmer\n{LONG}", "Hans Zimmer", LONG),
        (f"# Hans Zimmer\n\n{LONG}", "Hans Zimmer", LONG),
        (f"title: Hans Zimmer\nfile_path: /a/b.md\n\n{LONG}", "Hans Zimmer", LONG),
        (f"file_name: zimmer.pdf\npage_label: 3\n\n{LONG}", None, LONG),
        ({"title": "Hans Zimmer", "text": LONG}, "Hans Zimmer", LONG),
        ({"text": f"Hans Zimmer\n{LONG}"}, "Hans Zimmer", LONG),
        ({"content": [{"type": "text", "text": LONG}]}, None, LONG),
        ({"content": LONG, "title": "Hans Zimmer"}, "Hans Zimmer", LONG),
    ],
)
def test_titles_are_found_where_clients_hide_them(sent, title, text):
    read = read_document(sent, 0)
    assert (read.title, read.text) == (title, text)


@pytest.mark.parametrize(
    "prose",
    [
        "Interstellar is a film that was directed by\nChristopher Nolan and that was scored by\nHans Zimmer in 2014.",
        "He was born there.\nThen he left for London, where he has lived ever since that year.",
        "Note: this is prose.\n\nAnd this is more of it, without any metadata in front.",
        "first line in lower case\nand it goes on in the second line, which is longer than the first",
        "- an item of a list\n- Another item of the same list, which is longer",
        "https://example.org/page\nWhat stands there is told in this line, at some length.",
    ],
)
def test_prose_is_not_taken_for_a_title(prose):
    read = read_document(prose, 0)
    assert read.title is None
    assert read.text == prose


def test_rank_fields_and_objects_without_text():
    body = {"title": "Zimmer", "body": LONG, "note": "skip me"}
    read = read_document(body, 0, ["title", "body"])
    assert (read.title, read.text) == ("Zimmer", LONG)
    assert "skip me" in read_document(body, 0).text
    with pytest.raises(Unusable, match="document 7"):
        read_document({"n": 5}, 7)
    with pytest.raises(Unusable, match="document 2 is a number"):
        read_document(5, 2)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.floats(-1, 2) | st.just(0.0) | st.just(1.0), max_size=400))
def test_scores_fall_strictly_and_stay_near(scores):
    found = falling(scores)
    assert len(found) == len(scores)
    assert all(math.isfinite(value) and 0.0 <= value <= 1.0 for value in found)
    assert all(a > b for a, b in itertools.pairwise(found))
    if scores == sorted(set(scores), reverse=True) and all(
        a - b > 1e-3 for a, b in itertools.pairwise(scores)
    ):
        inside = [min(max(value, 0.0), 1.0) for value in scores]
        assert found == pytest.approx(inside, abs=2e-3)  # what falls already is left as it is


def test_many_equal_scores_fit_between_zero_and_one():
    found = falling([1.0] * 100_000)
    assert found[0] <= 1.0
    assert found[-1] >= 0.0
    assert all(a > b for a, b in itertools.pairwise(found))
