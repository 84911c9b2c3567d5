from __future__ import annotations

from dataclasses import replace

import numpy as np

from pagerag import Candidate
from pagerag.promotion.evidence import Evidence
from pagerag.promotion.select import Selection, select_minimal, support_of
from tests.promotion.evidence_of import FILM, MAN, POOL, evidence_of


def selected(evidence: Evidence, most: int = 5, **changes: float) -> Selection:
    weights = replace(evidence.weights, **changes)  # type: ignore[arg-type]
    return select_minimal(
        evidence.reading,
        evidence.links,
        evidence.paths,
        weights,
        lambda units: len(units) <= most,
        evidence.isolated,
    )


def test_support_grows_with_what_is_covered() -> None:
    e = evidence_of()
    nothing, film, both = (support_of(e.reading, e.links, nodes) for nodes in ([], [0], [0, 1]))
    assert nothing == 0.0
    assert 0.0 < film < both <= 1.0
    assert support_of(e.reading, e.links, [3]) < film


def test_things_to_compare_need_not_be_linked() -> None:
    question = "Were Interstellar and Inception both released in 2014?"
    films = tuple(Candidate(t, f"{t} was released in 2014.", t) for t in ("Interstellar", "Inception"))
    e = evidence_of((*films, *POOL[1:]), question)
    assert support_of(e.reading, e.links, [0, 1]) > support_of(e.reading, e.links, [0])


def test_the_two_halves_of_the_answer_are_selected() -> None:
    chosen = selected(evidence_of())
    assert {0, 1} <= set(chosen.nodes)
    assert 3 not in chosen.nodes
    assert chosen.support == support_of(*_of(chosen))


def _of(chosen: Selection):  # type: ignore[no-untyped-def]
    e = evidence_of()
    return e.reading, e.links, chosen.nodes


def test_what_does_not_fit_is_told() -> None:
    chosen = selected(evidence_of(), most=1)
    assert len(chosen.nodes) <= 1
    assert "no room" in {decision.verdict for decision in chosen.decisions}


def test_a_dear_unit_is_left_out_and_a_cheap_one_taken() -> None:
    e = evidence_of()
    assert selected(e, c_unit=3.0).nodes == ()
    assert len(selected(e, c_unit=0.0, enough=2.0).nodes) >= len(selected(e).nodes)


def test_the_isolated_are_never_selected() -> None:
    alone = Candidate("alone", "Xyzzy plugh frotz.", score=9.0)
    e = evidence_of((alone, FILM, MAN))
    assert 0 not in selected(e, c_unit=0.0, enough=2.0).nodes
    assert np.flatnonzero(e.isolated).tolist() == [0]
