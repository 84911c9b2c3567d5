from __future__ import annotations

from pagerag import Candidate, Relation
from pagerag.promotion.names import stated_by
from tests.promotion.evidence_of import FILM, MAN, POOL, evidence_of


def test_a_surname_stands_for_the_one_name_it_can_mean() -> None:
    short = Candidate("short", "Zimmer plays the organ.", "Organ")
    reading = evidence_of((FILM, MAN, short)).reading
    zimmer = reading.keys.index("hans zimmer")
    assert reading.explicit[2, zimmer] == 1.0


def test_a_title_needs_more_than_its_number_to_be_named() -> None:
    pool = (
        Candidate("price", "The kiln costs 10 euros, and 1984 was its year.", "Kilns"),
        Candidate("chapter", "Some drafted other text.", "10. Upgrading checklist"),
        Candidate("novel", "It was written by George Orwell.", "1984"),
    )
    reading = evidence_of(pool).reading
    price = [node for node, unit in enumerate(reading.unit) if pool[unit].id == "price"]
    assert not reading.explicit[price, reading.keys.index("10 upgrading checklist")].any()
    assert reading.explicit[price, reading.keys.index("1984")].all()


def test_a_title_in_lower_case_is_found() -> None:
    lower = Candidate("lower", "the music is by hans zimmer.", "Music")
    reading = evidence_of((MAN, lower)).reading
    assert reading.explicit[1, reading.keys.index("hans zimmer")] == 1.0


def test_rare_words_stand_for_names_in_text_without_capitals() -> None:
    units = tuple(
        Candidate(str(n), text)
        for n, text in enumerate(["the kiln was fired", "a kiln of stone", "a bridge", "a road", "a wall"])
    )
    reading = evidence_of(units).reading
    assert "kiln" in reading.keys


def test_a_backends_entities_count_on_the_sentence_that_has_their_words() -> None:
    unit = Candidate("u", "It rained. The kiln of Selb was hot.", entities=("Kiln\n of  Selb",))
    reading = evidence_of((unit, Candidate("v", "The kiln of Selb is old.")), mode="document").reading
    assert (1, "kiln selb", "Kiln of Selb") in list(reading.singles())


def test_relations_go_with_the_unit_they_came_with_or_with_those_they_name() -> None:
    own, given = Relation("a", "r", "b"), Relation("c", "r", "d", units=("man", "man", "nobody"))
    pool = (Candidate("x", "X.", relations=(own,)), *POOL)
    assert stated_by(pool, [given]) == [(own, (0,)), (given, (2,))]
