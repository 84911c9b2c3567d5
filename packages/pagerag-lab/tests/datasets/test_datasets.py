"""Official formats in, Questions out; a malformed record is told with file, line, field and remedy."""

from __future__ import annotations

import gzip
import json
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from pagerag.errors import FormatError, InputError, MissingExtraError
from pagerag_lab.datasets.corpora import pooled_corpus, read_corpus
from pagerag_lab.datasets.hub import _load, hub_fingerprint
from pagerag_lab.datasets.registry import dataset, read_questions
from pagerag_lab.runs.config import RunConfig

Make = Callable[[int], dict[str, Any]]


def write(path: Path, records: list[Any], *, lines: bool = False, indent: int | None = None) -> Path:
    if lines:
        path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    else:
        path.write_text(json.dumps(records, indent=indent), encoding="utf-8")
    return path


def test_hotpotqa_units_and_gold(hotpotqa_file: Path) -> None:
    question = next(iter(read_questions("hotpotqa", hotpotqa_file)))
    units = question.units("sentence")
    assert len(units) == 10  # the blank sentence is no candidate
    assert {unit.id for unit in units} >= {"Ada Brandt#0", "Ada Brandt#1", "Bergen#0"}
    assert question.gold("sentence") == {"Northlight (film)#0", "Ada Brandt#1"}
    assert question.gold("document") == {"Northlight (film)", "Ada Brandt"}
    assert question.gold_ids("sentence") == question.gold("sentence")
    unit = next(unit for unit in units if unit.id == "Ada Brandt#1")
    assert (unit.title, unit.source, unit.position) == ("Ada Brandt", "Ada Brandt", 1)
    assert (question.type, question.hops, question.answers) == ("bridge", 2, ("Bergen",))
    document = next(unit for unit in question.units("document") if unit.id == "Ada Brandt")
    assert document.text == "Ada Brandt is a Norwegian film director. She was born in Bergen in 1951."


def test_units_carry_no_gold(hotpotqa_file: Path, musique_file: Path) -> None:
    for name, file, mode in (("hotpotqa", hotpotqa_file, "sentence"), ("musique", musique_file, "paragraph")):
        for question in read_questions(name, file):
            for unit in question.units(mode):  # type: ignore[arg-type]
                assert not unit.metadata
                assert unit.score is None
                assert unit.entities is None
                assert unit.relations is None


def test_columns_of_a_hub_are_the_same_question(tmp_path: Path, hotpotqa_record: Make) -> None:
    plain = hotpotqa_record(0)
    columns = {
        "id": plain["_id"],
        "question": plain["question"],
        "answer": plain["answer"],
        "type": plain["type"],
        "supporting_facts": {
            "title": [title for title, _ in plain["supporting_facts"]],
            "sent_id": [place for _, place in plain["supporting_facts"]],
        },
        "context": {
            "title": [title for title, _ in plain["context"]],
            "sentences": [sentences for _, sentences in plain["context"]],
        },
    }
    nested = {**plain, "context": json.dumps(plain["context"])}
    first = list(read_questions("hotpotqa", write(tmp_path / "a.json", [plain])))
    assert list(read_questions("hotpotqa", write(tmp_path / "b.jsonl", [columns], lines=True))) == first
    assert list(read_questions("2wiki", write(tmp_path / "c.json", [nested]))) == first


def test_musique_paragraphs_aliases_hops(musique_file: Path) -> None:
    question = next(iter(read_questions("MuSiQue", musique_file)))
    assert question.gold("paragraph") == {"p0", "p1"}
    assert [unit.id for unit in question.units("paragraph")] == [f"p{n}" for n in range(6)]
    assert question.answers == ("Bergen", "city of Bergen")
    assert (question.hops, question.type, question.answer_rule) == (2, "2hop", "musique")
    with pytest.raises(InputError, match="paragraph"):
        question.gold("sentence")


def test_gzip_is_recognised_by_content(hotpotqa_file: Path, tmp_path: Path) -> None:
    packed = tmp_path / "download"
    packed.write_bytes(gzip.compress(hotpotqa_file.read_bytes()))
    assert list(read_questions("hotpotqa", packed)) == list(read_questions("hotpotqa", hotpotqa_file))


def test_arrays_are_read_across_blocks(tmp_path: Path, hotpotqa_record: Make) -> None:
    filler = [["Filler", ["word " * 4000] * 20]]
    records = [{**hotpotqa_record(n), "context": hotpotqa_record(n)["context"] + filler} for n in range(9)]
    file = write(tmp_path / "large.json", records, indent=1)
    assert file.stat().st_size > 3 << 20
    assert [question.id for question in read_questions("hotpotqa", file)] == [f"q{n}" for n in range(9)]


def test_fullwiki_gold_outside_the_context_stays_gold(tmp_path: Path, hotpotqa_record: Make) -> None:
    record = hotpotqa_record(0)
    record["context"] = record["context"][2:]
    question = next(iter(read_questions("hotpotqa", write(tmp_path / "f.json", [record]))))
    assert question.gold("sentence") == {"Northlight (film)#0", "Ada Brandt#1"}
    assert question.gold_ids("sentence") == frozenset()


