"""The commands at work: on a real store, on pool files, with a real page."""

from __future__ import annotations

import io
import json
import re
import sys
import xml.etree.ElementTree as ET
from types import SimpleNamespace

import pytest

from pagerag import Answer, Candidate, Citation, Pool, Result, promote
from pagerag.cli import main
from pagerag.cli._show import show_result

QUESTION = "Which city was the composer of Interstellar born in?"
POOLS = [
    {
        "question": QUESTION,
        "candidates": [
            {
                "id": "nolan",
                "title": "Christopher Nolan",
                "text": "Nolan, who made Interstellar, was born in London.",
            },
            {
                "id": "score",
                "title": "Interstellar",
                "text": "Hans Zimmer composed the score of Interstellar.",
            },
            {"id": "seine", "title": "Seine", "text": "The Seine flows through Paris."},
            {"id": "zimmer", "title": "Hans Zimmer", "text": "Zimmer was born in Frankfurt."},
        ],
    },
    {
        "question": "Who wrote Kim?",
        "candidates": [{"id": "kim", "text": "Kim was written by Rudyard Kipling."}],
    },
]


@pytest.fixture
def pools(tmp_path):
    file = tmp_path / "pools.jsonl"
    file.write_text("".join(json.dumps(pool) + "\n" for pool in POOLS))
    return file


