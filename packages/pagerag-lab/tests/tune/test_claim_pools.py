"""Pools for claims: statements made of questions and of sentences, and what is their evidence."""

import json

import pytest

from pagerag_lab.tune.claim_pools import claim_rows, stated
from pagerag_lab.tune.pool_rows import plain

pytest.importorskip("onnxruntime")

RIVER = (
    "The Aller is a river. It rises in a broad meadow near Seehausen. It flows into the Weser near Verden."
)
TOWN = "Verden is a town. Its old cathedral was begun in 1290 by the bishop. Horses are bred there."


@pytest.mark.parametrize(
    ("question", "claim"),
    [
        ("Who wrote Hamlet?", "X wrote Hamlet"),
        ("who is the author of Hamlet", "X is the author of Hamlet"),
        ("When did the war end?", "the war end in X"),
        ("Where is the mill", "the mill in X"),
        ("How many bones do sharks have?", "sharks have X bones"),
        ("In which city did Ada live?", "Ada live In X"),
        ("What river flows through Verden?", "X flows through Verden"),
        ("The mill was built by whom?", "The mill was built by X"),
        ("Name the river of Verden", None),
    ],
)
def test_a_question_is_stated_with_its_answer(question, claim):
    assert stated(question, "X") == claim


def test_an_answer_may_look_like_a_pattern():
    assert stated("Who wrote it?", r"\1 {a} {1}") == r"\1 {a} {1} wrote it"


@pytest.fixture
def rows(tmp_path):
    """Return the rows of a few small files, by set; ``shown`` sentences of dev stay out."""
    reading = tmp_path / "reading"
    reading.mkdir()
    natural = [
        {"question": question, "answers": [answer], "ctxs": [{"title": title, "text": text}]}
        for question, answer, title, text in (
            ("where does the aller rise", "Seehausen", "Aller", RIVER),
            ("when was the cathedral of verden begun", "1290", "Verden", TOWN),
        )
    ]
    lines = "".join(json.dumps(row) + "\n" for row in natural)
    (reading / "nq_open_oracle.jsonl").write_text(lines, encoding="utf-8")
    asked = {
        "id": "a",
        "question": "What is bred there?",
        "answers": [{"text": "Horses", "answer_start": TOWN.index("Horses")}],
    }
    article = {"title": "Verden", "paragraphs": [{"context": TOWN, "qas": [asked]}]}
    (reading / "xquad.en.json").write_text(json.dumps({"data": [article]}), encoding="utf-8")
    question = {
        "_id": "h", "question": "Which town lies where the Aller ends?", "answer": "Verden", "type": "bridge",
        "supporting_facts": [["Aller", 2], ["Verden", 0]],
        "context": [[name, text.replace(". ", ".|").split("|")] for name, text in
                    (("Aller", RIVER), ("Verden", TOWN))],
    }  # fmt: skip
    for folder in ("hotpotqa", "2wikimultihopqa"):
        (tmp_path / folder).mkdir()
    (tmp_path / "hotpotqa/train.json").write_text(json.dumps([question]), encoding="utf-8")
    yes = question | {"_id": "y", "answer": "yes", "question": "Is Verden a town where the Aller ends?"}
    (tmp_path / "2wikimultihopqa/train.json").write_text(json.dumps([question, yes]), encoding="utf-8")

    def make(left_out=(), shown=()):
        found = {}
        for row in claim_rows(tmp_path, set(map(plain, left_out)), set(map(plain, shown))):
            found.setdefault(row["set"], []).append(row)
        return found

    return make


def test_a_stated_claim_keeps_the_evidence_of_its_question(rows):
    told = {row["id"].partition(":")[0]: row for row in rows()["claims_stated"] if row["gold"]}
    assert set(told) == {"nq", "xquad", "hotpotqa", "2wikimultihopqa"}
    for row in told.values():
        assert "?" not in row["question"]
        assert set(row["gold"]) <= {unit["id"] for unit in row["candidates"]}
    assert not any(row["base"].endswith(":y") for row in told.values())  # a yes says nothing
    assert sorted(told["hotpotqa"]["gold"]) == ["Aller#2", "Verden#0"]


def test_an_altered_claim_has_the_sentence_it_was_made_of_as_evidence(rows):
    for row in rows()["claims_altered"]:
        texts = {unit["id"]: unit["text"] for unit in row["candidates"]}
        for key in row["gold"]:
            assert len(texts[key].split()) > 7
            assert texts[key].rstrip(".") != row["question"].rstrip(".") or "It" not in texts[key]


def test_claims_know_nothing_of_dev(rows):
    found = rows(
        left_out=["where does the aller rise"], shown=["Its old cathedral was begun in 1290 by the bishop."]
    )
    bases = {row["base"] for made in found.values() for row in made}
    assert not any(base.startswith(("nq:", "xquad:")) for base in bases)
