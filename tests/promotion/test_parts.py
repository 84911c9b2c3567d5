"""Several things in one question: a place for each in the core, and a verdict that knows of all of them."""

from __future__ import annotations

import numpy as np
import pytest

from pagerag import Candidate, Promoter, Relation, promote
from pagerag.promotion.parts import LEAST, Part, with_parts
from pagerag.promotion.strategy import Judgement

QUESTION = "Gunicorn, Daphne and Uvicorn: which port do they listen on by default?"
SERVERS = [
    Candidate("g", "Running Gunicorn starts one process that listens on port 8000 by default.", "Gunicorn"),
    Candidate("g2", "Gunicorn listens on the default port of its configuration file as well.", "Gunicorn"),
    Candidate("g3", "The port on which Gunicorn listens by default can be changed.", "Gunicorn"),
    Candidate("d", "This will start a process on port 9000.", "Daphne"),
    Candidate("u", "It will listen on 127.0.0.1, port 7000.", "Uvicorn"),
    Candidate("x", "Ports below 1024 need rights of their own.", "Ports"),
]


def judged(scores: list[float], core: tuple[int, ...], sufficiency: float = 0.9) -> Judgement:
    ranking = tuple(int(unit) for unit in np.argsort(-np.array(scores), kind="stable"))
    state = "enough" if sufficiency >= 0.6 else "insufficient"
    return Judgement(np.array(scores, dtype=np.float32), core, sufficiency, state, ranking=ranking)


def part(unit: int, score: float = 0.8, sufficiency: float = 0.8) -> Part:
    scores = [0.0] * 6
    scores[unit] = score
    return Part(f"thing {unit}", judged(scores, (unit,), sufficiency))


WHOLE = judged([0.9, 0.8, 0.7, 0.1, 0.1, 0.0], (2, 0, 1))


def at_most(k: int):  # type: ignore[no-untyped-def]
    return lambda units: len(units) <= k


@pytest.mark.parametrize(
    ("k", "wanted", "core"),
    [
        (5, [3, 4], (2, 0, 1, 3, 4)),  # there is room
        (4, [3, 4], (0, 1, 3, 4)),  # the least of the core goes
        (4, [2, 4], (2, 0, 1, 4)),  # a unit of the core needs no second place
        (3, [2, 4], (2, 0, 4)),
        (2, [3, 4], (3, 4)),  # what is asked comes before what was judged by the whole
        (2, [3, 4, 5], (3, 4)),
    ],
)
def test_each_part_has_a_unit_in_the_core(k: int, wanted: list[int], core: tuple[int, ...]) -> None:
    found, placed = with_parts(WHOLE, [part(unit) for unit in wanted], at_most(k))
    assert found.core == core
    assert placed == {unit: f"thing {unit}" for unit in wanted if unit in core}


def test_a_unit_that_never_fits_takes_nobody_s_place() -> None:
    found, placed = with_parts(WHOLE, [part(3)], lambda units: 3 not in units)
    assert (found.core, placed) == ((2, 0, 1), {})


def test_a_part_that_nothing_tells_has_no_place_and_the_evidence_does_not_suffice() -> None:
    found, placed = with_parts(WHOLE, [part(0), part(3, LEAST / 2, 0.1)], at_most(5))
    assert (found.core, placed) == ((2, 0, 1), {0: "thing 0"})
    assert found.sufficiency == pytest.approx(0.45)
    assert found.state == "ambiguous"


def test_sufficiency_is_the_mean_of_the_whole_and_the_part_that_is_told_least() -> None:
    found, _ = with_parts(WHOLE, [part(0, 0.8, 0.7), part(3, 0.8, 0.5)], at_most(5))
    assert found.sufficiency == pytest.approx((0.9 + 0.5) / 2)
    assert found.state == "enough"
    better, _ = with_parts(judged([0.9, 0.8], (0,), 0.2), [part(0), part(1)], at_most(5))
    assert (better.sufficiency, better.state) == (0.2, "insufficient")


def test_a_question_of_one_thing_is_judged_as_before() -> None:
    assert with_parts(WHOLE, [], at_most(5)) == (WHOLE, {})
    assert promote("Which port does Gunicorn listen on?", SERVERS, k=3, mode="document").parts == {}
    assert promote(QUESTION, SERVERS, k=3, mode="sentence").parts == {}
    assert promote(QUESTION, SERVERS, k=1, mode="document").parts == {}


def test_each_thing_that_is_asked_about_is_in_the_core() -> None:
    found = promote(QUESTION, SERVERS, k=3, mode="document")
    assert {unit.title for unit in found.core} == {"Gunicorn", "Daphne", "Uvicorn"}
    places = {found.candidates[place].title: part for place, part in found.parts.items()}
    assert places == {"Gunicorn": "Gunicorn", "Daphne": "Daphne", "Uvicorn": "Uvicorn"}
    place = next(place for place, part in found.parts.items() if part == "Daphne")
    assert found.why(place)[0] == "the best of the pool for this part of the question: Daphne"
    assert "this part of the question: Daphne" in found.explain()
    told = {row["id"]: row.get("part") for row in found.to_dict()["candidates"]}
    assert told["d"] == "Daphne"
    assert told["x"] is None
    inside = set(found.core_places)
    for path in found.paths:
        if path.verdict == "kept":
            assert {found.candidates.index(unit) for unit in path.units} <= inside


def test_evidence_that_lacks_one_of_the_things_is_not_enough() -> None:
    pool = [
        {"id": "r", "title": "Client", "text": "The default number of retries is 3."},
        {"id": "t", "title": "Client", "text": "The default timeout is 20 seconds."},
        {"id": "x", "title": "Client", "text": "The client keeps connections open."},
        {"id": "y", "title": "Client", "text": "Connections are closed when the program ends."},
    ]
    question = "retries, timeout and page size: what is the default of each?"
    assert promote(question, pool, k=5, mode="document").state != "enough"


@pytest.mark.parametrize("k", [2, 3, 4])
def test_the_order_of_the_pool_changes_nothing(k: int) -> None:
    scored = [
        Candidate(unit.id, unit.text, unit.title, score=1.0 - place / 10)
        for place, unit in enumerate(SERVERS)
    ]
    found = promote(QUESTION, scored, k=k, mode="document")
    again = promote(QUESTION, scored[::-1], k=k, mode="document")
    assert [unit.id for unit in found.context] == [unit.id for unit in again.context]
    assert [unit.id for unit in found.core] == [unit.id for unit in again.core]
    assert found.sufficiency == again.sufficiency


def test_tokens_are_bounded_and_copies_take_one_place() -> None:
    copies = [*SERVERS, Candidate("d2", SERVERS[3].text + " ", "Daphne")]
    found = promote(
        QUESTION, copies, k=4, mode="document", max_tokens=40, count_tokens=lambda t: len(t.split())
    )
    assert sum(len(unit.text.split()) for unit in found.context) <= 40
    assert not {"d", "d2"} <= {unit.id for unit in found.context}
    assert set(found.core_places) <= set(found.context_places)


def test_relations_from_a_generator_are_read_for_each_part() -> None:
    relations = [Relation("Daphne", "listens on", "port 9000", ("d",))]
    promoter = Promoter()
    one = promoter.promote(QUESTION, SERVERS, k=3, mode="document", relations=relations)
    other = promoter.promote(QUESTION, SERVERS, k=3, mode="document", relations=(r for r in relations))
    assert np.array_equal(one.scores, other.scores)
    assert one.parts == other.parts
    assert one.sufficiency == other.sufficiency
