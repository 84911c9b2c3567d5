"""Small benchmark files in the official formats, written for these tests."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

FILMS = [
    (
        "Northlight (film)",
        ["Northlight is a 1998 drama film directed by Ada Brandt.", "It was shot in Tromso."],
    ),
    ("Ada Brandt", ["Ada Brandt is a Norwegian film director.", "She was born in Bergen in 1951.", " "]),
    ("Bergen", ["Bergen is a city on the west coast of Norway.", "It is known for its harbour."]),
    ("Southlight", ["Southlight is a 2004 comedy film directed by Paul Reyes."]),
    ("Paul Reyes", ["Paul Reyes is a Chilean director.", "He was born in Valdivia in 1949."]),
    ("Tromso", ["Tromso is a city north of the Arctic Circle."]),
]


def _hotpotqa(number: int) -> dict[str, Any]:
    """One record; odd numbers are comparison questions."""
    if number % 2:
        return {
            "_id": f"q{number}",
            "question": f"Who was born first, Ada Brandt or Paul Reyes ({number})?",
            "answer": "Paul Reyes",
            "supporting_facts": [["Ada Brandt", 1], ["Paul Reyes", 1]],
            "context": [[title, list(sentences)] for title, sentences in FILMS],
            "type": "comparison",
            "level": "hard",
        }
    return {
        "_id": f"q{number}",
        "question": f"In which city was the director of Northlight born ({number})?",
        "answer": "Bergen",
        "supporting_facts": [["Northlight (film)", 0], ["Ada Brandt", 1]],
        "context": [[title, list(sentences)] for title, sentences in FILMS],
        "type": "bridge",
        "level": "hard",
    }


def _musique(number: int) -> dict[str, Any]:
    """A two-hop question over paragraphs."""
    return {
        "id": f"2hop__{number}_{number + 1}",
        "paragraphs": [
            {
                "idx": place,
                "title": title,
                "paragraph_text": " ".join(sentences),
                "is_supporting": title in ("Northlight (film)", "Ada Brandt"),
            }
            for place, (title, sentences) in enumerate(FILMS)
        ],
        "question": f"Where was the director of Northlight born ({number})?",
        "question_decomposition": [{"id": 1, "question": "a"}, {"id": 2, "question": "b"}],
        "answer": "Bergen",
        "answer_aliases": ["city of Bergen"],
        "answerable": True,
    }


@pytest.fixture
def hotpotqa_record() -> Callable[[int], dict[str, Any]]:
    """Makes a HotpotQA record of a number."""
    return _hotpotqa


@pytest.fixture
def musique_record() -> Callable[[int], dict[str, Any]]:
    """Makes a MuSiQue record of a number."""
    return _musique


@pytest.fixture
def hotpotqa_file(tmp_path: Path) -> Path:
    """Twelve questions as a JSON array."""
    file = tmp_path / "hotpotqa.json"
    file.write_text(json.dumps([_hotpotqa(n) for n in range(12)]), encoding="utf-8")
    return file


@pytest.fixture
def musique_file(tmp_path: Path) -> Path:
    """Five questions as JSON Lines."""
    file = tmp_path / "musique.jsonl"
    file.write_text("".join(json.dumps(_musique(n)) + "\n" for n in range(5)), encoding="utf-8")
    return file


@pytest.fixture(autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Embeddings and answers of these tests stay out of the user's cache."""
    monkeypatch.setenv("PAGERAG_CACHE", str(tmp_path_factory.getbasetemp() / "pagerag-cache"))
