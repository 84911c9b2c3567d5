"""What overlaps MuSiQue dev is left out of training.

MuSiQue is composed from SQuAD, Natural Questions and other single-hop sets, so a row of those may be a
step of a dev question. A row goes when its question equals a dev question or a step of one, or when its
passage shares a long run of words with a dev paragraph.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from pagerag_lab.training.examples import Example, read_lines

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
    """Questions and passages of MuSiQue dev, and the test that a training row touches none of them."""

    def __init__(self, data: Path) -> None:
        self.questions: set[str] = set()
        self.passages: set[int] = set()
        for row in read_lines(data / "musique/dev.jsonl"):
            for text in (row["question"], *(s["question"] for s in row["question_decomposition"])):
                self.questions.add(" ".join(words(text)))
            for paragraph in row["paragraphs"]:
                self.passages |= runs(paragraph["paragraph_text"])
        self.dropped: dict[str, list[str]] = {}

    def touches(self, example: Example) -> str:
        """Why the row must go, or nothing. Labelled rows go by their gold units, others by every unit."""
        if " ".join(words(example.question)) in self.questions:
            return "question"
        own = [unit.text for unit in example.units if unit.support or not example.labelled]
        return "passage" if runs(" ".join(own)) & self.passages else ""

    def keep(self, examples: Iterable[Example]) -> list[Example]:
        """The rows that touch nothing, without the distractors that do; ``dropped`` counts what goes."""
        kept = []
        for example in examples:
            reason = self.touches(example)
            if reason:
                self.dropped.setdefault(f"{example.source}: {reason}", []).append(example.id)
                continue
            units = tuple(u for u in example.units if u.support or not runs(u.text) & self.passages)
            if len(units) < len(example.units):
                self.dropped.setdefault(f"{example.source}: distractors of", []).append(example.id)
            kept.append(replace(example, units=units))
        return kept
