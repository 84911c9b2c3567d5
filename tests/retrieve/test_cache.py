from __future__ import annotations

import multiprocessing
import pickle
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from multiprocessing.synchronize import Barrier
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from pagerag._sqlite_files import CacheFile, write_ahead
from pagerag.errors import InputError, StoreError
from pagerag.retrieve import CachedEncoder, cache_folder, encoder


class Counting:
    """An encoder that counts what it was asked for."""

    name = "counting"
    dimension = 4

    def __init__(self) -> None:
        self.asked: list[str] = []

    def encode_queries(self, texts: Sequence[str], /) -> NDArray[np.float32]:
        return -self.encode_passages(texts)

    def encode_passages(self, texts: Sequence[str], /) -> NDArray[np.float32]:
        self.asked.extend(texts)
        seeds = [abs(hash(text)) % 2**32 for text in texts]
        return np.array([np.random.default_rng(s).random(4) for s in seeds], dtype=np.float32).reshape(-1, 4)


@settings(max_examples=25, deadline=None)
@given(st.lists(st.text(max_size=5), max_size=8), st.lists(st.text(max_size=5), max_size=8))
def test_vectors_come_back_bit_for_bit_and_are_made_once(first: list[str], second: list[str]) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        plain, inner = Counting(), Counting()
        cached = CachedEncoder(inner, folder)
        for texts in (first, second, first):
            assert np.array_equal(cached.encode_passages(texts), plain.encode_passages(texts))
        assert sorted(inner.asked) == sorted(set(first) | set(second))
        assert len(cached) == len(set(first) | set(second))


def test_queries_and_passages_are_kept_apart(tmp_path: Path) -> None:
    cached = CachedEncoder(Counting(), tmp_path)
    passage = cached.encode_passages(["x"])
    assert np.array_equal(cached.encode_queries(["x"]), -passage)
    assert np.array_equal(cached.encode_passages(["x"]), passage)


def _fill(folder: Path, start: int) -> None:
    cached = CachedEncoder(_Steady(), folder)
    for number in range(start, start + 60):
        cached.encode_passages([f"text {number}", f"text {number + 30}"])


class _Steady:
    """Vectors that do not depend on the process."""

    name, dimension = "steady/über", 4

    def encode_queries(self, texts: Sequence[str], /) -> NDArray[np.float32]:
        return self.encode_passages(texts)

    def encode_passages(self, texts: Sequence[str], /) -> NDArray[np.float32]:
        return np.array([[len(text), ord(text[-1]), 0, 1] for text in texts], dtype=np.float32)


def test_several_processes_write_one_cache(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=_fill, args=(tmp_path, start)) for start in (0, 30)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(120)
    assert [worker.exitcode for worker in workers] == [0, 0]
    cached = CachedEncoder(_Steady(), tmp_path)
    assert len(cached) == 120
    texts = [f"text {number}" for number in range(120)]
    assert np.array_equal(cached.encode_passages(texts), _Steady().encode_passages(texts))


def _open_new_files(folder: Path, count: int, together: Barrier) -> None:
    for number in range(count):
        file = CacheFile(folder / f"{number}.db", "numbers(value)", StoreError)
        together.wait(60)
        with file.connection() as connection:
            connection.execute("INSERT INTO numbers VALUES (?)", (number,))
        file.close()


def test_a_cache_may_be_made_by_several_processes_at_the_same_moment(tmp_path: Path) -> None:
    # The switch to a log is what SQLite does not wait for; of 50 files some always met there.
    context, count = multiprocessing.get_context("spawn"), 50
    together = context.Barrier(4)
    workers = [context.Process(target=_open_new_files, args=(tmp_path, count, together)) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(120)
    assert [worker.exitcode for worker in workers] == [0, 0, 0, 0]
    for number in range(count):
        with closing(sqlite3.connect(tmp_path / f"{number}.db")) as connection:
            assert connection.execute("SELECT value FROM numbers").fetchall() == [(number,)] * 4


def test_a_cache_that_stays_locked_is_told_in_the_end(tmp_path: Path) -> None:
    path = tmp_path / "held.db"
    with closing(sqlite3.connect(path, isolation_level=None)) as holder, closing(_impatient(path)) as other:
        holder.execute("BEGIN EXCLUSIVE")
        with pytest.raises(sqlite3.OperationalError, match="locked"):
            write_ahead(other, 0.05)
        holder.execute("COMMIT")
        write_ahead(other, 0.0)
        assert other.execute("PRAGMA journal_mode").fetchone() == ("wal",)


def _impatient(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(path, timeout=0, isolation_level=None)


def test_a_broken_cache_says_what_to_do(tmp_path: Path) -> None:
    cached = CachedEncoder(Counting(), tmp_path)
    cached.path.write_bytes(b"this is not a database, whatever its name says" * 100)
    with pytest.raises(StoreError, match="delete the file"):
        cached.encode_passages(["x"])


def test_a_row_of_the_wrong_length_is_noticed(tmp_path: Path) -> None:
    cached = CachedEncoder(Counting(), tmp_path)
    cached.encode_passages(["x"])
    with sqlite3.connect(cached.path) as connection:
        connection.execute("UPDATE vectors SET row = ?", (b"\0" * 8,))
    with pytest.raises(StoreError, match="wrong length"):
        CachedEncoder(Counting(), tmp_path).encode_passages(["x"])


def test_it_can_be_pickled(tmp_path: Path) -> None:
    cached = CachedEncoder(_Steady(), tmp_path)
    again = pickle.loads(pickle.dumps(cached))  # noqa: S301
    assert np.array_equal(again.encode_passages(["a"]), cached.encode_passages(["a"]))


def test_the_folder_can_be_chosen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PAGERAG_CACHE", str(tmp_path / "here"))
    assert cache_folder("models") == tmp_path / "here" / "models"
    assert cache_folder("models").is_dir()
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("PAGERAG_CACHE", str(tmp_path / "file"))
    with pytest.raises(StoreError, match="PAGERAG_CACHE"):
        cache_folder("models")


@pytest.mark.parametrize("name", ["word2vec", "openai:", "openai:model", "sentence-transformers:"])
def test_an_unknown_encoder_is_refused_with_the_known_ones(name: str) -> None:
    with pytest.raises(InputError, match=r"wordllama|openai:MODEL@URL|sentence-transformers:MODEL"):
        encoder(name)
