"""Corpora of documents: reading their questions, and unpacking archives that nobody has checked."""

from __future__ import annotations

import io
import json
import tarfile
from pathlib import Path
from typing import Any

import pytest

from pagerag.errors import FormatError
from pagerag_lab.datasets import document_sets
from pagerag_lab.datasets.document_sets import corpus_folders, read_document_questions, unpack


def archive(file: Path, members: dict[str, bytes], *others: tarfile.TarInfo) -> Path:
    with tarfile.open(file, "w:xz") as tar:
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
        for info in others:
            tar.addfile(info)
    return file


def question(**changes: Any) -> dict[str, Any]:
    return {
        "id": "q1",
        "question": "how long is parental leave",
        "type": "single",
        "answer": ["16 weeks"],
        "answer_re": "16|sixteen",
        "facts": [
            {"file": "leave.md", "quote": "sixteen weeks", "alt": [{"file": ["a.md"], "quote": "16 weeks"}]}
        ],
    } | changes


def corpus(folder: Path, *questions: dict[str, Any]) -> Path:
    folder.mkdir(parents=True)
    archive(folder / "files.tar.xz", {"leave.md": b"# Leave\n\nsixteen weeks\n"})
    lines = "".join(json.dumps(one) + "\n" for one in questions or (question(),))
    (folder / "questions.jsonl").write_text(lines, encoding="utf-8")
    return folder


def test_a_corpus_or_a_folder_of_them(tmp_path: Path) -> None:
    second, first = corpus(tmp_path / "d" / "b"), corpus(tmp_path / "d" / "a")
    (tmp_path / "d" / "no corpus").mkdir()
    assert corpus_folders(tmp_path / "d") == [first, second]
    assert corpus_folders(first) == [first]
    with pytest.raises(FormatError, match=r"files\.tar\.xz"):
        corpus_folders(tmp_path / "d" / "no corpus")
    (one,) = read_document_questions(first)
    assert (one.corpus, one.kind, one.answers) == ("a", "single", ("16 weeks",))
    assert [quote.files for quote in one.facts[0].quotes] == [("leave.md",), ("a.md",)]


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"type": "four"}, "type"),
        ({"question": ""}, "question"),
        ({"answer_re": "("}, "answer_re"),
        ({"facts": [{"file": [], "quote": "x"}]}, "facts"),
        ({"facts": [{"file": "a", "quote": " "}]}, "facts"),
        ({"facts": ["x"]}, "facts"),
        ({"id": "q1", "question": "again"}, "twice"),
    ],
)
def test_bad_questions_are_named(tmp_path: Path, changes: dict[str, Any], field: str) -> None:
    folder = corpus(tmp_path / "c", question(), question(**{"id": "q2"} | changes))
    with pytest.raises(FormatError, match=rf"line 2.*{field}"):
        list(read_document_questions(folder))


def test_files_are_unpacked(tmp_path: Path) -> None:
    file = archive(tmp_path / "f.tar.xz", {"a.md": b"a", "sub/folder/b.md": b"b"})
    assert unpack(file, tmp_path / "out") == 2
    assert (tmp_path / "out" / "sub" / "folder" / "b.md").read_bytes() == b"b"


def link(kind: bytes) -> tarfile.TarInfo:
    info = tarfile.TarInfo("link")
    info.type, info.linkname = kind, "/etc/passwd"
    return info


@pytest.mark.parametrize("name", ["../out.md", "/abs.md", "a/../../b.md", "a\\..\\..\\b.md"])
def test_paths_that_lead_out_are_refused(tmp_path: Path, name: str) -> None:
    file = archive(tmp_path / "f.tar.xz", {name: b"x"})
    with pytest.raises(FormatError, match="no plain file"):
        unpack(file, tmp_path / "out")
    assert {one.name for one in tmp_path.rglob("*") if one.is_file()} == {"f.tar.xz"}


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE, tarfile.CHRTYPE])
def test_links_and_devices_are_refused(tmp_path: Path, kind: bytes) -> None:
    with pytest.raises(FormatError):
        unpack(archive(tmp_path / "f.tar.xz", {"a.md": b"a"}, link(kind)), tmp_path / "out")


def test_bombs_and_broken_archives_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = archive(tmp_path / "f.tar.xz", {f"{n}.md": bytes(1000) for n in range(50)})
    monkeypatch.setattr(document_sets, "MOST_BYTES", 20_000)
    with pytest.raises(FormatError, match="more than"):
        unpack(file, tmp_path / "out")
    (tmp_path / "cut.tar.xz").write_bytes(file.read_bytes()[:-40])
    (tmp_path / "junk.tar.xz").write_bytes(b"junk" * 200)
    for name in ("cut", "junk"):
        with pytest.raises(FormatError, match=r"cannot be unpacked|more than"):
            unpack(tmp_path / f"{name}.tar.xz", tmp_path / name)
