"""Every command typed wrong: one helpful line, the right exit code, never a traceback."""

from __future__ import annotations

import json
import socket
import subprocess
import sys

import pytest

from pagerag.cli import COMMANDS, command_lines, main

MINE = ("ask", "explain", "promote", "doctor", "config", "completion", "demo")


def run(capsys, *words):
    try:
        code = main(list(words))
    except SystemExit as left:
        code = left.code
    out, err = capsys.readouterr()
    assert "Traceback" not in err
    return code, out, err


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("command", MINE)
def test_help_has_examples(capsys, command):
    code, out, _ = run(capsys, command, "--help")
    assert code == 0
    assert "examples:" in out
    assert f"pagerag {command}" in out


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["aks"], 2, "ask"),
        (["ask", "--no-such-flag", "q"], 2, "--no-such-flag"),
        (["ask", "-k", "many", "q"], 2, "-k"),
        (["ask", "q"], 1, "there is no store at pagerag-store; make one with: pagerag index"),
        (["ask", ""], 2, "question is empty"),
        (["ask", "q", "--file", "x"], 2, "not both"),
        (["ask", "--file", "absent.txt"], 1, "there is no file absent.txt"),
        (["ask", "--file", "full"], 1, "full is a folder; name a file with one question a line"),
        (["ask", "--file", "latin.txt"], 1, "latin.txt: byte 3 is not UTF-8; convert it"),
        (["ask", "q", "--set", "promote.k"], 2, "NAME=VALUE"),
        (["ask", "q", "--set", "promot.k=3"], 2, "did you mean promote.k"),
        (["ask", "q", "-k", "0"], 2, "-k: must be a whole number of at least 1, not '0'"),
        (["ask", "q", "-k", "abc"], 2, "-k: must be a whole number of at least 1, not 'abc'"),
        (["ask", "q", "--pool", "-3"], 2, "--pool: must be a whole number of at least 1"),
        (["ask", "q", "--set", "promote.k=0"], 2, "promote.k must be at least 1"),
        (["promote", "pools.jsonl", "-k", "0"], 2, "-k: must be a whole number of at least 1"),
        (["ask", "q", "--config", "absent.toml"], 1, "no settings file absent.toml"),
        (["ask", "q", "--units", "all"], 2, "choose from"),
        (["explain"], 2, "question"),
        (["explain", "q", "--out", "why.xyz"], 2, ".html"),
        (["explain", "q", "--out", "nowhere/why.html"], 1, "does not exist"),
        (["explain", "q", "--json", "--format", "dot"], 2, "disagree"),
        (["promote"], 2, "--formats"),
        (["promote", "absent.jsonl"], 1, "there is no file absent.jsonl"),
        (["promote", "pools.jsonl", "--format", "parquet"], 2, "parquet"),
        (["promote", "pools.jsonl", "--beside", "x"], 2, "NAME=FILE"),
        (["promote", "pools.jsonl", "--out", "no/where.jsonl"], 1, "does not exist"),
        (["promote", "broken.jsonl"], 1, "broken.jsonl"),
        (["promote", "other.jsonl"], 1, "no known pool format"),
        (["config", "promote.kk"], 2, "did you mean promote.k"),
        (["config", "--set", "chat.deadline=soon"], 2, "must be a number"),
        (["completion", "cmd"], 2, "cmd"),
        (["ask", "--raeder", "chat", "q"], 2, "did you mean --reader?"),
        (["ask", "--raeder", "chat", "q"], 2, "usage: pagerag ask"),
        (["ask", "--colour", "q"], 2, "unrecognized arguments: --colour; pagerag ask --help"),
        (
            ["ask", "Who", "wrote", "nice"],
            2,
            'error: put the question in quotes: pagerag ask "Who wrote nice"\n',
        ),
        (["explain", "Who", "wrote", "-k", "3", "it?"], 2, 'in quotes: pagerag explain "Who wrote it?"\n'),
        (["index", "a.txt", "--set", "promote.k"], 2, "NAME=VALUE"),
        (["demo", "--keep", "full"], 1, "not the demo's"),
        (["demo", "--reader", "gpt"], 2, "no reader named 'gpt'"),
        (["ask", "q", "--set", "read.reader=gpt"], 2, "no reader named 'gpt'"),
        (["ask", "q", "--store", ""], 2, "store.path is empty"),
        (["ask", "q", "--pool", "100000"], 2, "retrieve.pool must be at most 1000"),
        (["ask", "q", "-k", "3", "--set", "promote.k=many"], 2, "promote.k must be a whole number"),
        (["explain", " "], 2, "question is empty"),
        (["index", "full", "--passage-chars", "0"], 2, "passage_chars must be more than 0"),
        (["index", "full", "--workers", "0"], 2, "--workers is 0"),
        (["index", "full", "--encoder", "gpt"], 2, "no encoder named 'gpt'"),
        (
            ["index", "https://host/x.html"],
            2,
            "https://host/x.html is an address, and only files and folders",
        ),
        (["promote", "pools.jsonl", "--field", "text=t", "--format", "ctxs"], 2, "fields"),
        (["config", "--trust", "--untrust"], 2, "exclude each other"),
        (["doctor", "--quick", "--set", "foo=1"], 2, "no setting 'foo'"),
        (["serve", "--store", "a", "--store", "b/a"], 2, "two stores are called 'a'"),
    ],
)
def test_mistakes_are_explained(capsys, tmp_path, words, code, message):
    (tmp_path / "pools.jsonl").write_text('{"question": "q?", "candidates": [{"id": "a", "text": "t"}]}\n')
    (tmp_path / "broken.jsonl").write_text('{"question": "q?", "candi\n')
    (tmp_path / "other.jsonl").write_text('{"foo": 1}\n')
    (tmp_path / "latin.txt").write_bytes("café?".encode("latin-1"))
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "precious.txt").write_text("mine")
    got, _, err = run(capsys, *words)
    assert got == code
    assert message in err
    assert (tmp_path / "full" / "precious.txt").exists()
    assert not (tmp_path / "pagerag-store").exists()


