"""Questions with their own pools: reading, scoring by hand-computed values, the command."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from pagerag.cli import main
from pagerag.errors import FormatError, InputError
from pagerag.units import Candidate
from pagerag_lab.datasets.pool_sets import read_pool_sets
from pagerag_lab.metrics.alternatives import best_f1, best_recall, reciprocal_rank
from pagerag_lab.metrics.calibration import calibration_error, reliability_bins
from pagerag_lab.rivals.selection import Selection
from pagerag_lab.runs.engine import execute
from pagerag_lab.runs.hostile_pools import HostilePoolsTask, near_copies
from pagerag_lab.runs.pool_sets import PoolSetsTask, PoolSetsWorker, summarise

TEXTS = [
    "The harbour of Bergen is old.",
    "Ada Brandt was born in Bergen.",
    "Paul Reyes was born in Valdivia.",
    "Tromso lies north of the Arctic Circle.",
    "Southlight is a comedy.",
    "Northlight was directed by Ada Brandt.",
]


def record(number: int, **changes: Any) -> dict[str, Any]:
    return {
        "id": f"q{number}",
        "question": f"Where was Ada Brandt born ({number})?",
        "candidates": [{"id": f"c{n}", "title": None, "text": text} for n, text in enumerate(TEXTS)],
        "gold": [["c1"], ["c1", "c5"]],
        "kind": "single",
        "unit": "sentence",
        "domain": "films",
    } | changes


def write(file: Path, records: list[dict[str, Any]]) -> Path:
    text = "".join(json.dumps(one) + "\n" for one in records)
    if file.suffix == ".gz":
        file.write_bytes(gzip.compress(text.encode()))
    else:
        file.write_text(text, encoding="utf-8")
    return file


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "sets"
    place.mkdir()
    nothing = [record(n, gold=[], kind="unanswerable", question=f"Who is Zed ({n})?") for n in (5, 6)]
    write(place / "facts.jsonl.gz", [*(record(n) for n in range(5)), *nothing])
    write(place / "pairs.jsonl", [record(n, gold=[["c1", "c5"]], kind="multi") for n in range(4)])
    return place


def test_a_folder_is_read_set_by_set_and_limits_count_per_set(folder: Path) -> None:
    questions = list(read_pool_sets(folder))
    assert [one.set for one in questions] == ["facts"] * 7 + ["pairs"] * 4
    assert {one.id for one in questions if one.set == "facts"} == {f"q{n}" for n in range(7)}
    assert questions == list(read_pool_sets(folder))
    few = list(read_pool_sets(folder, limit=2))
    assert few == [*questions[:2], *questions[7:9]]
    assert questions[-1].wanted == {"c1", "c5"}


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"question": " "}, "question"),
        ({"kind": "many"}, "kind"),
        ({"unit": "chunk"}, "unit"),
        ({"candidates": []}, "candidates"),
        ({"candidates": [{"id": "a", "text": 5}]}, r"candidates\[0\]\.text"),
        ({"candidates": [{"id": "a", "text": "b"}, {"id": "a", "text": "c"}]}, "candidates"),
        ({"candidates": [{"id": "a", "text": "b", "position": True}]}, "position"),
        ({"gold": [[]]}, r"gold\[0\]"),
        ({"gold": None}, "gold"),
    ],
)
def test_bad_records_are_named(tmp_path: Path, changes: dict[str, Any], field: str) -> None:
    file = write(tmp_path / "bad.jsonl", [record(0), record(1, **changes)])
    with pytest.raises(FormatError, match=f"line 2, field '{field}'|line 2.*{field}"):
        list(read_pool_sets(file))


def test_an_id_that_is_there_twice_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="twice"):
        list(read_pool_sets(write(tmp_path / "twice.jsonl", [record(1), record(1)])))
    (tmp_path / "none").mkdir()
    with pytest.raises(FormatError, match=r"no \.jsonl"):
        list(read_pool_sets(tmp_path / "none"))


def test_measures_take_the_alternative_that_fits_best() -> None:
    gold = [frozenset("a"), frozenset("abc")]
    assert best_f1(["a"], gold) == 1.0
    assert best_f1(["a", "b"], gold) == pytest.approx(0.8)  # 2·2 / (2 + 3), against a alone 2/3
    assert best_f1([], gold) == 0.0
    assert best_recall(["b", "c"], gold) == pytest.approx(2 / 3)
    assert reciprocal_rank(["x", "c"], gold) == 0.5
    assert reciprocal_rank(["x"], gold) == 0.0


def test_calibration_error_by_hand() -> None:
    bins = reliability_bins([0.05, 0.05, 0.95, 1.0], [0, 1, 1, 1])
    assert [(one.count, one.share) for one in bins] == [(2, 0.5), (2, 1.0)]
    assert calibration_error(bins) == pytest.approx((2 * 0.45 + 2 * 0.025) / 4)
    with pytest.raises(InputError, match=r"\[0, 1\]"):
        reliability_bins([1.5], [1])


class Fixed:
    """A selector that always keeps the same units."""

    name = "fixed"

    def select(self, pool: Any, k: int, mode: str) -> Selection:
        ids = [unit.id for unit in pool.candidates]
        scores = tuple(1.0 if one == "c5" else 0.5 if one == "c1" else 0.0 for one in ids)
        chosen = tuple(one for one in ("c5", "c1") if one in ids)
        whole = "c1" in ids
        return Selection(
            chosen[:1], chosen, "enough" if whole else "insufficient", 0.9 if whole else 0.2, None, scores
        )


def test_figures_by_hand(folder: Path) -> None:
    task = PoolSetsTask(str(folder), retriever="given", strategy="plain", pool=4, k=2)
    worker = PoolSetsWorker(task)
    worker.selector = Fixed()
    rows = worker.rows(list(task.items()))
    found = summarise(rows)["sets"]["facts"]
    # c1 is second of the four that the cut leaves; c5 is cut off, so it is neither chosen nor plain.
    assert found["plain"] == {"first": 0.0, "mrr": 0.5, "recall": 1.0, "full": 1.0}
    assert found["chosen"] == {"first": 1.0, "mrr": 1.0, "recall": 1.0, "full": 1.0}
    assert found["plain_f1"] == pytest.approx({"1": 0.0, "2": 2 / 3, "5": 0.4})
    assert found["core_f1"] == 1.0
    assert found["core_minus_best_plain"] == pytest.approx(1 / 3)
    assert found["core_size"] == {"all": 1.0, "single": 1.0, "multi": None}
    assert found["auroc_removed"] == 1.0
    assert found["states"]["removed"] == {"enough": 0.0, "ambiguous": 0.0, "insufficient": 1.0}
    pairs = summarise(rows)["sets"]["pairs"]
    assert pairs["reach"] == 0.5
    assert pairs["chosen"]["recall"] == 0.5
    assert pairs["chosen"]["full"] == 0.0


def test_the_command_prints_a_row_per_set(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["evaluate", "--dataset", "pools", "--data", str(folder), "--retriever", "bm25", "--workers", "1"]
    assert main([*words, "--out", str(tmp_path / "o")]) == 0
    shown = capsys.readouterr().out
    assert "| facts | plain | 7 |" in shown
    assert "| pairs | default | 4 |" in shown
    assert "Sets worse than plain" in shown
    assert " of 2 | " in shown.split("Summed up over the sets")[1]
    result = json.loads((tmp_path / "o" / "result.json").read_text(encoding="utf-8"))
    assert "sufficiency" in (tmp_path / "o" / "reliability.svg").read_text(encoding="utf-8")
    assert result["sets"]["facts"]["chosen"]["recall"] == 1.0
    assert 0 <= result["calibration"]["scores"]["error"] <= 1
    assert len((tmp_path / "o" / "predictions.jsonl").read_text().splitlines()) == 11
    assert main([*words, "--mode", "document", "--out", str(tmp_path / "p")]) != 0
    assert "--mode says nothing" in capsys.readouterr().err


def test_one_failure_is_a_row(folder: Path, tmp_path: Path) -> None:
    write(folder / "facts.jsonl.gz", [record(0), record(1, candidates=[{"id": "c1", "text": "  "}])])
    result = execute(PoolSetsTask(str(folder), retriever="bm25"), tmp_path / "o", workers=1)
    assert result["errors"] == 1
    assert result["sets"]["facts"]["chosen"]["recall"] == 0.5


def test_near_copies_differ_from_the_original_and_from_each_other() -> None:
    unit = Candidate("a", "Bergen, a city, lies on the coast of Norway.", title="Bergen", source="a")
    copies = near_copies(unit)
    assert len({unit.text, *(copy.text for copy in copies)}) == 5
    assert len({unit.id, *(copy.id for copy in copies)}) == 5
    assert all(abs(len(copy.text) - len(unit.text)) <= 5 for copy in copies)


def test_hostile_pools(tmp_path: Path, hotpotqa_record: Any) -> None:
    records = [hotpotqa_record(n) for n in range(4)]
    for number, one in enumerate(records):
        if number % 2:
            one["context"] = [[f"{title} II", texts] for title, texts in one["context"]]
            one["supporting_facts"] = [[f"{title} II", place] for title, place in one["supporting_facts"]]
    file = tmp_path / "h.json"
    file.write_text(json.dumps(records), encoding="utf-8")
    task = HostilePoolsTask(str(file), strategy="formula", questions=4)
    for asked, other in task.items():
        assert {one.key for one in asked.documents}.isdisjoint(one.key for one in other.documents)
    result = execute(task, tmp_path / "o", workers=1)
    assert result["own"]["sentence"]["n"] == 4
    assert result["copies"]["full_recall"]["none"] == 1.0
    assert set(result["copies"]["lost"]) == {"other documents", "same document"}
