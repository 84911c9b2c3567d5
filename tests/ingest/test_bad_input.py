"""What goes wrong outside: files and disks. One bad file never stops the others, a bad disk loses nothing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from pagerag.batch import open_hands
from pagerag.ingest import IngestSettings, SourceFile, index_paths
from pagerag.store import SqliteCorpus, open_store
from pagerag.testing import FakeEncoder

GOOD = "Alpha is a good file."


@pytest.fixture
def good(folder: Path) -> Path:
    (folder / "good.txt").write_text(GOOD, encoding="utf-8")
    return folder


def one_failed(report: Any) -> str:
    """The problem of the only file that failed; the good one is in."""
    assert report.indexed == 1
    [(_, problem)] = report.failed
    return str(problem)


def test_an_empty_folder(folder: Path, store: SqliteCorpus) -> None:
    report = index_paths([folder], store)
    assert (report.taken, report.failed, len(store)) == (0, [], 0)
    assert store.search_text("anything") == []
    assert store.lookup_title("anything") == []


def test_a_path_that_is_not_there(good: Path, store: SqliteCorpus) -> None:
    assert one_failed(index_paths([good, good / "nowhere"], store)).endswith("nowhere: does not exist")


def test_a_binary_file(good: Path, store: SqliteCorpus) -> None:
    (good / "b.txt").write_bytes(bytes(range(256)) * 40)
    assert "b.txt: looks like a binary file" in one_failed(index_paths([good], store))


def test_a_broken_pdf(good: Path, store: SqliteCorpus) -> None:
    pytest.importorskip("pypdf")
    (good / "b.pdf").write_bytes(b"%PDF-1.7\n1 0 obj\n<< /Type /Catalog >>\nxref\ngarbage")
    assert "b.pdf: is not a readable PDF file" in one_failed(index_paths([good], store))


def test_files_without_text(good: Path, store: SqliteCorpus) -> None:
    (good / "blank.txt").write_text(" \n\n ", encoding="utf-8")
    (good / "none.txt").touch()
    report = index_paths([good], store)
    assert [Path(name).name for name in report.empty] == ["blank.txt", "none.txt"]
    assert index_paths([good], store).unchanged == 3


def test_a_huge_file_is_refused_unread(
    good: Path, store: SqliteCorpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    with (good / "huge.txt").open("wb") as file:
        file.truncate(200 * 2**20)  # sparse: takes no space
    monkeypatch.setattr(SourceFile, "read", lambda *_: pytest.fail("was read"))
    (good / "good.txt").rename(good / "good.jsonl")
    (good / "good.jsonl").write_text(json.dumps({"text": GOOD}), encoding="utf-8")
    problem = one_failed(index_paths([good], store))
    assert "huge.txt: is larger than 100 MB" in problem
    assert "--max-file-mb" in problem


def test_the_limit_can_be_set(good: Path, store: SqliteCorpus) -> None:
    (good / "long.txt").write_text("Beta is a long file. " * 100, encoding="utf-8")
    assert "larger than 1,000 bytes" in one_failed(
        index_paths([good], store, IngestSettings(max_file_bytes=1000))
    )
    assert index_paths([good], store).failed == []


def test_a_huge_line_is_refused_and_a_huge_file_of_records_is_not(good: Path, store: SqliteCorpus) -> None:
    (good / "long.jsonl").write_text(json.dumps({"text": "x" * 5000}), encoding="utf-8")
    lines = (json.dumps({"id": n, "text": f"Record {n} is short."}) for n in range(400))
    (good / "many.jsonl").write_text("\n".join(lines), encoding="utf-8")
    settings = IngestSettings(max_record_bytes=1000, max_file_bytes=1000)
    report = index_paths([good], store, settings)
    assert (report.indexed, len(store)) == (2, 401)
    [(_, problem)] = report.failed
    assert "long.jsonl, line 1: the line is longer than 1,000 bytes" in problem


def test_a_large_text_is_cut_into_bounded_passages(good: Path, store: SqliteCorpus) -> None:
    (good / "long.txt").write_text("Beta is one of many sentences. " * 20_000, encoding="utf-8")
    report = index_paths([good], store)
    assert report.failed == []
    assert max(len(unit.text) for unit in store.units()) <= 1000


def test_a_bad_record_fails_its_file_and_says_where(good: Path, store: SqliteCorpus) -> None:
    (good / "r.jsonl").write_text('{"id": 1, "text": "Fine."}\n{broken', encoding="utf-8")
    assert "r.jsonl, line 2: is not JSON" in one_failed(index_paths([good], store))
    assert str(good / "r.jsonl") not in store.ledger()
    report = index_paths([good], store, IngestSettings(bad_records="skip"))
    assert (report.failed, len(report.bad_records)) == ([], 1)
    assert "line 2" in report.bad_records[0]


@pytest.mark.parametrize("batch", [1, 3, 1024])
def test_a_broken_file_of_records_is_taken_back_whole(good: Path, store: SqliteCorpus, batch: int) -> None:
    lines = [json.dumps({"id": n, "text": f"Record {n} is fine."}) for n in range(5)]
    (good / "a.jsonl").write_text("\n".join([*lines, "{broken"]), encoding="utf-8")
    settings = IngestSettings(batch_units=batch)
    report = index_paths([good], store, settings)
    one_failed(report)
    assert (report.units, report.documents, len(store)) == (1, 1, 1)
    assert (store.stats().files, store.stats().documents) == (1, 1)
    (good / "a.jsonl").write_text("\n".join(lines), encoding="utf-8")
    assert index_paths([good], store, settings).units == 5


@pytest.mark.parametrize("batch", [1, 1024])
def test_the_listed_version_of_a_file_of_records_stays_when_a_new_one_is_broken(
    good: Path, store: SqliteCorpus, batch: int
) -> None:
    def write(said: str, *more: str) -> None:
        lines = [json.dumps({"id": n, "text": f"Record {n} is {said}."}) for n in range(4)]
        (good / "r.jsonl").write_text("\n".join([*lines, *more]), encoding="utf-8")

    settings = IngestSettings(batch_units=batch)
    write("old")
    index_paths([good], store, settings)
    before = sorted((unit.id, unit.text) for unit in store.units())
    write("new", json.dumps({"id": 9, "text": "One more."}), "{broken")
    report = index_paths([good], store, settings)
    assert "line 6" in report.failed[0][1]
    assert report.units == 0
    assert sorted((unit.id, unit.text) for unit in store.units()) == before
    write("new")
    assert index_paths([good], store, settings).units == 4


def test_leftovers_of_a_run_that_was_cut_short_go_with_a_broken_file(good: Path, store: SqliteCorpus) -> None:
    (good / "r.jsonl").write_text(json.dumps({"id": 1, "text": "Record 1 is fine."}), encoding="utf-8")
    index_paths([good], store)
    store.forget([str(good / "r.jsonl")])  # as after a kill between units and ledger
    with (good / "r.jsonl").open("a", encoding="utf-8") as file:
        file.write("\n{broken")
    index_paths([good], store)
    assert [unit.text for unit in store.units()] == [GOOD]


def test_what_is_made_elsewhere_is_taken_back_too(good: Path, store: SqliteCorpus) -> None:
    lines = [json.dumps({"id": n, "text": f"Record {n} is fine."}) for n in range(200)]
    (good / "a.jsonl").write_text("\n".join([*lines, "{broken"]), encoding="utf-8")
    with open_hands("local", 2) as hands:
        report = index_paths([good], store, IngestSettings(batch_units=7), hands=hands)
    one_failed(report)
    assert (report.units, len(store)) == (1, 1)


def test_a_copy_of_a_broken_file_is_no_duplicate_of_it(
    good: Path, store: SqliteCorpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    (good / "a.txt").write_text("Beta is said twice.", encoding="utf-8")
    (good / "b.txt").write_text("Beta is said twice.", encoding="utf-8")
    stamp = SourceFile.stamp
    times = iter(range(9))
    monkeypatch.setattr(
        SourceFile, "stamp", lambda file: (next(times), 0) if file.path.name == "a.txt" else stamp(file)
    )
    report = index_paths([good], store, IngestSettings(isolated=False))
    assert "changed while it was being read" in report.failed[0][1]
    assert (report.indexed, report.duplicates) == (2, 0)


@pytest.mark.parametrize(
    "when", ["before it is hashed", "before it is entered", "before it is read", "while it is read"]
)
def test_a_file_that_vanishes(
    good: Path, store: SqliteCorpus, monkeypatch: pytest.MonkeyPatch, when: str
) -> None:
    from pagerag.ingest import isolation

    leaving = good / "leaving.txt"
    leaving.write_text("Beta is leaving.", encoding="utf-8")
    index_paths([good / "good.txt"], store)
    (good / "good.txt").write_text("Alpha has changed.", encoding="utf-8")
    here = IngestSettings(isolated=False)
    real = {"digest": SourceFile.digest, "read": SourceFile.read, "documents": isolation.read_documents}

    def gone(name: str, moment: str) -> Callable[..., Any]:
        def call(file: SourceFile, *rest: Any) -> Any:
            if file.path == leaving and when == moment:
                leaving.unlink(missing_ok=True)
            return real[name](file, *rest)

        return call

    # Only files that the ledger knows are hashed before it is their turn; others when they are entered.
    if when == "before it is hashed":
        index_paths([good], store)
    hashed = when if when in ("before it is hashed", "before it is entered") else "never"
    monkeypatch.setattr(SourceFile, "digest", gone("digest", hashed))
    monkeypatch.setattr(isolation, "read_documents", gone("documents", "before it is read"))
    monkeypatch.setattr(SourceFile, "read", gone("read", "while it is read"))
    (good / "good.txt").write_text("Alpha has changed again.", encoding="utf-8")
    assert "leaving.txt: vanished while it was being indexed" in one_failed(index_paths([good], store, here))
    assert "Alpha has changed again." in [c.text for c in store.search_text("alpha")]


def test_a_file_that_changes_while_it_is_read(
    good: Path, store: SqliteCorpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pagerag.ingest import isolation

    file = good / "live.txt"
    file.write_text("Beta is live.", encoding="utf-8")
    real = isolation.read_documents
    here = IngestSettings(isolated=False)

    def busy(source: Any, *rest: Any) -> Iterator[Any]:
        yield from real(source, *rest)
        if source.path == file:
            file.write_text("Beta was live, and is longer now.", encoding="utf-8")

    with monkeypatch.context() as patch:
        patch.setattr(isolation, "read_documents", busy)
        assert "live.txt: changed while it was being read" in one_failed(index_paths([good], store, here))
    assert index_paths([good], store).indexed == 1
    assert [c.text for c in store.search_text("beta")] == ["Beta was live, and is longer now."]


def test_a_broken_new_version_leaves_the_old_one(good: Path, store: SqliteCorpus) -> None:
    index_paths([good], store)
    (good / "good.txt").write_bytes(b"\0\0\0")
    report = index_paths([good], store)
    assert "binary" in report.failed[0][1]
    assert [c.text for c in store.search_text("alpha")] == [GOOD]


def test_things_that_are_no_files(good: Path, store: SqliteCorpus) -> None:
    os.mkfifo(good / "pipe.txt")
    (good / "dangling.txt").symlink_to(good / "nowhere")
    (good / "script.js").symlink_to(good / "nowhere.js")  # never read, so that nothing is wrong with it
    (good / "loop").symlink_to(good)
    report = index_paths([good], store)
    assert report.indexed == 1
    assert [Path(name).name for name in report.unsupported] == ["pipe.txt", "script.js"]
    assert [Path(name).name for name, _ in report.failed] == ["dangling.txt"]
    report = index_paths([good / "pipe.txt"], store)
    assert "is not a regular file" in report.failed[0][1]


def test_odd_names(folder: Path, store: SqliteCorpus) -> None:
    for name in ("it's.txt", 'say "x".txt', "ünï 東京.txt", "semi;colon -- x.txt", "a#b.txt"):
        (folder / name).write_text(f"This is {name}.", encoding="utf-8")
    (folder / os.fsdecode(b"bad-\xff.txt")).write_text("Undecodable name.", encoding="utf-8")
    report = index_paths([folder], store)
    assert report.indexed == 5
    assert "name is not valid" in report.failed[0][1]
    assert index_paths([folder], store).unchanged == 5
    for path in folder.iterdir():
        path.unlink()
    assert len(index_paths([folder], store, prune=True).removed) == 5
    assert len(store) == 0


def test_other_languages(folder: Path, store: SqliteCorpus) -> None:
    said = {
        "ru": "Москва является столицей России. Волга впадает в Каспийское море.",
        "ar": "القاهرة هي عاصمة مصر. يمر نهر النيل عبرها.",
        "hi": "दिल्ली भारत की राजधानी है। यमुना इसके पास बहती है।",
        "zh": "北京是中国的首都。长城在它的北面。",
        "el": "Η Αθήνα είναι η πρωτεύουσα της Ελλάδας.",
    }
    for name, text in said.items():
        (folder / f"{name}.txt").write_text(text, encoding="utf-8")
    assert index_paths([folder], store).failed == []
    for question, name in {
        "столица России": "ru",
        "نهر النيل": "ar",
        "भारत की राजधानी": "hi",
        "中国首都": "zh",
    }.items():
        found = store.search_text(question)
        assert found, question
        assert Path(str(found[0].metadata["path"])).stem == name


def test_a_missing_extra_is_named(good: Path, store: SqliteCorpus, monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "pypdf", None)
    (good / "a.pdf").write_bytes(b"%PDF-1.4")
    here = IngestSettings(isolated=False)
    assert "pip install 'pagerag[pdf]'" in one_failed(index_paths([good], store, here))


# -- disks


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of three megabytes."""
    place = tmp_path / "disk"
    place.mkdir()
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", str(place)], capture_output=True, check=False
    )
    if made.returncode:
        pytest.skip("mounting is not allowed here; the file-size limit is tested instead")
    yield place
    subprocess.run(["umount", str(place)], check=True)