def test_a_wrong_value_that_is_not_the_command_lines_is_no_wrong_usage(capsys, monkeypatch):
    monkeypatch.setenv("PAGERAG_PROMOTE_K", "many")
    assert run(capsys, "ask", "q", "--pool", "10")[0] == 1
    assert run(capsys, "ask", "q", "--pool", "0", "-k", "3")[0] == 2
    monkeypatch.setenv("PAGERAG_PROMOTE_K", "3")
    monkeypatch.setenv("PAGERAG_STORE_PATH", "")
    code, _, err = run(capsys, "ask", "q")
    assert (code, "store.path is empty (from $PAGERAG_STORE_PATH)" in err) == (1, True)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (
            ["serve", "--port", "2", "--set", "serve.port=1"],
            "--port 2 and --set serve.port=1 are one setting",
        ),
        (["serve", "--workers", "2", "--set", "serve.workers=1"], "--workers 2 and --set serve.workers=1"),
        (["mcp", "--insecure", "--set", "serve.insecure=no"], "--insecure and --set serve.insecure=no"),
        (
            ["mcp", "-s", "a", "-s", "b", "--set", "store.path=a"],
            "--store a --store b and --set store.path=a",
        ),
        (["serve", "--store", "a", "--set", 'serve.stores={"a": "a"}'], "--store a and --set serve.stores="),
        (
            ["ask", "q", "--no-adaptive", "--set", "retrieve.adaptive=1"],
            "--no-adaptive and --set retrieve.ad",
        ),
        (["explain", "q", "-k", "3", "--set", "promote.k=4"], "-k 3 and --set promote.k=4"),
        (["index", "a", "--store", "s", "--set", "store.path=t"], "--store s and --set store.path=t"),
        (["promote", "p", "--mode", "auto", "--set", "promote.mode=sentence"], "--mode auto and --set"),
        (
            ["demo", "--reader", "chat", "--set", "read.reader=auto"],
            "--reader chat and --set read.reader=auto",
        ),
        (["doctor", "--store", "a", "--set", "store.path=b"], "--store a and --set store.path=b"),
        (
            ["stats", "--store", "postgresql://me:pw@h/x", "--set", "store.path=b"],
            "--store postgresql://***@h/x",
        ),
    ],
)
def test_an_option_and_set_that_disagree_are_wrong_usage(capsys, words, told):
    code, out, err = run(capsys, *words)
    assert (code, out) == (2, "")
    assert told in err
    assert f"pagerag {words[0]} --help" in err


