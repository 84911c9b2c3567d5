"""Rivals on the same pool: what each must do, on pools small enough to work out by hand."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from pagerag.errors import InputError, MissingExtraError
from pagerag.units import Candidate, Pool
from pagerag_lab.rivals.graphs import Linking, PersonalisedPageRank
from pagerag_lab.rivals.rankings import MMR, AdaptiveK, CrossEncoder
from pagerag_lab.rivals.selection import Plain, selector


def pool(
    *rows: tuple[str, str, float | None], question: str = "Where was the director of Northlight born?"
) -> Pool:
    return Pool(
        question,
        tuple(
            Candidate(id=str(n), text=text, title=title, score=score)
            for n, (title, text, score) in enumerate(rows)
        ),
    )


CHAIN = pool(
    ("Northlight", "Northlight is a film directed by Ada Brandt.", 0.9),
    ("Southlight", "Southlight is a comedy about painters.", 0.8),
    ("Harbours", "Harbours are busy places in summer.", 0.7),
    ("Ada Brandt", "Ada Brandt was born in Bergen.", 0.6),
    ("Bergen", "Bergen is a city known for rain.", 0.5),
)

EVERY = ("plain", "plain:2", "adaptive-k", "mmr", "mmr:0.9", "linking", "ppr", "formula")


@pytest.mark.parametrize("name", EVERY)
def test_every_selector_keeps_within_budget_and_pool(name: str) -> None:
    one = selector(name)
    for k in (1, 2, 5, 9):
        chosen = one.select(CHAIN, k, "sentence")
        assert len(chosen.context) == min(k, 5)
        assert set(chosen.core) <= set(chosen.context)
        assert len(set(chosen.context)) == len(chosen.context)
        assert chosen == one.select(CHAIN, k, "sentence")
    for mode in ("paragraph", "document"):
        assert one.select(CHAIN, 3, mode).context  # type: ignore[arg-type]


@pytest.mark.parametrize("name", [name for name in EVERY if name != "formula"])
def test_rivals_take_an_empty_pool_and_missing_scores(name: str) -> None:
    assert selector(name).select(Pool("q", ()), 5, "sentence").context == ()
    bare = pool(("A", "Alpha names Beta.", None), ("B", "Beta names Gamma.", None))
    assert set(selector(name).select(bare, 5, "sentence").context) == {"0", "1"}


def test_adaptive_k_cuts_at_the_largest_gap() -> None:
    gaps = pool(*((f"T{n}", f"text {n}", score) for n, score in enumerate((0.9, 0.88, 0.4, 0.39, 0.38, 0.1))))
    chosen = AdaptiveK().select(gaps, 5, "sentence")
    assert chosen.core == ("0", "1")
    assert chosen.context == ("0", "1", "2", "3", "4")


def test_mmr_prefers_what_is_new() -> None:
    units = [
        Candidate(id=str(n), text=f"t{n}", score=score, vector=np.array(vector, dtype=np.float32))
        for n, (score, vector) in enumerate([(1.0, [1, 0]), (0.99, [1, 0.01]), (0.5, [0, 1]), (0.0, [1, 0])])
    ]
    chosen = MMR(0.5).select(Pool("q", tuple(units)), 2, "sentence")
    assert chosen.context == ("0", "2")
    assert MMR(1.0).select(Pool("q", tuple(units)), 2, "sentence").context == ("0", "1")
    with pytest.raises(InputError):
        MMR(1.5)


def test_linking_follows_connections_past_better_ranked_strangers() -> None:
    assert Linking().select(CHAIN, 2, "sentence").context == ("0", "3")


def test_page_rank_lifts_what_the_question_reaches() -> None:
    context = PersonalisedPageRank().select(CHAIN, 3, "sentence").context
    assert "0" in context
    assert "3" in context
    assert "2" not in context


def test_page_rank_mass_is_one() -> None:
    rival = PersonalisedPageRank()
    graph = rival.promoter.promote(CHAIN.question, CHAIN, k=5).graph
    number = {node["id"]: index for index, node in enumerate(graph.nodes)}
    restart = np.zeros(len(number))
    restart[0] = 1.0
    assert rival._walk(graph, number, restart).sum() == pytest.approx(1.0)


def test_cross_encoder_needs_its_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(MissingExtraError, match="sentence-transformers"):
        CrossEncoder("any")


def test_cross_encoder_orders_by_the_model(monkeypatch: pytest.MonkeyPatch) -> None:
    class Model:
        def __init__(self, name: str) -> None:
            assert name == "some/model"

        def predict(self, pairs: list[tuple[str, str]]) -> Any:
            return np.array([len(text) for _, text in pairs])

    library = ModuleType("sentence_transformers")
    library.CrossEncoder = Model  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "sentence_transformers", library)
    chosen = selector("cross-encoder:some/model").select(CHAIN, 2, "sentence")
    longest = sorted(CHAIN.candidates, key=lambda unit: -len(f"{unit.title}. {unit.text}"))
    assert chosen.context == tuple(unit.id for unit in longest[:2])


def test_names_that_mean_nothing() -> None:
    for name in ("magic", "plain:0", "plain:x", "mmr:2", "ppr:3", "cross-encoder:"):
        with pytest.raises(InputError):
            selector(name)
    assert Plain(2).select(CHAIN, 5, "sentence").core == ("0", "1")