def many(folder: Path, count: int) -> None:
    for number in range(count):
        words = " ".join(f"Word{number}x{n} is a word." for n in range(300))
        (folder / f"{number:03d}.txt").write_text(words, encoding="utf-8")


def acknowledged(heard: list[dict[str, Any]]) -> dict[str, int]:
    return {said["path"]: said["units"] for said in heard if said.get("kind") in ("indexed", "unchanged")}


def hold(place: Path, said: dict[str, int]) -> None:
    with open_store(place, FakeEncoder(32)) as store:
        ledger = store.ledger()
        held = Counter(unit.path for unit in store.units())
    for path, units in said.items():
        assert ledger[path].units == held[path] == units


def test_a_full_disk(children: Any, folder: Path, small_disk: Path) -> None:
    many(folder, 120)
    place = small_disk / "store"
    job = {"paths": [str(folder)], "store": str(place), "settings": {"batch_units": 20}}
    ballast = small_disk / "ballast"
    ballast.write_bytes(b"x" * 2**20)
    code, heard = children.run("index", **job)
    assert code == 1, "the disk was large enough"
    assert heard[-2]["error"] == "StoreError"
    assert "the disk is full: free some space and run it again" in heard[-2]["message"]
    safe = acknowledged(heard)
    assert safe, "nothing was acknowledged before the disk was full"
    hold(place, safe)
    # Space comes back: the run goes on and loses nothing.
    ballast.unlink()
    subprocess.run(["mount", "-o", "remount,size=200m", str(small_disk)], check=True)
    code, heard = children.run("index", **job)
    assert code == 0, heard[-2]
    assert heard[-2]["report"]["unchanged"] == len(safe)
    assert len(acknowledged(heard)) == 120
    hold(place, acknowledged(heard))


