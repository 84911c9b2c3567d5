"""The evidence reader, the retry policy, and the contract that all readers keep."""

from __future__ import annotations

import asyncio
import os
import random
import subprocess
import sys
from datetime import UTC, datetime

import pytest

from pagerag.endpoint.client import RetryPolicy, retry_after
from pagerag.errors import InputError, SettingsError
from pagerag.read import best_local, reader
from pagerag.read.evidence import EvidenceReader
from pagerag.settings import Settings
from pagerag.testing import check_reader
from pagerag.units import Candidate


def test_the_evidence_reader_conforms():
    check_reader(EvidenceReader())


def test_it_quotes_the_sentence_that_matters(question):
    long = Candidate(
        "z",
        "Zimmer played in a pop group. Zimmer was born in the city of Frankfurt. He has two awards.",
        title="Z",
    )
    answer = EvidenceReader().read(
        question, [Candidate("s", "Zimmer is the composer of Interstellar."), long]
    )
    assert (
        answer.text
        == "Zimmer is the composer of Interstellar. [1] Zimmer was born in the city of Frankfurt. [2]"
    )
    assert [long.text[c.start : c.end] for c in answer.citations][1:] == [
        "Zimmer was born in the city of Frankfurt."
    ]


def quoted(question: str, *units: Candidate) -> list[str | None]:
    return [citation.quote for citation in EvidenceReader().read(question, units).citations]


def test_neither_a_numbered_heading_nor_its_number_nor_a_question_is_quoted():
    said = "7.12. How do I hold a package?\n\nSet it to hold in dselect. Why would one hold a package?"
    sections = {"section_path": ["7. Packages", "7.12. How do I hold a package?"]}
    assert quoted("How do I hold a package?", Candidate("f", said, metadata=sections)) == [
        "Set it to hold in dselect."
    ]


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("Then add the page tool:\n\npage add x\npage run\n\nIt rains.", "page add x\npage run"),
        ("Now add the page tool.\n\n$ cd x\n$ . env\n$ page add x\n\nIt rains.", "$ page add x"),
        ("You can add the page tool with\n\npage add x\n\nIt rains.", "page add x"),
    ],
)
def test_what_a_sentence_introduces_is_quoted_with_it(said, shown):
    (quote,) = quoted("How do I add the page tool?", Candidate("p", said))
    assert quote.endswith(shown)
    (alone,) = quoted("How do I add the page tool?", Candidate("p", said.replace(shown, f"{shown} " * 99)))
    assert shown not in alone


def test_a_long_sentence_that_shares_words_with_other_units_does_not_win():
    long = "The clerk of the harbour notes ships, wares, sailors, dates, winds, tides and tolls in books."
    answer = "Limits are exceeded at 413."
    other = Candidate(
        "o", "Ships, wares, sailors, dates, winds, tides and tolls of the harbour stand in books."
    )
    assert quoted("When is the limit exceeded?", Candidate("a", f"{long} {answer}"), other)[0] == answer


def test_the_second_sentence_is_the_one_that_says_what_the_first_does_not():
    said = (
        "max_content_length: how much is read. It is set by max_content_length in a view. "
        "Where it is exceeded, 413 is returned."
    )
    assert quoted("Which status is returned when max_content_length is exceeded?", Candidate("a", said)) == [
        "max_content_length: how much is read.",
        "Where it is exceeded, 413 is returned.",
    ]


def test_its_text_is_one_line_and_its_citations_the_files_own_characters():
    given = Candidate("z", "Hans Zimmer was born\nin Frankfurt.")
    answer = EvidenceReader().read("Where was Hans Zimmer born?", [given])
    assert answer.text == "Hans Zimmer was born in Frankfurt. [1]"
    assert answer.citations[0].quote == given.text


AUTHORS = (
    "Greg Parker wrote the Mac OS X port. Robert Walsh added leak checks. Vince Weaver wrote and maintains BBV. "
    "Others wrote more."
)


def test_a_sentence_without_the_name_that_is_asked_about_is_not_quoted_beside_it():
    answer = EvidenceReader().read("Who wrote BBV?", [Candidate("a", AUTHORS)])
    assert [citation.quote for citation in answer.citations] == ["Vince Weaver wrote and maintains BBV."]


def test_a_second_sentence_that_says_more_of_the_question_or_leads_on_is_quoted():
    said = "BBV is a tool of Vince Weaver. The Mac port of it is new."
    answer = EvidenceReader().read("Who wrote BBV for Mac?", [Candidate("a", said)])
    assert len(answer.citations) == 2
    pool = [
        Candidate("i", "Interstellar was released in 2014. Hans Zimmer worked on it."),
        Candidate("z", "Hans Zimmer was born in Frankfurt."),
    ]
    answer = EvidenceReader().read("Where was the composer of Interstellar born?", pool)
    assert [citation.number for citation in answer.citations] == [1, 1, 2]


