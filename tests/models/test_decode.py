from __future__ import annotations

import numpy as np

from pagerag.models.decode import best_spans, log_softmax, sigmoid, unit_logits


def test_the_best_span_equals_a_search_over_all() -> None:
    rng = np.random.default_rng(0)
    for _ in range(20):
        start, end = (log_softmax(rng.normal(0, 3, 40)) for _ in range(2))
        segments = [(2, 15), (16, 16), (17, 40)]
        every = [
            (start[i] + end[j], i, j)
            for low, high in segments
            for i in range(low, high)
            for j in range(i, min(high, i + 7))
        ]
        score, first, last, segment = best_spans(start, end, segments, longest=7, count=40)[0]
        assert (first, last) == max(every)[1:]
        assert np.isclose(score, max(every)[0])
        assert segments[segment][0] <= first <= last < segments[segment][1]


def test_a_units_logit_is_its_marker_plus_the_mean_of_its_tokens() -> None:
    tokens = np.arange(24, dtype=np.float32).reshape(4, 6)
    found = unit_logits(tokens, (2, 3), [0, 3], [(1, 3), (4, 4)])
    assert found.tolist() == [2 + (9 + 15) / 2, 20]


def test_extreme_logits_stay_finite() -> None:
    assert sigmoid(np.array([-1e4, 0.0, 1e4])).tolist() == [0.0, 0.5, 1.0]
    assert np.isfinite(log_softmax(np.array([1e4, -1e4]))).all()
