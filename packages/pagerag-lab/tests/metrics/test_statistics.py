"""Intervals, paired tests, averages, AUROC."""

from __future__ import annotations

import random

import numpy as np
import pytest

from pagerag.errors import InputError
from pagerag_lab.metrics.statistics import auroc, average, bootstrap, bootstrap_many, compare


def test_intervals_hold_the_mean_and_shrink_with_n() -> None:
    rng = np.random.default_rng(1)
    small, large = rng.random(50), rng.random(5000)
    for values in (small, large):
        low, high = bootstrap(values)
        assert low < values.mean() < high
    assert np.diff(bootstrap(large))[0] < np.diff(bootstrap(small))[0] / 5
    assert bootstrap([0.5] * 10) == (0.5, 0.5)
    assert bootstrap([]) == (0.0, 0.0)
    assert bootstrap([0.3]) == (0.3, 0.3)


def test_interval_agrees_with_the_normal_approximation() -> None:
    values = np.random.default_rng(2).normal(size=2000)
    low, high = bootstrap(values)
    error = values.std() / np.sqrt(values.size)
    assert low == pytest.approx(values.mean() - 1.96 * error, abs=0.15 * error)
    assert high == pytest.approx(values.mean() + 1.96 * error, abs=0.15 * error)


def test_the_same_numbers_give_the_same_interval() -> None:
    values = np.random.default_rng(3).random(300)
    assert bootstrap(values) == bootstrap(values)
    assert bootstrap_many({"a": values, "b": 1 - values})["a"] == pytest.approx(bootstrap(values))


def test_paired_comparison() -> None:
    rng = random.Random(4)
    base = [rng.random() for _ in range(200)]
    better = [value + 0.05 + rng.uniform(-0.1, 0.1) for value in base]
    test = compare(better, base)
    assert test.difference == pytest.approx(0.05, abs=0.02)
    assert test.low < test.difference < test.high
    assert test.p < 0.001
    assert test.wins + test.losses + test.ties == test.n == 200
    same = compare(base, base)
    assert (same.p, same.difference, same.ties) == (1.0, 0.0, 200)
    assert compare(base, better).difference == pytest.approx(-test.difference)
    with pytest.raises(InputError, match="same file"):
        compare(base, base[1:])
    with pytest.raises(InputError, match="nothing"):
        compare([], [])


def test_p_values_of_pure_chance_are_not_small_too_often() -> None:
    rng = np.random.default_rng(5)
    small = sum(compare(rng.random(40), rng.random(40), samples=300).p < 0.1 for _ in range(200))
    assert 6 <= small <= 40  # 20 expected


def test_exact_p_of_a_tiny_case() -> None:
    # All eight sign patterns of (1, 1, 1): two of them are as extreme as the one seen.
    assert compare([1, 1, 1], [0, 0, 0], samples=20_000).p == pytest.approx(2 / 8, abs=0.01)


def test_averages_are_kept_apart() -> None:
    assert average({"a": 0.2, "b": 0.8}, {"a": 3, "b": 1}) == pytest.approx((0.35, 0.5))
    with pytest.raises(InputError):
        average({}, {})


def test_auroc_against_counting_pairs() -> None:
    rng = random.Random(6)
    high = [rng.randint(0, 9) for _ in range(60)]
    low = [rng.randint(0, 7) for _ in range(45)]
    pairs = [(a > b) + 0.5 * (a == b) for a in high for b in low]
    assert auroc(high, low) == pytest.approx(sum(pairs) / len(pairs))
    assert auroc([1, 2], [0]) == 1.0
    with pytest.raises(InputError):
        auroc([], [1])