def test_a_limit_on_file_sizes(children: Any, folder: Path, tmp_path: Path) -> None:
    many(folder, 30)
    place = tmp_path / "limited"
    job = {"paths": [str(folder)], "store": str(place), "settings": {"batch_units": 10}}
    # The writer of a process that reaches its limit is stopped by a signal or told so: neither may lose
    # what was said before.
    code, heard = children.run("index", largest_file=40_000, **job)
    assert code != 0
    safe = acknowledged(heard)
    if place.is_dir() and safe:
        hold(place, safe)
    code, heard = children.run("index", **job)
    assert (code, len(acknowledged(heard))) == (0, 30)
    hold(place, acknowledged(heard))


@pytest.fixture
def open_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder that other users can reach; pytest's own are closed to them."""
    if os.geteuid() != 0:
        pytest.skip("needs root, to become somebody who is not")
    place = Path(subprocess.run(["mktemp", "-d"], capture_output=True, check=True, text=True).stdout.strip())
    place.chmod(0o755)
    yield place
    subprocess.run(["rm", "-r", str(place)], check=True)


NOBODY = 65534


def refused(heard: list[dict[str, Any]]) -> dict[str, Any]:
    """The error that a child told; what it says besides (its end, its memory) may come before or after."""
    return next((line for line in heard if "error" in line), {"error": None, "message": str(heard)})


