"""No answer stands in a heading's number or in a question that the text itself asks."""

from __future__ import annotations

import numpy as np
import pytest

from pagerag import Candidate
from pagerag.models.blocks import block_starts
from pagerag.read.unsaid import cut_blocks, unsaid


def left_out(text: str, title: str | None = None, *sections: str) -> list[str]:
    metadata = {"section_path": list(sections)} if sections else {}
    unit = Candidate("u", text, title, metadata=metadata)
    return [text[low:high] for low, high in unsaid(unit, block_starts(text))]


@pytest.mark.parametrize(
    ("text", "sections", "found"),
    [
        ("4 Missing Features\n\nVariadic closures.", ("4 Missing Features",), ["4"]),
        ("## 4.2 Missing Features\n\nVariadic closures.", (), ["4.2"]),
        ("2.3.2 Structures\n\nlibffi has 2 kinds.", (), ["2.3.2"]),
        ("4 eggs\n\n2.5 l of milk\n\n1. Stir for 3 hours.", (), []),
        ("It has 4 features", ("4 Missing Features",), []),
        (
            "Why does ps complain about a bogus '-'?\n\nIt is old.",
            (),
            ["Why does ps complain about a bogus '-'?"],
        ),
        ("13. Is zlib free?\n\nYes.", (), ["13.", "Is zlib free?"]),
        ("It runs. Is it fast? Quite. 它快吗？", (), ["Is it fast?", "它快吗？"]),
        ('He asked "Who shot Kennedy?" and left.', (), []),
    ],
)
def test_what_says_nothing(text, sections, found):
    assert left_out(text, None, *sections) == found


def test_a_question_does_not_take_in_the_block_before_it():
    assert left_out("- salt\n- Is it hot?\n- yes")[-1] == "- Is it hot?"


def test_tokens_of_these_runs_are_in_no_block():
    offsets = [(n, n + 1) for n in range(10)]
    assert cut_blocks([(0, 4), (4, 10)], offsets, [(2, 6), (8, 9)]) == [(0, 2), (6, 8), (9, 10)]
    assert cut_blocks([(0, 4)], offsets, [(0, 4)]) == []
    assert cut_blocks([(0, 4), (4, 10)], offsets, []) == [(0, 4), (4, 10)]


@pytest.mark.parametrize(
    ("text", "answer"),
    [("4 Missing Features\n\n5 closures", "5"), ("Is it 7 or 8?\n\nIt is 9.", "9")],
)
def test_the_next_best_words_are_the_answer(monkeypatch, text, answer):
    pytest.importorskip("pagerag_models")
    from pagerag.models.files import Model
    from pagerag.read.extractive import extractive_reader

    forced = extractive_reader(threads=1, least_confidence=0)
    figures = {n for figure in "456789" for n in forced._models[0].tokens([figure])[0][0]}

    def early(_: Model, ids: list[int], __: list[int]) -> tuple[np.ndarray, np.ndarray]:
        """A network that wants a figure, the first it meets."""
        tokens = np.zeros((len(ids), 6), dtype=np.float32)
        for n, one in enumerate(ids):
            if one in figures:
                tokens[n, :2] = 60 - n
        return tokens, np.array([9, 0, 0, 0], dtype=np.float32)

    monkeypatch.setattr(Model, "__call__", early)
    unit = Candidate("u", text, metadata={"section_path": ["4 Missing Features"]})
    assert forced.read("How many?", [unit]).text == answer
