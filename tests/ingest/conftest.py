"""Children to index with, folders to index, and a look at everything a store holds."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from pagerag.store import SqliteCorpus, open_store
from pagerag.testing import FakeEncoder


class Children:
    """Runs jobs in processes of their own; see ``zygote.py``."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("zygote.py"))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.jobs = 0
        self.pids: dict[int, int] = {}
        self.heard: dict[int, list[dict[str, Any]]] = {}

    def _send(self, **job: Any) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(job) + "\n")
        self.process.stdin.flush()

    def hear(self) -> dict[str, Any]:
        """The next thing that any child says."""
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, "the zygote is gone"
        said: dict[str, Any] = json.loads(line)
        self.heard[said["job"]].append(said)
        if "pid" in said:
            self.pids[said["job"]] = said["pid"]
        return said

    def start(self, work: str, **job: Any) -> int:
        self.jobs += 1
        self.heard[self.jobs] = []
        self._send(work=work, job=self.jobs, **job)
        while self.jobs not in self.pids:
            self.hear()
        return self.jobs

    def kill(self, job: int) -> None:
        os.kill(self.pids[job], signal.SIGKILL)

    def wait(self, job: int) -> tuple[int, list[dict[str, Any]]]:
        """The exit code of a job (negative: the signal that ended it), and all that it said."""
        self._send(work="wait", job=job)
        while "exit" not in (said := self.hear()) or said["job"] != job:
            pass
        return said["exit"], self.heard[job]

    def run(self, work: str, **job: Any) -> tuple[int, list[dict[str, Any]]]:
        return self.wait(self.start(work, **job))


@pytest.fixture(scope="session")
def children() -> Iterator[Children]:
    made = Children()
    yield made
    assert made.process.stdin is not None
    made.process.stdin.close()
    made.process.wait(30)


@pytest.fixture
def encoder() -> FakeEncoder:
    return FakeEncoder(32)


@pytest.fixture
def store(tmp_path: Path, encoder: FakeEncoder) -> SqliteCorpus:
    return open_store(tmp_path / "store", encoder, create=True)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "docs"
    made.mkdir()
    return made


@pytest.fixture
def contents() -> Callable[[SqliteCorpus], tuple[list[dict[str, Any]], list[Any]]]:
    """All rows of a store, every column, in order of id; and its ledger."""

    def look(store: SqliteCorpus) -> tuple[list[dict[str, Any]], list[Any]]:
        assert store.verify() == []
        rows = [
            {**asdict(replace(unit, vector=None)), "vector": unit.vector.tolist()}
            for unit in store.units()
            if unit.vector is not None
        ]
        return sorted(rows, key=lambda row: str(row["id"])), list(store.ledger().values())

    return look
