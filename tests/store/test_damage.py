"""Damaged, foreign, old and unreadable stores: a clear error each time, and ``verify`` finds the damage."""

from __future__ import annotations

import os
import shutil
import sqlite3
import stat
import subprocess
import sys
from contextlib import closing
from dataclasses import replace
from itertools import takewhile
from pathlib import Path
from tempfile import gettempdir
from typing import Any

import pytest

from pagerag.errors import InputError, StoreError, StoreMismatchError
from pagerag.store import FileRecord, SqliteCorpus, open_store, place_of, store_exists
from pagerag.store.problems import explained
from pagerag.store.schema import pack_unit
from pagerag.testing import FakeEncoder

QUESTION = "Which city was the composer of Interstellar born in?"


def damaged(store: SqliteCorpus, statement: str, *values: Any) -> None:
    """Change the file behind the store's back."""
    with closing(sqlite3.connect(store.folder / "corpus.sqlite")) as connection:
        connection.execute(statement, values)
        connection.commit()


def use(location: str, encoder: FakeEncoder) -> None:
    """Everything that a question does with a store."""
    with open_store(location, encoder) as store:
        found = store.search_text(QUESTION)
        found += store.search_vector(encoder.encode_queries([QUESTION])[0])
        store.analyses(found)
        store.lookup_title("Hans Zimmer")
        store.fetch([unit.id for unit in found])


DAMAGE = {
    "a unit's body": ("UPDATE units SET body = x'00' WHERE row = 1", True),
    "a byte of a unit's body": (
        "UPDATE units SET body = substr(body, 1, 40) || x'ff' || substr(body, 42) WHERE row = 1",
        True,
    ),
    "a text in place of a body": ("UPDATE units SET body = 'text' WHERE row = 1", True),
    "vectors": ("UPDATE vectors SET data = zeroblob(length(data))", True),
    "fewer vectors": ("DELETE FROM vectors", True),
    "lengths": ("UPDATE lengths SET data = zeroblob(8)", True),
    "an odd length": ("UPDATE lengths SET data = x'010203'", True),
    "postings": ("UPDATE fresh SET data = x'010203'", True),
    "postings of no unit": ("UPDATE fresh SET data = x'ffffffff01'", True),
    "a unit gone": ("DELETE FROM units WHERE row = 1", True),
    "a table gone": ("DROP TABLE postings", True),
    "counters": ("UPDATE meta SET value = 'many' WHERE key = 'live'", True),
    "a missing counter": ("DELETE FROM meta WHERE key = 'epoch'", True),
    "names": ("DELETE FROM names", False),
    "an analysis of nobody": ("UPDATE meta SET value = 5 WHERE key = 'live'", True),
}


@pytest.mark.parametrize("what", DAMAGE)
def test_damage_is_a_clear_error_and_verify_finds_it(
    store: SqliteCorpus, encoder: FakeEncoder, what: str
) -> None:
    statement, raises = DAMAGE[what]
    assert store.verify() == []
    store.close()
    damaged(store, statement)
    if raises:
        with pytest.raises(StoreError, match="store") as caught:
            use(store.location, encoder)
        assert store.location in str(caught.value)
    else:
        use(store.location, encoder)
    with open_store(store.location, encoder) as again:
        assert again.verify()


