from __future__ import annotations

import pytest

from pagerag import Promoter
from pagerag.promotion.result import Promotion
from tests.promotion.evidence_of import POOL, QUESTION


@pytest.fixture(scope="module")
def promoted() -> Promotion:
    return Promoter(strategy="formula", support=None).promote(QUESTION, POOL[::-1], k=3)


def test_places_are_those_of_the_callers_pool(promoted: Promotion) -> None:
    assert promoted.pool == POOL[::-1]
    assert promoted.core == tuple(POOL[::-1][place] for place in promoted.core_places)
    assert promoted.context[: len(promoted.core)] == promoted.core
    assert {"film", "man"} <= {unit.id for unit in promoted.core}


def test_the_ranking_has_every_place_once_the_context_first(promoted: Promotion) -> None:
    assert sorted(promoted.ranking) == [0, 1, 2, 3]
    assert promoted.ranking[: len(promoted.context_places)] == promoted.context_places


def test_scores_are_in_the_order_of_the_pool(promoted: Promotion) -> None:
    by_id = dict(zip([unit.id for unit in promoted.pool], promoted.scores.tolist(), strict=True))
    assert by_id["man"] > by_id["river"]


def test_paths_and_graph_are_made_once(promoted: Promotion) -> None:
    assert promoted.paths is promoted.paths
    assert promoted.graph is promoted.graph


def test_every_place_has_its_reasons(promoted: Promotion) -> None:
    (film,) = [place for place, unit in enumerate(promoted.pool) if unit.id == "film"]
    assert any("Interstellar" in reason for reason in promoted.why(film))
    assert all(promoted.why(place) for place in range(4))
