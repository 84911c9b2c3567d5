"""The verdict in plain words, and what is missing when the evidence is not enough."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from pagerag.promotion import Promotion
from pagerag.units import Answer

__all__ = ["Verdict", "covered_words", "missing", "verdict"]

_KINDS = {
    "date": "a date",
    "number": "a number",
    "person": "a person's name",
    "place": "a place",
}


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a person should take from a result.

    ``tone`` is good, unsure or bad and never contradicts ``label``.
    """

    tone: str
    label: str
    words: str
    missing: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-able copy."""
        return {"tone": self.tone, "label": self.label, "words": self.words, "missing": list(self.missing)}


def verdict(promotion: Promotion, answer: Answer | None = None) -> Verdict:
    """Return the verdict on the evidence, together with what the reader made of it."""
    lacking = missing(promotion)
    state, count = promotion.state, len(promotion.core)
    these = "1 passage" if count == 1 else f"{count} passages"
    silent = answer is not None and not answer.text
    if state == "enough" and not silent:
        return Verdict("good", "enough evidence", f"{these} together support an answer.", ())
    if state == "enough":
        return Verdict(
            "unsure",
            "no answer found",
            f"{these} seem to hold what is asked for, but the reader found no answer in them. "
            "Read them yourself.",
            lacking,
        )
    if state == "ambiguous":
        end = " and the reader gave no answer" if silent else ""
        return Verdict(
            "unsure",
            "may be enough",
            f"{these} cover a part of the question; what joins them is weak{end}.",
            lacking,
        )
    words = "Nothing in the pool supports an answer. What is shown are the nearest passages."
    if answer is not None and not silent:
        words = "The pool does not support an answer. The answer shown is a guess from the nearest passages."
    return Verdict("bad", "not enough evidence", words, lacking)


def missing(promotion: Promotion) -> tuple[str, ...]:
    """Return what the core lacks of the question: names, words, a link, an answer of the kind asked for."""
    evidence = promotion.evidence
    reading, asked = evidence.reading, evidence.reading.question
    inner = {place: i for i, place in enumerate(promotion.order)}
    nodes = evidence.nodes_of({inner[place] for place in promotion.core_places})
    found: list[str] = []
    known = {reading.keys[t] for t in reading.asked_places.tolist()}
    absent = [name for key, name in zip(asked.entities, asked.surfaces, strict=True) if key not in known]
    if absent:
        found.append(f"No candidate names {_listed(absent)}.")
    if nodes:
        inside = np.logical_or.reduce(reading.entity[nodes] > 0, axis=0)
        unnamed = [reading.names[t] for t in reading.asked_places.tolist() if not inside[t]]
        if unnamed:
            found.append(f"No selected passage names {_listed(unnamed)}.")
    covered = covered_words(promotion, nodes)
    said = {word for name in [*asked.surfaces] for word in name.lower().split()}
    words = [word for word in dict.fromkeys(asked.tokens) if word not in covered and word not in said]
    if words:
        found.append(f"Nothing selected says {_listed([f'“{word}”' for word in words])}.")
    if nodes and not bool(np.asarray(evidence.answer_kind)[nodes].any()):
        kind = _KINDS.get(asked.answer, "a name that could be the answer")
        found.append(f"Nothing selected holds {kind}, which the question asks for.")
    joined = len(promotion.core) < 2 or bool(np.isfinite(evidence.links.score[np.ix_(nodes, nodes)]).any())
    if not joined and asked.form == "bridge":
        found.append("No link joins the selected passages to one another.")
    return tuple(found)


def covered_words(promotion: Promotion, nodes: list[int]) -> set[str]:
    """Return the question's words that these sentences have, inflected forms included."""
    reading = promotion.evidence.reading
    tokens = list(dict.fromkeys(reading.question.tokens))
    if not nodes:
        return set()
    has = np.logical_or.reduce(reading.query_stem[nodes], axis=0).tolist()
    return {token for token, there in zip(tokens, has, strict=True) if there}


def _listed(names: list[str]) -> str:
    shown = names[:4]
    more = f" and {len(names) - 4} more" if len(names) > 4 else ""
    if len(shown) > 1 and not more:
        return f"{', '.join(shown[:-1])} or {shown[-1]}"
    return ", ".join(shown) + more
