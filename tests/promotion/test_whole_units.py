"""The measures of whole units, against the same counted by hand."""

from __future__ import annotations

import numpy as np
import pytest

from pagerag import Candidate, Promoter
from pagerag.promotion.whole_units import WHOLE, rarity

QUESTION = "Which planet has the largest volcano?"
UNITS = (
    Candidate("0", "Olympus Mons is the largest volcano of any planet. It lies on Mars.", "Mars"),
    Candidate("1", "The largest planet is Jupiter.", "Jupiter"),
    Candidate("2", "Bread is baked from flour."),
)


def measures(mode: str = "document") -> dict[str, np.ndarray]:
    evidence = Promoter(strategy="formula").evidence(QUESTION, UNITS, mode)  # type: ignore[arg-type]
    return dict(zip(WHOLE, evidence.reading.whole.T, strict=True))


def test_shares_are_those_of_the_words() -> None:
    found = measures()
    assert found["w_share"].tolist() == pytest.approx([1.0, 2 / 3, 0.0])
    planet, largest, volcano = rarity(("planet", "largest", "volcano"))[0].tolist()
    total = planet + largest + volcano
    assert found["w_rare"].tolist() == pytest.approx([1.0, (planet + largest) / total, 0.0], abs=1e-5)


def test_runs_count_words_in_the_questions_order() -> None:
    found = measures()
    assert found["w_run"].tolist() == pytest.approx([2 / 3, 1 / 3, 0.0])  # "largest volcano"
    assert found["w_pairs"].tolist() == pytest.approx([0.5, 0.0, 0.0])


def test_rank_follows_bm25() -> None:
    found = measures()
    assert found["w_bm25_rank"].tolist() == [0.0, 1.0, 2.0]
    assert found["w_bm25"][0] > found["w_bm25"][1] > found["w_bm25"][2] == 0.0


def test_the_measures_by_rarity_do_not_depend_on_the_other_units() -> None:
    alone = Promoter(strategy="formula").evidence(QUESTION, UNITS[:1], "document").reading.whole
    together = Promoter(strategy="formula").evidence(QUESTION, UNITS, "document").reading.whole
    for name in ("w_share", "w_rare", "w_rare_best", "w_stem", "w_run", "w_pairs", "w_size"):
        place = WHOLE.index(name)
        assert alone[0, place] == pytest.approx(together[0, place])


def test_common_words_weigh_less_than_rare_ones() -> None:
    common, rare = rarity(("year", "zyzzyva"))[0].tolist()
    assert common < rare