def test_the_order_of_words_in_a_process_changes_nothing():
    asked = "Which valley tower harbour garden bridge castle?"
    texts = [
        "The church and the garden and the bridge and the harbour and the tower and the palace. "
        "The museum and the harbour and the market. "
        "The mill and the bridge and the palace. "
        "The bridge and the palace and the valley.",
        "The bridge and the mill and the palace and the castle and the garden and the river. "
        "The harbour and the castle and the station. "
        "The castle and the bridge and the harbour and the mill and the palace and the market. "
        "The forest and the bridge and the castle and the palace and the garden and the harbour.",
        "The bridge and the harbour and the palace. "
        "The valley and the church and the palace. "
        "The tower and the church and the bridge. "
        "The harbour and the palace and the station and the tower and the market and the valley.",
    ]
    code = (
        "from pagerag import Candidate; from pagerag.read.evidence import EvidenceReader; "
        f"units = [Candidate(str(n), text) for n, text in enumerate({texts!r})]; "
        f"print(EvidenceReader().read({asked!r}, units).citations)"
    )
    told = {
        subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "PYTHONHASHSEED": str(seed)},
        ).stdout
        for seed in range(1, 5)
    }
    assert len(told) == 1


def test_insufficient_evidence_makes_it_abstain_but_cite(question, context):
    answer = EvidenceReader().read(question, context, state="insufficient")
    assert answer.abstained
    assert answer.text == ""
    assert len(answer.citations) == 3


@pytest.mark.parametrize("nonsense", ["?", "the of and", "…", "qwertz uiop"])
def test_a_question_that_shares_no_word_with_the_context_gets_no_answer(nonsense, context):
    answer = EvidenceReader().read(nonsense, context, state="enough")
    assert answer.abstained
    assert not answer.text


def test_sync_async_and_stream_are_one(question, context):
    evidence = EvidenceReader()
    plain = evidence.read(question, context)
    assert asyncio.run(evidence.aread(question, context)) == plain
    assert list(evidence.stream(question, context)) == [plain.text, plain]


def test_unknown_readers_are_named_with_the_known_ones():
    with pytest.raises(InputError, match=r"no reader named 'gpt'.*evidence"):
        reader("gpt")
    assert best_local().name in {"extractive", "smollm2", "evidence"}


def test_least_confidence_reaches_the_extractive_reader():
    pytest.importorskip("pagerag_models")
    shipped = reader("extractive")
    careful = reader("extractive", Settings().updated({"read.least_confidence": "0.7"}))
    assert careful.least_confidence == 0.7
    assert shipped.least_confidence not in {0.7, -1.0}
    assert careful.identity != shipped.identity
    for impossible in ("1.5", "-2", "nan"):
        with pytest.raises(SettingsError, match="least_confidence"):
            Settings().updated({"read.least_confidence": impossible})


def test_gguf_without_a_file_says_what_to_set():
    pytest.importorskip("xllamacpp")
    with pytest.raises(SettingsError, match=r"gguf\.path"):
        reader("gguf")


def test_waits_grow_are_jittered_and_bounded():
    policy = RetryPolicy(attempts=9, first_wait=1.0, longest_wait=8.0)
    chance = random.Random(1)
    for attempt in range(1, 9):
        waits = [policy.wait(attempt, None, chance) for _ in range(200)]
        assert max(waits) <= min(8.0, 2 ** (attempt - 1))
        assert len({round(w, 6) for w in waits}) > 100
    assert all(policy.wait(1, 5.0, chance) >= 5.0 for _ in range(100))


@pytest.mark.parametrize("bad", [{"attempts": 0}, {"first_wait": -1}, {"first_wait": 5, "longest_wait": 1}])
def test_impossible_policies_are_refused(bad):
    with pytest.raises(SettingsError, match="retry policy"):
        RetryPolicy(**bad)


def test_retry_after_in_both_spellings():
    now = datetime(2026, 1, 1, 12, 0, tzinfo=UTC)
    assert retry_after({"retry-after": "7"}) == 7.0
    assert retry_after({"retry-after": "Thu, 01 Jan 2026 12:00:30 GMT"}, now) == 30.0
    assert retry_after({"retry-after": "Thu, 01 Jan 2026 11:00:00 GMT"}, now) == 0.0
    for odd in ("", "soon", "-3", "nan", "inf"):
        assert retry_after({"retry-after": odd}) is None
