from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from pagerag import Candidate, Promoter
from pagerag.promotion.admission import REACH, WIDTH, admit_best, admit_reached
from pagerag.promotion.near_duplicates import Statements
from pagerag.promotion.signals import anchored_scores, retrieved_scores
from pagerag.text.questions import read_question
from pagerag.units import Mode
from tests.promotion import cases

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


def test_units_are_reached_by_the_first_five_or_by_more_words_than_all() -> None:
    asked = read_question("Who wrote the score of the film Interstellar?")
    best = [Candidate(str(n), f"The score of thing{n}.") for n in range(WIDTH)]
    best[5] = replace(best[5], text="The score is by Hans Zimmer.")
    late = Candidate("late", "Nothing.", title="Hans Zimmer")
    as_many = Candidate("as many", "A film from elsewhere.")
    more = Candidate("more", "Someone wrote the score for a film.")
    promoter = Promoter(support=None)

    def reached(first: list[Candidate]) -> list[str]:
        pool = (*first, late, as_many, more)
        analyses = [promoter.analyze(unit) for unit in first]
        found = admit_reached(asked, pool, range(len(first)), analyses, Statements(pool))
        return [pool[place].id for place in found]

    assert reached(best) == ["more"]
    assert reached([best[5], *best[:5], *best[6:]]) == ["late", "more"]


def test_scores_are_those_of_the_best_alone() -> None:
    def scores(*given: float | None) -> list[float]:
        units = tuple(Candidate(str(n), f"Unit {n}.", score=score) for n, score in enumerate(given))
        return anchored_scores(units, retrieved_scores(units)).tolist()

    assert scores(3.0, 2.0, 1.0) == [1.0, 0.5, 0.0]
    falling = [1.0 / (n + 3) for n in range(60)]
    assert scores(*falling) == scores(*falling[:WIDTH]) + [0.0] * 40
    assert scores(*[None] * 60) == scores(*[None] * WIDTH) + [0.0] * 40
    assert scores(*falling[::-1]) == scores(*falling)[::-1]
    assert scores(*[7.0] * 30) == [1.0] * 30


UNRELATED = tuple(
    Candidate(
        f"unrelated {n}", f"Peat{n} bogs drained slowly, lichens{n} grew.", title=f"Moss{n}", score=-1.0 - n
    )
    for n in range(206)
)


@pytest.mark.parametrize("mode", ["sentence", "paragraph", "document"])
@pytest.mark.parametrize("scored", [True, False])
@pytest.mark.parametrize("more", [1, 5, 20, 200])
def test_unrelated_units_behind_a_full_pool_change_nothing(mode: Mode, scored: bool, more: int) -> None:
    full = [*cases.INTERSTELLAR, *UNRELATED][: WIDTH + more]
    if not scored:
        full = [replace(unit, score=None) for unit in full]
    promoter = Promoter(support=None)
    small = promoter.promote(cases.INTERSTELLAR_QUESTION, full[:WIDTH], mode=mode)
    large = promoter.promote(cases.INTERSTELLAR_QUESTION, full, mode=mode)
    assert [unit.id for unit in large.core] == [unit.id for unit in small.core]
    assert [unit.id for unit in large.context] == [unit.id for unit in small.context]
    assert large.sufficiency == small.sufficiency
    assert large.scores[:WIDTH].tolist() == small.scores.tolist()