@pytest.fixture
def ask(demo_store, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def run(command, *words):
        code = main([command, *words, "--store", str(demo_store), "--reader", "evidence"])
        out, err = capsys.readouterr()
        return code, out, err

    return run


@pytest.mark.integration
def test_ask_answers_with_evidence_and_places(ask):
    code, out, _ = ask("ask", QUESTION, "-v")
    assert code == 0
    assert "Frankfurt" in out
    assert "hans-zimmer.md:" in out
    assert "evidence path" in out
    code, out, _ = ask("ask", QUESTION, "--json", "--trace")
    told = json.loads(out)
    assert code == 0
    assert any("Frankfurt" in (cited["quote"] or "") for cited in told["citations"])
    assert told["trace"]["promote"]["version"] == 1


@pytest.mark.integration
@pytest.mark.parametrize(
    ("text", "state", "code"),
    [
        ("Frankfurt", "enough", 0),
        ("Frankfurt", "ambiguous", 0),
        ("Frankfurt", "insufficient", 4),
        ("", "enough", 4),
    ],
)
def test_ask_tells_by_its_exit_code_whether_the_evidence_is_enough(ask, monkeypatch, text, state, code):
    result = SimpleNamespace(state=state, answer=SimpleNamespace(text=text))
    monkeypatch.setattr("pagerag.cli.ask._answered", lambda *_: result)
    assert ask("ask", QUESTION)[0] == code


def test_ask_opens_a_prompt(ask, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.StringIO(f"{QUESTION}\n\nWhich river flows through Warsaw?\n"))
    code, out, _ = ask("ask", "--json")
    lines = [json.loads(line) for line in out.splitlines()]
    assert code == 0
    assert [line["question"] for line in lines] == [QUESTION, "Which river flows through Warsaw?"]
    monkeypatch.setattr(sys, "stdin", io.StringIO(""))
    code, _, err = ask("ask")
    assert code == 1
    assert "no question" in err


@pytest.mark.integration
def test_the_prompt_has_words_of_its_own(ask, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.StringIO(f"/why\n/help\n/no\n{QUESTION}\n/why\n/quit\nWho?\n"))
    code, out, err = ask("ask")
    assert code == 0
    assert "nothing was asked yet" in out
    assert "/quit" in out
    assert "there is no /no" in err
    assert "Frankfurt" in out
    assert "core" in out.rpartition("Frankfurt")[0]
    assert "Who?" not in out


@pytest.mark.integration
def test_ask_names_a_file_of_questions_that_it_cannot_use(ask, tmp_path, monkeypatch):
    (tmp_path / "empty.txt").write_text("\n")
    for name, said in (("empty.txt", "holds no question"), ("none.txt", "there is no file none.txt")):
        code, _, err = ask("ask", "--file", name)
        assert code == 1
        assert said in err
    monkeypatch.setattr(sys, "stdin", io.StringIO(f"{QUESTION}\nWhich river flows through Warsaw?\n"))
    code, out, _ = ask("ask", "--file", "-")
    assert code == 0
    assert QUESTION in out


@pytest.mark.integration
def test_ask_takes_a_file_and_loses_no_line(ask, tmp_path):
    (tmp_path / "q.txt").write_text(f"{QUESTION}\n\n  \nWhich river flows through Warsaw?\n")
    code, out, _ = ask("ask", "--file", "q.txt", "--json")
    assert code == 0
    assert len(out.splitlines()) == 2


@pytest.mark.integration
def test_ask_does_not_repeat_the_whole_of_a_line_that_is_too_long(ask, tmp_path):
    (tmp_path / "q.txt").write_text(f"{QUESTION}\n{'Where was he born, and when? ' * 10_000}\n")
    code, _, err = ask("ask", "--file", "q.txt")
    assert code == 3
    assert "error: Where was he born, and when? Where" in err
    assert "…: the question has 28" in err
    assert len(err) < 2000


@pytest.mark.integration
@pytest.mark.parametrize("form", ["txt", "json", "dot", "graphml", "svg", "html"])
def test_explain_writes_every_form(ask, tmp_path, form):
    code, out, err = ask("explain", QUESTION, "--out", f"why.{form}")
    assert (code, out) == (0, "")
    assert f"why.{form}" in err
    text = (tmp_path / f"why.{form}").read_text(encoding="utf-8")
    assert "Hans Zimmer" in text
    if form == "json":
        assert json.loads(text)["trace"]["promote"]["core"]
    if form == "graphml":
        assert ET.fromstring(text).tag.endswith("graphml")  # noqa: S314 - our own file
    if form == "html":
        assert text.count("<svg") == 1  # the graph is drawn by the page itself
        assert text.count("<script") == 2  # the data, and the one script that the policy allows
        for svg in text.split("<svg")[1:]:
            ET.fromstring("<svg" + svg.split("</svg>")[0] + "</svg>")  # noqa: S314 - our own file


@pytest.mark.integration
def test_explain_prints_text_unless_told(ask):
    code, out, _ = ask("explain", QUESTION)
    assert code == 0
    assert "Question:" in out
    code, out, _ = ask("explain", QUESTION, "--format", "dot")
    assert out.startswith("graph pagerag")


def test_promote_writes_the_same_format_with_less_in_it(pools, capsys, tmp_path):
    out = tmp_path / "out.jsonl"
    assert main(["promote", str(pools), "--out", str(out), "-k", "2", "--with-trace"]) == 0
    first, second = [json.loads(line) for line in out.read_text().splitlines()]
    kept = [unit["id"] for unit in first["candidates"]]
    assert len(kept) == 2
    assert "score" in kept
    assert first["pagerag"]["state"] in {"enough", "ambiguous", "insufficient"}
    assert [unit["id"] for unit in second["candidates"]] == ["kim"]
    assert "2 promoted pools" in capsys.readouterr().err


def test_promote_prints_json_text_and_explanations(pools, capsys):
    assert main(["promote", str(pools), "--json", "-k", "2"]) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [line["question"] for line in lines] == [pool["question"] for pool in POOLS]
    assert len(lines[0]["context"]) == 2
    assert main(["promote", str(pools), "--limit", "1"]) == 0
    shown = capsys.readouterr().out
    assert "Zimmer was born in Frankfurt." in shown
    assert "Kipling" not in shown
    assert main(["promote", str(pools), "--explain"]) == 0
    assert "linked to" in capsys.readouterr().out


def test_promote_names_the_pools_it_cannot_use(tmp_path, capsys):
    file = tmp_path / "pools.jsonl"
    unusable = {"question": "  ", "candidates": ["a text"]}
    file.write_text("".join(json.dumps(pool) + "\n" for pool in (POOLS[0], unusable)))
    code = main(["promote", str(file), "--json"])
    out, err = capsys.readouterr()
    assert code in {1, 3}
    assert "pools.jsonl" in err
    assert len(out.splitlines()) == 1


@pytest.mark.parametrize("bad", ['{"question": "q?", "candi', '{"question": 7, "candidates": []}'])
def test_promote_goes_on_after_a_record_that_cannot_be_read(bad, tmp_path, capsys):
    file = tmp_path / "halfbad.jsonl"
    file.write_text("\n".join([json.dumps(POOLS[0]), bad, json.dumps(POOLS[0])]))
    assert main(["promote", str(file), "--json"]) == 3
    out, err = capsys.readouterr()
    assert len(out.splitlines()) == 2
    assert "halfbad.jsonl, line 2" in err
    assert "cut off" not in err
    assert "1 of 3 pools could not be promoted" in err
    assert main(["promote", str(file), "--out", str(tmp_path / "out.jsonl")]) == 1
    assert not (tmp_path / "out.jsonl").exists()


def test_promote_tells_a_file_that_was_cut_off(tmp_path, capsys):
    file = tmp_path / "cut.jsonl"
    file.write_text(json.dumps(POOLS[0]) + '\n{"question": "q?", "candi')
    assert main(["promote", str(file), "--json"]) == 3
    assert (
        "cut.jsonl, line 2: the JSON ends too early; the file was probably cut off" in capsys.readouterr().err
    )


def test_promote_keeps_the_line_of_an_empty_pool(tmp_path, capsys):
    file, out = tmp_path / "pools.jsonl", tmp_path / "out.jsonl"
    rows = [
        {"question": "Who?", "candidates": []},
        {
            "question": "Where was Hans Zimmer born?",
            "candidates": ["Hans Zimmer was born in Frankfurt.", " "],
        },
        {"question": "When?", "candidates": ["  "]},
    ]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert main(["promote", str(file), "--out", str(out)]) == 0
    written = [json.loads(line) for line in out.read_text().splitlines()]
    assert [row["question"] for row in written] == [row["question"] for row in rows]
    assert [len(row["candidates"]) for row in written] == [0, 1, 0]
    said = capsys.readouterr().err
    assert "2 of 3 pools are empty" in said
    assert "2 candidates have no text" in said
    assert main(["promote", str(file), "--json"]) == 0
    told = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [one["state"] for one in told][::2] == ["insufficient", "insufficient"]
    assert [len(one["context"]) for one in told] == [0, 1, 0]
    assert main(["promote", str(file)]) == 0
    assert "the pool is empty" in capsys.readouterr().out


def test_promote_takes_fields_under_other_names(tmp_path, capsys):
    file = tmp_path / "mine.jsonl"
    file.write_text(
        json.dumps({"q": "Where was Hans Zimmer born?", "retrieved": ["Zimmer was born in Frankfurt."]})
    )
    assert main(["promote", str(file)]) == 1
    assert "--field candidates=retrieved --field question=q" in capsys.readouterr().err
    assert main(["promote", str(file), "--field", "candidates=retrieved", "--field", "question=q"]) == 0
    assert "Frankfurt" in capsys.readouterr().out
    assert main(["promote", str(file), "--field", "candidates"]) == 2
    assert "--field takes FIELD=NAME" in capsys.readouterr().err


def test_promote_lists_its_formats(capsys):
    assert main(["promote", "--formats", "--json"]) == 0
    assert {"trec", "ctxs"} <= set(json.loads(capsys.readouterr().out))


@pytest.mark.integration
@pytest.mark.slow
def test_the_demo_keeps_its_promise(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["demo", "--reader", "evidence", "--keep", "kept", "--html", "demo.html"]) == 0
    out = capsys.readouterr().out
    assert out.count("evidence path") >= 3
    assert "3 of 3 right" in out
    assert "What did a tram ticket in Barcelona cost in 1926?" in out
    assert "(the documents do not say)" in out
    for word in ("core", "fill", "evidence"):
        assert re.search(rf"^  {word} +[a-z]", out, re.MULTILINE)
    assert (tmp_path / "demo.html").stat().st_size > 20_000
    assert main(["demo", "--reader", "evidence", "--keep", "kept", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["right"] == 3
    assert len(told["results"]) == 4


@pytest.mark.integration
@pytest.mark.slow
def test_the_demo_refuses_what_its_corpus_cannot_answer(capsys, tmp_path, monkeypatch):
    pytest.importorskip("pagerag_models")
    monkeypatch.chdir(tmp_path)
    assert main(["demo", "--reader", "extractive", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["right"] == 3
    assert told["refused"] is True
    assert main(["demo", "--reader", "extractive"]) == 0
    shown = capsys.readouterr().out
    assert shown.count("\nevidence: ") == 3
    assert "evidence, before it was read: " in shown.rpartition("\n? ")[2]


HANDBOOK = "# Leave\n\nWho may take leave.\n\n## Parental leave\n\nParental leave lasts **twelve** weeks.\n"


@pytest.mark.integration
def test_ask_prints_places_that_an_editor_opens(tmp_path, monkeypatch, capsys):
    pytest.importorskip("wordllama")
    pytest.importorskip("markdown_it")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "handbook").mkdir()
    (tmp_path / "handbook" / "leave.md").write_text(HANDBOOK, encoding="utf-8")
    assert main(["index", "handbook", "--store", "s"]) == 0
    words = ["ask", "How many weeks does parental leave last?", "--store", "s", "--reader", "evidence"]
    capsys.readouterr()
    main(words)
    assert "handbook/leave.md:7 › Parental leave" in capsys.readouterr().out.replace("\\", "/")
    main([*words, "--json"])
    told = json.loads(capsys.readouterr().out)
    [cited] = [cited for cited in told["citations"] if "twelve" in cited["quote"]]
    assert (cited["line"], cited["section"]) == (7, ["Parental leave"])  # "Leave" is the title
    assert cited["place"].endswith("leave.md:7 › Parental leave")
    assert HANDBOOK[cited["start"] : cited["end"]] == "Parental leave lasts **twelve** weeks."
    assert all(unit["place"].startswith(unit["path"]) for unit in told["context"])


def test_each_cited_place_is_shown_once_and_in_order(capsys):
    units = tuple(
        Candidate(name, text, title=name)
        for name, text in (
            ("Ports", "The tool runs on Linux and Solaris. It is fast."),
            ("Age", "It is from 2002."),
        )
    )
    cited = (
        Citation(2, "Age", 11, 15, "2002"),
        Citation(1, "Ports", 27, 34, "Solaris"),
        Citation(1, "Ports", 17, 22, "Linux"),
        Citation(2, "Age", 11, 15, "2002"),
    )
    question = "Since when does the tool run on Linux and Solaris?"
    answer = Answer("2002; Solaris; Linux", cited, 0.9, reader="r")
    found = promote(question, units, k=2, mode="document")
    result = Result(question, answer, units, found, Pool(question, units))
    assert result.statement.endswith("2002; Solaris; Linux [1][2]")
    show_result(result)
    shown = [line.strip() for line in capsys.readouterr().out.splitlines() if line.startswith("  [")]
    assert shown == ["[1] Ports", "[2] Age"]


def test_a_place_elsewhere_keeps_its_whole_path(tmp_path, monkeypatch):
    from pagerag.cli._show import _from_here
    from pagerag.places import Place

    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    outside = Place(str(tmp_path / "a.md"), None, 0, 1, line=3)
    assert _from_here(outside) == outside
    assert _from_here(Place(None, None, 0, 1)) == Place(None, None, 0, 1)
    inside = Place(str(tmp_path / "here" / "b" / "a.md"), None, 0, 1, line=3)
    assert str(_from_here(inside)).replace("\\", "/") == "b/a.md:3"


def test_doctor_finds_a_damaged_store(tmp_path, monkeypatch, capsys):
    import sqlite3
    from contextlib import closing

    from pagerag.ingest import index_paths
    from pagerag.store import open_store
    from pagerag.testing import FakeEncoder

    monkeypatch.chdir(tmp_path)
    (tmp_path / "leave.txt").write_text("Parental leave lasts twelve weeks.", encoding="utf-8")
    with open_store("s", FakeEncoder(32), create=True) as store:
        index_paths(["leave.txt"], store)
    with closing(sqlite3.connect(tmp_path / "s" / "corpus.sqlite")) as connection, connection:
        connection.execute("UPDATE units SET body = x'00'")
    assert main(["doctor", "--store", "s", "--quick"]) == 1
    assert "damaged" in capsys.readouterr().out
