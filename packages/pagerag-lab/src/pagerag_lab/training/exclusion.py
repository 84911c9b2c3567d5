"""What overlaps dev files is left out of training.

A row goes when its question is asked in a dev file (``wide/dev``, ``documents/dev``, the benchmarks' own),
whatever its spelling. MuSiQue is composed from SQuAD, Natural Questions and other single-hop sets, so a row
of those may be a step of a MuSiQue dev question: a row goes as well when its question is such a step, or when
its passage shares a long run of words with a MuSiQue dev paragraph.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from pagerag_lab.training.examples import Example, plain, read_json, read_lines

__all__ = ["Exclusion"]

RUN = 12
"""Words in a row that make two passages the same text."""


def words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


def runs(text: str) -> set[int]:
    """Hashes of every run of RUN words; a shorter text is one run."""
    found = words(text)
    if len(found) <= RUN:
        return {hash(tuple(found))} if len(found) >= 6 else set()
    return {hash(tuple(found[i : i + RUN])) for i in range(len(found) - RUN + 1)}


class Exclusion:
    """Questions of dev files and passages of MuSiQue dev, which no training row may touch."""

    def __init__(self, data: Path) -> None:
        self.questions: set[str] = set()
        self.passages: set[int] = set()
        self._known: dict[str, bool] = {}
        for row in read_lines(data / "musique/dev.jsonl"):
            for text in (row["question"], *(s["question"] for s in row["question_decomposition"])):
                self.questions.add(plain(text))
            for paragraph in row["paragraphs"]:
                self.passages |= runs(paragraph["paragraph_text"])
        for name in ("hotpotqa", "2wikimultihopqa"):
            self.questions |= {plain(row["question"]) for row in read_json(data / name / "dev.json")}
        self.questions |= {
            plain(row["question"]) for row in read_lines(data / "2wikimultihopqa/open_dev.jsonl")
        }
        files = [*(data / "wide/dev").glob("*.jsonl.gz"), *(data / "documents/dev").glob("*/questions.jsonl")]
        for path in files:
            rows = read_lines(path.with_suffix("") if path.suffix == ".gz" else path)
            self.questions |= {plain(row["question"]) for row in rows}
        self.dropped: dict[str, list[str]] = {}

    def touches(self, example: Example) -> str:
        """Say why the row must go, or nothing. Labelled rows go by their gold units, others by every unit."""
        if plain(example.question) in self.questions:
            return "question"
        own = [unit.text for unit in example.units if unit.support or not example.labelled]
        return "passage" if runs(" ".join(own)) & self.passages else ""

    def known(self, text: str) -> bool:
        """Tell whether a text shares a run of words with a MuSiQue dev paragraph."""
        if text not in self._known:
            self._known[text] = bool(runs(text) & self.passages)
        return self._known[text]

    def keep(self, examples: Iterable[Example]) -> list[Example]:
        """Return the rows that touch nothing, without distractors that do; ``dropped`` counts what goes."""
        kept = []
        for example in examples:
            reason = self.touches(example)
            if reason:
                self.dropped.setdefault(f"{example.source}: {reason}", []).append(example.id)
                continue
            units = tuple(u for u in example.units if u.support or not self.known(u.text))
            if len(units) < len(example.units):
                self.dropped.setdefault(f"{example.source}: distractors of", []).append(example.id)
            kept.append(replace(example, units=units))
        return kept
