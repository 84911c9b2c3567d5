"""The promotion stage from outside: cases of the paper, modes, switches, exports."""

from __future__ import annotations

import asyncio
import json
import threading
import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pagerag
from pagerag import Candidate, Promoter, Relation, Weights, errors, promote
from pagerag.errors import CandidateError, WeightsError
from pagerag.promotion.learned import LearnedModel
from pagerag.promotion.promoter import _shared
from pagerag.promotion.signals import combined_worth
from pagerag.promotion.trees import Trees
from tests.promotion import cases

PROMOTERS = {name: Promoter(strategy=name) for name in ("formula", "learned")}


def ids(units: Any) -> list[str]:
    return [unit.id for unit in units]


def test_interstellar() -> None:
    """The birthplace is buried behind the director's; promotion finds it."""
    result = promote(cases.INTERSTELLAR_QUESTION, cases.INTERSTELLAR)
    assert {"Interstellar (film)#2", "Hans Zimmer#0"} <= set(ids(result.context))
    plain = ids(cases.INTERSTELLAR[:5])
    assert "Hans Zimmer#0" not in plain


def test_interstellar_core_is_the_argument_in_order() -> None:
    result = promote(cases.INTERSTELLAR_QUESTION, cases.INTERSTELLAR)
    core = ids(result.core)
    assert core.index("Interstellar (film)#2") < core.index("Hans Zimmer#0")


def test_hotpotqa_case() -> None:
    result = promote(cases.HOTPOT_QUESTION, cases.HOTPOT)
    missing = {"Goran Dragic#0", "2013-14 Phoenix Suns season#1"}
    assert not missing & set(ids(cases.HOTPOT[:5]))
    assert missing <= set(ids(result.context))


@pytest.mark.parametrize("strategy", PROMOTERS)
@pytest.mark.parametrize("mode", ["paragraph", "document"])
def test_musique_case(strategy: str, mode: Any) -> None:
    result = PROMOTERS[strategy].promote(cases.MUSIQUE_QUESTION, cases.MUSIQUE, mode=mode)
    assert {"Tobolar Copra#0", "Majuro#0"} <= set(ids(result.context))
    assert not {"Tobolar Copra#0", "Majuro#0"} & set(ids(cases.MUSIQUE[:5]))


def test_2wiki_case() -> None:
    """The chain runs through a name that neither title has: Raja Lumu."""
    result = promote(cases.WIKI_QUESTION, cases.WIKI)
    assert {"Ibrahim Shah of Selangor#1", "Salehuddin Shah of Selangor#0"} <= set(ids(result.context))


def test_a_hub_path_is_rejected() -> None:
    """Everything in the pool mentions Germany; that links all and supports nothing."""
    pool = [
        {
            "id": "film",
            "title": "The Silent Mill",
            "text": "The Silent Mill is a film from Germany directed by Vera Kolb.",
        },
        *(
            {
                "id": f"hub{i}",
                "title": name,
                "text": f"{name} is a town in Germany with a market and a bridge.",
            }
            for i, name in enumerate(["Altdorf", "Brunn", "Celle", "Dorfen", "Erding", "Fulda"])
        ),
        {"id": "director", "title": "Vera Kolb", "text": "Kolb was born in Graz and studied in Germany."},
    ]
    result = promote("Where was the director of The Silent Mill born?", pool, k=3, strategy="formula")
    assert ids(result.core)[:2] == ["film", "director"]
    assert not any(unit.id.startswith("hub") for unit in result.core)
    germany = [
        path
        for path in result.paths
        if any("Germany" in edge.trig for edge in path.edges)
        and any(u.id.startswith("hub") for u in path.units)
    ]
    assert germany
    assert all(path.verdict == "rejected" for path in germany)
    hubs = [e.hub for p in germany for e in p.edges if e.trig == ("Germany",)]
    bridge = next(e for p in result.paths for e in p.edges if "Vera Kolb" in e.trig)
    assert bridge.hub < min(hubs)


def test_a_redundant_path_is_rejected() -> None:
    """The yellow path: related, but it says again what is already there."""
    pool = [
        {"id": "a", "title": "Mill", "text": "The Silent Mill was directed by Vera Kolb in 1950."},
        {"id": "again", "title": "Mill (film)", "text": "Vera Kolb directed The Silent Mill in 1950."},
        {"id": "b", "title": "Vera Kolb", "text": "Vera Kolb was born in Graz."},
    ]
    result = promote("Where was the director of The Silent Mill born?", pool, strategy="formula")
    core = ids(result.core)
    assert "b" in core
    assert not {"a", "again"} <= set(core)


