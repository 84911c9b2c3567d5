"""Files made to harm: each is read in bounded time and memory, or named, and the others go on."""

from __future__ import annotations

import contextlib
import json
import os
import re
import time
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.ingest.test_formats import make_pdf

from pagerag.errors import FormatError
from pagerag.ingest import IngestSettings, SourceFile, index_paths, read_documents
from pagerag.store import SqliteCorpus

GOOD = "Alpha is a good file."


@pytest.fixture
def good(folder: Path) -> Path:
    (folder / "good.txt").write_text(GOOD, encoding="utf-8")
    return folder


def make_docx(path: Path, body: str) -> None:
    space = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("word/document.xml", f"<w:document {space}><w:body>{body}</w:body></w:document>")


def only_good(report: object, name: str) -> str:
    """The problem of the file; the good one beside it is in."""
    assert report.indexed == 1  # type: ignore[attr-defined]
    [(path, problem)] = report.failed  # type: ignore[attr-defined]
    assert Path(path).name == name
    return str(problem)


# -- bombs


def test_a_table_that_claims_fifty_million_columns(folder: Path, store: SqliteCorpus) -> None:
    cell = (
        "<w:tc><w:tcPr><w:gridSpan w:val='50000000'/></w:tcPr><w:p><w:r><w:t>A cell.</w:t></w:r></w:p></w:tc>"
    )
    make_docx(folder / "a.docx", f"<w:tbl><w:tr>{cell}{cell}</w:tr></w:tbl>")
    assert (folder / "a.docx").stat().st_size < 900
    start = time.monotonic()
    report = index_paths([folder], store)
    assert report.indexed == 1
    assert time.monotonic() - start < 30


def test_a_document_of_two_million_paragraphs(good: Path, store: SqliteCorpus) -> None:
    make_docx(good / "b.docx", "<w:p><w:r><w:t>x</w:t></w:r></w:p>" * 2_000_000)
    problem = only_good(index_paths([good], store), "b.docx")
    assert "has more than 250,000 paragraphs" in problem


@pytest.mark.parametrize("name", ["b.docx", "b.pptx", "b.xlsx", "b.epub", "b.ods"])
def test_archives_that_unpack_to_gigabytes(good: Path, store: SqliteCorpus, name: str) -> None:
    with zipfile.ZipFile(good / name, "w", zipfile.ZIP_DEFLATED) as archive:
        block = b" " * 2**20
        with archive.open("word/document.xml", "w", force_zip64=True) as member:
            for _ in range(200):
                member.write(block)
    assert (good / name).stat().st_size < 2**20
    assert "--max-file-mb" in only_good(index_paths([good], store), name)


def test_a_size_that_an_archive_makes_up(good: Path, store: SqliteCorpus) -> None:
    make_docx(good / "b.docx", "<w:p><w:r><w:t>word</w:t></w:r></w:p>" * 5000)
    data = bytearray((good / "b.docx").read_bytes())
    for match in re.finditer(rb"PK\x01\x02", bytes(data)):
        data[match.start() + 24 : match.start() + 28] = (10).to_bytes(4, "little")
    (good / "b.docx").write_bytes(data)
    assert "b.docx" in only_good(index_paths([good], store), "b.docx")


def test_entities_that_multiply(good: Path, store: SqliteCorpus) -> None:
    entities = '<!ENTITY a0 "lol">' + "".join(f'<!ENTITY a{n} "{f"&a{n - 1};" * 10}">' for n in range(1, 12))
    with zipfile.ZipFile(good / "b.docx", "w") as archive:
        archive.writestr("word/document.xml", f"<!DOCTYPE x [{entities}]><x>&a11;</x>")
    assert "declares XML entities" in only_good(index_paths([good], store), "b.docx")


def test_a_sheet_that_repeats_a_cell_without_end(good: Path, store: SqliteCorpus) -> None:
    from tests.ingest.test_places import ODS

    with zipfile.ZipFile(good / "b.ods", "w") as archive:
        archive.writestr(
            "content.xml", ODS.replace('"16382"/>', '"999999999"><text:p>x</text:p></table:table-cell>')
        )
    report = index_paths([good], store)
    assert (report.indexed, report.failed) == (2, [])


