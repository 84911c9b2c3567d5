from __future__ import annotations

from pathlib import PurePosixPath
from types import SimpleNamespace

import numpy as np
import pytest

from pagerag.promotion.foreign import (
    as_name,
    as_position,
    as_score,
    as_text,
    document_fields,
    look_up,
    unique_ids,
)


def test_each_framework_is_known_by_its_shape() -> None:
    langchain = SimpleNamespace(page_content="Text.", metadata={"title": "T", "source": "s"}, id="a")
    haystack = SimpleNamespace(content="Text.", meta={"split_id": 3}, id="a", score=0.5, embedding=None)
    node = SimpleNamespace(node_id="a", text="Text.", metadata={}, ref_doc_id="doc", embedding=[1.0])
    llama = SimpleNamespace(node=node, score=0.7)
    assert document_fields(langchain) == {
        "text": "Text.",
        "id": "a",
        "title": "T",
        "source": "s / T",
        "metadata": {"title": "T", "source": "s"},
    }
    assert document_fields(haystack) == {
        "text": "Text.",
        "id": "a",
        "position": 3,
        "score": 0.5,
        "metadata": {"split_id": 3},
    }
    found = document_fields(llama)
    assert found is not None
    assert (found["score"], found["source"], found["vector"]) == (0.7, "doc", [1.0])
    assert document_fields(node) is not None
    assert document_fields({"page_content": "Text.", "metadata": {"title": "T"}, "id": "x"}) is not None
    assert document_fields({"text": "ours"}) is None
    assert document_fields(object()) is None


@pytest.mark.parametrize(
    ("read", "value", "want"),
    [
        (as_text, "  a ", "a"),
        (as_text, " ", None),
        (as_text, 3, None),
        (as_name, 3, "3"),
        (as_name, True, None),
        (as_name, PurePosixPath("a/b"), "a/b"),
        (as_position, "12", 12),
        (as_position, -1, None),
        (as_position, "1e9", None),
        (as_position, 2**41, None),
        (as_score, "0.5", 0.5),
        (as_score, np.float32(0.5), 0.5),
        (as_score, float("nan"), None),
        (as_score, True, None),
        (as_score, "high", None),
    ],
)
def test_values_are_taken_where_they_can_be_used(read, value, want) -> None:  # type: ignore[no-untyped-def]
    assert read(value) == want


def test_the_first_usable_value_wins() -> None:
    assert look_up({"a": " ", "b": "B", "c": "C"}, ("a", "b", "c"), as_text) == "B"
    assert look_up(None, ("a",), as_text) is None


def test_ids_are_made_unique_and_given_ones_stay() -> None:
    assert unique_ids(["a", "b", "a", "a"]) == ["a", "b", "a#2", "a#3"]
    assert unique_ids(["a", "a", "a#2"])[2] == "a#2"
    assert len(set(unique_ids(["a", "a#2", "a", "a"]))) == 4
