"""Whatever strangers wrote, no command lets it steer the terminal."""

from __future__ import annotations

import io
import json
import re
import sys

import pytest

from pagerag.cli import main
from pagerag.cli.console import CleanStream, paint

EVIL = "\x1b[2J\x1b]8;;http://x\x07link\x1b]52;c;QUJD\x07\x9b31m\r\u202e\u2066\x08\U000e0041"
HOSTILE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff\U000e0000-\U000e007f]"
)
QUESTION = "Which city was the composer of Interstellar born in?"


@pytest.fixture
def documents(tmp_path, monkeypatch):
    pytest.importorskip("wordllama")
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "docs"
    folder.mkdir()
    records = [
        {
            "title": f"Interstellar{EVIL}",
            "text": f"The score of Interstellar {EVIL}was composed by Hans Zimmer.",
        },
        {"title": f"Hans Zimmer{EVIL}", "text": f"Zimmer was born in the city of Frankfurt{EVIL}."},
        {"title": "Nolan", "text": f"Christopher Nolan, who made Interstellar{EVIL}, was born in London."},
    ]
    (folder / "r\x1b[2Jecords.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    (folder / "odd\x1b]0;x\x07.xyz").write_bytes(b"\x00\x01" * 50)
    (folder / "bad\x1b[1m.jsonl").write_text("{")
    return folder


def run(capsys, *words):
    code = main(list(words))
    out, err = capsys.readouterr()
    assert not HOSTILE.findall(out), words
    assert not HOSTILE.findall(err), words
    return code, out, err


@pytest.mark.integration
def test_no_command_prints_what_steers_a_terminal(documents, tmp_path, capsys, monkeypatch):
    code, _, err = run(capsys, "index", str(documents), "--store", "s", "-v")
    assert code == 3
    assert "\\u001b" in err  # it is there, spelled out
    run(capsys, "index", str(documents), "--store", "s", "--json")
    asking = ("--store", "s", "--reader", "evidence")
    assert "\\u001b" in run(capsys, "ask", QUESTION, *asking, "-v")[1]
    told = json.loads(run(capsys, "ask", QUESTION, *asking, "--json", "--trace")[1])
    assert any("\x1b[2J" in unit["path"] for unit in told["context"])  # JSON keeps what was written
    for form in ("text", "json", "dot", "graphml", "svg", "html"):
        run(capsys, "explain", QUESTION, *asking, "--format", form)
    run(capsys, "stats", "--store", "s", "--files")
    run(capsys, "stats", "--store", "s", "--files", "--json")
    run(capsys, "doctor", "--store", "s", "--quick")
    monkeypatch.setattr(sys, "stdin", io.StringIO(f"{QUESTION}\n/why\n/help\n/nothing\n/quit\nnever\n"))
    _, out, err = run(capsys, "ask", *asking)
    assert "Question:" in out
    assert "/quit" in out
    assert "there is no /nothing" in err
    pool = {
        "question": QUESTION + EVIL,
        "candidates": [{"id": EVIL, "title": EVIL, "text": EVIL + " Zimmer."}],
    }
    (tmp_path / "pools.jsonl").write_text(json.dumps(pool) + "\n")
    for option in ((), ("--explain",), ("--json",)):
        run(capsys, "promote", "pools.jsonl", *option)
    run(capsys, "ask", EVIL, "--store", f"no{EVIL}where")
    run(capsys, "config", f"x{EVIL}")
    run(capsys, f"x{EVIL}")


@pytest.mark.integration
def test_a_chat_reply_cannot_steer_it_either(documents, capsys):
    pytest.importorskip("httpx")
    from pagerag.testing import ScriptedChat

    run(capsys, "index", str(documents), "--store", "s")
    with ScriptedChat([f"Frankfurt{EVIL} [1]"]) as chat:
        settings = ("--set", f"chat.base_url={chat.url}", "--set", "chat.model=m")
        code, out, _ = run(capsys, "ask", QUESTION, "--store", "s", "--reader", "chat", *settings)
    assert code == 0
    assert "Frankfurt" in out


def test_our_own_colours_pass_and_forged_ones_do_not(monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    plain = io.StringIO()
    stream = CleanStream(plain)
    stream.write(paint("a\x1b[31mb", "red", stream=stream))
    assert plain.getvalue() == "\x1b[31ma\\u001b[31mb\x1b[0m"
    assert paint("x", "bold", stream=io.StringIO()) == "\x1b[1mx\x1b[0m"  # outside a command
    plain.truncate(0)
    plain.seek(0)
    stream.write("\ud83d שלום \u200f 👩\u200d🔬 \t\n")
    assert plain.getvalue() == "\\ud83d שלום \u200f 👩\u200d🔬 \t\n"
