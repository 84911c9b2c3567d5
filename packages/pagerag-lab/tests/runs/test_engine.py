"""The engine: chunks that were damaged after they were written are done again, and said so."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from pagerag_lab.runs.engine import OtherRunError, Workers, execute


class Squares:
    """Squares numbers."""

    def __init__(self) -> None:
        self.seconds = {"square": 0.0}

    def rows(self, items: Sequence[int]) -> list[dict[str, Any]]:
        return [{"item": item, "square": item * item} for item in items]


@dataclass(frozen=True)
class SquareTask:
    """Numbers up to ``most``."""

    most: int = 10
    chunk: int = 4

    def items(self) -> Iterator[int]:
        return iter(range(self.most))

    def identity(self) -> dict[str, Any]:
        return {"config": {"most": self.most}, "commit": None}

    def worker(self) -> Squares:
        return Squares()

    def finish(self, folder: Path, described: Mapping[str, Any], lines: Iterator[str]) -> dict[str, Any]:
        rows = [json.loads(line) for line in lines]
        result = {"squares": [row["square"] for row in rows], **described}
        (folder / "result.json").write_text(json.dumps(result))
        return result


@pytest.fixture(scope="module")
def hands() -> Iterator[Workers]:
    """One process for all of these tests."""
    with Workers(1) as pool:
        yield pool


def emptied(file: Path) -> None:
    file.write_bytes(b"")


def cut_short(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-7])


def a_row_less(file: Path) -> None:
    file.write_bytes(b"".join(file.read_bytes().splitlines(keepends=True)[:-1]))


def edited(file: Path) -> None:
    file.write_bytes(file.read_bytes().replace(b'"square": 16', b'"square": 99'))


def exchanged(file: Path) -> None:
    file.write_bytes((file.parent / "000000.jsonl").read_bytes())


def no_head(file: Path) -> None:
    file.write_bytes(b"".join(file.read_bytes().splitlines(keepends=True)[1:]))


def not_text(file: Path) -> None:
    file.write_bytes(b"\xff\xfe\n\n\n\n\n")


@pytest.mark.parametrize("damage", [emptied, cut_short, a_row_less, edited, exchanged, no_head, not_text])
def test_a_damaged_chunk_is_done_again(
    damage: Callable[[Path], None], tmp_path: Path, hands: Workers
) -> None:
    whole = execute(SquareTask(), tmp_path / "o", workers=hands)
    assert whole["squares"] == [n * n for n in range(10)]
    chunk = tmp_path / "o" / "chunks" / "000001.jsonl"
    before = chunk.read_bytes()
    damage(chunk)
    assert chunk.read_bytes() != before
    said: list[str] = []
    assert execute(SquareTask(), tmp_path / "o", workers=hands, say=said.append) == whole
    assert len(said) == 1
    assert "000001.jsonl" in said[0]
    assert "4 questions are done again" in said[0]
    assert chunk.read_bytes() == before
    assert execute(SquareTask(), tmp_path / "o", workers=hands, say=said.append) == whole
    assert len(said) == 1, "a sound chunk is kept"


def test_stray_files_among_the_chunks_are_not_read(tmp_path: Path, hands: Workers) -> None:
    whole = execute(SquareTask(), tmp_path / "o", workers=hands)
    (tmp_path / "o" / "chunks" / "000009.jsonl").write_text('{"square": 1}\n')
    (tmp_path / "o" / "chunks" / "zz.jsonl").write_text("junk")
    assert execute(SquareTask(), tmp_path / "o", workers=hands) == whole


def test_a_folder_of_another_task_is_refused(tmp_path: Path, hands: Workers) -> None:
    execute(SquareTask(), tmp_path / "o", workers=hands)
    with pytest.raises(OtherRunError, match=r"config\.most"):
        execute(SquareTask(most=5), tmp_path / "o", workers=hands)
    assert execute(SquareTask(most=5), tmp_path / "o", workers=hands, fresh=True)["n"] == 5


@pytest.mark.parametrize("name", ["extractive", "extractive-small"])
def test_the_readers_of_a_table_never_keep_silent(name):
    from pagerag_lab.runs.reading import make_reader

    inner = make_reader(name).inner
    assert (inner.least_confidence, inner.none_threshold) == (0.0, 1.0)
