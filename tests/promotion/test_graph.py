from __future__ import annotations

import numpy as np

from pagerag import Candidate, Relation
from pagerag.promotion.graph import ADJACENT, NONE, RELATION, SHARED
from tests.promotion.evidence_of import FILM, HOUSE, MAN, POOL, RIVER, evidence_of


def test_links_are_symmetric_and_say_why() -> None:
    links = evidence_of().links
    assert np.array_equal(links.kind, links.kind.T)
    assert links.kind[0, 1] == SHARED  # both name Hans Zimmer
    assert links.kind[1, 2] == ADJACENT  # neighbours in one document
    assert links.kind[0, 3] == NONE
    assert np.isneginf(links.score[0, 3])
    assert (links.kind.diagonal() == NONE).all()
    assert links.triggers[0, 1] == 1.0


def test_a_sentence_that_names_another_document_leads_there() -> None:
    links = evidence_of().links
    assert links.towards[0, 1]  # the film's sentence names Hans Zimmer, the title of the other document
    assert not links.towards[1, 0]
    assert links.cross[0, 1]
    assert not links.cross[1, 2]
    assert not links.asked[0, 1]  # the question does not name Hans Zimmer
    assert links.unasked[0, 1] == 1.0


def test_sentences_that_repeat_each_other_complete_nothing() -> None:
    again = Candidate("again", "Hans Zimmer was born in old Frankfurt.", "Frankfurt", "Frankfurt", 0)
    links = evidence_of((FILM, MAN, again)).links
    assert links.kind[1, 2] == NONE
    assert links.kind[0, 2] == SHARED


def test_a_given_relation_links_its_statement_with_its_ends() -> None:
    fact = Relation("Oder", "flows past", "London", units=("river",), confidence=0.9)
    links = evidence_of(POOL, relations=[fact]).links
    assert links.kind[3, 2] == links.kind[2, 3] == RELATION
    assert links.stated == {(3, 2): 0, (2, 3): 0}
    assert links.conf[3, 2] == np.float32(0.9)


def test_a_trigger_that_all_share_is_a_hub() -> None:
    towns = tuple(Candidate(str(n), f"Town{n} lies in Germany.", f"Town{n}") for n in range(6))
    pair = (FILM, MAN)
    links = evidence_of((*towns, *pair)).links
    assert links.hub[0, 1] > links.hub[6, 7]
    assert links.spec[0, 1] < links.spec[6, 7]


def test_pieces_of_a_document_join_at_their_border() -> None:
    first = Candidate("a", "It rained. The river rose.", "Flood", "Flood", 0)
    second = Candidate("b", "The bridge fell. Nobody came.", "Flood", "Flood", 1)
    links = evidence_of((first, second, RIVER, HOUSE), mode="document").links
    assert links.kind[1, 2] == ADJACENT
    assert links.kind[0, 2] != ADJACENT
