"""Whatever strangers wrote, no command lets it steer the terminal."""

from __future__ import annotations

import io
import json
import re
import sys
from pathlib import Path
from urllib.parse import unquote

import pytest

from pagerag.cli import main
from pagerag.cli.console import CleanStream, link, paint

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


class Terminal(io.StringIO):
    def isatty(self):
        return True


LINKED = re.compile(r"\x1b\]8;;(file://[A-Za-z0-9%/:._~#-]+)\x1b\\(.*?)\x1b\]8;;\x1b\\", re.DOTALL)
PLAIN = {"TERM": "xterm-256color", "NO_COLOR": "1"}


def printed(monkeypatch, text, path, line=None, terminal=Terminal, **env):
    for name in ("FORCE_HYPERLINK", "VTE_VERSION", "TERM_PROGRAM", "WT_SESSION", "SSH_CONNECTION",
                 "KONSOLE_VERSION", "DOMTERM"):  # fmt: skip
        monkeypatch.delenv(name, raising=False)
    for name, value in {**PLAIN, **env}.items():
        monkeypatch.setenv(name, value)
    raw = terminal()
    monkeypatch.setattr(sys, "stdout", CleanStream(raw))
    sys.stdout.write(link(text, path, line))
    return raw.getvalue()


def test_a_place_is_a_link_where_the_terminal_follows_links(tmp_path, monkeypatch):
    file = tmp_path / "hand book" / "leave.md"
    file.parent.mkdir()
    file.touch()
    [(address, text)] = LINKED.findall(printed(monkeypatch, "leave.md:4", file, 4, VTE_VERSION="7000"))
    assert (address, text) == (file.as_uri(), "leave.md:4")
    [(address, _)] = LINKED.findall(printed(monkeypatch, "leave.md:4", file, 4, TERM_PROGRAM="vscode"))
    assert address == f"{file.as_uri()}#4"
    for env in ({}, {"VTE_VERSION": "4900"}, {"TERM": "dumb"}, {"TERM": "tmux-256color"},
                {"VTE_VERSION": "7000", "FORCE_HYPERLINK": "0"},
                {"VTE_VERSION": "7000", "SSH_CONNECTION": "a b"}):  # fmt: skip
        assert printed(monkeypatch, "leave.md:4", file, 4, **env) == "leave.md:4", env
    forced = {"FORCE_HYPERLINK": "1"}
    assert printed(monkeypatch, "leave.md:4", file, 4, terminal=io.StringIO, **forced) == "leave.md:4"
    for path in (tmp_path / "gone.md", tmp_path, "\\\\host\\share\\a.md", "//host/a.md", "a\0b"):
        assert printed(monkeypatch, "x", path, **forced) == "x", path


@pytest.mark.skipif(sys.platform == "win32", reason="no such file names there")
def test_no_file_name_and_no_text_can_forge_a_link(tmp_path, monkeypatch):
    file = tmp_path / ("a;'()!$&+,=@[]?#" + "\x1b]8;;http\x07\x1b\\ü\u202e.md")
    file.touch()
    out = printed(monkeypatch, f"{file.name}{EVIL}\x1b]8;;file:///etc\x1b\\", file, 1, FORCE_HYPERLINK="1")
    [(address, text)] = LINKED.findall(out)
    assert not HOSTILE.findall(text)
    assert out.count("\x1b") == 4  # two sequences of ours, each with its end
    assert unquote(address.removeprefix("file://")) == str(file)
    raw = Terminal()
    CleanStream(raw).write("\x1b0123456789abcdef]8;;file:///etc/passwd\x1b\\x")
    assert "\x1b" not in raw.getvalue()


@pytest.mark.integration
def test_ask_links_its_places(tmp_path, monkeypatch):
    pytest.importorskip("wordllama")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "leave.md").write_text("# Leave\n\n## Parental leave\n\nIt lasts twelve weeks.\n")
    main(["index", "docs", "--store", "s"])
    monkeypatch.setenv("FORCE_HYPERLINK", "1")
    monkeypatch.setenv("NO_COLOR", "1")
    raw = Terminal()
    monkeypatch.setattr(sys, "stdout", raw)
    main(["ask", "How long does parental leave last?", "--store", "s", "--reader", "evidence"])
    addresses = LINKED.findall(raw.getvalue())
    assert addresses
    assert addresses[0][0].startswith((tmp_path / "docs" / "leave.md").resolve().as_uri())
    assert str(Path("docs/leave.md:5 › Parental leave")) in {text for _, text in addresses}