def test_a_read_only_folder_for_the_store(children: Any, open_folder: Path) -> None:
    (open_folder / "a.txt").write_text(GOOD, encoding="utf-8")
    code, heard = children.run(
        "index", user=NOBODY, paths=[str(open_folder / "a.txt")], store=str(open_folder / "store")
    )
    problem = refused(heard)
    assert (code, problem["error"]) == (1, "StoreError")
    assert "may not write there" in problem["message"]


@pytest.mark.parametrize("closed", ["folder", "file", "above"])
def test_a_store_that_may_not_be_read(open_folder: Path, closed: str) -> None:
    place = open_folder / "above" / "store"
    place.parent.mkdir()
    open_store(place, FakeEncoder(32), create=True).close()
    shut = {"folder": place, "file": place / "corpus.sqlite", "above": place.parent}[closed]
    shut.chmod(0o700)
    program = (
        "import os, sys; from pagerag.cli import main; import pagerag.cli.ask, pagerag.cli.index, pagerag.ingest; "
        "import pagerag.store.sqlite, pagerag.pipeline, pagerag.retrieve; "
        "os.setgid(65534); os.setuid(65534); sys.exit(main(sys.argv[1:]))"
    )
    for words in (["ask", "Who?"], ["index", str(open_folder), "--encoder", "fake"]):
        done = subprocess.run(
            [sys.executable, "-c", program, *words, "--store", str(place)],
            capture_output=True, text=True, check=False, cwd=open_folder, env={**os.environ, "HOME": str(open_folder)},
        )  # fmt: skip
        assert done.returncode == 1
        assert "this user may not read it" in done.stderr, done.stderr[-500:]
        assert "write" not in done.stderr
        assert "is safe" not in done.stderr