@pytest.mark.parametrize(
    "words",
    [
        ("-k", "3", "--set", "promote.k=03"),
        ("-k", "3", "--set", "promote.k= 3"),
        ("--no-adaptive", "--set", "retrieve.adaptive=off"),
        ("--store", "s", "--set", "store.path=s"),
        ("-k", "3", "--set", "promote.mode=document"),
    ],
)
def test_an_option_and_set_may_say_the_same(capsys, words):
    code, _, err = run(capsys, "ask", "q", *words)
    assert (code, "there is no store at" in err) == (1, True), err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["index", "nowhere"], "there is no nowhere; nothing was indexed, and no store made"),
        (["index", "nowhere", "neither"], "there is no nowhere and no neither"),
        (["index", "hollow"], "there is nothing to index in hollow"),
        (["index", "odd.bin"], "odd.bin"),
        (["index", "odd.bin", "--store", "odd.bin"], "odd.bin is a file; a store is a folder"),
    ],
)
def test_a_run_that_indexes_nothing_leaves_nothing(capsys, tmp_path, words, message):
    pytest.importorskip("wordllama")
    (tmp_path / "hollow").mkdir()
    (tmp_path / "odd.bin").write_bytes(bytes(range(256)) * 40)
    code, _, err = run(capsys, *words[:1], "--store", "new", *words[1:])
    assert code == 1
    assert message in err
    assert not (tmp_path / "new").exists()
    assert (tmp_path / "odd.bin").is_file()


def test_a_store_that_was_there_stays(capsys, tmp_path):
    pytest.importorskip("wordllama")
    (tmp_path / "a.txt").write_text("Hans Zimmer was born in Frankfurt.")
    assert run(capsys, "index", "a.txt", "--store", "s")[0] == 0
    assert run(capsys, "index", "nowhere", "--store", "s")[0] == 1
    assert run(capsys, "stats", "--store", "s")[0] == 0


def test_tune_refuses_what_it_would_not_use(capsys):
    fitted = (
        "tune",
        "--data",
        "d",
        "--mode",
        "sentence",
        "--what",
        "learned",
        "--pools",
        "p",
        "--out",
        "tuned",
    )
    for wrong, told in (
        (("--slope", "0"), "--slope is 0.0"),
        (("--slope", "nan"), "--slope is nan"),
        (("--signals-of", "judge"), "--support-signals"),
    ):
        code, _, err = run(capsys, *fitted, *wrong)
        assert code == 2
        assert told in err


def test_tune_leaves_no_empty_folder(capsys, tmp_path):
    words = ("--data", "nowhere", "--mode", "sentence", "--what", "weights", "--out", "tuned")
    code, _, err = run(capsys, "tune", *words)
    assert code == 1, err
    assert not (tmp_path / "tuned").exists()


@pytest.mark.parametrize("words", [["demo"], ["index", "a.txt"]])
def test_a_bare_installation_is_told_everything_at_once(capsys, tmp_path, monkeypatch, words):
    monkeypatch.setattr("pagerag._extras.find_spec", lambda name: None)
    monkeypatch.setattr("pagerag.retrieve.encoders.wordllama.find_spec", lambda name: None)
    (tmp_path / "a.txt").write_text("Text.")
    code, _, err = run(capsys, *words)
    assert code == 1
    assert "wordllama and markdown-it-py are not installed" in err
    assert "pip install 'pagerag[app]'" in err
    assert not (tmp_path / "pagerag-store").exists()


def test_a_store_of_another_encoder_grows_without_the_default_one(capsys, tmp_path, monkeypatch):
    from pagerag.store import open_store
    from pagerag.testing import FakeEncoder

    made = FakeEncoder(name="minilm")
    open_store(tmp_path / "s", made, create=True).close()
    monkeypatch.setattr("pagerag.retrieve.encoders._make", lambda name, options: made)
    monkeypatch.setattr("pagerag._extras.find_spec", lambda name: None)
    (tmp_path / "a.txt").write_text("Hans Zimmer was born in Frankfurt.")
    code, _, err = run(capsys, "index", "a.txt", "--store", "s")
    assert code == 0, err


