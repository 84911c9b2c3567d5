"""A stranger's folder of seven formats: indexed, and asked what it holds and what it does not."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from pagerag.cli import main

pytestmark = pytest.mark.integration
pytest.importorskip("pagerag_reader", reason="what is answered depends on the larger reader")
OFFICE = Path(__file__).parents[1] / "docs/office"


@pytest.fixture(scope="module")
def office(tmp_path_factory):
    """The folder beside its store."""
    folder = tmp_path_factory.mktemp("stranger")
    shutil.copytree(OFFICE, folder / "office")
    assert main(["index", str(folder / "office"), "--store", str(folder / "store")]) == 0
    return folder


@pytest.fixture
def ask(office, capsys):
    def asked(question: str) -> tuple[int, dict]:
        capsys.readouterr()
        code = main(["ask", question, "--store", str(office / "store"), "--reader", "extractive", "--json"])
        return code, json.loads(capsys.readouterr().out)

    return asked


@pytest.mark.parametrize(
    ("question", "answer", "place", "section"),
    [
        ("How long before parental leave do I have to tell the people office?", "ten weeks", "leave.md", "Parental"),
        ("What may a hotel cost?", "140 euros", "travel.rst", "Expenses"),
        ("Until when is the kiln that celadon needs out of order?", "20 March", "2026-03-02.txt", None),
    ],
)  # fmt: skip
def test_what_the_folder_holds_is_answered_and_opens_where_it_stands(
    ask, office, question: str, answer: str, place: str, section: str | None
):
    _, told = ask(question)
    assert answer in told["answer"]["text"]
    cited = told["citations"][0]
    file = Path(cited["path"])
    assert file.is_relative_to(office)
    assert file.name == place
    lines = file.read_text(encoding="utf-8").splitlines()
    assert answer.split()[0] in " ".join(lines[cited["line"] - 1 : cited["line"] + 1])
    assert section is None or any(section in part for part in cited["section"])


@pytest.mark.parametrize(
    "question",
    ["How many euros does the new extractor hood cost?", "Who is the treasurer of the workshop?"],
)
def test_what_it_does_not_hold_is_not_made_up(ask, question: str):
    code, told = ask(question)
    assert code == 4
    assert told["answer"]["text"] == ""
    assert told["citations"] == []
