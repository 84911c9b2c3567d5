"""The ceiling fits and judges the sets' own questions, each by models that had not seen it."""

from __future__ import annotations

import json
from pathlib import Path

from pagerag_lab.datasets.pool_sets import read_pool_sets
from pagerag_lab.tune.ceiling import ceiling, rows_of

CITIES = "Aarhus Bergen Cork Delft Evora Fulda Ghent Huelva Izmir Jena Kiel Lund".split()


def questions(folder: Path) -> Path:
    """Write a set whose evidence stands in two sentences."""
    path = folder / "cities.jsonl"
    with path.open("w", encoding="utf-8") as file:
        for number, city in enumerate(CITIES):
            units = [
                f"The harbour of {other} was dug in {1700 + place}." for place, other in enumerate(CITIES)
            ]
            units += [
                f"In {1700 + number} workers dug the harbour at {city}.",
                "A sentence about something else.",
            ]
            row = {
                "id": city, "question": f"When was the harbour of {city} dug?",
                "candidates": [{"id": str(i), "title": None, "text": text} for i, text in enumerate(units)],
                "gold": [[str(number), str(len(CITIES))]], "kind": "multi", "unit": "sentence",
            }  # fmt: skip
            file.write(json.dumps(row) + "\n")
    return path


def test_a_pool_comes_as_it_is_and_without_its_evidence(tmp_path: Path) -> None:
    items = list(read_pool_sets(questions(tmp_path)))
    rows = {row["id"]: row for row in rows_of(items)}
    for item in items:
        whole, without = (rows[f"cities:{item.id}~{name}"] for name in ("bm25", "removed"))
        assert set(whole["gold"]) == item.wanted
        assert (whole["total"], whole["complete"]) == (2, True)
        assert not {unit["id"] for unit in without["candidates"]} & item.wanted
        assert (without["gold"], without["complete"]) == ([], False)


def test_figures_are_those_of_the_sets(tmp_path: Path) -> None:
    figures = ceiling(questions(tmp_path), "sentence")
    assert figures["cities"]["n"] == len(CITIES)
    assert figures["cities"]["first"][0] > 50.0  # BM25 finds the harbour by its name
    assert 0.0 <= figures["sufficiency"]["cities"]["removed"] <= 1.0
