"""Failures of a run over pools, drawn and told."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pagerag_lab.report.failures import failures, main, reasons


def row(number: int, core: str = "a", **changes: Any) -> dict[str, Any]:
    right = {"core_f1": float(core == "a")}
    told = {"set": "facts", "id": f"q{number}", "error": None, "core": [core], "context": [core, "b"]}
    return {**told, "state": "enough", "sufficiency": 0.8, "metrics": right, **changes}


def test_reasons() -> None:
    assert reasons(row(0)) == []
    assert reasons(row(0, core="b")) == ["core F1 0.00"]
    assert reasons(row(0, state="insufficient")) == ["insufficient, though gold is there"]
    assert reasons(row(0, removed={"state": "enough"})) == ["enough without the gold"]
    unanswerable = {name: value for name, value in row(0).items() if name != "metrics"}
    assert reasons(unanswerable) == ["enough, though nothing answers"]
    assert reasons({**unanswerable, "state": "ambiguous"}) == []
    assert reasons(row(0, error={"type": "X", "message": "y"})) == ["error"]


def test_the_same_are_drawn_again() -> None:
    rows = [row(number, core="b" if number % 2 else "a") for number in range(40)]
    size, wrong, chosen = failures(iter(rows), 5)["facts"]
    assert (size, wrong, len(chosen)) == (40, 20, 5)
    assert failures(iter(rows), 5)["facts"][2] == chosen != failures(iter(rows), 5, seed=1)["facts"][2]
    assert sorted(one["id"] for one in failures(iter(rows[:4]), 5)["facts"][2]) == ["q1", "q3"]


def test_they_are_told_with_their_texts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    question = {
        "id": "q0",
        "question": "Where was Ada born?",
        "candidates": [
            {"id": "a", "title": None, "text": "Ada was born\nin Oslo."},
            {"id": "b", "title": "Bo", "text": "Bo was born in Rome."},
        ],
        "gold": [["a"], ["z"]],
        "kind": "single",
        "unit": "sentence",
    }
    (tmp_path / "facts.jsonl").write_text(json.dumps(question) + "\n", encoding="utf-8")
    lines = json.dumps(row(0, core="b", context=["b", "a"])) + "\n"
    (tmp_path / "predictions.jsonl").write_text(lines, encoding="utf-8")
    main([str(tmp_path), "--data", str(tmp_path / "facts.jsonl")])
    shown = capsys.readouterr().out
    assert "## facts: 1 of 1 questions fail" in shown
    assert "1. single: Where was Ada born?" in shown
    assert "core: b: [Bo] Bo was born in Rome." in shown
    assert "gold 1, context: a: Ada was born in Oslo." in shown
    assert "gold 2, missed: z: not among the candidates" in shown
