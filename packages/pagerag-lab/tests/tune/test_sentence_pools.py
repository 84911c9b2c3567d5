"""Pools of sentences: what is gold in each source, and what never gets in."""

import gzip
import json

import pytest

from pagerag_lab.tune.pool_rows import plain
from pagerag_lab.tune.sentence_pools import sentence_rows

pytest.importorskip("onnxruntime")

RIVER = "The Aller is a river. It rises near Seehausen. It flows into the Weser near Verden."
TOWN = "Verden is a town. Its cathedral was begun in 1290. Horses are bred there."
MILL = "The mill was built in 1734. A dam feeds its wheel. Flour is sold on Fridays."


def line(path, rows):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


@pytest.fixture
def made(tmp_path):
    """Return a function that makes the rows, by set, without some questions and passages."""

    def natural(question, answer, title, text):
        return {"question": question, "answers": [answer], "ctxs": [{"title": title, "text": text}]}

    line(
        tmp_path / "reading/nq_open_oracle.jsonl",
        [
            natural("where does the aller rise", "Seehausen", "Aller", RIVER),
            natural("when was the cathedral of verden begun", "1290", "Verden", TOWN),
            natural("when was the mill built", "1734", "Mill", MILL),
            natural("what is near verden", "near", "Aller", RIVER),  # in two sentences: which one is not told
        ],
    )

    def asked(key, question, answer, text):
        place = {"text": answer, "answer_start": text.index(answer)}
        return {"context": text, "qas": [{"id": key, "question": question, "answers": [place]}]}

    articles = [
        {
            "title": "Lower_Saxony",
            "paragraphs": [asked("a", "Where does the Aller end?", "the Weser", RIVER)],
        },
        {"title": "Mills", "paragraphs": [asked("b", "What feeds the wheel?", "A dam", MILL)]},
    ]
    (tmp_path / "reading/xquad.en.json").write_text(json.dumps({"data": articles}), encoding="utf-8")
    strategy = [
        {"qid": f"s{n}", "question": question, "facts": facts}
        for n, (question, facts) in enumerate(
            [
                ("Could the mill grind in 1700?", ["The mill was built in 1734.", "1700 is before 1734."]),
                ("Is Verden a port?", ["Verden lies on the Aller.", "Ships go up the Aller to Verden."]),
                ("Is one fact enough?", ["It is."]),
            ]
        )
    ]
    (tmp_path / "reading/strategyqa_train.json").write_text(json.dumps(strategy), encoding="utf-8")
    unit = {"title": "Handbook", "source": "handbook.md", "position": 0, "score": 1.0}
    search = {
        "id": "books:1~follow", "base": "documents:books", "retriever": "follow", "kind": "two",
        "question": "when was the mill built and when is flour sold?",
        "candidates": [unit | {"id": "p", "text": MILL}, unit | {"id": "r", "text": TOWN}],
        "facts": [{"quote": "The mill was *built* in 1734", "ids": ["p"]},
                  {"quote": "A dam feeds its wheel. Flour is sold on Fridays", "ids": ["p"]}],
    }  # fmt: skip
    lost = search | {"id": "books:2~follow", "facts": [{"quote": "Nobody knows", "ids": []}]}
    pools = tmp_path / "documents-train.jsonl.gz"
    with gzip.open(pools, "wt", encoding="utf-8") as file:
        file.writelines(json.dumps(row) + "\n" for row in (search, lost, search | {"id": "books:1~bm25"}))

    def make(left_out=(), shown=()):
        found = {}
        for row in sentence_rows(tmp_path, pools, set(map(plain, left_out)), set(map(plain, shown))):
            found.setdefault(row["set"], []).append(row)
        return found

    return make


def gold_texts(row):
    return {unit["text"] for unit in row["candidates"] if unit["id"] in row["gold"]}


def test_each_source_marks_the_sentences_that_tell(made):
    found = {name: {row["question"]: row for row in rows if row["gold"]} for name, rows in made().items()}
    assert set(found) == {"nq_sentences", "xquad_sentences", "strategyqa", "document_sentences"}
    naturals = found["nq_sentences"]
    assert "what is near verden" not in naturals
    assert gold_texts(naturals["where does the aller rise"]) == {"It rises near Seehausen."}
    assert gold_texts(found["xquad_sentences"]["What feeds the wheel?"]) == {"A dam feeds its wheel."}
    mill = next(row for text, row in found["strategyqa"].items() if "mill" in text.lower())
    assert gold_texts(mill) == {"The mill was built in 1734.", "1700 is before 1734."}
    quoted = {"The mill was built in 1734.", "A dam feeds its wheel.", "Flour is sold on Fridays."}
    for row in found["document_sentences"].values():
        assert gold_texts(row) == quoted


def test_sentences_of_other_passages_stand_beside(made):
    row = next(row for row in made()["nq_sentences"] if "cathedral" in row["question"])
    assert {unit["title"] for unit in row["candidates"]} > {"Verden"}  # the river's passage names the town
    assert (row["unit"], row["total"], row["complete"]) == ("sentence", 1, True)


def test_every_question_comes_without_its_evidence_too(made):
    found = made()
    removed = [row for rows in found.values() for row in rows if row["id"].endswith("~removed")]
    assert {row["set"] for row in removed} >= {"nq_sentences", "document_sentences"}
    assert not any(row["gold"] or row["complete"] for row in removed)


def test_nothing_of_dev_gets_in(made):
    found = made(left_out=["Where does the ALLER rise?"], shown=["Its cathedral was begun in 1290."])
    asked = {row["question"] for row in found["nq_sentences"]}
    assert asked == {"when was the mill built"}
    texts = {unit["text"] for rows in found.values() for row in rows for unit in row["candidates"]}
    assert "Its cathedral was begun in 1290." not in texts - {
        unit["text"] for row in found["document_sentences"] for unit in row["candidates"]
    }