@pytest.mark.parametrize("broken", ["first", "second"])
def test_a_line_that_is_no_json_ends_its_file_alone(good: Path, store: SqliteCorpus, broken: str) -> None:
    lines = ["not json", '{"text": "Fine."}']
    (good / "a.jsonl").write_text("\n".join(lines if broken == "first" else lines[::-1]), encoding="utf-8")
    problem = one_failed(index_paths([good], store))
    assert f"a.jsonl, line {1 if broken == 'first' else 2}: is not JSON" in problem


def test_a_store_that_became_read_only(children: Any, open_folder: Path) -> None:
    (open_folder / "a.txt").write_text(GOOD, encoding="utf-8")
    place = open_folder / "store"
    assert children.run("index", paths=[str(open_folder)], store=str(place))[0] == 0
    (open_folder / "b.txt").write_text("Beta is new.", encoding="utf-8")
    code, heard = children.run("index", user=NOBODY, paths=[str(open_folder)], store=str(place))
    problem = refused(heard)
    assert (code, problem["error"]) == (1, "StoreError"), heard
    assert "may not write there" in problem["message"]
    # Reading it is still possible.
    stop = open_folder / "stop"
    stop.touch()
    job = {"store": str(place), "question": "alpha", "stop": str(stop), "seconds": 20}
    code, heard = children.run("read", user=NOBODY, **job)
    assert code == 0, heard[-2]
    assert heard[-2]["final"] == 1


def test_a_folder_that_cannot_be_read(children: Any, open_folder: Path) -> None:
    place = open_folder / "store"
    docs = open_folder / "docs"
    for name in ("open", "closed"):
        (docs / name).mkdir(parents=True)
        (docs / name / "a.txt").write_text(f"{GOOD} It is {name}.", encoding="utf-8")
    (docs / "open" / "secret.txt").write_text("Nobody may read this.", encoding="utf-8")
    assert children.run("index", paths=[str(docs)], store=str(place))[0] == 0
    (docs / "closed").chmod(0o700)
    (docs / "open" / "secret.txt").write_text("Nobody may read this now.", encoding="utf-8")
    (docs / "open" / "secret.txt").chmod(0o600)
    subprocess.run(["chown", "-R", str(NOBODY), str(place)], check=True)
    code, heard = children.run("index", user=NOBODY, paths=[str(docs)], store=str(place), prune=True)
    assert code == 0, heard[-2]
    report = heard[-2]["report"]
    problems = {Path(item["path"]).name: item["problem"] for item in report["failed"]}
    assert set(problems) == {"closed", "secret.txt"}
    assert all("check its permissions" in problem for problem in problems.values())
    assert report["removed"] == [], "what cannot be looked at is not gone"
