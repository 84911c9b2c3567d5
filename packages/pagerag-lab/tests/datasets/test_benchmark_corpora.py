"""Contexts of a file as one corpus: paragraphs that share a title are told apart by their text."""

from __future__ import annotations

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
