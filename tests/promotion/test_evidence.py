from __future__ import annotations

import numpy as np

from pagerag import Candidate
from tests.promotion.evidence_of import FILM, MAN, RIVER, evidence_of


def test_what_the_question_asks_for_is_marked() -> None:
    evidence = evidence_of()
    assert evidence.titled.tolist() == [True, False, False, False]
    assert evidence.literal.tolist() == [1.0, 0.0, 0.0, 0.0]
    assert evidence.cues[0] >= 1.0  # composed
    assert evidence.cues[1] >= 1.0  # born
    assert evidence.cues[3] == 0.0


def test_the_relation_that_is_asked_for_beside_an_answer_of_its_kind() -> None:
    evidence = evidence_of(question="What is the birthplace of Hans Zimmer?")
    assert evidence.slot.tolist() == [False, True, False, False]  # born in Frankfurt: a place


def test_seeds_favour_what_the_question_names() -> None:
    evidence = evidence_of()
    assert int(np.argmax(evidence.seeds)) == 0
    assert evidence.relevance[0] > evidence.relevance[3]
    assert ((evidence.relevance >= 0.0) & (evidence.relevance <= 1.0)).all()


def test_sentences_of_units_and_units_of_sentences() -> None:
    long = Candidate("long", "It rained. It snowed.", "Weather")
    evidence = evidence_of((FILM, long, MAN), mode="document")
    assert evidence.nodes_of([1]) == [1, 2]
    assert evidence.segments.tolist() == [0, 1, 3]


def test_what_shares_no_word_with_anything_is_isolated() -> None:
    alone = Candidate("alone", "Xyzzy plugh frotz.")
    assert evidence_of((FILM, MAN, alone)).isolated.tolist() == [False, False, True]


def test_answers_of_the_kind_that_is_asked_for() -> None:
    dated = Candidate("dated", "Interstellar was released in 2014.", "Interstellar")
    evidence = evidence_of((dated, RIVER), "When was Interstellar released?")
    assert evidence.answer_kind.tolist() == [True, False]


def test_a_fresh_link_has_a_trigger_that_the_question_lacks() -> None:
    evidence = evidence_of()
    assert evidence.fresh[0, 1]
    assert not evidence.fresh[1, 2]
