"""Questions that nearly have an answer: one name or number of a question is changed to another of its pool.

What people ask in vain looks like what they ask with success: "how much cache does Travis use" where the
documents tell it of Jenkins. The evidence of the first question is there, and must not be taken for the
second's.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

from pagerag_lab.training.examples import Example

__all__ = ["swapped"]

SOURCES = {"documents": "documents", "nq_pool": "reading", "xquad_pool": "reading"}
_NAME = re.compile(r"(?<=[a-z0-9,;:)] )[A-Z][A-Za-z0-9]{2,}(?:[ -][A-Z][A-Za-z0-9]+)?|\b\w*[a-z]_\w+\b")
_NUMBER = re.compile(r"(?<![\w.])\d+(?:[.,]\d+)*(?![\w])")
_MONTH = re.compile(
    r"\b(?:january|february|march|april|june|july|august|september|october|november|december)\b",
    re.IGNORECASE,
)


def swapped(examples: Iterable[Example], seed: int) -> Iterator[Example]:
    """Yield a question for each that has an answer and something in it that can be changed, once."""
    seen: set[tuple[str, str]] = set()
    for example in examples:
        key = example.base, example.question.lower()
        if example.source not in SOURCES or example.kind == "none" or not example.complete or key in seen:
            continue
        seen.add(key)
        question = _changed(example, random.Random(f"{seed}/{example.id}"))
        if question is not None:
            yield replace(
                example,
                id=f"{example.id}~swapped",
                source=f"{SOURCES[example.source]}_swapped",
                question=question,
                units=tuple(replace(unit, support=False, bearing=0) for unit in example.units),
                answers=(),
                kind="none",
                complete=False,
                spots=(),
            )


def _changed(example: Example, rng: random.Random) -> str | None:
    """Return the question with one name, number or month changed to one that its evidence does not have."""
    gold = " ".join(f"{unit.title} {unit.text}" for unit in example.units if unit.support)
    rest = " ".join(f"{unit.title}. {unit.text}" for unit in example.units if not unit.support)
    asked, known = example.question.lower(), gold.lower()
    changes: list[tuple[str, list[str]]] = []
    for pattern in (_NAME, _NUMBER, _MONTH):
        # what the question and its evidence share, as the evidence writes it, and what stands elsewhere
        shared = [found for found in dict.fromkeys(pattern.findall(gold)) if _word(found.lower(), asked)]
        others = [found for found in dict.fromkeys(pattern.findall(rest)) if found.lower() not in known]
        for one in shared:
            fitting = [o for o in others if _shape(o) == _shape(one) and not _word(o.lower(), asked)]
            if fitting:
                changes.append((one, fitting))
    if not changes:
        return None
    one, fitting = rng.choice(changes)
    other = rng.choice(fitting)
    lower = one not in example.question
    pattern = re.compile(rf"(?<!\w){re.escape(one)}(?!\w)", re.IGNORECASE)
    return pattern.sub(lambda _: other.lower() if lower else other, example.question, count=1)


def _word(word: str, text: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(word)}(?!\w)", text) is not None


def _shape(text: str) -> str:
    """Return what two texts share that may stand for each other: digits and stops, or the kind of word."""
    if text[0].isdigit():
        return re.sub(r"\d", "0", text)
    return "month" if _MONTH.fullmatch(text) else "code" if "_" in text else "name"