def test_nothing_in_the_pool_supports_the_question() -> None:
    pool = ["Cheese is made of milk.", "Milk comes from cows.", "Butter is churned from cream."]
    for strategy in PROMOTERS:
        result = PROMOTERS[strategy].promote("Who painted the ceiling of the Sistine Chapel?", pool)
        assert result.state == "insufficient", strategy
        assert "least bad" in result.explain()


def test_a_small_pool_that_answers_is_enough() -> None:
    pool = ["Marie Curie was born in Warsaw.", "Warsaw is the capital of Poland.", "Paris is in France."]
    result = promote("Where was Marie Curie born?", pool)
    assert result.state == "enough"
    assert result.core[0].text == pool[0]


def test_sufficiency_falls_when_the_missing_hop_is_taken_away() -> None:
    whole = promote(cases.INTERSTELLAR_QUESTION, cases.INTERSTELLAR)
    less = promote(cases.INTERSTELLAR_QUESTION, [u for u in cases.INTERSTELLAR if u.id != "Hans Zimmer#0"])
    assert less.sufficiency < whole.sufficiency


@pytest.mark.parametrize("strategy", PROMOTERS)
def test_relations_of_a_backend_become_links(strategy: str) -> None:
    pool = [
        Candidate(
            "a",
            "the mill belongs to a woman called vera kolb",
            relations=(Relation("Silent Mill", "owner", "Vera Kolb"),),
        ),
        Candidate("b", "kolb, vera: born in graz", entities=("Vera Kolb",)),
        Candidate("c", "graz is a city"),
    ]
    result = PROMOTERS[strategy].promote("Where was the owner of the Silent Mill born?", pool)
    relation = [
        edge
        for edge in result.graph.edges
        if edge["kind"] == "relation" and edge["from"].startswith("entity")
    ]
    assert relation[0]["trig"] == ["owner"]
    assert any(
        edge.kind == "relation" and "owner" in edge.trig[0] for path in result.paths for edge in path.edges
    )


def test_lower_cased_text_degrades_gracefully() -> None:
    pool = [
        {"text": unit.text.lower(), "title": (unit.title or "").lower(), "position": unit.position}
        for unit in cases.INTERSTELLAR
    ]
    result = promote(cases.INTERSTELLAR_QUESTION.lower(), pool)
    assert any("zimmer was born" in unit.text for unit in result.context)
    without_titles = promote(cases.INTERSTELLAR_QUESTION.lower(), [row["text"] for row in pool])
    assert any(edge["kind"] == "shared entity" for edge in without_titles.graph.edges)


@pytest.mark.parametrize("mode", ["sentence", "paragraph", "document"])
def test_exports(mode: Any) -> None:
    graph = promote(cases.WIKI_QUESTION, cases.WIKI, mode=mode).graph
    kinds = {edge["kind"] for edge in graph.edges}
    assert {"contains", "mention", "shared entity"} <= kinds
    assert {node["kind"] for node in graph.nodes} == {"document", "sentence", "entity"}
    for edge in graph.edges:
        assert {"src", "sent", "trig", "conf", "div", "spec", "hub"} <= set(edge)
    parsed = ET.fromstring(graph.to_graphml())  # noqa: S314
    assert len(parsed.findall(".//{*}node")) == len(graph.nodes)
    assert graph.to_dot().count(" -- ") == len(graph.edges)
    assert json.loads(graph.to_json()) == json.loads(json.dumps(graph.to_dict()))
    networkx = pytest.importorskip("networkx")
    drawn = graph.to_networkx()
    assert drawn.number_of_nodes() == len(graph.nodes)
    assert drawn.number_of_edges() == len(graph.edges)
    read = networkx.parse_graphml(graph.to_graphml(), force_multigraph=True)
    assert read.number_of_edges() == len(graph.edges)


def test_every_unit_has_its_reasons() -> None:
    result = promote(cases.INTERSTELLAR_QUESTION, cases.INTERSTELLAR)
    place = ids(result.pool).index("Hans Zimmer#0")
    assert any("born" in reason for reason in result.why(place))
    assert all(result.why(i) for i in range(len(result.pool)))


def test_the_trace_has_a_stable_schema() -> None:
    trace = promote(cases.WIKI_QUESTION, cases.WIKI).to_dict()
    assert trace["version"] == 1
    assert list(trace) == [
        "version", "question", "question_form", "answer_type", "mode", "strategy", "k", "state", "sufficiency",
        "core", "context", "candidates", "notes", "paths",
    ]  # fmt: skip
    assert list(trace["candidates"][0]) == [
        "id", "title", "source", "position", "text", "retrieved", "score", "role", "number",
    ]  # fmt: skip
    assert list(trace["paths"][0]) == [
        "rank", "units", "sentences", "score", "sent_base", "edge_sum", "coherence", "length_cost", "bridge_bonus",
        "alignment", "edges", "verdict", "reason",
    ]  # fmt: skip


