from __future__ import annotations

import numpy as np

from pagerag import Candidate, Relation
from tests.promotion.evidence_of import HOUSE, MAN, POOL, RIVER, evidence_of


def test_nodes_units_and_documents() -> None:
    reading = evidence_of().reading
    assert len(reading) == 4
    assert reading.unit.tolist() == [0, 1, 2, 3]
    assert reading.document.tolist() == [0, 1, 1, 2]
    assert reading.opens.tolist() == [True, True, False, True]
    assert reading.taking_part.tolist() == [0, 1, 2, 3]


def test_names_and_what_the_question_names() -> None:
    reading = evidence_of().reading
    asked = {reading.keys[place] for place in reading.asked_places.tolist()}
    assert asked == {"interstellar"}
    zimmer = reading.keys.index("hans zimmer")
    assert reading.is_title[zimmer]
    assert reading.explicit[:, zimmer].tolist() == [1.0, 1.0, 0.0, 0.0]
    assert reading.entity[:, zimmer].tolist() == [1.0, 1.0, 1.0, 0.0]
    assert (2, "london", "London") in list(reading.singles())


def test_words_of_the_question_in_sentence_and_title() -> None:
    reading = evidence_of().reading
    tokens = list(dict.fromkeys(reading.question.tokens))
    interstellar, born = tokens.index("interstellar"), tokens.index("born")
    assert reading.query_count[:, interstellar].tolist() == [2.0, 0.0, 0.0, 0.0]
    assert reading.query_own[:, born].tolist() == [False, True, False, False]
    assert reading.idf_total > 0.0
    assert reading.held.any(axis=0)[born]


def test_in_document_mode_the_sentences_of_a_unit_are_nodes() -> None:
    one = Candidate("one", f"{MAN.text} {HOUSE.text}", "Hans Zimmer")
    reading = evidence_of((one, RIVER), mode="document").reading
    assert reading.unit.tolist() == [0, 0, 1]
    assert reading.sentence.tolist() == [0, 1, 0]
    assert [one.text[start:end] for start, end in reading.spans[:2]] == [MAN.text, HOUSE.text]
    assert reading.closes.tolist() == [False, True, True]


def test_given_relations_are_read_with_who_states_them() -> None:
    fact = Relation("Hans Zimmer", "born in", "Frankfurt", units=("man", "not there"))
    reading = evidence_of(POOL, relations=[fact]).reading
    ((head, tail, stated, nodes),) = reading.stated
    assert (reading.keys[head], reading.keys[tail]) == ("hans zimmer", "frankfurt")
    assert stated is fact
    assert nodes == (1,)
    assert reading.relations_left_out == 0


def test_overlap_counts_shared_words() -> None:
    reading = evidence_of().reading
    assert np.array_equal(reading.overlap, reading.overlap.T)
    assert reading.overlap.diagonal().tolist() == reading.size.tolist()
    assert reading.overlap[0, 1] == 2.0  # hans, zimmer
