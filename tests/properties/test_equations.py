"""Every equation of A.2-A.4: bounds and monotonicity."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pagerag.promotion import score
from pagerag.promotion.core_size import LARGEST, SIZE, best_size, size_rows
from pagerag.promotion.expected_f1 import expected_f1, gold_count, prefix_values
from pagerag.promotion.features import OF_QUESTION, View
from pagerag.promotion.weights import Weights

W = Weights()
unit = st.floats(0, 1, allow_nan=False, width=32)
counts = st.integers(0, 50)


@given(st.floats(-10, 10, allow_nan=False))
def test_clamp_is_in_range_and_keeps_what_is(x: float) -> None:
    value = float(score.clamp(x))
    assert 0 <= value <= 1
    if 0 <= x <= 1:
        assert value == pytest.approx(x, abs=1e-6)


@given(counts, st.integers(0, 50))
def test_lexical_coverage(shared: int, tokens: int) -> None:
    shared = min(shared, tokens)
    value = float(score.lexical_coverage(shared, tokens))
    assert 0 <= value <= 1
    assert float(score.lexical_coverage(shared, tokens + 1)) <= value or shared == 0


@given(unit, unit, unit, unit)
def test_sentence_relevance_is_bounded_and_monotone(
    lex: float, overlap: float, retrieved: float, more: float
) -> None:
    value = float(score.sentence_relevance(lex, overlap, W, retrieved))
    assert 0 <= value <= 1
    assert float(score.sentence_relevance(min(1, lex + more), overlap, W, retrieved)) >= value - 1e-6
    assert float(score.sentence_relevance(lex, min(1, overlap + more), W, retrieved)) >= value - 1e-6


@given(counts)
def test_literal_bonus_is_bounded(n: int) -> None:
    assert 0 <= float(score.literal_bonus(n, W)) <= W.lit_cap + 1e-6
    assert float(score.literal_bonus(n + 1, W)) >= float(score.literal_bonus(n, W))


@given(st.integers(1, 40))
def test_confidence_grows_with_triggers_up_to_one(triggers: int) -> None:
    value = float(score.confidence(triggers, W))
    assert 0 <= value <= 1
    assert float(score.confidence(triggers + 1, W)) >= value


def test_one_source_earns_no_diversity() -> None:
    assert float(score.diversity(0, W)) == 0
    assert float(score.diversity(1, W)) == 0
    assert float(score.diversity(2, W)) == pytest.approx(min(1, W.div_step))
    assert float(score.diversity(99, W)) == 1


@given(st.integers(1, 100), st.data())
def test_idf_falls_with_df(sentences: int, data: st.DataObject) -> None:
    df = data.draw(st.integers(0, sentences - 1))
    rare, common = float(score.idf(df, sentences)), float(score.idf(df + 1, sentences))
    assert rare > common
    assert common == pytest.approx(np.log((1 + sentences) / (2 + df)) + 1, rel=1e-5)


@given(st.lists(st.integers(1, 20), min_size=1, max_size=8), st.integers(1, 20))
def test_spec_and_hub_are_shares(dfs: list[int], largest: int) -> None:
    largest = max(*dfs, largest)
    hub = float(score.share(sum(dfs), len(dfs), largest))
    idfs = [float(score.idf(df, 30)) for df in dfs]
    spec = float(score.share(sum(idfs), len(idfs), max(idfs)))
    assert 0 <= hub <= 1
    assert 0 <= spec <= 1
    assert hub == pytest.approx(np.mean(dfs) / largest, rel=1e-5)


@given(unit, unit, st.integers(1, 2), st.booleans())
def test_noise_is_bounded_and_falls_with_quality(
    spec: float, conf: float, sources: int, paragraph: bool
) -> None:
    value = float(score.noise(spec, conf, sources, W, paragraph=paragraph))
    assert 0 <= value <= 1
    assert float(score.noise(1.0, conf, sources, W, paragraph=paragraph)) <= value
    assert float(score.noise(spec, 1.0, sources, W, paragraph=paragraph)) <= value


def test_paragraph_mode_forgives_a_single_source() -> None:
    single = float(score.noise(1, 1, 1, W, paragraph=False))
    assert single == pytest.approx(W.noise_div)
    assert float(score.noise(1, 1, 1, W, paragraph=True)) == 0


@given(unit, unit, unit)
def test_reliability_is_bounded_and_monotone(div: float, conf: float, more: float) -> None:
    value = float(score.reliability(div, conf, W))
    assert 0 <= value <= 1
    assert float(score.reliability(div, min(1, conf + more), W)) >= value - 1e-6


@given(unit, unit, unit, unit, unit, unit)
def test_edge_score_has_the_signs_of_the_equation(
    rel: float, reliable: float, spec: float, hub: float, noise: float, more: float
) -> None:
    value = float(score.edge_score(rel, reliable, spec, hub, noise, W))
    up = (min(1, rel + more), min(1, reliable + more), min(1, spec + more))
    assert float(score.edge_score(up[0], reliable, spec, hub, noise, W)) >= value - 1e-6
    assert float(score.edge_score(rel, up[1], spec, hub, noise, W)) >= value - 1e-6
    assert float(score.edge_score(rel, reliable, up[2], hub, noise, W)) >= value - 1e-6
    assert float(score.edge_score(rel, reliable, spec, min(1, hub + more), noise, W)) <= value + 1e-6
    assert float(score.edge_score(rel, reliable, spec, hub, min(1, noise + more), W)) <= value + 1e-6
    # an edge whose trigger the question names is never worse off
    assert float(score.edge_score(rel, reliable, spec, hub, noise, W, asked=1.0)) >= value - 1e-6


@given(st.integers(0, 6))
def test_length_costs_in_standard_mode_and_pays_in_paragraph_mode(edges: int) -> None:
    assert score.length_cost(edges, W, paragraph=False) == pytest.approx(W.length * max(0, edges - 1))
    assert score.length_cost(edges, W, paragraph=True) == pytest.approx(-W.hop_bonus * min(2, edges))


def test_coherence_is_a_mean_and_nothing_in_paragraph_mode() -> None:
    assert float(score.coherence(1.2, 3, paragraph=False)) == pytest.approx(0.4)
    assert float(score.coherence(1.2, 3, paragraph=True)) == 0
    assert float(score.coherence(0.0, 0, paragraph=False)) == 0


def test_the_bridge_bonus_needs_both_marks() -> None:
    assert float(score.bridge_bonus(True, True, W)) == pytest.approx(W.bridge)
    assert float(score.bridge_bonus(True, False, W)) == 0
    assert float(score.bridge_bonus(False, True, W)) == 0


probabilities = st.lists(st.floats(0, 1, allow_nan=False), min_size=1, max_size=5)


@given(probabilities)
def test_gold_count_is_a_distribution(p: list[float]) -> None:
    counted = gold_count(p)
    assert sum(counted) == pytest.approx(1)
    assert sum(i * w for i, w in enumerate(counted)) == pytest.approx(sum(p))


@given(probabilities, probabilities)
def test_expected_f1_equals_enumeration(chosen: list[float], left: list[float]) -> None:
    both = chosen + left
    total = 0.0
    for bits in range(2 ** len(both)):
        gold = [(bits >> i) & 1 for i in range(len(both))]
        weight = float(np.prod([p if g else 1 - p for p, g in zip(both, gold, strict=True)]))
        hits = sum(gold[: len(chosen)])
        total += weight * 2 * hits / (len(chosen) + sum(gold))
    assert expected_f1(chosen, left) == pytest.approx(min(total, 1), abs=1e-9)


@given(probabilities, probabilities)
def test_prefix_values_are_the_expected_f1_of_prefixes(ordered: list[float], left: list[float]) -> None:
    values = [expected_f1(ordered[:m], [*ordered[m:], *left]) for m in range(1, len(ordered) + 1)]
    assert prefix_values(ordered, left) == pytest.approx(values, abs=1e-9)


@given(st.lists(st.floats(0, 1, width=32), min_size=1, max_size=12), st.integers(0, 2**32 - 1))
def test_the_rows_of_prefixes_tell_of_prefixes(p: list[float], seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = len(p)
    document = rng.integers(0, 4, n)
    linked, names = rng.random((n, n)) < 0.3, rng.random((n, n)) < 0.3
    view = View(np.arange(n), document, np.arange(n), linked | linked.T, linked, names)
    ranked = sorted(range(n), key=lambda i: (-p[i], i))
    expected = prefix_values([p[i] for i in ranked[:LARGEST]], [p[i] for i in ranked[LARGEST:]])
    asked = np.arange(len(OF_QUESTION), dtype=np.float32)
    rows = size_rows(view, ranked, p, expected, asked)
    assert rows.shape == (min(n, LARGEST), len(SIZE))
    told = dict(zip(SIZE, rows.T, strict=True))
    assert told["size"].tolist() == list(range(1, len(rows) + 1))
    assert told["kept"] == pytest.approx(np.cumsum([p[i] for i in ranked])[: len(rows)], abs=1e-5)
    assert told["kept"] + told["rest"] == pytest.approx(told["total"], abs=1e-4)
    assert told["documents"].tolist() == [len(set(document[ranked[:m]])) for m in range(1, len(rows) + 1)]
    for m in range(len(rows)):
        before = ranked[:m]
        assert told["linked"][m] == view.linked[ranked[m], before].any()
        assert told["named"][m] == (names[ranked[m], before].any() or names[before, ranked[m]].any())
    assert (rows[:, -len(OF_QUESTION) :] == asked).all()


@given(
    st.lists(st.floats(-1, 2, width=32), min_size=1, max_size=LARGEST),
    st.lists(st.floats(0, 1), min_size=LARGEST, max_size=12),
)
def test_the_best_size_is_the_one_worth_most(worth: list[float], expected: list[float]) -> None:
    known = expected[: len(worth)]
    assert best_size(np.array(worth), known) == 1 + worth.index(max(worth))
    if len(worth) == LARGEST:
        size = best_size(np.array(worth), expected)
        assert 1 <= size <= len(expected)
        assert size <= LARGEST or expected[size - 1] == max(expected)
