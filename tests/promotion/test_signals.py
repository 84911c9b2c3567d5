from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from pagerag import Candidate
from pagerag.errors import CandidateError, InputError
from pagerag.promotion.signals import canonical_order, gather_signals, probabilities, retrieved_scores
from pagerag.testing import FakeSupportEncoder


def pool(*scores: float | None) -> tuple[Candidate, ...]:
    return tuple(Candidate(str(n), f"Unit {n}.", score=score) for n, score in enumerate(scores))


@pytest.mark.parametrize(
    ("scores", "want"),
    [
        ((None, None, None), [1.0, 0.5, 0.0]),
        ((None,), [1.0]),
        ((3.0, 1.0, 2.0), [1.0, 0.0, 0.5]),
        ((3.0, None, 1.0), [1.0, 0.0, 0.0]),
        ((2.0, 2.0, None), [1.0, 1.0, 0.5]),
        ((1e308, -1e308, 0.0), [1.0, 0.0, 0.5]),
    ],
)
def test_scores_are_scaled_within_the_pool(scores: tuple[float | None, ...], want: list[float]) -> None:
    assert retrieved_scores(pool(*scores)).tolist() == want


def test_the_order_of_reading_is_by_score_then_by_what_is_said() -> None:
    assert canonical_order(pool(3.0, 2.0, 1.0)) == [0, 1, 2]
    assert canonical_order(pool(1.0, 3.0, None)) == [1, 0, 2]
    assert canonical_order(pool(None, None)) == [0, 1]
    same = tuple(replace(unit, text=text) for unit, text in zip(pool(1.0, 1.0), "BA", strict=True))
    assert canonical_order(same) == [1, 0]


def test_probabilities_are_taken_as_they_are_and_others_refused() -> None:
    assert probabilities(pool(0.25, None)).tolist() == [0.25, 0.0]
    with pytest.raises(CandidateError, match="no probability"):
        probabilities(pool(1.5))


def gathered(units: tuple[Candidate, ...], vector: object = None, encoder: object = None):
    places = list(range(len(units)))
    return gather_signals("Who?", units, vector, retrieved_scores(units), places, encoder)  # type: ignore[arg-type]


def test_similarity_is_the_cosine_where_all_have_vectors() -> None:
    units = tuple(
        replace(unit, vector=np.array(row, dtype=np.float32))
        for unit, row in zip(pool(2.0, 1.0), ([2.0, 0.0], [0.0, 3.0]), strict=True)
    )
    found = gathered(units, [5.0, 0.0])
    assert found.similarity is not None
    assert found.similarity.tolist() == [1.0, 0.0]
    assert gathered((units[0], *pool(1.0)), [5.0, 0.0]).similarity is None
    with pytest.raises(InputError, match="one encoder"):
        gathered(units, [1.0])
    with pytest.raises(InputError, match="finite"):
        gathered(units, [np.nan, 1.0])


def test_a_support_encoder_is_asked_about_those_that_take_part() -> None:
    units = pool(3.0, 2.0, 1.0)
    encoder = FakeSupportEncoder()
    found = gather_signals("Unit 1?", units, None, retrieved_scores(units), [0, 2], encoder)
    assert found.support is not None
    assert found.support.shape == (3, len(encoder.signals))
    assert (found.support[1] == 0.0).all()

    class Broken(FakeSupportEncoder):
        def support(self, question, units):  # type: ignore[no-untyped-def]
            return np.zeros((1, 1))

    with pytest.raises(InputError, match="one row per unit"):
        gathered(units, None, Broken())