def test_documents_that_share_a_title(tmp_path: Path, hotpotqa_record: Make) -> None:
    record = hotpotqa_record(0)
    twin = ["Ada Brandt", ["Ada Brandt is a botanist.", "She studied mosses."]]
    record["context"] = [*record["context"], twin, record["context"][2]]
    question = next(iter(read_questions("2wiki", write(tmp_path / "t.json", [record]))))
    ids = [unit.id for unit in question.units("sentence")]
    assert len(ids) == len(set(ids))
    assert "Ada Brandt (2)#1" in ids
    # The official script names a fact by title and place alone, so either text counts as it.
    assert question.keys("sentence")["Ada Brandt (2)#1"] == "Ada Brandt#1"
    assert [document.id for document in question.documents].count("Bergen") == 1  # given twice, there once


BAD_HOTPOT: list[tuple[str, Any, str]] = [
    ("_id", None, "_id"),
    ("question", 5, "question"),
    ("question", "  ", "question"),
    ("context", None, "context"),
    ("context", {"title": ["a"], "sentences": []}, "context"),
    ("context", [["a", "not a list"]], "context[0][1]"),
    ("context", [["a", ["x"]], ["b"]], "context[1]"),
    ("supporting_facts", [["a", "0"]], "supporting_facts[0]"),
    ("supporting_facts", [["a", -1]], "supporting_facts[0]"),
    ("supporting_facts", "nonsense", "supporting_facts"),
    ("answer", ["Bergen"], "answer"),
]


@pytest.mark.parametrize(("field", "value", "named"), BAD_HOTPOT)
def test_malformed_hotpotqa(
    tmp_path: Path, field: str, value: Any, named: str, hotpotqa_record: Make
) -> None:
    record = hotpotqa_record(1)
    if value is None:
        del record[field]
    else:
        record[field] = value
    file = write(tmp_path / "bad.jsonl", [hotpotqa_record(0), record], lines=True)
    with pytest.raises(FormatError) as caught:
        list(read_questions("hotpotqa", file))
    assert (caught.value.file, caught.value.line, caught.value.field) == (file, 2, named)
    assert "bad.jsonl, line 2, field" in str(caught.value)


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"paragraphs": None}, "paragraphs"),
        ({"paragraphs": ["text"]}, "paragraphs[0]"),
        ({"paragraphs": [{"idx": 0, "paragraph_text": 3}]}, "paragraphs[0].paragraph_text"),
        ({"paragraphs": [{"idx": "0", "paragraph_text": "x"}]}, "paragraphs[0].idx"),
        (
            {"paragraphs": [{"idx": 0, "paragraph_text": "x"}, {"idx": 0, "paragraph_text": "y"}]},
            "paragraphs",
        ),
        ({"answer_aliases": "Bergen"}, "answer_aliases"),
    ],
)
def test_malformed_musique(tmp_path: Path, change: dict[str, Any], named: str, musique_record: Make) -> None:
    file = write(tmp_path / "bad.jsonl", [musique_record(0), musique_record(1) | change], lines=True)
    with pytest.raises(FormatError) as caught:
        list(read_questions("musique", file))
    assert (caught.value.line, caught.value.field) == (2, named)


def test_broken_files_name_the_place(tmp_path: Path, hotpotqa_file: Path, hotpotqa_record: Make) -> None:
    text = json.dumps([hotpotqa_record(n) for n in range(3)], indent=2)
    line = text[: text.index('"q2"')].count("\n") + 1
    cut = tmp_path / "cut.json"
    cut.write_text(text[: text.index('"q2"') + 30], encoding="utf-8")
    with pytest.raises(FormatError, match="cut off") as caught:
        list(read_questions("hotpotqa", cut))
    assert caught.value.line is not None
    assert abs(caught.value.line - line) <= 1
    for content, message in (
        (b"\xff\xfe\x00", "UTF-8"),
        (b"[1]", "not an object"),
        (b"[]", "no question"),
        (b"", "no question"),
        (b'{"_id": 1', "cut off"),
        (b'{"_id": 1,}', "not JSON"),
        (gzip.compress(hotpotqa_file.read_bytes())[:-20], "damaged"),
    ):
        cut.write_bytes(content)
        with pytest.raises(FormatError, match=message):
            list(read_questions("hotpotqa", cut))
    with pytest.raises(FormatError, match="no such file"):
        list(read_questions("hotpotqa", tmp_path / "missing.json"))


def test_an_id_that_is_there_twice_is_refused(tmp_path: Path, hotpotqa_record: Make) -> None:
    with pytest.raises(FormatError, match="twice"):
        list(read_questions("hotpotqa", write(tmp_path / "d.json", [hotpotqa_record(0)] * 2)))


def test_names_and_limits(hotpotqa_file: Path) -> None:
    assert dataset("2Wiki").name == "2wikimultihopqa"
    with pytest.raises(InputError, match="unknown dataset"):
        dataset("squad")
    assert len(list(read_questions("hotpotqa", hotpotqa_file, limit=3))) == 3
    with pytest.raises(InputError, match="limit"):
        read_questions("hotpotqa", hotpotqa_file, limit=0)