def test_a_path_score_is_the_sum_of_its_parts() -> None:
    result = promote(cases.WIKI_QUESTION, cases.WIKI, strategy="formula")
    w = result.evidence.weights
    for path in result.paths:
        parts = (
            path.sent_base
            + path.edge_sum
            + w.coh * path.coherence
            - path.length_cost
            + path.bridge_bonus
            + path.alignment
        )
        assert path.score == pytest.approx(parts, abs=2e-3)
        assert path.edge_sum == pytest.approx(sum(edge.score for edge in path.edges), abs=2e-3)


def test_document_mode_reads_inside_long_units() -> None:
    filler = "This chapter describes the weather of the valley in some detail. " * 12
    pool = [
        {"id": "weather", "text": filler, "score": 0.9},
        {"id": "mill", "text": filler + "The Silent Mill was directed by Vera Kolb. " + filler, "score": 0.5},
        {"id": "one", "text": "Vera Kolb was born in Graz.", "title": "", "score": 0.1},
    ]
    result = promote("Where was the director of The Silent Mill born?", pool, k=2, mode="document")
    assert set(ids(result.context)) == {"mill", "one"}


def test_stored_analyses_change_nothing() -> None:
    promoter = Promoter()
    for mode in ("sentence", "document"):
        pool = cases.MUSIQUE
        stored = [type(a).from_bytes(a.to_bytes()) for a in (promoter.analyze(unit, mode) for unit in pool)]  # type: ignore[arg-type]
        one = promoter.promote(cases.MUSIQUE_QUESTION, pool, mode=mode)  # type: ignore[arg-type]
        two = promoter.promote(
            cases.MUSIQUE_QUESTION, pool, mode=mode, analyses=[*stored[:5], None, *stored[6:]]
        )  # type: ignore[arg-type]
        assert one.to_dict() == two.to_dict()
    with pytest.raises(CandidateError, match="index it again"):
        promoter.promote(
            "Where?", ["short"], mode="document", analyses=[promoter.analyze("A much longer text than that.")]
        )


@pytest.mark.parametrize("strategy", PROMOTERS)
def test_every_ablation_switch_changes_something(strategy: str) -> None:
    jobs = [
        (cases.INTERSTELLAR_QUESTION, cases.INTERSTELLAR),
        (cases.HOTPOT_QUESTION, cases.HOTPOT),
        (cases.WIKI_QUESTION, cases.WIKI),
    ]
    full = [r.scores.tolist() + ids(r.core) for r in PROMOTERS[strategy].promote_many(jobs)]
    for name in (
        "support_scoring", "minimal_selection", "query_alignment", "provenance_reliability", "bridge_specificity",
        "path_quality",
    ):  # fmt: skip
        ablated = Promoter(strategy=strategy, ablate=[name])
        assert [r.scores.tolist() + ids(r.core) for r in ablated.promote_many(jobs)] != full, name


def test_without_minimal_selection_the_core_is_full() -> None:
    for strategy in PROMOTERS:
        result = Promoter(strategy=strategy, ablate=["minimal_selection"]).promote(
            cases.WIKI_QUESTION, cases.WIKI
        )
        assert len(result.core) == 5


def test_threads_share_a_promoter_and_async_agrees() -> None:
    promoter = Promoter()
    expected = promoter.promote(cases.WIKI_QUESTION, cases.WIKI).to_dict()
    found: list[Any] = []

    def work() -> None:
        found.extend(promoter.promote(cases.WIKI_QUESTION, cases.WIKI).to_dict() for _ in range(5))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(trace == expected for trace in found)
    assert asyncio.run(promoter.apromote(cases.WIKI_QUESTION, cases.WIKI)).to_dict() == expected


class Oracle:
    """A support encoder that likes one unit."""

    name = "oracle"
    signals = ("likes",)

    def __init__(self, liked: str, shape: tuple[int, ...] | None = None) -> None:
        self.liked, self.shape = liked, shape

    def support(self, question: str, units: Any, /) -> Any:
        if self.shape:
            return np.zeros(self.shape)
        return np.array([[4.0 if unit.id == self.liked else -4.0] for unit in units], dtype=np.float32)


