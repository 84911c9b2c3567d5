"""``pagerag index`` and ``pagerag evaluate`` on a Ray of two workers: the bytes are those of the processes."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest

from pagerag.cli import main

from .conftest import FULL

pytest.importorskip("ray")
pytest.importorskip("pagerag_lab")
pytestmark = [
    pytest.mark.integration,
    pytest.mark.slow,
    pytest.mark.skipif(not FULL, reason="make test-faults"),
]


ENGINES = {"pool": ["--workers", "2"], "ray": ["--engine", "ray", "--workers", "2"]}


def test_a_store_is_the_same(tmp_path: Path) -> None:
    documents = tmp_path / "documents"
    documents.mkdir()
    for number in range(150):
        body = "".join(f"Film {number} has a part {part} by Ann Lee of Côte {part}. " for part in range(9))
        (documents / f"{number:03}.md").write_text(f"# Film {number}\n\n{body}\n", encoding="utf-8")
    for name, engine in ENGINES.items():
        assert main(["index", str(documents), "--store", str(tmp_path / name), *engine]) == 0
    assert rows(tmp_path / "ray") == rows(tmp_path / "pool")


def rows(store: Path) -> dict[str, list[tuple[object, ...]]]:
    connection = sqlite3.connect(store / "corpus.sqlite")
    found = {
        name: connection.execute(f"SELECT * FROM {name} ORDER BY 1, 2").fetchall()  # noqa: S608
        for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
    }
    connection.close()
    assert len(found["units"]) == 150
    return found


def test_an_evaluation_is_the_same(tmp_path: Path) -> None:
    records = [
        {
            "_id": f"q{number}",
            "question": f"Where was the director of Film {number} born?",
            "answer": f"Town {number}",
            "type": "bridge",
            "level": "hard",
            "supporting_facts": [[f"Film {number}", 0], ["Ann Lee", 0]],
            "context": [
                [f"Film {number}", [f"Film {number} was directed by Ann Lee."]],
                ["Ann Lee", [f"Ann Lee was born in Town {number}.", "She likes rivers."]],
                ["Côte", ["Côte is a coast."]],
            ],
        }
        for number in range(70)
    ]
    data = tmp_path / "dev.json"
    data.write_text(json.dumps(records), encoding="utf-8")
    command = [
        "evaluate",
        "--dataset",
        "hotpotqa",
        "--data",
        str(data),
        "--retriever",
        "bm25",
        "--chunk",
        "8",
    ]
    for name, engine in ENGINES.items():
        assert main([*command, "--out", str(tmp_path / name), *engine]) == 0
    assert contents(tmp_path / "ray") == contents(tmp_path / "pool")


def contents(run: Path) -> dict[str, bytes]:
    """Return the files of a run but the one that says how long it took."""
    files = {path.relative_to(run).as_posix(): path for path in run.rglob("*") if path.is_file()}
    assert len([name for name in files if name.startswith("chunks/")]) == 9
    return {name: path.read_bytes() for name, path in files.items() if name != "timings.json"}
