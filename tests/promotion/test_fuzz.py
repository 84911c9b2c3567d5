"""No input may raise anything but our own errors, and no bound may be passed.

``make fuzz`` runs 100,000 generated inputs (``PAGERAG_FUZZ_INPUTS``); ``make test`` runs a few hundred. An
input that fails goes to ``past_failures.py`` with its repair.
"""

from __future__ import annotations

import json
import os
import time
import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pagerag import Candidate, PageRAGError, Promoter, Relation

from .past_failures import PAST_FAILURES

INPUTS = int(os.environ.get("PAGERAG_FUZZ_INPUTS", "300"))
QUESTION = "Which city was the composer of Interstellar born in?"
LONGEST = 5.0  # seconds of the processor; the slowest of the past failures took minutes, and now takes a tenth of a second

PROMOTER = Promoter()

WORDS = (
    "Interstellar",
    "Hans Zimmer",
    "Zimmer",
    "born",
    "Frankfurt",
    "the",
    " ",
    "  ",
    ".",
    "\n",
    "(film)",
    "\t",
)
spaced = st.lists(st.sampled_from(WORDS), max_size=8).map(" ".join)
text = st.one_of(spaced, st.text(max_size=40), st.text(st.characters(), max_size=5))
written = st.one_of(spaced, text).map(lambda found: f"Hans {found}")  # never blank
odd: st.SearchStrategy[Any] = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(),
        st.sampled_from([2**63, -(2**70), 10**400, float("nan"), float("inf"), 1e38, 1j, b"x", object]),
        st.floats(),
        text,
        st.just(np.array([[1.0], [2.0]])),
        st.just(np.array([True, False])),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(text, inner, max_size=3), st.tuples(inner, inner, inner)
    ),
    max_leaves=5,
)


def usually(value: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """The right kind of value twenty-nine times in thirty, any other kind else."""
    return st.integers(0, 29).flatmap(lambda n: odd if n == 0 else value)


ids = st.one_of(st.none(), st.sampled_from(["0", "1", "2", "a", "b"]), st.integers(0, 3))
relation = st.one_of(
    st.tuples(text, text, text),
    st.builds(
        Relation,
        usually(text),
        usually(text),
        usually(text),
        usually(st.lists(st.sampled_from("012ab"), max_size=3).map(tuple)),
        usually(st.floats(0, 1)),
    ),
    st.fixed_dictionaries({"head": usually(text), "relation": text, "tail": text}),
)
fields = {
    "id": usually(st.one_of(ids, st.uuids())),
    "title": usually(st.one_of(st.none(), spaced, text)),
    "source": usually(st.one_of(st.none(), text)),
    "position": usually(st.one_of(st.none(), st.integers(-3, 30))),
    "score": usually(st.one_of(st.none(), st.floats(-5, 5))),
    "entities": usually(st.one_of(st.none(), st.lists(text, max_size=3))),
    "relations": usually(st.one_of(st.none(), st.lists(relation, max_size=3))),
    "vector": usually(st.one_of(st.none(), st.lists(st.floats(-2, 2), min_size=2, max_size=2))),
    "metadata": usually(st.dictionaries(text, odd, max_size=2)),
}
mapping = st.fixed_dictionaries({"text": usually(written)}, optional=fields)
candidate = st.builds(
    lambda name, values: Candidate(**{**values, "id": name}), usually(st.text("012abc", min_size=1)), mapping
)
document = st.fixed_dictionaries(
    {"page_content": usually(written)}, optional={"metadata": usually(mapping), "id": ids}
)
pool = usually(st.lists(usually(st.one_of(written, mapping, candidate, document)), min_size=1, max_size=8))
options = st.fixed_dictionaries(
    {"candidates": pool},
    optional={
        "question": usually(written),
        "k": usually(st.integers(1, 7)),
        "top_n": st.sampled_from([None, None, None, 3]),
        "mode": usually(st.sampled_from(["sentence", "paragraph", "document"])),
        "max_tokens": usually(st.integers(1, 50)),
        "count_tokens": usually(st.sampled_from([None, len])),
        "vector": usually(st.lists(st.floats(-2, 2), min_size=2, max_size=2)),
        "relations": usually(st.lists(relation, max_size=3)),
        "analyses": usually(st.lists(st.none(), max_size=3)),
        "strategy": usually(st.sampled_from(["learned", "formula", None])),
        "fill_by_score": usually(st.booleans()),
    },
)


def check(call: dict[str, Any]) -> None:
    """Promote; a refusal is fine, and whatever is promoted keeps every promise."""
    arguments = {"question": QUESTION, "candidates": ["Hans Zimmer composed Interstellar."], **call}
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # a NumPy warning is a number that went wrong
        refusal = None
        try:
            result = PROMOTER.promote(**arguments)
        except PageRAGError as refused:
            refusal = str(refused)
        if refusal is not None:
            assert 0 < len(refusal) < 3_000
            return
        places = result.context_places
        assert 1 <= len(places) <= result.k or arguments.get("max_tokens")
        assert len(set(places)) == len(places)
        assert set(result.core_places) <= set(places)
        assert len({unit.id for unit in result.candidates}) == len(result.candidates)
        assert np.isfinite(result.scores).all()
        assert result.state in {"enough", "ambiguous", "insufficient"}
        json.dumps(result.to_dict())
        assert result.explain()


@pytest.mark.parametrize("name", PAST_FAILURES)
def test_past_failures(name: str) -> None:
    started = time.process_time()
    check(PAST_FAILURES[name])
    assert time.process_time() - started < LONGEST


@settings(max_examples=INPUTS, deadline=None, suppress_health_check=list(HealthCheck), database=None)
@given(options)
def test_no_input_raises_anything_but_our_own_errors(call: dict[str, Any]) -> None:
    check(call)
