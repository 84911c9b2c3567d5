from __future__ import annotations

import numpy as np
import pytest

from pagerag.promotion.features import OF_QUESTION, unit_view
from pagerag.promotion.next_unit import NEXT, Standing, next_rows, rank_units
from tests.promotion.evidence_of import evidence_of


@pytest.fixture
def standing() -> Standing:
    cover = np.array([[0.5, 0.0], [0.5, 0.0], [0.0, 0.5], [0.0, 0.0]], dtype=np.float32)
    p = np.array([0.9, 0.8, 0.4, 0.1], dtype=np.float32)
    asked = np.zeros(len(OF_QUESTION), dtype=np.float32)
    return Standing(unit_view(evidence_of()), p, cover, np.zeros_like(cover), asked)


def test_a_row_tells_what_a_unit_adds(standing: Standing) -> None:
    rows = next_rows(standing, [0], [1, 2, 3])
    told = {name: rows[:, place].tolist() for place, name in enumerate(NEXT)}
    assert told["p"] == [np.float32(0.8), np.float32(0.4), np.float32(0.1)]
    assert told["gain"] == [0.0, 0.5, 0.0]
    assert told["alike"] == [1.0, 0.0, 0.0]
    assert told["step"] == [1.0, 1.0, 1.0]
    assert told["linked"][0] == 1.0  # the film and the man
    assert told["linked"][2] == 0.0  # the river is linked to nothing


def test_units_are_ranked_by_what_each_adds_then_by_probability(standing: Standing) -> None:
    def by_gain(rows: np.ndarray) -> np.ndarray:
        return rows[:, NEXT.index("gain")]

    assert rank_units(standing, by_gain, most=2) == [0, 2, 1, 3]
    assert rank_units(standing, by_gain, most=1) == [0, 1, 2, 3]


def test_what_is_not_usable_comes_last(standing: Standing) -> None:
    ranked = rank_units(standing, lambda rows: rows[:, 0], most=4, usable=[False, True, True, True])
    assert ranked == [1, 2, 3, 0]