def test_flashrag_and_its_corpus(tmp_path: Path, hotpotqa_record: Make) -> None:
    plain = hotpotqa_record(0)
    record = {
        "id": "dev_0",
        "question": plain["question"],
        "golden_answers": ["Bergen"],
        "metadata": {
            "type": "bridge",
            "supporting_facts": {"title": ["Northlight (film)", "Ada Brandt"], "sent_id": [0, 1]},
            "context": {
                "title": [title for title, _ in plain["context"]],
                "sentences": [sentences for _, sentences in plain["context"]],
            },
        },
    }
    question = next(iter(read_questions("flashrag", write(tmp_path / "f.jsonl", [record], lines=True))))
    assert question.gold("sentence") == {"Northlight (film)#0", "Ada Brandt#1"}
    corpus = write(
        tmp_path / "c.jsonl",
        [{"id": 0, "contents": "Bergen\nA city."}, {"id": 1, "contents": "No title"}],
        lines=True,
    )
    documents = list(read_corpus(corpus))
    assert [(d.key, d.title, d.text) for d in documents] == [
        ("Bergen", "Bergen", "A city."),
        ("1", None, "No title"),
    ]
    with pytest.raises(FormatError, match="golden_answers"):
        list(
            read_questions(
                "flashrag", write(tmp_path / "g.jsonl", [record | {"golden_answers": 3}], lines=True)
            )
        )


def test_beir_folder(tmp_path: Path) -> None:
    write(
        tmp_path / "corpus.jsonl",
        [{"_id": "d1", "title": "Bergen", "text": "A city."}, {"_id": "d2", "title": "", "text": "No."}],
        lines=True,
    )
    write(
        tmp_path / "queries.jsonl",
        [
            {"_id": "1", "text": "Where?", "metadata": {"answer": "Bergen"}},
            {"_id": "2", "text": "Of another split"},
        ],
        lines=True,
    )
    (tmp_path / "qrels").mkdir()
    judged = tmp_path / "qrels" / "test.tsv"
    judged.write_text("query-id\tcorpus-id\tscore\n1\td1\t1\n1\td2\t0\n", encoding="utf-8")
    questions = list(read_questions("beir", tmp_path))
    assert [(q.id, q.gold("document"), q.answers) for q in questions] == [
        ("1", frozenset({"d1"}), ("Bergen",))
    ]
    assert [document.key for document in read_corpus(tmp_path)] == ["d1", "d2"]
    assert RunConfig(dataset="beir", data=str(tmp_path), mode="document").corpus == str(tmp_path)
    judged.write_text("query-id\tcorpus-id\tscore\n1\td1\n", encoding="utf-8")
    with pytest.raises(FormatError, match=r"test\.tsv, line 2"):
        list(read_questions("beir", tmp_path))
    judged.unlink()
    with pytest.raises(FormatError, match="qrels"):
        list(read_questions("beir", tmp_path))


def test_open_questions_and_pooled_contexts(tmp_path: Path, hotpotqa_file: Path) -> None:
    record = {
        "id": "o1",
        "question": "Where?",
        "answer": "Bergen",
        "answer_aliases": [],
        "supporting_titles": ["Bergen"],
    }
    question = next(iter(read_questions("open", write(tmp_path / "o.jsonl", [record], lines=True))))
    assert question.gold("document") == {"Bergen"}
    assert question.units("document") == ()
    documents = pooled_corpus(read_questions("hotpotqa", hotpotqa_file))
    assert len(documents) == 6  # twelve questions share them
    with pytest.raises(FormatError, match="supporting_titles"):
        list(
            read_questions(
                "open", write(tmp_path / "p.jsonl", [record | {"supporting_titles": None}], lines=True)
            )
        )


def test_a_hubs_dataset_reads_like_its_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hotpotqa_record: Make
) -> None:
    asked = []

    class Rows(list[dict[str, Any]]):
        _fingerprint = "abc"

    def load_dataset(name: str, config: str | None, *, split: str) -> Rows:
        asked.append((name, config, split))
        return Rows([hotpotqa_record(0), hotpotqa_record(1)])

    library = ModuleType("datasets")
    library.load_dataset = load_dataset  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "datasets", library)
    _load.cache_clear()
    name = "hub:hotpotqa/hotpot_qa/distractor@validation"
    file = write(tmp_path / "same.json", [hotpotqa_record(0), hotpotqa_record(1)])
    assert list(read_questions("hotpotqa", name)) == list(read_questions("hotpotqa", file))
    assert asked == [("hotpotqa/hotpot_qa", "distractor", "validation")]
    assert hub_fingerprint(name) == "fingerprint:abc"
    for wrong in ("hub:hotpot_qa", "hub:@validation", "hub:a/b/c/d@x"):
        with pytest.raises(InputError, match="hub:OWNER/NAME@SPLIT"):
            list(read_questions("hotpotqa", wrong))
    monkeypatch.setitem(sys.modules, "datasets", None)
    _load.cache_clear()
    with pytest.raises(MissingExtraError, match=r"pagerag\[hub\]"):
        list(read_questions("hotpotqa", name))
