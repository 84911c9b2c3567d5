"""``pagerag index`` and ``pagerag stats``: output and exit codes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pagerag.cli import main
from pagerag.retrieve import encoders
from pagerag.store import open_store
from pagerag.testing import FakeEncoder


@pytest.fixture(autouse=True)
def fake(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Encoders by name, without their weights."""
    monkeypatch.setattr(encoders, "encoder", lambda name, **_: FakeEncoder(32, name))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def docs(folder: Path) -> Path:
    (folder / "a.txt").write_text("Alpha is a letter.", encoding="utf-8")
    (folder / "b.txt").write_text("Beta is a letter.", encoding="utf-8")
    return folder


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    code = main(list(words))
    said = capsys.readouterr()
    return code, said.out, said.err


def run_json(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, Any]:
    code, out, _ = run(capsys, *words, "--json")
    return code, json.loads(out)


def test_index_and_stats(docs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, "index", str(docs), "--store", "s", "-v")
    assert code == 0
    assert out.startswith("2 indexed · 2 units")
    assert "s: 2 files, 2 documents, 2 units" in out
    assert f"indexed {docs / 'a.txt'} (1 unit)" in err
    code, out, _ = run(capsys, "index", str(docs), "--store", "s")
    assert (code, out.split(" · ")[0]) == (0, "2 unchanged")
    code, out, _ = run(capsys, "stats", "--store", "s", "--files")
    assert code == 0
    assert f"{docs / 'a.txt'}  1 unit" in out
    code, body = run_json(capsys, "stats", "--store", "s", "--files")
    assert (code, body["units"], body["documents"], len(body["ledger"])) == (0, 2, 2, 2)
    assert body["by_type"] == {".txt": 2}


def test_partial_and_failed(docs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (docs / "c.txt").write_bytes(b"\0")
    code, out, err = run(capsys, "index", str(docs), "--store", "s")
    assert code == 3
    assert "2 indexed" in out
    assert "c.txt: looks like a binary file" in err
    code, body = run_json(capsys, "index", str(docs / "c.txt"), "--store", "other")
    assert (code, body["exit_code"], len(body["failed"])) == (1, 1, 1)
    code, _, err = run(capsys, "index", str(docs / "nowhere.txt"), "--store", "other")
    assert code == 1
    assert "there is no" in err
    assert "nowhere.txt" in err


def test_an_empty_folder_fails(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "empty").mkdir()
    code, _, err = run(capsys, "index", "empty", "--store", "s")
    assert code == 1
    assert "there is nothing to index in empty" in err


def test_one_of_each_is_told_in_the_singular(docs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(capsys, "index", str(docs / "a.txt"), "--store", "one")
    assert "1 indexed · 1 unit in" in out
    assert "one: 1 file, 1 document, 1 unit\n" in out


def test_well_known_names_need_no_suffix(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    for name in ("README", "news", "Makefile", "AUTHORS"):
        (folder / name).write_text(f"{name} is a file of the project.", encoding="utf-8")
    assert main(["index", str(folder), "--store", "project-store", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert (report["indexed"], [Path(name).name for name in report["unsupported"]]) == (3, ["Makefile"])
    assert main(["index", str(folder), "--store", "project-store"]) == 0
    assert "left out: 1 no suffix (not a known format; a text is read whatever" in capsys.readouterr().err
    assert main(["index", str(folder / "Makefile"), "--store", "project-store"]) == 0


def test_only_an_empty_pdf_needs_ocr(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pypdf = pytest.importorskip("pypdf")
    (tmp_path / "empty.md").touch()
    (tmp_path / "empty.rst").touch()
    writer = pypdf.PdfWriter()
    writer.add_blank_page(100, 100)
    writer.write(tmp_path / "scan.pdf")
    names = [str(tmp_path / name) for name in ("empty.md", "empty.rst", "scan.pdf")]
    main(["index", *names, "--store", "empty-store", "-v"])
    said = [line for line in capsys.readouterr().err.splitlines() if "holds no text" in line]
    assert len(said) == 6  # as news, and in the summary
    assert {("OCR" in line) == ("scan.pdf" in line) for line in said} == {True}


def test_options(docs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (docs / "r.jsonl").write_text('{"nr": 1, "story": "Gamma is here."}\n{"nr": 2}', encoding="utf-8")
    words = ["index", str(docs), "--store", "s", "--field", "text=story", "--field", "id=nr"]
    code, body = run_json(capsys, *words, "--skip-bad-records", "--relative-to", str(docs))
    assert code == 3
    assert body["indexed"] == 3
    assert "line 2" in body["bad_records"][0]
    assert set(open_store("s").documents()) == {"a.txt", "b.txt", "r.jsonl#1"}
    code, _, err = run(capsys, "index", str(docs), "--store", "s", "--field", "text")
    assert code == 2
    assert "--field wants KIND=NAME" in err
    (docs / "a.txt").unlink()
    code, body = run_json(capsys, *words, "--skip-bad-records", "--relative-to", str(docs), "--prune")
    assert body["removed"] == ["a.txt"]


def test_the_encoder_of_a_store_stays(docs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, "index", str(docs), "--store", "s", "--encoder", "mine")[0] == 0
    code, _, err = run(capsys, "index", str(docs), "--store", "s")
    assert code == 1
    assert "names the encoder 'mine', which is not built in" in err
    assert run(capsys, "index", str(docs), "--store", "s", "--encoder", "mine")[0] == 0
    assert open_store("s").encoder_name == "mine"
    code, _, err = run(capsys, "index", str(docs), "--store", "s", "--encoder", "yours")
    assert code == 1
    assert "was made with the encoder 'mine'" in err


def test_stats_of_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = run(capsys, "stats", "--store", "nowhere")
    assert code == 1
    assert "there is no store at nowhere" in err


def test_help_has_examples(capsys: pytest.CaptureFixture[str]) -> None:
    for command in ("index", "stats"):
        with pytest.raises(SystemExit) as left:
            main([command, "--help"])
        assert left.value.code == 0
        assert "examples:" in capsys.readouterr().out
