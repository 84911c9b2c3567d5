"""Bad input: a typed error that names the item and the remedy, or a documented bound; never a crash."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pagerag import Candidate, PageRAGError, Pool, Promoter, Relation, Weights, promote
from pagerag.errors import CandidateError, EmptyPoolError, InputError, WeightsError

Q = "Where was the founder born?"


@pytest.mark.parametrize(
    ("candidates", "error", "words"),
    [
        ([], EmptyPoolError, "retrieve candidates first"),
        ([""], CandidateError, "candidate 0"),
        (["fine", " \n"], CandidateError, "candidate 1"),
        ([{"id": "x"}], CandidateError, "no 'text'"),
        ([{"text": "a b", "colour": 1}], CandidateError, "'colour'"),
        ([{"id": "x", "text": "a"}, {"id": "x", "text": "b"}], CandidateError, "same id 'x'"),
        ([{"text": "a", "score": float("nan")}], CandidateError, "finite"),
        ([{"text": "a", "score": float("inf")}], CandidateError, "finite"),
        ([{"text": "a", "score": "high"}], CandidateError, "finite"),
        ([{"text": 5}], CandidateError, "string"),
        ([{"text": "a", "title": 5}], CandidateError, "title"),
        ([{"text": "a", "position": "first"}], CandidateError, "position"),
        ([{"text": "a", "relations": ["only one"]}], CandidateError, "head, relation, tail"),
        ([{"text": "a", "relations": [Relation("a", "b", "c", confidence=7)]}], CandidateError, "[0, 1]"),
        ([{"text": "a", "vector": [1.0, float("nan")]}], CandidateError, "finite"),
        (
            [{"text": "a", "vector": [1.0]}, {"text": "b", "vector": [1.0, 2.0]}],
            CandidateError,
            "one encoder",
        ),
        ([5], CandidateError, "int"),
        (None, InputError, "NoneType"),
        (5, InputError, "sequence"),
        ([{"text": "a", "entities": [1, None]}], CandidateError, "names"),
        ([{"text": "a", "entities": "Marie"}], CandidateError, "names"),
        ([{"text": "a", "relations": [Relation(1, None, "c")]}], CandidateError, "strings"),  # type: ignore[arg-type]
        ([{"text": "a", "vector": ["x"]}], CandidateError, "numbers"),
        ([{"text": "a", "score": 10**400}], CandidateError, "finite"),
        ("one text", InputError, "wrap it in a list"),
        ({"text": "one"}, InputError, "wrap it in a list"),
    ],
)
def test_bad_candidates(candidates: Any, error: type[PageRAGError], words: str) -> None:
    with pytest.raises(error) as caught:
        promote(Q, candidates)
    assert words in str(caught.value)
    assert isinstance(caught.value, PageRAGError)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"k": 0}, "k is 0"),
        ({"k": -3}, "≥ 1"),
        ({"k": 2.5}, "whole number"),
        ({"k": True}, "whole number"),
        ({"mode": "chapter"}, "sentence, paragraph, document"),
        ({"max_tokens": 0}, "max_tokens"),
        ({"strategy": "magic"}, "learned, formula"),
        ({"analyses": []}, "go in pairs"),
        ({"vector": [1.0]}, None),
        ({"relations": [Relation("a", "b", "c", confidence=-1)]}, "[0, 1]"),
    ],
)
def test_bad_options(options: dict[str, Any], words: str | None) -> None:
    if words is None:  # a question's vector without candidates' vectors is simply not used
        assert promote(Q, ["The founder was born in Linz."], **options).context
        return
    with pytest.raises(InputError) as caught:
        promote(Q, ["The founder was born in Linz."], **options)
    assert words in str(caught.value)


@pytest.mark.parametrize("question", ["", "  ", None, 7])
def test_bad_questions(question: Any) -> None:
    with pytest.raises(InputError, match="question"):
        promote(question, ["text"])


def test_pools_and_questions_without_a_word() -> None:
    assert promote("???", ["!!!", "..."]).state == "insufficient"
    assert promote("Where?", ["!!!"], mode="document").state == "insufficient"


def test_many_copies_of_one_text_fill_one_place() -> None:
    result = promote(Q, ["The founder was born in Linz."] * 500)
    assert len(result.context) == 1


def test_bad_counters_weights_and_batches() -> None:
    for counter in (lambda text: -5, lambda text: "a"):
        with pytest.raises(InputError, match="count_tokens"):
            promote(Q, ["The founder was born in Linz."], max_tokens=10, count_tokens=counter)
    with pytest.raises(InputError, match=r"Weights\.load"):
        Promoter(weights="file.json")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="pairs"):
        list(Promoter().promote_many([5]))  # type: ignore[list-item]
    with pytest.raises(InputError, match="numbers"):
        promote(Q, [{"text": "a", "vector": [1.0]}], vector="abc")


def test_vectors_of_two_encoders_are_refused() -> None:
    with pytest.raises(InputError, match="one encoder"):
        promote(Q, [{"text": "a", "vector": [1.0, 0.0]}], vector=[1.0, 0.0, 0.0])


def test_unknown_ablation_and_strategy_are_refused() -> None:
    with pytest.raises(InputError, match="minimal_selection"):
        Promoter(ablate=["gravity"])
    with pytest.raises(InputError, match="formula"):
        Promoter(strategy="magic")


@pytest.mark.parametrize(
    "text",
    [
        "\x00\x01 born \x7f",
        "lone \ud83d surrogate born",
        "\u200b\u200d",
        "...",
        "🏰🏯",
        "a" * 5000,
        "A" + "\u0301" * 200,
    ],
)
@pytest.mark.parametrize("mode", ["sentence", "paragraph", "document"])
def test_odd_text_is_no_crash(text: str, mode: Any) -> None:
    result = promote(
        Q, [text, "The founder was born in Linz.", {"text": text + " again", "title": text}], mode=mode
    )
    json.dumps(result.to_dict())
    assert result.explain()
    result.graph.to_graphml().encode("utf-8")
    assert result.graph.to_dot()


def test_ten_megabytes_of_text_are_bounded() -> None:
    huge = "The founder of the museum was a teacher. " * 250_000
    result = promote(Q, [huge, "The founder was born in Linz."], mode="document")
    assert {len(unit.text) for unit in result.pool} == {len(huge), 29}
    assert result.evidence.reading.spans


def test_ten_thousand_candidates() -> None:
    pool = [f"Place number {i} has a museum and a founder." for i in range(9_999)]
    pool.append("The founder of everything was born in Linz.")
    result = promote(Q, pool, mode="sentence")
    assert len(result.context) == 5
    assert len(result.scores) == 10_000
    assert len(result.evidence.reading) <= 36


def test_inputs_come_back_untouched() -> None:
    metadata = {"page": 3, "tags": ["a"]}
    unit = Candidate(id="x", text="The founder was born in Linz.", metadata=metadata)
    mapping = {"id": "y", "text": "Linz is a city.", "metadata": {"n": 1}}
    before = dict(mapping)
    result = promote(Q, [unit, mapping])
    assert any(found is unit for found in result.context)
    assert result.pool[0].metadata is metadata
    assert mapping == before
    assert result.pool[1].metadata == {"n": 1}


def test_a_pool_brings_its_own_vector_and_relations() -> None:
    units = (
        Candidate("a", "Anna Berg founded it.", vector=np.array([1.0, 0.0])),
        Candidate("b", "Linz.", vector=np.array([0.0, 1.0])),
    )
    pool = Pool(
        Q, units, vector=np.array([1.0, 0.0]), relations=(Relation("Anna Berg", "born in", "Linz", ("a",)),)
    )
    result = promote(Q, pool)
    assert result.evidence.signals.similarity is not None
    assert any(edge["kind"] == "relation" for edge in result.graph.edges)


def test_weights_files(tmp_path: Path) -> None:
    good = Weights.shipped("sentence")
    for suffix, body in (
        (".json", json.dumps(good.to_dict())),
        (".toml", "\n".join(f"{k} = {float(v)}" for k, v in good.to_dict().items())),
    ):
        path = tmp_path / f"w{suffix}"
        path.write_text(body)
        assert Weights.load(path) == good
    body = good.to_dict()
    del body["alpha"]
    body["alfa"] = 1.0
    (tmp_path / "bad.json").write_text(json.dumps(body))
    with pytest.raises(WeightsError, match="unknown: alfa; missing: alpha"):
        Weights.load(tmp_path / "bad.json")
    with pytest.raises(WeightsError, match="cannot read"):
        Weights.load(tmp_path / "absent.json")
    (tmp_path / "half.json").write_text('{"alpha": 1')
    with pytest.raises(WeightsError, match="neither valid JSON nor TOML"):
        Weights.load(tmp_path / "half.json")
    (tmp_path / "list.json").write_text("[1]")
    with pytest.raises(WeightsError, match="table"):
        Weights.load(tmp_path / "list.json")
    for value in (float("nan"), 99.0, True, "much"):
        with pytest.raises(WeightsError, match="alpha"):
            good.but(alpha=value)  # type: ignore[arg-type]
    with pytest.raises(WeightsError, match="feature group"):
        good.ablate("gravity")


class _Attributes:
    """An object with the given attributes, as a framework's document is one."""

    def __init__(self, **values: Any) -> None:
        self.__dict__.update(values)