@pytest.mark.parametrize("command", ["ask", "explain"])
def test_a_store_without_its_encoder_is_told_the_remedy_of_the_demo(capsys, tmp_path, monkeypatch, command):
    pytest.importorskip("wordllama")
    (tmp_path / "a.txt").write_text("Hans Zimmer was born in Frankfurt.")
    assert run(capsys, "index", "a.txt", "--store", "s")[0] == 0
    monkeypatch.setattr("pagerag._extras.find_spec", lambda name: None)
    monkeypatch.setattr("pagerag.retrieve.encoders.wordllama.find_spec", lambda name: None)
    code, _, err = run(capsys, command, "Where?", "--store", "s")
    assert code == 1
    assert "wordllama and markdown-it-py are not installed (to ask a store)" in err
    assert "pip install 'pagerag[app]'" in err


def test_an_unquoted_question_gets_no_usage(capsys):
    _, _, err = run(capsys, "ask", "Who", "wrote", "nice")
    assert "usage:" not in err


def test_help_names_every_reader(capsys):
    from pagerag.read import _OURS

    told = " ".join(run(capsys, "ask", "--help")[1].split())
    assert all(f"{name}" in told.replace(",", " ").split() for name in _OURS)


def test_an_interrupted_index_goes_on_later(capsys, tmp_path, monkeypatch):
    pytest.importorskip("wordllama")

    def interrupted(*args, **options):
        raise KeyboardInterrupt

    (tmp_path / "a.txt").write_text("Text.")
    monkeypatch.setattr("pagerag.cli.index.index_paths", interrupted)
    code, _, err = run(capsys, "index", "a.txt", "--store", "s")
    assert code == 130
    assert "error: interrupted; what was indexed is kept; the same command goes on where this one" in err


@pytest.mark.parametrize("words", [["serve"], ["mcp", "--http"]])
def test_a_port_that_is_taken_is_told_with_the_remedy(capsys, words):
    pytest.importorskip("fastapi")
    pytest.importorskip("mcp")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        code, _, err = run(capsys, *words, "--port", str(port))
    assert code == 1
    assert f"cannot listen on 127.0.0.1:{port}" in err
    assert "choose another with --port" in err


@pytest.mark.parametrize("words", [["serve"], ["mcp", "--http"]])
def test_a_store_that_is_not_there_is_told_at_the_start(capsys, tmp_path, monkeypatch, words):
    pytest.importorskip("fastapi")
    pytest.importorskip("mcp")
    monkeypatch.setattr("pagerag.serve.process.run", lambda *args, **options: 0)
    monkeypatch.setattr("pagerag.serve.process.run_app", lambda *args, **options: 0)
    code, _, err = run(capsys, *words, "--store", "films=typo")
    assert code == 0
    assert "there is no store at typo yet; upload files, or make it with: pagerag index PATH" in err


def test_completion_scripts_know_every_command_and_option(capsys):
    pytest.importorskip("shtab")
    for shell in ("bash", "zsh", "fish"):
        code, out, _ = run(capsys, "completion", shell)
        assert code == 0
        for command in command_lines():
            assert command in out
        assert "no-adaptive" in out
    _, out, _ = run(capsys, "completion", "--json")
    told = json.loads(out)
    assert set(told) == set(command_lines())
    assert any("--store" in option["flags"] and option["file"] for option in told["ask"])


