"""Real documents end to end: a small corpus is indexed by the product, asked and judged by the command."""

from __future__ import annotations

import io
import json
import tarfile
from pathlib import Path
from typing import Any

import pytest

from pagerag.cli import main
from pagerag_lab.reproduce.documents import document_tables
from pagerag_lab.reproduce.figures import risk_coverage
from pagerag_lab.runs.documents import ASK, POOLS, index_corpora, summarise

FILES = {
    "handbook/leave.md": "# Leave\n\nParents may take up to sixteen weeks of paid leave after a birth.\n\n"
    "## Illness\n\nA doctor's note is needed from the fourth day of an illness.\n",
    "handbook/travel.md": "# Travel\n\nTrips are booked by Odile Marchand in the Lyon office.\n",
    "minutes/2024-03.md": "# Minutes\n\nThe Lyon office moves to Rue Garibaldi in June.\n",
    "recipes/bread.md": "# Bread\n\nLet the dough rest for two hours at room temperature.\n",
}
QUESTIONS = [
    {
        "id": "q1",
        "question": "how many weeks of paid leave do parents get after a birth?",
        "type": "single",
        "answer": ["sixteen"],
        "answer_re": "sixteen|16",
        "facts": [{"file": "handbook/leave.md", "quote": "sixteen weeks of paid leave"}],
    },
    {
        "id": "q2",
        "question": "where does the office of the person who books trips move?",
        "type": "two",
        "answer": ["Rue Garibaldi"],
        "answer_re": "Garibaldi",
        "facts": [
            {"file": "handbook/travel.md", "quote": "booked by Odile Marchand in the Lyon office"},
            {"file": "minutes/2024-03.md", "quote": "moves to Rue Garibaldi"},
        ],
    },
    {"id": "q3", "question": "who pays for the bread?", "type": "unanswerable", "answer_re": "", "facts": []},
]


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    folder = tmp_path / "data" / "firm"
    folder.mkdir(parents=True)
    with tarfile.open(folder / "files.tar.xz", "w:xz") as tar:
        for name, text in FILES.items():
            info = tarfile.TarInfo(name)
            info.size = len(text.encode())
            tar.addfile(info, io.BytesIO(text.encode()))
    lines = "".join(json.dumps(one) + "\n" for one in QUESTIONS)
    (folder / "questions.jsonl").write_text(lines, encoding="utf-8")
    return folder


def test_documents_by_command(corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["evaluate", "--dataset", "documents", "--data", str(corpus.parent), "--reader", "evidence"]
    words += ["--support", "none", "--workers", "1", "--out", str(tmp_path / "o")]
    assert main(words) == 0
    shown = capsys.readouterr()
    assert "indexing firm" in shown.err
    assert "| plain BM25 | 1 |" in shown.out
    result = json.loads((tmp_path / "o" / "result.json").read_text(encoding="utf-8"))
    assert result["n"] == 3
    assert result["errors"] == 0
    single = result["all"]["kinds"]["single"]
    assert single["full"]["plain BM25"] == 1
    assert single["full"][ASK] == 1
    assert single["right"] == 1
    assert all(result["all"]["kinds"]["two"]["full"][label] in (0, 1) for label in POOLS)
    assert "follow-up → promotion with support" not in single["full"]
    rows = [json.loads(line) for line in (tmp_path / "o" / "predictions.jsonl").read_text().splitlines()]
    assert {one["source"] for one in rows[0]["context"]} <= set(FILES)
    # The second time the index is there.
    assert index_corpora(corpus.parent, say=pytest.fail).is_dir()


def row(kind: str, right: bool, silent: bool, state: str, full: bool, **changes: Any) -> dict[str, Any]:
    stages = {"plain BM25": [full], "plain hybrid": [False], ASK: [full]}
    return {
        "corpus": "c",
        "kind": kind,
        "right": right,
        "abstained": silent,
        "state": state,
        "facts": [full] if kind != "unanswerable" else [],
        "stages": stages if kind != "unanswerable" else {label: [] for label in stages},
        "error": None,
    } | changes


def test_counts_by_hand() -> None:
    rows = [
        row("single", True, False, "enough", True),
        row("single", False, False, "enough", False),
        row("two", False, True, "insufficient", False),
        row("unanswerable", False, False, "enough", False),
        row("unanswerable", False, True, "insufficient", False),
        row("single", True, False, "ambiguous", True, corpus="d"),
    ]
    found = summarise(rows)
    every = found["all"]
    assert (every["right"], every["wrong"], every["precision"]) == (2, 1, pytest.approx(2 / 3))
    assert every["made_up"] == 1
    assert (every["incomplete"], every["incomplete_called_enough"]) == (2, 1)
    assert every["complete_called_enough"] == 1
    assert every["kinds"]["single"]["full"] == {"plain BM25": 2, "plain hybrid": 0, ASK: 2}
    assert every["kinds"]["unanswerable"]["full"] == {"plain BM25": 0, "plain hybrid": 0, ASK: 0}
    assert found["corpora"]["d"]["right"] == 1
    evidence, against, answers = document_tables(found | {"config": {"k": 5, "reader": "evidence"}})
    assert evidence.rows[0][:4] == ["plain BM25", 2, 0, 2]
    assert against.rows[0][:3] == [ASK, "0 of 3", "+0"]
    assert answers.rows[0][:7] == ["all", 4, "2 / 0", "1 / 0", "0 / 1", 0, "0.67"]


def test_an_answer_in_part_is_neither_right_nor_wrong() -> None:
    part = row("two", False, True, "ambiguous", False) | {"in_part": True}
    guess = row("unanswerable", False, True, "ambiguous", False) | {"in_part": True}
    every = summarise([part, guess, row("two", True, False, "enough", True)])["all"]
    assert (every["right"], every["wrong"], every["in_part"]) == (1, 0, 1)
    assert (every["made_up"], every["made_up_in_part"]) == (0, 1)


def test_risk_falls_with_coverage_by_hand() -> None:
    asked = {"config": {"k": 5, "reader": "extractive"}}
    rows = [
        row("single", True, False, "enough", True, confidence=0.75),
        row("single", True, False, "enough", True, confidence=0.71),
        row("two", False, False, "ambiguous", False, confidence=0.55),
        row("unanswerable", False, False, "enough", False, confidence=0.62),
        row("unanswerable", False, True, "insufficient", False, confidence=0.99),
    ]
    found = summarise(rows)
    told = [(one["cut"], one["answered"], one["right"], one["made_up"]) for one in found["all"]["risk"]]
    assert told == [(0.0, 4, 2, 1), (0.6, 3, 2, 1), (0.65, 2, 2, 0), (0.72, 1, 1, 0)]
    assert found["all"]["risk"][1]["coverage"] == pytest.approx(3 / 5)
    assert found["all"]["risk"][1]["precision"] == pytest.approx(2 / 3)
    risk = document_tables(found | asked)[-1]
    assert risk.rows[0] == ["as set up", "4 of 5", "0.80", 2, "0.50", 1]
    del rows[0]["confidence"]
    found = summarise(rows)
    assert found["all"]["risk"] == []
    assert len(document_tables(found | asked)) == 3


def test_the_curve_of_risk_is_drawn(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    risk_coverage(tmp_path / "f" / "risk.png", {"all": [(0.8, 0.5), (0.4, 1.0)], "c": []}, "t")
    assert (tmp_path / "f" / "risk.png").read_bytes().startswith(b"\x89PNG")