@pytest.mark.parametrize(
    "document",
    [
        {"page_content": "Zimmer was born in Frankfurt.", "metadata": {"title": "Hans Zimmer", "page": 4}},
        {"page_content": "Zimmer was born in Frankfurt.", "title": "Hans Zimmer", "page": 4},
        {
            "content": "Zimmer was born in Frankfurt.",
            "meta": {"title": "Hans Zimmer", "page": 4},
            "score": 0.5,
        },
        _Attributes(
            page_content="Zimmer was born in Frankfurt.",
            metadata={"title": "Hans Zimmer", "page": 4},
            id=None,
        ),
        _Attributes(
            content="Zimmer was born in Frankfurt.", meta={"title": "Hans Zimmer", "page": 4}, id="x"
        ),
        _Attributes(
            node=_Attributes(
                node_id="n",
                text="Zimmer was born in Frankfurt.",
                metadata={"title": "Hans Zimmer", "page": 4},
            ),
            score=0.7,
        ),
    ],
)
def test_documents_of_frameworks_are_taken_as_they_are(document: Any) -> None:
    result = promote("Where was Hans Zimmer born?", [document, "Nobody was born here."], k=1)
    assert result.context[0].text == "Zimmer was born in Frankfurt."
    assert result.context[0].title == "Hans Zimmer"
    assert result.context[0].metadata["page"] == 4
    assert result.context_places == (0,)


