from __future__ import annotations

from dataclasses import replace

import numpy as np

from pagerag import Candidate, Promoter
from pagerag.promotion.admission import REACH, WIDTH, admit_best, admit_reached, anchored
from pagerag.promotion.near_duplicates import Statements
from pagerag.text.questions import read_question

POOL = tuple(Candidate(str(n), f"Unit {n} tells of thing{n} and other{n}.") for n in range(60))


def test_the_best_by_the_retriever_take_part_in_pool_order() -> None:
    retrieved = np.arange(60, dtype=np.float32)
    assert admit_best(retrieved, Statements(POOL)) == list(range(60 - WIDTH, 60))
    assert admit_best(retrieved[:3], Statements(POOL[:3])) == [0, 1, 2]


def test_of_copies_the_best_takes_part() -> None:
    pool = (POOL[0], POOL[1], replace(POOL[0], id="copy"))
    assert admit_best(np.array([0.1, 0.5, 0.9], dtype=np.float32), Statements(pool)) == [1, 2]


def test_what_the_best_name_is_reached_and_no_more_than_so_many() -> None:
    named = Candidate("named", "Nothing of the question.", title="Hans Zimmer")
    best = Candidate("best", "The score is by Hans Zimmer.")
    asked = read_question("Who wrote the score of the film Interstellar?")
    analyses = [Promoter(support=None).analyze(best)]
    others = tuple(replace(unit, text=f"Thing number {n}.") for n, unit in enumerate(POOL))
    pool = (best, *others, named)
    reached = admit_reached(asked, pool, [0], analyses, Statements(pool))
    assert len(pool) - 1 in reached
    assert len(reached) <= REACH
    assert admit_reached(asked, pool[:1], [0], analyses, Statements(pool[:1])) == []


def test_scores_are_anchored_at_the_last_that_takes_part() -> None:
    few = np.array([1.0, 0.5], dtype=np.float32)
    assert anchored(few) is few
    many = np.linspace(1.0, 0.0, 41, dtype=np.float32)
    found = anchored(many)
    assert found[0] == 1.0
    assert found[WIDTH - 1] == 0.0
    assert (found[WIDTH:] == 0.0).all()
    equal = np.ones(30, dtype=np.float32)
    assert (anchored(equal) == equal).all()