def test_bash_completes(capsys, tmp_path):
    pytest.importorskip("shtab")
    _, script, _ = run(capsys, "completion", "bash")
    (tmp_path / "c.sh").write_text(script)

    def complete(*words):
        shown = "printf '%s\\n' \"${COMPREPLY[@]}\""
        line = f"COMP_WORDS=({' '.join(words)}); COMP_CWORD={len(words) - 1}; "
        code = f"source c.sh; {line} _shtab_pagerag; {shown}"
        done = subprocess.run(["bash", "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path)
        return done.stdout.split()

    assert complete("pagerag", "exp") == ["explain"]
    assert "--reader" in complete("pagerag", "ask", "--re")
    assert complete("pagerag", "ask", "--units", "co") == ["core", "context"]
    assert complete("pagerag", "completion", "fi") == ["fish"]


def test_a_project_file_is_trusted_once(capsys, tmp_path):
    pytest.importorskip("platformdirs")
    (tmp_path / "pagerag.toml").write_text('[chat]\nbase_url = "https://me:hunter2@host/v1"\n')
    code, out, err = run(capsys, "config", "chat.base_url")
    assert (code, out) == (0, "\n")
    assert "pagerag.toml is not trusted" in err
    code, out, _ = run(capsys, "config", "--trust")
    assert code == 0
    assert "chat.base_url" in out
    assert "hunter2" not in out
    code, out, err = run(capsys, "config", "chat.base_url")
    assert out == "https://***@host/v1\n"
    assert "which you trust, sets chat.base_url" in err
    assert json.loads(run(capsys, "config", "--untrust", "--json")[1])["was_trusted"]
    assert run(capsys, "config", "chat.base_url")[1] == "\n"


def test_library_chatter_stays_away(capsys, tmp_path, monkeypatch):
    def chatty(args):
        import logging
        import warnings

        logging.getLogger("pypdf").warning("wrong pointing object")
        warnings.warn("deprecated", DeprecationWarning, stacklevel=1)
        return 0

    monkeypatch.setattr("pagerag.cli.config.run", chatty)
    assert run(capsys, "config") == (0, "", "")


def test_a_defect_is_told_with_its_trace(capsys, monkeypatch):
    def broken(args):
        raise RuntimeError("bang \x1b[2J")

    monkeypatch.setattr("pagerag.cli.config.run", broken)
    assert main(["config"]) == 1
    err = capsys.readouterr().err
    assert "please report" in err
    assert "\x1b" not in err


@pytest.mark.parametrize("command", sorted(COMMANDS))
def test_every_command_has_json(capsys, command):
    code, out, _ = run(capsys, command, "--help")
    assert code == 0
    assert "--json" in out


def test_config_shows_values_origins_and_no_secrets(capsys, tmp_path, monkeypatch):
    (tmp_path / "pagerag.toml").write_text("[promote]\nk = 3\n")
    monkeypatch.setenv("PAGERAG_CHAT_API_KEY", "sk-very-secret")
    code, out, err = run(capsys, "config")
    assert code == 0
    assert "sk-very" not in out + err
    assert "api_key" in out
    assert "***" in out
    assert "# pagerag.toml" in out
    assert run(capsys, "config", "promote.k")[1] == "3\n"
    assert run(capsys, "config", "promote.k", "--set", "promote.k=8")[1] == "8\n"
    assert run(capsys, "config", "chat.api_key")[1] == "***\n"
    told = json.loads(run(capsys, "config", "--json")[1])
    assert told["promote"]["k"] == {"value": 3, "origin": "pagerag.toml"}
    assert told["chat"]["api_key"]["value"] == "***"


def test_the_template_is_a_valid_file_with_every_setting(capsys, tmp_path):
    from pagerag.settings import Settings

    _, out, _ = run(capsys, "config", "--template")
    assert all(f"# {name.split('.')[1]} = " in out for name, _ in Settings.fields())
    bare = "\n".join(line.removeprefix("# ") if " = " in line else line for line in out.splitlines())
    (tmp_path / "pagerag.toml").write_text(bare)
    assert Settings.load(env={}) == Settings()


def test_doctor_tells_broken_settings(capsys, monkeypatch):
    monkeypatch.setenv("PAGERAG_PROMOTE_K", "many")
    code, out, _ = run(capsys, "doctor", "--quick", "--json")
    assert code == 1
    told = json.loads(out)
    assert not told["healthy"]
    (broken,) = [finding for finding in told["findings"] if finding["status"] == "broken"]
    assert "PAGERAG_PROMOTE_K" in broken["detail"]
    assert broken["remedy"]


def test_doctor_quick_is_healthy_and_names_extras(capsys):
    code, out, _ = run(capsys, "doctor", "--quick")
    assert code == 0
    assert "numpy" in out
    assert "everything that is set up works" in out
    groups = [line for line in out.splitlines() if line and not line.startswith(" ")]
    assert len(groups) == len(set(groups)), "each group has one heading"


def test_the_module_runs_as_a_program():
    words = [sys.executable, "-m", "pagerag", "--version"]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("pagerag ")
