"""Everything in this room that sees what others wrote takes time linear in it, and bounds what it reads."""

from __future__ import annotations

import re
import time

import pytest
from tests.sweep import assert_linear

from pagerag._visible import composed, visible
from pagerag.models.blocks import block_starts
from pagerag.read import amounts, dates, polar, prompts, unsaid
from pagerag.read.base import bounded
from pagerag.read.citations import locate, parse
from pagerag.read.evidence import EvidenceReader
from pagerag.units import Candidate

CONTEXT = (Candidate("z", "Zimmer was born in Frankfurt.", title="Hans Zimmer"),)


@pytest.mark.parametrize(
    "function",
    [
        visible,
        composed,
        prompts.neutralise,
        lambda text: parse(text, CONTEXT),
        lambda text: locate(text, (Candidate("x", text),)),
        lambda text: dates.compare(f"Who was born first, {text}?", CONTEXT),
        lambda text: dates.compare(
            "Who was born first, A or B?",
            bounded((Candidate("x", text, title=text),), unit=60_000, total=60_000),
        ),
        amounts.contest,
        amounts.amounts,
        lambda text: prompts.prompt("Who?", (Candidate("x", text, title=text),)),
        lambda text: polar.said_outright("Does born first stand here?", (Candidate("x", text, title="a"),)),
        lambda text: polar.said_outright(text, CONTEXT),
        lambda text: polar.weighed("no", "Does born first stand here?", (Candidate("x", text),), [0]),
        lambda text: unsaid.unsaid(Candidate("x", text, title=text[:1000]), block_starts(text)),
        lambda text: unsaid.cut_blocks(
            [(n, n + 2) for n in range(0, len(text), 2)],
            [(n, n + 1) for n in range(len(text))],
            unsaid.unsaid(Candidate("x", text), block_starts(text)),
        ),
    ],
    ids=[
        "visible",
        "composed",
        "neutralise",
        "parse",
        "locate",
        "compare",
        "compare-text",
        "contest",
        "amounts",
        "prompt",
        "said",
        "said-question",
        "reason",
        "unsaid",
        "cut",
    ],
)
def test_functions_are_linear(function):
    assert_linear(
        function,
        (
            "\u0315\u0300",
            "<|im_",
            "first ",
            "[1-51,",
            "<think>",
            "born ",
            "more or ",
            "8 hr ",
            "1,000",
            "1. a?\n",
            "# 1 a\n",
            "first; ",
        ),
    )


def test_the_sweep_finds_what_it_is_for():
    for bad in (r"\s+([.,;:!?])", r"<{2,3}(?=\s*/?\s*(?:unit|question)\b)", r"\s*\([^)]*\)$"):
        with pytest.raises(AssertionError, match="takes"):
            assert_linear(re.compile(bad))


def test_the_longest_comparison_ends():
    started = time.thread_time()
    dates.compare("Who was born first " + "first or " * 45, CONTEXT)
    amounts.contest("Does a more " + "or need, " * 43)
    assert time.thread_time() - started < 1


def test_runs_of_marks_are_cut_and_others_composed():
    assert composed("e\u0301") == "é"
    assert composed("a" + "\u0301" * 100).count("\u0301") == 29  # the first is part of the letter
    assert composed("plain") == "plain"


def test_many_cited_numbers_are_bounded():
    said = parse("x [1-51]" + "[2-52]" * 50_000, CONTEXT)
    assert len(said.citations) == 1
    assert len(said.rejected) <= 52


def test_a_unit_of_nine_megabytes_is_read_in_part():
    started = time.thread_time()
    large = Candidate("l", "Zimmer was born in the city of Frankfurt. " * 220_000)
    answer = EvidenceReader().read("Where was Zimmer born?", (large, *CONTEXT))
    assert "Frankfurt" in answer.text
    assert len(prompts.prompt("Where?", (large,)).text) < 2 * prompts.LONGEST_UNIT
    assert time.thread_time() - started < 20


def test_the_extractive_reader_ends_on_nine_megabytes():
    pytest.importorskip("pagerag_models")
    pytest.importorskip("onnxruntime")
    from pagerag.read.extractive import LONGEST_UNIT, extractive_reader

    large = Candidate("l", ("Nothing is said here. " * 450_000)[:9_000_000])
    answer = extractive_reader(threads=1).read("Where was Zimmer born?", (large, *CONTEXT))
    assert answer.text == "Frankfurt"
    assert answer.usage["tokens"] < LONGEST_UNIT
