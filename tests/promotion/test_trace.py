from __future__ import annotations

import json
from dataclasses import replace

import pytest

from pagerag import Candidate, Promoter, Relation
from pagerag.promotion.result import Promotion
from pagerag.promotion.trace import edge_between, sentence_id, sentence_text, triggers, unit_label
from tests.promotion.evidence_of import FILM, MAN, POOL, QUESTION, evidence_of


@pytest.fixture(scope="module")
def promoted() -> Promotion:
    return Promoter(strategy="formula", support=None).promote(QUESTION, POOL, k=2)


def test_an_edge_tells_where_it_comes_from_and_what_it_is_worth() -> None:
    edge = edge_between(evidence_of(), 0, 1)
    assert (edge.kind, edge.trig, edge.sent) == ("shared entity", ("Hans Zimmer",), ("film", "man"))
    assert edge.src == ("Interstellar", "Hans Zimmer")
    assert json.loads(json.dumps(edge.to_dict()))["score"] == edge.score


def test_a_relation_is_its_own_trigger_and_neighbours_have_none() -> None:
    fact = Relation("Oder", "flows past", "London", units=("river",))
    evidence = evidence_of(POOL, relations=[fact])
    assert triggers(evidence, 3, 2) == ("Oder -flows past-> London",)
    assert triggers(evidence, 1, 2) == ()


def test_sentences_are_named_by_their_unit_and_place() -> None:
    evidence = evidence_of()
    assert (sentence_id(evidence, 1), sentence_text(evidence, 1)) == ("man", MAN.text)
    inside = evidence_of((replace(MAN, text=f"{MAN.text} It rained."), FILM), mode="document")
    assert (sentence_id(inside, 1), sentence_text(inside, 1)) == ("man@1", "It rained.")


@pytest.mark.parametrize(
    ("metadata", "title", "label"),
    [
        ({}, "T", "T"),
        ({}, None, "id"),
        ({"section_path": ["A", "B"]}, "T", "T › B"),
        ({"section": "S"}, "T", "T › S"),
        ({"section": "T"}, "T", "T"),
    ],
)
def test_what_a_person_calls_a_unit(metadata: dict[str, object], title: str | None, label: str) -> None:
    assert unit_label(Candidate("id", "Text.", title, metadata=metadata)) == label


def test_each_path_has_a_verdict_and_a_reason(promoted: Promotion) -> None:
    kept = [path for path in promoted.paths if path.verdict == "kept"]
    assert any({unit.id for unit in path.units} == {"film", "man"} for path in kept)
    for path in promoted.paths:
        assert path.verdict in {"kept", "rejected"}
        assert path.reason
        assert len(path.edges) == len(path.units) - 1
    assert json.loads(json.dumps(promoted.paths[0].to_dict()))["rank"] == 1


def test_two_steps_of_one_document_are_told_apart(promoted: Promotion) -> None:
    (path,) = [
        p for p in promoted.paths if [unit.id for unit in p.units] in (["man", "house"], ["house", "man"])
    ]
    assert len(set(path.labels)) == 2
    assert all(label.startswith("Hans Zimmer “") for label in path.labels)


def test_the_text_says_what_was_chosen_and_what_was_not(promoted: Promotion) -> None:
    text = promoted.explain()
    assert f"Question: {QUESTION}" in text
    assert "[1] core" in text
    assert "Supporting paths:" in text
    assert "–[Hans Zimmer" in text
    insufficient = Promoter(strategy="formula", support=None).promote("Who is Xyzzy?", ["It rains."])
    assert "Nothing in this pool supports an answer" in insufficient.explain()


def test_the_trace_is_json_with_a_role_for_every_candidate(promoted: Promotion) -> None:
    told = json.loads(json.dumps(promoted.to_dict()))
    assert told["version"] == 1
    roles = {row["id"]: row["role"] for row in told["candidates"]}
    assert roles["film"] == roles["man"] == "core"
    assert roles["river"] == "pool"
    assert told["core"] == [unit.id for unit in promoted.core]
