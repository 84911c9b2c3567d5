"""What LanceDB leaves to us: syncing, permissions, messages."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from pagerag.errors import InputError, StoreError
from pagerag.store import LanceStore, Unit
from pagerag.store.durable import Syncer, local_folder
from pagerag.store.fusion import reciprocal_rank_fusion
from pagerag.store.problems import explained


@pytest.fixture
def synced(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The paths that were synced, in order."""
    paths: list[str] = []
    real = os.fsync

    def record(handle: int) -> None:
        paths.append(os.readlink(f"/proc/self/fd/{handle}"))  # noqa: PTH115
        real(handle)

    if not Path("/proc/self/fd").is_dir():
        pytest.skip("needs /proc to tell which file a handle is")
    monkeypatch.setattr(os, "fsync", record)
    return paths


@pytest.fixture
def umask() -> Iterator[None]:
    before = os.umask(0o022)
    yield
    os.umask(before)


def test_each_file_is_synced_once_and_its_folder_after_it(
    tmp_path: Path, synced: list[str], umask: None
) -> None:
    inner = tmp_path / "table" / "data"
    inner.mkdir(parents=True)
    (inner / "a").write_bytes(b"a")
    (inner / "a").chmod(0o600)
    syncer = Syncer(tmp_path)
    assert syncer.sync() == 1
    assert synced[0] == str(inner / "a")
    assert {str(inner), str(inner.parent), str(tmp_path)} <= set(synced[1:])
    assert (inner / "a").stat().st_mode & 0o777 == 0o644
    synced.clear()
    assert syncer.sync() == 0
    assert synced == []
    (inner / "b").write_bytes(b"b")
    (inner / "hint.json").write_bytes(b"1")
    assert syncer.sync() == 2
    (inner / "hint.json").write_bytes(b"2")
    assert syncer.sync() == 1, "the hint is rewritten in place and synced again"


def test_a_commit_is_synced_before_it_returns(
    store: LanceStore, units: list[Unit], synced: list[str]
) -> None:
    store.delete([units[0].source])
    before = set(store.folder.rglob("*")) if store.folder else set()
    synced.clear()
    store.upsert([units[0]])
    written = {str(p) for p in store.folder.rglob("*") if p.is_file()} - {str(p) for p in before}
    assert written
    assert written <= set(synced)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("LanceError(IO): ... No space left on device (os error 28)", "the disk is full"),
        ("Disk quota exceeded (os error 122)", "the disk quota is used up"),
        ("Permission denied (os error 13)", "may not write there"),
        ("Read-only file system (os error 30)", "the file system is read-only"),
        ("Too many open files (os error 24)", "ulimit -n"),
        ("something new\n  in two lines", "failed: something new in two lines"),
    ],
)
def test_errors_say_what_to_do(text: str, said: str) -> None:
    for kind in (OSError, RuntimeError, ValueError):
        with pytest.raises(StoreError) as caught, explained("writing to", "place"):
            raise kind(text)
        assert str(caught.value).startswith("writing to the store place failed: ")
        assert said in str(caught.value)
        assert caught.value.__cause__ is not None


def test_errors_of_ours_and_bugs_pass() -> None:
    for kind in (InputError, TypeError, KeyError):
        with pytest.raises(kind), explained("writing to", "place"):
            raise kind("mine")


def test_local_folders_and_others() -> None:
    assert local_folder("a/b") == Path("a/b")
    assert local_folder("file:///a/b") == Path("/a/b")
    assert local_folder("s3://bucket/x") is None


def test_fusion() -> None:
    fused = reciprocal_rank_fusion([["a", "b", "c"], ["b", "d"]])
    assert list(fused) == ["b", "a", "d", "c"]
    assert fused["b"] == pytest.approx(1 / 62 + 1 / 61)
    weighted = reciprocal_rank_fusion([[1, 2], [2, 1]], [1.0, 3.0], constant=1)
    assert list(weighted) == [2, 1]
    assert reciprocal_rank_fusion([]) == {}
    with pytest.raises(ValueError):
        reciprocal_rank_fusion([["a"]], [1.0, 2.0])


def test_a_process_ends_well_right_after_a_search(store: LanceStore) -> None:
    program = (
        "import sys; from pagerag.store import open_store; "
        "print(len(open_store(sys.argv[1]).search_text('composer')))"
    )
    for _ in range(3):
        done = subprocess.run(
            [sys.executable, "-c", program, store.location], capture_output=True, text=True, check=False
        )
        assert (done.returncode, done.stdout) == (0, "1\n"), done.stderr[-500:]