def test_a_parquet_file_of_repeated_texts(good: Path, store: SqliteCorpus) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    long = "x" * (7 * 2**20)
    column = pyarrow.DictionaryArray.from_arrays(
        pyarrow.array([0] * 512, pyarrow.int32()), pyarrow.array([long])
    )
    parquet.write_table(pyarrow.table({"text": column}), good / "b.parquet", compression="zstd")
    assert (good / "b.parquet").stat().st_size < 10_000
    settings = IngestSettings(max_memory_bytes=700 * 2**20, max_record_bytes=2**20, bad_records="skip")
    report = index_paths([good], store, settings)  # 512 × 7 MB, were each row a text of its own
    assert "gives more than" in only_good(report, "b.parquet")


def test_the_record_limit_holds_for_parquet(good: Path, store: SqliteCorpus) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    parquet.write_table(pyarrow.table({"text": ["short", "y" * 5000, "last"]}), good / "b.parquet")
    settings = IngestSettings(max_record_bytes=1000, bad_records="skip")
    report = index_paths([good], store, settings)
    assert (report.indexed, len(report.bad_records)) == (2, 1)
    assert "line 2: the record is longer than 1,000 characters" in report.bad_records[0]


def test_text_without_end(good: Path, store: SqliteCorpus) -> None:
    (good / "b.md").write_text("Beta is a word. " * 10_000, encoding="utf-8")
    settings = IngestSettings(max_text_chars=50_000)
    assert "gives more than 50,000 characters" in only_good(index_paths([good], store, settings), "b.md")


# -- the budget


def test_a_file_that_takes_too_long_is_named_and_the_run_goes_on(good: Path, store: SqliteCorpus) -> None:
    pytest.importorskip("pypdf")
    make_pdf(good / "b.pdf", [["word"] * 500_000])
    (good / "c.txt").write_text("Gamma comes after it.", encoding="utf-8")
    start = time.monotonic()
    report = index_paths([good], store, IngestSettings(max_seconds=2))
    assert report.indexed == 2
    [(path, problem)] = report.failed
    assert Path(path).name == "b.pdf"
    assert "took more than 2 s to read" in problem
    assert time.monotonic() - start < 60


@pytest.mark.skipif(os.uname().sysname != "Linux", reason="memory is bounded on Linux")
def test_a_file_that_takes_too_much_memory_is_named_and_the_run_goes_on(
    good: Path, store: SqliteCorpus
) -> None:
    rows = ",".join(json.dumps({"text": f"Record {n}."}) for n in range(200_000))
    (good / "b.json").write_text(f"[{rows}]", encoding="utf-8")
    (good / "c.txt").write_text("Gamma comes after it.", encoding="utf-8")
    report = index_paths([good], store, IngestSettings(max_memory_bytes=40 * 2**20))
    assert report.indexed == 2
    [(path, problem)] = report.failed
    assert Path(path).name == "b.json"
    assert "needs more than 40 MB of memory" in problem


