"""Unchanged files are skipped, changed ones replaced, vanished ones removed on request, copies kept once."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pagerag.errors import InputError
from pagerag.ingest import Event, IngestSettings, index_paths
from pagerag.places import place_of
from pagerag.store import SqliteCorpus, open_store
from pagerag.testing import FakeEncoder

Look = Callable[[SqliteCorpus], Any]


def texts(store: SqliteCorpus) -> dict[str, str]:
    return {unit.id.rpartition("/")[2]: unit.text for unit in store.units()}


def test_first_and_second_run(folder: Path, store: SqliteCorpus) -> None:
    (folder / "a.txt").write_text("Alpha is a letter.", encoding="utf-8")
    (folder / "sub").mkdir()
    (folder / "sub" / "b.txt").write_text("Beta is another.", encoding="utf-8")
    (folder / ".hidden.txt").write_text("Not this.", encoding="utf-8")
    (folder / "picture.png").write_bytes(b"\x89PNG\r\n")
    events: list[Event] = []
    report = index_paths([folder], store, listener=events.append)
    assert (report.indexed, report.units, report.unchanged) == (2, 2, 0)
    assert [Path(name).name for name in report.unsupported] == ["picture.png"]
    assert [event.kind for event in events if event.kind != "progress"] == ["indexed", "indexed"]
    assert events[-1].done == events[-1].total or events[-1].kind == "indexed"
    version = store.stats().version
    again = index_paths([folder], store)
    assert (again.indexed, again.unchanged, again.units) == (0, 2, 0)
    assert store.stats().version == version, "nothing was to be written"


def test_a_touched_file_is_unchanged_and_an_edited_one_is_not(folder: Path, store: SqliteCorpus) -> None:
    file = folder / "a.txt"
    file.write_text("Alpha is a letter.", encoding="utf-8")
    index_paths([folder], store)
    os.utime(file, (1, 1))
    assert index_paths([folder], store).unchanged == 1
    status = file.stat()
    file.write_text("Omega is a letter.", encoding="utf-8")
    os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))  # same size, same date, other content
    assert index_paths([folder], store).indexed == 1
    assert list(texts(store).values()) == ["Omega is a letter."]
    assert [c.text for c in store.search_text("omega")] == ["Omega is a letter."]


def test_a_file_that_shrinks_loses_its_passages(folder: Path, store: SqliteCorpus) -> None:
    settings = IngestSettings(passage_chars=40)
    (folder / "a.txt").write_text("One is a number here.\n\nTwo is a number here.", encoding="utf-8")
    index_paths([folder], store, settings)
    assert len(store) == 2
    (folder / "a.txt").write_text("Three is a number.", encoding="utf-8")
    index_paths([folder], store, settings)
    assert list(texts(store).values()) == ["Three is a number."]


def test_other_settings_read_again(folder: Path, store: SqliteCorpus) -> None:
    (folder / "a.txt").write_text("One is a number here.\n\nTwo is a number here.", encoding="utf-8")
    index_paths([folder], store)
    report = index_paths([folder], store, IngestSettings(passage_chars=40))
    assert (report.indexed, len(store)) == (1, 2)
    limits = IngestSettings(passage_chars=40, max_file_bytes=10**6, batch_units=3)
    assert index_paths([folder], store, limits).unchanged == 1


def test_vanished_files(folder: Path, store: SqliteCorpus, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere.txt"
    elsewhere.write_text("Gamma is elsewhere.", encoding="utf-8")
    for name in ("a", "b"):
        (folder / f"{name}.txt").write_text(f"File {name} is here.", encoding="utf-8")
    index_paths([folder, elsewhere], store)
    (folder / "a.txt").unlink()
    elsewhere.unlink()
    report = index_paths([folder], store)
    assert [Path(name).name for name in report.vanished] == ["a.txt"]
    assert len(store) == 3
    report = index_paths([folder], store, prune=True)
    assert [Path(name).name for name in report.removed] == ["a.txt"]
    assert set(texts(store)) == {"b.txt#0", "elsewhere.txt#0"}, "files outside the paths of the run stay"
    report = index_paths([elsewhere], store)
    assert [problem for _, problem in report.failed] == [f"{elsewhere}: does not exist"]
    report = index_paths([elsewhere], store, prune=True)
    assert (report.failed, len(report.removed), len(store)) == ([], 1, 1)


def test_a_folder_that_is_away_is_not_forgotten(folder: Path, store: SqliteCorpus, tmp_path: Path) -> None:
    other, disk = tmp_path / "other", tmp_path / "disk"
    for place in (other, disk):
        place.mkdir()
        (place / "a.txt").write_text(f"Alpha is in {place.name}.", encoding="utf-8")
    (folder / "a.txt").write_text("Alpha is here.", encoding="utf-8")
    paths = [other, folder, disk / "a.txt"]
    index_paths(paths, store)
    (other / "a.txt").unlink()
    for away in (folder, disk):  # a folder; a named file together with its folder
        away.rename(tmp_path / "elsewhere")
        with pytest.raises(InputError, match=rf"{away}\S* is not there, and --prune would forget"):
            index_paths(paths, store, prune=True)
        assert len(store) == 3, "nothing was removed, of the other folder neither"
        (tmp_path / "elsewhere").rename(away)
    report = index_paths(paths, store, prune=True)
    assert [Path(name).parent.name for name in report.removed] == ["other"]
    report = index_paths([folder, tmp_path / "typo"], store, prune=True)
    assert [problem for _, problem in report.failed] == [f"{tmp_path / 'typo'}: does not exist"]
    (folder / "a.txt").unlink()
    folder.rmdir()
    folder.mkdir()
    assert len(index_paths([folder], store, prune=True).removed) == 1, "an empty folder in its place"


def test_copies_are_kept_once(folder: Path, store: SqliteCorpus) -> None:
    for name in ("a", "b", "c"):
        (folder / f"{name}.txt").write_text("The same text.", encoding="utf-8")
    report = index_paths([folder], store)
    assert (report.indexed, report.duplicates, len(store)) == (1, 2, 1)
    assert store.ledger()[str(folder / "c.txt")].original == str(folder / "a.txt")
    assert index_paths([folder], store).unchanged == 3
    # The original changes: its copies stand by themselves now, and are still one.
    (folder / "a.txt").write_text("Another text.", encoding="utf-8")
    report = index_paths([folder], store)
    assert (report.indexed, report.duplicates) == (2, 1)
    assert texts(store) == {"a.txt#0": "Another text.", "b.txt#0": "The same text."}
    # The original goes: the same.
    (folder / "b.txt").unlink()
    index_paths([folder], store, prune=True)
    assert texts(store) == {"a.txt#0": "Another text.", "c.txt#0": "The same text."}
    # A file becomes a copy: its own units go.
    (folder / "c.txt").write_text("Another text.", encoding="utf-8")
    index_paths([folder], store)
    assert texts(store) == {"a.txt#0": "Another text."}


def test_records_are_replaced_one_by_one(
    folder: Path, store: SqliteCorpus, contents: Look, tmp_path: Path
) -> None:
    def write(rows: dict[str, str]) -> None:
        lines = (json.dumps({"id": key, "title": key.upper(), "text": text}) for key, text in rows.items())
        (folder / "r.jsonl").write_text("\n".join(lines), encoding="utf-8")

    write({"a": "One.", "b": "Two.", "c": "Three."})
    report = index_paths([folder], store)
    assert (report.documents, report.units) == (3, 3)
    write({"a": "One.", "c": "Three, changed.", "d": "Four."})
    report = index_paths([folder], store)
    assert (report.indexed, report.units) == (1, 2), "the unchanged record is not written again"
    assert texts(store) == {"r.jsonl#a#0": "One.", "r.jsonl#c#0": "Three, changed.", "r.jsonl#d#0": "Four."}
    fresh = open_store(tmp_path / "fresh", FakeEncoder(32), create=True)
    index_paths([folder], fresh)
    assert contents(store) == contents(fresh)
    assert store.lookup_title("C")[0].metadata["record"] == "c"
    # A record that stands in another line has another place to cite, and is written again.
    write({"c": "Three, changed.", "a": "One.", "d": "Four."})
    assert index_paths([folder], store).units == 2
    assert place_of(store.lookup_title("A")[0]).line == 2


def test_paths_can_be_relative_to_a_folder(folder: Path, store: SqliteCorpus, tmp_path: Path) -> None:
    (folder / "a.txt").write_text("Alpha is here.", encoding="utf-8")
    settings = IngestSettings(base=str(folder))
    index_paths([folder], store, settings)
    [found] = store.search_text("alpha")
    assert (found.id, found.metadata["path"]) == ("a.txt#0", "a.txt")
    moved = tmp_path / "moved"
    folder.rename(moved)
    assert index_paths([moved], store, IngestSettings(base=str(moved))).unchanged == 1
    (moved / "a.txt").unlink()
    report = index_paths([moved], store, IngestSettings(base=str(moved)), prune=True)
    assert report.removed == ["a.txt"]
    with pytest.raises(InputError, match="is not inside"):
        index_paths([tmp_path], store, IngestSettings(base=str(moved)))


def test_the_store_inside_the_folder_is_left_out(folder: Path, encoder: FakeEncoder) -> None:
    (folder / "a.txt").write_text("Alpha is here.", encoding="utf-8")
    store = open_store(folder / "store", encoder, create=True)
    (folder / "store" / "note.txt").write_text("Not this.", encoding="utf-8")
    report = index_paths([folder], store)
    assert (report.indexed, report.unsupported) == (1, [])


def test_documents_may_lie_beside_the_files_of_the_store(folder: Path, encoder: FakeEncoder) -> None:
    (folder / "a.txt").write_text("Alpha is here.", encoding="utf-8")
    (folder / "b.sqlite").write_text("No document.", encoding="utf-8")
    store = open_store(folder, encoder, create=True)
    report = index_paths([folder], store)
    assert (report.indexed, report.unsupported) == (1, [str(folder / "b.sqlite")])


def test_an_optimisation_that_was_cut_short_is_made_up_for(
    folder: Path, store: SqliteCorpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "a.txt").write_text("Alpha is here.", encoding="utf-8")
    with monkeypatch.context() as patch:
        patch.setattr(SqliteCorpus, "optimize", lambda *_, **__: None)
        index_paths([folder], store)
    assert store.stats().unindexed == 1
    assert index_paths([folder], store).unchanged == 1
    assert store.stats().unindexed == 0


def test_it_needs_an_encoder(folder: Path, store: SqliteCorpus) -> None:
    with pytest.raises(InputError, match="needs the store opened with its encoder"):
        index_paths([folder], open_store(store.location))