def test_candidates_with_and_without_ids_may_be_mixed() -> None:
    pool = ["first", {"id": "0", "text": "second"}, {"text": "third"}, Candidate("2", "fourth")]
    result = promote(Q, pool, k=4)
    assert sorted(unit.id for unit in result.candidates) == ["0", "0#2", "2", "2#2"]


def test_k_goes_by_its_other_names() -> None:
    pool = [f"Sentence number {n}." for n in range(6)]
    assert promote(Q, pool).k == 5
    assert promote(Q, pool, top_n=2).k == 2
    assert promote(Q, pool, top_k=3, k=3).k == 3
    with pytest.raises(InputError, match="k=2, top_n=3"):
        promote(Q, pool, k=2, top_n=3)


def test_more_relations_than_are_read_are_noted() -> None:
    facts = [Relation(f"Name {n}", "knows", f"Name {n + 1}", ("0",), confidence=0.5) for n in range(1_500)]
    facts.append(Relation("Hans Zimmer", "born in", "Frankfurt", ("0", "1"), confidence=1.0))
    result = promote(Q, ["Hans Zimmer was born in Frankfurt.", "Frankfurt is a city."], relations=facts)
    assert "501 of the pool's relations were not read" in result.explain()
    assert result.to_dict()["notes"] == [
        "501 of the pool's relations were not read: the most confident 1000 are"
    ]
    assert any(fact[2].relation == "born in" for fact in result.evidence.reading.stated)
    assert promote(Q, ["a", "b"]).to_dict()["notes"] == []