def test_flipped_bytes_of_the_file_never_give_anything_but_our_errors(
    store: SqliteCorpus, encoder: FakeEncoder, tmp_path: Path
) -> None:
    store.optimize()
    store.close()
    file = Path(store.location) / "corpus.sqlite"
    sound = file.read_bytes()
    found = 0
    for place in range(0, len(sound), max(1, len(sound) // 80)):
        bad = tmp_path / "bad"
        shutil.rmtree(bad, ignore_errors=True)
        bad.mkdir()
        changed = bytearray(sound)
        changed[place : place + 400] = bytes(byte ^ 0xA5 for byte in changed[place : place + 400])
        (bad / "corpus.sqlite").write_bytes(changed)
        try:
            use(str(bad), encoder)
            with open_store(bad, encoder) as again:
                found += bool(again.verify())
        except (StoreError, InputError):  # InputError: an id that an index no longer finds
            found += 1
    assert found > 5


@pytest.mark.parametrize("content", [b"", b"no database at all " * 100, b"SQLite format 3\0" + b"\0" * 84])
def test_a_file_that_is_no_store(tmp_path: Path, encoder: FakeEncoder, content: bytes) -> None:
    (tmp_path / "corpus.sqlite").write_bytes(content)
    with pytest.raises(StoreError, match=r"store|pagerag"):
        open_store(tmp_path, encoder)


def test_a_database_of_somebody_else_is_refused(tmp_path: Path, encoder: FakeEncoder) -> None:
    with closing(sqlite3.connect(tmp_path / "corpus.sqlite")) as connection:
        connection.execute("CREATE TABLE units (a)")
        connection.commit()
    for create in (False, True):
        with pytest.raises(StoreMismatchError, match="pagerag did not write"):
            open_store(tmp_path, encoder, create=create)


def test_a_hostile_schema_is_refused(store: SqliteCorpus, encoder: FakeEncoder) -> None:
    store.close()
    damaged(store, "CREATE TRIGGER t AFTER INSERT ON units BEGIN DELETE FROM units; END")
    with pytest.raises(StoreError, match="no pagerag writes"):
        open_store(store.location, encoder)


def test_a_body_that_unpacks_to_gigabytes_is_refused(store: SqliteCorpus, encoder: FakeEncoder) -> None:
    import zlib

    packer = zlib.compressobj(9)
    body = b"".join(packer.compress(bytes(1 << 20)) for _ in range(300)) + packer.flush()
    store.close()
    damaged(store, "UPDATE units SET body = ?", body)
    with pytest.raises(StoreError, match="too large"):
        use(store.location, encoder)


@pytest.mark.parametrize(("version", "message"), [(1, "index the documents again"), (99, "newer pagerag")])
def test_another_schema_version_is_refused(
    store: SqliteCorpus, encoder: FakeEncoder, version: int, message: str
) -> None:
    store.close()
    damaged(store, "UPDATE meta SET value = ? WHERE key = 'schema'", version)
    for create in (False, True):
        with pytest.raises(
            StoreMismatchError, match=f"schema version {version}; this pagerag reads version 4.*{message}"
        ):
            open_store(store.location, encoder, create=create)


def test_a_store_of_an_older_engine_is_refused_with_the_command(tmp_path: Path, encoder: FakeEncoder) -> None:
    (tmp_path / "units.lance" / "_versions").mkdir(parents=True)
    for create in (False, True):
        with pytest.raises(StoreMismatchError, match=r"older pagerag.*pagerag index PATH --store NEW_FOLDER"):
            open_store(tmp_path, encoder, create=create)


def test_a_creation_that_was_cut_short_is_taken_up(tmp_path: Path, encoder: FakeEncoder) -> None:
    (tmp_path / "corpus.sqlite").touch()
    assert len(open_store(tmp_path, encoder, create=True)) == 0


def test_addresses_without_an_engine_are_refused() -> None:
    with pytest.raises(InputError, match="no engine for gs://"):
        open_store("gs://bucket/x")


def test_a_location_of_nothing_is_not_the_current_folder(encoder: FakeEncoder) -> None:
    with pytest.raises(InputError, match="location is empty; name a folder or an address"):
        open_store("", encoder, create=True)


@pytest.mark.skipif(os.name == "nt" or os.geteuid() != 0, reason="changes the user: needs root on POSIX")
def test_a_folder_that_may_only_be_read(store: SqliteCorpus, tmp_path: Path) -> None:
    store.optimize()
    store.close()
    above = takewhile(lambda part: part != Path(gettempdir()), tmp_path.parents)
    for part in (tmp_path, *above):
        part.chmod(part.stat().st_mode | stat.S_IRGRP | stat.S_IXGRP | stat.S_IROTH | stat.S_IXOTH)
    program = (
        # what is imported late may lie below root's home, where another user reads nothing
        "import os, sys, urllib.parse; from pagerag.store import open_store; import pagerag.store.sqlite; "
        "os.setgid(65534); os.setuid(65534); print(len(open_store(sys.argv[1]).search_text('composer')))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, store.location], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, "1\n"), done.stderr[-500:]


def test_a_store_that_may_not_be_looked_for_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def denied(*_: object, **__: object) -> bool:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "exists", denied)
    with pytest.raises(StoreError, match="this user may not"):
        store_exists(tmp_path / "store")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("database or disk is full", "the disk is full"),
        ("Disk quota exceeded", "the disk quota is used up"),
        ("attempt to write a readonly database", "may not write there"),
        ("Read-only file system", "the file system is read-only"),
        ("Too many open files", "ulimit -n"),
        ("database is locked", "another process is writing"),
        ("database disk image is malformed", "it is damaged"),
        ("something new\n  in two lines", "failed: something new in two lines"),
    ],
)
def test_errors_say_what_to_do(text: str, said: str) -> None:
    for kind in (OSError, sqlite3.OperationalError, sqlite3.DatabaseError):
        with pytest.raises(StoreError) as caught, explained("writing to", "place"):
            raise kind(text)
        assert str(caught.value).startswith("writing to the store place failed: ")
        assert said in str(caught.value)
        assert caught.value.__cause__ is not None


