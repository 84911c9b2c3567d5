"""What holds for every pool."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pagerag import Candidate, Promoter, Relation
from pagerag.promotion.budget import count_characters

WORDS = [
    "river",
    "Danube",
    "bridge",
    "Vienna",
    "city",
    "founder",
    "Anna",
    "Berg",
    "born",
    "Linz",
    "museum",
    "opened",
    "1990",
    "castle",
    "film",
    "Director",
    "Karl",
    "Otto",
    "wrote",
    "novel",
    "The",
    "Glass",
    "Harbour",
    "school",
    "teacher",
    "village",
    "north",
    "old",
    "band",
    "album",
]
NAMES = ("Anna Berg", "Karl Otto", "The Glass Harbour", "Linz", "Vienna", "Danube")

words = st.sampled_from(WORDS)
sentences = st.lists(words, min_size=1, max_size=12).map(" ".join)
QUESTION = "In which city was the founder of the museum by the Danube born?"


@st.composite
def pools(draw: st.DrawFn, scores: bool = True) -> list[Candidate]:
    size = draw(st.integers(1, 14))
    texts = draw(st.lists(sentences, min_size=size, max_size=size))
    values = draw(st.permutations(range(size)))
    return [
        Candidate(
            id=f"u{i}",
            text=text,
            title=draw(st.sampled_from([None, *NAMES])),
            position=draw(st.integers(0, 4)),
            score=float(values[i]) if scores else None,
        )
        for i, text in enumerate(texts)
    ]


MODES = st.sampled_from(["sentence", "paragraph", "document"])
STRATEGIES = st.sampled_from(["formula", "learned"])
PROMOTER = Promoter()
relaxed = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@relaxed
@given(pools(), MODES, STRATEGIES, st.integers(1, 6))
def test_bounds(pool: list[Candidate], mode: str, strategy: str, k: int) -> None:
    result = PROMOTER.promote(QUESTION, pool, k=k, mode=mode, strategy=strategy)  # type: ignore[arg-type]
    assert len(result.context) <= k
    ids = [unit.id for unit in result.context]
    assert len(set(ids)) == len(ids)
    assert set(ids) <= {unit.id for unit in pool}
    assert set(ids[: len(result.core)]) == {unit.id for unit in result.core}
    assert all(any(unit is given for given in pool) for unit in result.context)
    assert len(result.scores) == len(pool)
    assert np.isfinite(result.scores).all()
    assert 0 <= result.scores.min() <= result.scores.max() <= 1
    assert 0 <= result.sufficiency <= 1
    assert sorted(result.ranking) == list(range(len(pool)))
    json.dumps(result.to_dict())
    assert result.explain().startswith("Question:")


@relaxed
@given(pools(), MODES, STRATEGIES, st.randoms(use_true_random=False))
def test_a_shuffled_pool_gives_the_same_context(
    pool: list[Candidate], mode: str, strategy: str, rng: random.Random
) -> None:
    shuffled = list(pool)
    rng.shuffle(shuffled)
    one = PROMOTER.promote(QUESTION, pool, mode=mode, strategy=strategy)  # type: ignore[arg-type]
    two = PROMOTER.promote(QUESTION, shuffled, mode=mode, strategy=strategy)  # type: ignore[arg-type]
    assert [u.id for u in one.context] == [u.id for u in two.context]
    assert one.sufficiency == two.sufficiency
    scores = {u.id: s for u, s in zip(two.pool, two.scores, strict=True)}
    assert [scores[u.id] for u in one.pool] == pytest.approx(one.scores.tolist(), abs=0)


@relaxed
@given(pools(), MODES, STRATEGIES)
def test_provenance_values_are_in_range(pool: list[Candidate], mode: str, strategy: str) -> None:
    result = PROMOTER.promote(QUESTION, pool, mode=mode, strategy=strategy)  # type: ignore[arg-type]
    for edge in result.graph.edges:
        for name in ("conf", "div", "spec", "hub"):
            assert 0 <= edge[name] <= 1, (name, edge)
        assert isinstance(edge["src"], list)
        assert isinstance(edge["trig"], list)
    for path in result.paths:
        assert 1 <= len(path.units) <= 4
        for edge in path.edges:
            assert 0 <= edge.noise <= 1
            assert 0 <= edge.reliability <= 1


@relaxed
@given(pools(), MODES, STRATEGIES)
def test_a_unit_without_a_shared_word_never_enters_the_core(
    pool: list[Candidate], mode: str, strategy: str
) -> None:
    stranger = Candidate(id="stranger", text="Xylophonists quarrel softly", score=99.0)
    result = PROMOTER.promote(QUESTION, [*pool, stranger], mode=mode, strategy=strategy)  # type: ignore[arg-type]
    assert stranger not in result.core


@relaxed
@given(pools(), MODES, STRATEGIES)
def test_a_duplicate_of_a_selected_unit_is_never_selected(
    pool: list[Candidate], mode: str, strategy: str
) -> None:
    doubled = pool + [replace(unit, id=f"{unit.id}-again", score=(unit.score or 0) - 0.5) for unit in pool]
    result = PROMOTER.promote(QUESTION, doubled, mode=mode, strategy=strategy)  # type: ignore[arg-type]
    texts = [unit.text for unit in result.context]
    assert len(set(texts)) == len(texts)


@relaxed
@given(pools(), MODES, STRATEGIES, st.integers(1, 60))
def test_the_token_budget_is_hard(pool: list[Candidate], mode: str, strategy: str, budget: int) -> None:
    result = PROMOTER.promote(QUESTION, pool, mode=mode, strategy=strategy, max_tokens=budget)  # type: ignore[arg-type]
    assert sum(count_characters(unit.text) for unit in result.context) <= budget


@relaxed
@given(st.floats(0, 1), st.floats(0, 1))
def test_a_surer_relation_never_lowers_its_path(one: float, two: float) -> None:
    low, high = sorted((one, two))
    pool = [
        {"id": "a", "title": "Museum", "text": "The museum by the Danube has a founder, Anna Berg."},
        {"id": "b", "title": "Berg family", "text": "She was raised in Linz with her brothers."},
        {"id": "c", "title": "Linz", "text": "A city of steel."},
    ]

    def best(confidence: float) -> float:
        relation = Relation("Anna Berg", "raised in", "Linz", units=("b",), confidence=confidence)
        result = PROMOTER.promote(QUESTION, pool, relations=[relation], strategy="formula")
        return max(path.score for path in result.paths if {u.id for u in path.units} == {"b", "c"})

    assert best(high) >= best(low) - 1e-4


def test_same_result_under_any_hash_seed_and_worker_count() -> None:
    code = (
        "import json,sys; sys.path.insert(0, sys.argv[1]);"
        "from cases import *; from pagerag import Promoter;"
        "p = Promoter();"
        "jobs = [(INTERSTELLAR_QUESTION, INTERSTELLAR), (HOTPOT_QUESTION, HOTPOT), (WIKI_QUESTION, WIKI)] * 7;"
        "out = [[r.to_dict(), r.graph.to_dict()] for m in ('sentence', 'document') for s in ('formula', 'learned')"
        " for w in (1, 2) for r in p.promote_many(jobs, workers=w, mode=m, strategy=s)];"
        "n = len(jobs); assert all(out[i] == out[i + n] for b in range(0, len(out), 2 * n) for i in range(b, b + n));"
        "print(json.dumps(out))"
    )
    cases = os.path.join(os.path.dirname(__file__), "..", "promotion")  # noqa: PTH118, PTH120
    seen = set()
    for seed in ("0", "1", "4242"):
        done = subprocess.run(
            [sys.executable, "-c", code, cases],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        )
        seen.add(done.stdout)
    assert len(seen) == 1