def test_a_reader_that_dies_is_replaced(
    good: Path, store: SqliteCorpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pagerag.ingest import isolation

    (good / "b.txt").write_text("Beta kills its reader.", encoding="utf-8")
    (good / "c.txt").write_text("Gamma comes after it.", encoding="utf-8")
    real = isolation._Worker.ask

    def ask(worker: isolation._Worker, file: SourceFile, known: object) -> int:
        if file.path.name == "b.txt":
            worker.process.kill()
        return real(worker, file, known)  # type: ignore[arg-type]

    monkeypatch.setattr(isolation._Worker, "ask", ask)
    report = index_paths([good], store)
    assert (report.indexed, report.isolated) == (2, True)
    [(path, problem)] = report.failed
    assert Path(path).name == "b.txt"
    assert "it ended the process that reads files (SIGKILL)" in problem


def test_the_current_folder_is_not_a_place_for_modules(
    good: Path, store: SqliteCorpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    (good / "json.py").write_text("raise SystemExit('taken over')", encoding="utf-8")
    monkeypatch.chdir(good)
    assert index_paths([good], store).failed == []


# -- names and links


def test_half_a_surrogate_pair_as_an_id(good: Path, store: SqliteCorpus) -> None:
    rows = [
        '{"id": "\\ud800", "text": "Beta has an odd id."}',
        '{"id": "\\udfff", "text": "Another.", "\\ud801": 1}',
    ]
    (good / "b.jsonl").write_text("\n".join(rows), encoding="utf-8")
    report = index_paths([good], store)
    assert (report.indexed, report.failed, len(store)) == (2, [], 3)
    assert {Path(source).name for source in store.documents()} == {
        "good.txt",
        "b.jsonl#\ufffd",
        "b.jsonl#\ufffd-2",
    }


def test_numbers_and_nesting_that_json_refuses(good: Path, store: SqliteCorpus) -> None:
    rows = ['{"text": "Fine."}', f'{{"text": "x", "n": {"9" * 5000}}}', '{"text": "x", "a": ' + "[" * 10_000]
    (good / "b.jsonl").write_text("\n".join(rows), encoding="utf-8")
    report = index_paths([good], store, IngestSettings(bad_records="skip"))
    assert (report.indexed, len(report.bad_records)) == (2, 2)


def test_links_that_lead_outside_are_not_followed(good: Path, store: SqliteCorpus, tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("The password is swordfish.", encoding="utf-8")
    (tmp_path / "private").mkdir()
    (tmp_path / "private" / "key.txt").write_text("The key is under the mat.", encoding="utf-8")
    (good / "leak.txt").symlink_to(tmp_path / "secret.txt")
    (good / "folder").symlink_to(tmp_path / "private")
    (good / "inside.txt").symlink_to(good / "good.txt")
    report = index_paths([good], store)
    assert (report.indexed, report.duplicates) == (1, 1)
    assert [Path(name).name for name in report.outside] == ["leak.txt"]
    assert "swordfish" not in " ".join(c.text for c in store.search_text("password"))
    report = index_paths([good], store, IngestSettings(follow_links=True))
    assert {Path(name).name for name in store.ledger()} == {"good.txt", "inside.txt", "leak.txt", "key.txt"}


# -- patterns


PATTERNS = {
    "<": 100_000,
    "<!--": 100_000,
    "<a": 150_000,
    "</": 100_000,
    "<a ": 100_000,
    '<a "': 60_000,
    "<a '\"": 60_000,
    '<a b="': 60_000,
    "<a b=c ": 40_000,
    "<?": 100_000,
    "<![CDATA[": 40_000,
    "<script>": 40_000,
    "<table>": 40_000,
    "<table><tr><td>": 10_000,
    "<div>": 40_000,
    "<p>": 60_000,
    "<li>": 60_000,
    "<b>": 60_000,
    "</b>": 60_000,
    "<div hidden>": 20_000,
    "&": 150_000,
    "&#": 100_000,
    "&#x41;": 50_000,
    "&amp": 60_000,
    "[": 60_000,
    "](": 60_000,
    "[a](": 50_000,
    "[a](b ": 40_000,
    '[a](b "': 40_000,
    "![": 60_000,
    "[^": 60_000,
    "[[": 60_000,
    "[a]: b\n": 30_000,
    "*": 100_000,
    "**a": 60_000,
    "*a ": 60_000,
    "a*": 60_000,
    "_a ": 60_000,
    "~~": 60_000,
    "`": 100_000,
    "` `` ": 30_000,
    "``": 60_000,
    "{{": 60_000,
    "{%": 60_000,
    "{{<": 60_000,
    "{:": 60_000,
    "{#": 60_000,
    "{a}`": 40_000,
    "<%": 60_000,
    "---\n": 30_000,
    "title: x\n": 30_000,
    ":::note\n": 20_000,
    "!!! note\n": 20_000,
    "|": 60_000,
    "| a ": 40_000,
    "|a|\n|-|\n": 10_000,
    "a\n: b\n": 10_000,
    "- ": 3_000,
    "- a\n": 20_000,
    "> ": 3_000,
    "    a\n": 20_000,
    "```\n": 20_000,
    "~~~\n": 20_000,
    ".. ": 60_000,
    ".. a::\n": 20_000,
    ".. _a:\n": 20_000,
    ":a:`": 40_000,
    ":a: b\n": 20_000,
    "`a <": 40_000,
    "a_ ": 60_000,
    "|a": 60_000,
    "[1]_": 40_000,
    "==== ====\n": 10_000,
    "+--+\n": 20_000,
    "+--+--+\n| a| b|\n": 8_000,
    "a\n===\n": 15_000,
    "a\n b\n": 15_000,
    "::\n\n a\n\n": 10_000,
    "= a\n": 20_000,
    "<<": 60_000,
    "<<a,": 50_000,
    "link:": 50_000,
    "link:a[": 40_000,
    "http://a[": 40_000,
    "|===\n": 20_000,
    "----\n": 20_000,
    "a::\n": 20_000,
    "//\n": 30_000,
    "\\": 100_000,
    " ": 200_000,
    "\n": 150_000,
    " \n": 100_000,
    "\t": 150_000,
    "<<<" + " " * 200: 300,
    "-\n": 60_000,
    "a- ": 60_000,
    "a: b\n": 30_000,
    "[10:02] <a> b\n": 15_000,
    "\u00a0": 100_000,
    "a\u2010": 100_000,
    "a\u2010 \n ": 40_000,
    "a\u2010" + " " * 200: 300,
    "\ue000": 60_000,
    "\ue001": 60_000,
    "a": 300_000,
}


def seconds(path: Path, source: str) -> float:
    path.write_text(source, encoding="utf-8")
    start = time.process_time()
    with contextlib.suppress(FormatError):  # too many paragraphs
        list(read_documents(SourceFile(path, path.name), IngestSettings()))
    return time.process_time() - start


@pytest.mark.parametrize("suffix", [".md", ".rst", ".adoc", ".html", ".txt"])
def test_patterns_that_grow_are_read_in_linear_time(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"a{suffix}"
    slow = {}
    for pattern, times in PATTERNS.items():
        source = f"x {pattern * (times // 8)} y\n"
        if seconds(path, source) > 0.2:
            # A quarter of the text should take a quarter of the time; the best of three, on a busy machine.
            short = min(seconds(path, f"x {pattern * (times // 32)} y\n") for _ in range(3))
            long = min(seconds(path, source) for _ in range(3))
            if long > 9 * short + 0.1:
                slow[pattern] = (round(short, 2), round(long, 2))
    assert slow == {}


@pytest.mark.parametrize(
    ("name", "many"),
    [
        ("a.csv", lambda n: "\n".join(",".join(f"{kind}{i}" for i in range(n)) for kind in "kvw")),
        ("a.json", lambda n: json.dumps({f"k{i}": [{"v": i}] for i in range(n)}, indent=0)),
        ("b.json", lambda n: json.dumps([{f"k{i}": f"v{i}" for i in range(n)}], indent=0)),
        ("c.json", lambda n: json.dumps({"list": [["a", {"b": i}] for i in range(n)]})),
        ("a.jsonl", lambda n: '{"a": [1, ' * 20 + json.dumps(["v"] * n) + "]}" * 20),
    ],
)
def test_records_are_told_in_linear_time(tmp_path: Path, name: str, many: Callable[[int], str]) -> None:
    short = min(seconds(tmp_path / name, many(5_000)) for _ in range(3))
    long = min(seconds(tmp_path / name, many(20_000)) for _ in range(3))
    assert long < 9 * short + 0.2


@pytest.mark.parametrize("suffix", [".md", ".html"])
@pytest.mark.parametrize(
    "source", ["<" * 100_000, "<!--" * 100_000, "<a" * 150_000, "<<<" + " " * 20_000, "<table>" * 40_000]
)
def test_patterns_that_took_minutes(tmp_path: Path, suffix: str, source: str) -> None:
    assert seconds(tmp_path / f"a{suffix}", f"<div>\n{source}\n") < 20