def test_errors_of_ours_and_bugs_pass() -> None:
    for kind in (InputError, TypeError, KeyError):
        with pytest.raises(kind), explained("writing to", "place"):
            raise kind("mine")


def assert_told(store: SqliteCorpus, encoder: FakeEncoder) -> None:
    """Damage is told by whoever uses the store, and found by verify."""
    with pytest.raises(StoreError, match="is damaged"):
        use(store.location, encoder)
    with open_store(store.location, encoder) as again:
        assert again.verify()


@pytest.mark.parametrize("data", [b"\x01\x02\x03", b"\xff\xff\xff\xff\x01"])
def test_damaged_postings_of_an_optimised_store(
    store: SqliteCorpus, encoder: FakeEncoder, data: bytes
) -> None:
    store.optimize()
    store.close()
    damaged(store, "UPDATE postings SET data = ?", data)
    assert_told(store, encoder)


@pytest.mark.parametrize(
    "changed",
    [
        {"title": 5},
        {"title": ["x"]},
        {"position": "x"},
        {"total": None},
        {"fields": ["x"]},
        {"id": 7},
        {"pages": ["p"]},
    ],
    ids=str,
)
def test_values_of_another_kind_in_a_unit_are_damage(
    store: SqliteCorpus, encoder: FakeEncoder, changed: dict[str, Any]
) -> None:
    unit = next(iter(store.units()))
    store.close()
    damaged(store, "UPDATE units SET body = ?", pack_unit(replace(unit, **changed)))
    assert_told(store, encoder)


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE documents SET path = x'ff'",
        "UPDATE files SET path = x'ff'",
        "UPDATE lengths SET data = x'ff'",
        "UPDATE lengths SET block = -5",
        "UPDATE vectors SET data = 'x'",
        "UPDATE vectors SET block = -5",
        "UPDATE vectors SET signs = 1e300",
        "UPDATE fresh SET data = 7",
    ],
)
def test_neither_reading_nor_writing_a_damaged_store_gives_anything_but_our_errors(
    store: SqliteCorpus, encoder: FakeEncoder, statement: str
) -> None:
    store.acknowledge([FileRecord("a.txt", "digest")])
    units = list(store.units())
    store.close()
    damaged(store, statement)
    with open_store(store.location, encoder) as again:
        told = []
        for work in (
            lambda: [str(place_of(unit)) for unit in again.search_text("Zimmer composer film")],
            again.stats,
            lambda: again.upsert(units),
            again.optimize,
        ):
            try:
                work()
            except StoreError as problem:
                told.append(str(problem))
        assert any("is damaged" in one for one in told)
