"""Breadth and documents as experiments: tables from small sets, the summary's counts, and what is left out."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pagerag.errors import FormatError
from pagerag_lab import reproduce as room
from pagerag_lab.reproduce import Bench, Limits, reproduce
from pagerag_lab.reproduce.breadth import METHODS, single_fact, worse_than_plain
from pagerag_lab.runs.engine import Workers

TEXTS = ["Ada Brandt was born in Bergen.", "Bergen has a harbour.", "Northlight was directed by Ada Brandt."]


def pool_record(number: int) -> dict[str, Any]:
    return {
        "id": f"q{number}",
        "question": f"Where was the director of Northlight born ({number})?",
        "candidates": [{"id": f"c{n}", "title": None, "text": text} for n, text in enumerate(TEXTS)],
        "gold": [["c0", "c2"]],
        "kind": "multi",
        "unit": "sentence",
    }


@pytest.fixture
def data(tmp_path: Path, hotpotqa_record: Callable[[int], dict[str, Any]]) -> Path:
    folder = tmp_path / "data"
    (folder / "wide" / "dev").mkdir(parents=True)
    lines = "".join(json.dumps(pool_record(n)) + "\n" for n in range(3))
    (folder / "wide" / "dev" / "films.jsonl").write_text(lines, encoding="utf-8")
    (folder / "hotpotqa").mkdir()
    records = [hotpotqa_record(n) for n in range(4)]
    for one in records[1::2]:
        one["context"] = [[f"{title} II", texts] for title, texts in one["context"]]
        one["supporting_facts"] = [[f"{title} II", place] for title, place in one["supporting_facts"]]
    (folder / "hotpotqa" / "dev.json").write_text(json.dumps(records), encoding="utf-8")
    return folder


def test_breadth_writes_its_tables(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("matplotlib")
    for name in [name for name in METHODS if "support" in name]:
        monkeypatch.delitem(METHODS, name)  # type: ignore[arg-type]
    with Workers(1) as workers:
        bench = Bench(data=data, out=tmp_path / "out", limits=Limits.quick(), workers=workers)
        sets, summary = reproduce("breadth", bench)
    assert [row[:2] for row in sets.rows] == [["films", "plain"], ["films", "formula"], ["films", "learned"]]
    assert [row[1] for row in summary.rows] == ["formula", "learned"]
    assert (bench.out / "breadth.md").read_text(encoding="utf-8") == summary.to_markdown()
    picture = (bench.out / "breadth-reliability-bm25-learned.svg").read_text(encoding="utf-8")
    assert picture.startswith("<?xml")
    assert "ECE" in picture or "<svg" in picture


def test_what_counts_as_worse_and_as_single() -> None:
    plain = {"first": 0.5, "mrr": 0.6, "recall": 0.7}
    figures: dict[str, Any] = {
        "plain": plain,
        "chosen": dict(plain),
        "kinds": {"single": 3, "unanswerable": 2},
    }
    assert worse_than_plain(figures) == []
    figures["chosen"] |= {"mrr": 0.596, "recall": 0.69}
    assert worse_than_plain(figures) == ["recall@5"]
    assert worse_than_plain({"kinds": {}}) == []
    assert single_fact(figures)
    assert not single_fact({"kinds": {"single": 3, "multi": 1}})
    assert not single_fact({"kinds": {"unanswerable": 1}})


def test_missing_data_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    bench = Bench(data=tmp_path, out=tmp_path / "o", say=said.append)
    for name in ("breadth", "documents"):
        with pytest.raises(FormatError, match="--data"):
            reproduce(name, bench)
    only = {name: room.EXPERIMENTS[name] for name in ("breadth", "documents")}
    monkeypatch.setattr(room, "EXPERIMENTS", only)
    assert reproduce("all", bench) == []
    assert len(said) == 2
    assert "left out" in said[0]