def test_a_support_encoder_is_one_more_signal() -> None:
    liked = "Klang#0"
    plain = promote(cases.WIKI_QUESTION, cases.WIKI, strategy="formula")
    assert liked not in ids(plain.context)
    weights = Weights.shipped("sentence").but(w_sup=2.0)
    helped = Promoter(weights, support=Oracle(liked)).promote(cases.WIKI_QUESTION, cases.WIKI)
    assert liked in ids(helped.context)
    with pytest.raises(pagerag.PageRAGError, match="oracle"):
        Promoter(support=Oracle(liked, shape=(1, 3))).promote(cases.WIKI_QUESTION, cases.WIKI)


def test_the_function_takes_a_support_encoder_and_keeps_the_one_it_names(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made: list[str] = []

    def named(choice: str) -> Oracle:
        made.append(choice)
        return Oracle("Klang#0")

    monkeypatch.setattr("pagerag.models.support_named", named)
    _shared.cache_clear()
    try:
        by_name = [promote(cases.WIKI_QUESTION, cases.WIKI, support="small", k=k).to_dict() for k in (2, 3)]
    finally:
        _shared.cache_clear()
    assert made == ["small"]
    helper = Oracle("Klang#0")
    given = [promote(cases.WIKI_QUESTION, cases.WIKI, support=helper, k=k).to_dict() for k in (2, 3)]
    whole = Promoter(support=helper)
    assert given == by_name == [whole.promote(cases.WIKI_QUESTION, cases.WIKI, k).to_dict() for k in (2, 3)]
    assert promote(cases.WIKI_QUESTION, cases.WIKI, 2).to_dict() != given[0]


def test_supports_and_modes_that_are_none_are_answered_with_those_there_are() -> None:
    with pytest.raises(pagerag.InputError, match="support is 'big'; it must be one of: auto"):
        promote(cases.WIKI_QUESTION, cases.WIKI, support="big")  # type: ignore[arg-type]
    with pytest.raises(pagerag.InputError, match=r"sentence, paragraph, document \(auto belongs to"):
        promote(cases.WIKI_QUESTION, cases.WIKI, mode="auto")  # type: ignore[arg-type]


def test_the_budget_may_be_filled_by_the_candidates_own_probabilities() -> None:
    plain = promote(cases.WIKI_QUESTION, cases.WIKI, k=5)
    left = [unit for unit in plain.candidates if unit.id not in {chosen.id for chosen in plain.context}]
    wanted = left[-1].id
    pool = [replace(unit, score=1.0 if unit.id == wanted else 0.0) for unit in plain.candidates]
    by_promotion = Promoter().promote(cases.WIKI_QUESTION, pool, k=5)
    by_score = Promoter().promote(cases.WIKI_QUESTION, pool, k=5, fill_by_score=True)
    assert by_score.core == by_promotion.core
    assert len(by_score.core) < 5 == len(by_score.context)
    assert by_score.context[len(by_score.core)].id == wanted
    few = Promoter().promote(
        cases.WIKI_QUESTION,
        pool,
        k=5,
        max_tokens=25,
        count_tokens=lambda text: len(text.split()),
        fill_by_score=True,
    )
    assert sum(len(unit.text.split()) for unit in few.context) <= 25
    with pytest.raises(CandidateError, match=rf"{wanted!r} has score 12.5, which is no probability"):
        Promoter().promote(
            cases.WIKI_QUESTION,
            [replace(unit, score=12.5 if unit.id == wanted else 0.5) for unit in pool],
            fill_by_score=True,
        )


def test_max_tokens_takes_any_counter() -> None:
    result = promote(
        cases.WIKI_QUESTION, cases.WIKI, max_tokens=25, count_tokens=lambda text: len(text.split())
    )
    assert 0 < sum(len(unit.text.split()) for unit in result.context) <= 25


def test_trees_agree_with_a_walk_by_hand() -> None:
    rng = np.random.default_rng(0)
    trees, depth, columns = 7, 3, 5
    model = Trees(
        rng.integers(columns, size=(depth, trees)),
        rng.normal(size=(depth, trees)).astype(np.float32),
        rng.normal(size=(trees, 2**depth)).astype(np.float32),
        0.25,
    )
    rows = rng.normal(size=(50, columns)).astype(np.float32)
    rows[rng.random(rows.shape) < 0.1] = np.nan

    def walk(row: Any) -> float:
        total = 0.25
        for t in range(trees):
            leaf = sum(
                2**level for level in range(depth) if row[model.feature[level, t]] > model.threshold[level, t]
            )
            total += model.leaf[t, leaf]
        return total

    assert model.log_odds(rows) == pytest.approx([walk(row) for row in rows], abs=1e-5)


@pytest.mark.parametrize("models", [1, 3])
def test_grown_trees_say_the_same_as_arrays(models: int) -> None:
    """The arrays that are shipped against the library that grew them."""
    pytest.importorskip("catboost")
    from pagerag_lab.tune.boosting import Growth, boost, predict, to_trees

    rng = np.random.default_rng(1)
    table = rng.normal(size=(600, 6)).astype(np.float32)
    table[:, 3] = 1.0  # a feature that tells nothing
    labels = (table[:, 0] + table[:, 1] * table[:, 2] > 0.3).astype(np.float32)
    model = boost(table, labels, None, Growth(rounds=20, depth=4, models=models))
    assert len(model) == models
    unseen = rng.normal(size=(200, 6)).astype(np.float32)
    ours = 1.0 / (1.0 + np.exp(-to_trees(model).log_odds(unseen)))
    assert ours == pytest.approx(predict(model, unseen), abs=1e-5)
    assert ((ours > 0.5) == (unseen[:, 0] + unseen[:, 1] * unseen[:, 2] > 0.3)).mean() > 0.7


def test_learned_models_survive_saving_and_bad_files_are_refused(tmp_path: Path) -> None:
    model = LearnedModel.shipped("sentence")
    assert model is not None
    model.save(tmp_path / "m.npz")
    again = LearnedModel.load(tmp_path / "m.npz")
    assert again.features == model.features
    assert (again.first.leaf == model.first.leaf).all()
    (tmp_path / "bad.npz").write_bytes(b"not a zip")
    with pytest.raises(WeightsError, match="not a learned model"):
        LearnedModel.load(tmp_path / "bad.npz")
    np.savez(tmp_path / "other.npz", header=np.frombuffer(b'{"format": 99}', dtype=np.uint8))
    with pytest.raises(WeightsError, match="format 99"):
        LearnedModel.load(tmp_path / "other.npz")


def test_the_exported_names() -> None:
    assert pagerag.__all__ == sorted(pagerag.__all__)
    assert all(getattr(pagerag, name) is not None for name in pagerag.__all__)
    there = {
        name
        for name, value in vars(pagerag).items()
        if not name.startswith("_") and getattr(value, "__module__", "").startswith("pagerag")
    }
    assert there == set(pagerag.__all__) - {"__version__"}
    assert set(pagerag.__all__) <= set(dir(pagerag))
    assert {name for name in vars(errors) if name.endswith("Error")} <= set(pagerag.__all__)


def _rivers() -> list[Candidate]:
    return [
        Candidate(
            "v", "The Varre is a river in the north of Norland, 212 km long.", title="Varre", position=0
        ),
        Candidate("o", "The Osk is a river in Sudmark and is 188 km long.", title="Osk", position=0),
        Candidate(
            "p", "Salmon return to the river Varre in the north each spring.", title="Varre", position=4
        ),
        Candidate(
            "q", "A long road follows the river Osk and the river Varre.", title="Coast road", position=2
        ),
    ]


def test_a_comparison_needs_one_unit_of_each_side_and_nothing_beside_them() -> None:
    question = "Which river is longer, the Varre or the Osk?"
    dear = Promoter(Weights.shipped("sentence").but(c_aside=3.0)).promote(question, _rivers())
    assert {unit.id for unit in dear.core} == {"v", "o"}


@pytest.mark.parametrize(
    "question", ["Which river is longer, the Varre or the Osk?", "Where does the Varre rise?"]
)
def test_a_dearer_unit_beside_the_point_never_brings_more_of_them(question: str) -> None:
    sizes = []
    for cost in (0.0, 0.5, 1.0, 3.0):
        found = Promoter(Weights.shipped("sentence").but(c_aside=cost)).promote(question, _rivers())
        sizes.append(sum(unit.id in {"p", "q"} for unit in found.core))
    assert sizes == sorted(sizes, reverse=True)
    if "longer" not in question:  # nothing is compared: the cost does not apply
        assert len(set(sizes)) == 1


def test_promotion_has_two_votes_of_three_for_the_last_places() -> None:
    even, sure, doubtful = np.float32(0.5), np.float32(0.9), np.float32(0.1)
    ours = np.array([sure, doubtful, even, 1.0], dtype=np.float32)
    theirs = np.array([doubtful, sure, even, 0.0], dtype=np.float32)
    worth = combined_worth(ours, theirs)
    assert worth[0] > worth[2] > worth[1]
    assert worth[2] == 0
    assert np.isfinite(worth).all()
