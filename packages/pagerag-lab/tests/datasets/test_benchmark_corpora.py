"""Contexts of a file as one corpus: paragraphs that share a title are told apart by their text."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pagerag_lab.benchmarks import corpora


def test_musique_gold_is_the_very_paragraph(
    tmp_path: Path, musique_record: Callable[[int], dict[str, Any]]
) -> None:
    records = [musique_record(n) for n in range(3)]
    # The same number and title, another text: a passage of its own, and gold of this question alone.
    records[1]["paragraphs"][1]["paragraph_text"] = "Ada Brandt, the painter, lives in Oslo."
    for paragraph in records[2]["paragraphs"]:
        paragraph["is_supporting"] = False
    folder = tmp_path / "musique"
    folder.mkdir()
    lines = "".join(json.dumps(one) + "\n" for one in records)
    (folder / "dev.jsonl").write_text(lines, encoding="utf-8")
    found = corpora.read("musique-dev", tmp_path)
    assert len(found.units) == 7
    first, second = found.questions
    assert first.kind == "2 hops"
    texts = {unit.id: unit.text for unit in found.units}
    assert {texts[one] for one in second.gold - first.gold} == {"Ada Brandt, the painter, lives in Oslo."}
    assert len(first.gold) == len(second.gold) == 2


def test_musique_with_the_wider_train_questions(
    tmp_path: Path, musique_record: Callable[[int], dict[str, Any]]
) -> None:
    one = musique_record(0)
    (tmp_path / "musique").mkdir()
    (tmp_path / "musique" / "train.jsonl").write_text(json.dumps(one) + "\n", encoding="utf-8")
    known = one["paragraphs"][0]
    pool = {
        "id": "w1",
        "question": "Who painted the bridge of Oslo?",
        "candidates": [
            {"id": "g0", "title": known["title"], "text": known["paragraph_text"]},
            {"id": "g1", "title": "Oslo", "text": "A bridge of Oslo was painted by Bo Carlsen."},
        ],
        "gold": [["g0", "g1"]],
        "kind": "multi",
        "unit": "paragraph",
    }
    folder = tmp_path / "wide" / "train"
    folder.mkdir(parents=True)
    with gzip.open(folder / "musique_gold.jsonl.gz", "wt", encoding="utf-8") as stream:
        stream.write(json.dumps(pool) + "\n")
    found = corpora.read("musique-wide-train", tmp_path)
    assert len(found.units) == len(one["paragraphs"]) + 1, "a paragraph of both files is one passage"
    first, second = found.questions
    assert second.kind == "2 hops"
    assert second.context[0] in first.context
    texts = {unit.id: unit.text for unit in found.units}
    assert {texts[name] for name in second.gold} == {known["paragraph_text"], pool["candidates"][1]["text"]}
