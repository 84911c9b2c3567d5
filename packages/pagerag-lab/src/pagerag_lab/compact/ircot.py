"""IRCoT, re-implemented from its description: retrieval interleaved with a chain of thought.

Each thought is the next query, and what it finds joins a pool that only grows. The loop ends when a thought
says "the answer is", says nothing, or after ``steps`` thoughts. Trivedi et al., ACL 2023.
Ours: a chat model instead of a few-shot completion model, and units keep the score they were found with (the
original drops it), so that the first k units are the best of all steps and not those of the first query.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from pagerag.protocols import Retriever
from pagerag.text import split_sentences
from pagerag.units import Candidate, Pool
from pagerag_lab.compact._base import CompactSystem, shown
from pagerag_lab.compact.chat import Chat, user

__all__ = ["IRCoT"]

_SYSTEM = (
    "You find the answer to a question step by step, using the passages. Reply with one sentence only: the "
    "next fact that is needed and that the passages state, with its full names. When the facts so far settle "
    'the question, reply instead with one sentence that begins with "So the answer is:".'
)
_ANSWER = re.compile(r"\banswer is:?\s*(?P<answer>.+?)\.?\s*$", re.IGNORECASE)
_REASONING = re.compile(r"^(thus|so|therefore|hence|that is|in conclusion)\b[, ]", re.IGNORECASE)
_ARITHMETIC = re.compile(r"\d\s{0,9}[-+*/]\s{0,9}\d[^=\n]{0,200}=")
_ASKING = re.compile(r"\b(who|what|when|where|why|which|how|does|is)\b", re.IGNORECASE)


class IRCoT(CompactSystem):
    """``order`` is "score" (best score of any step first) or "found" (as found, the original's order)."""

    label = "IRCoT"

    def __init__(
        self,
        retriever: Retriever,
        chat: Chat,
        *,
        per_step: int = 6,
        steps: int = 6,
        shown_units: int = 15,
        words: int = 350,
        order: str = "score",
    ) -> None:
        super().__init__(retriever)
        self.chat = chat
        self.per_step, self.steps, self.shown_units, self.words = per_step, steps, shown_units, words
        self.order = order

    def _retrieve(self, question: str, k: int) -> Pool:
        first = self.retriever.retrieve(_query(question, []), max(k, self.per_step))
        found: dict[str, Candidate] = {}
        thoughts: list[str] = []
        _join(found, first.candidates[: self.per_step], k)
        while len(thoughts) < self.steps:
            thought = self._thought(question, list(found.values()), thoughts)
            if not thought:
                break
            thoughts.append(thought)
            if _ANSWER.search(thought):
                break
            step = self.retriever.retrieve(_query(question, thoughts), self.per_step)
            _join(found, step.candidates, k)
        units = list(found.values())
        if self.order == "score" and all(unit.score is not None for unit in units):
            units.sort(key=lambda unit: -(unit.score or 0.0))
        elif self.order == "found":
            # Scores of different queries stand in no order here: the place is all there is to know.
            units = [replace(unit, score=None) for unit in units]
        # A loop that ends early leaves room in the pool: the tail of the first query goes there.
        tail = [replace(u, score=None) for u in first.candidates if u.id not in found]
        if tail:
            units = [*units, *tail]
        answer = _ANSWER.search(thoughts[-1]) if thoughts else None
        return self._pool(
            question,
            units,
            k,
            first,
            thoughts=tuple(thoughts),
            answer=answer["answer"] if answer else None,
            found=len(found),
        )

    def _thought(self, question: str, units: Sequence[Candidate], thoughts: Sequence[str]) -> str:
        passages = "\n\n".join(shown(unit, self.words) for unit in units[: self.shown_units])
        so_far = " ".join(thoughts) or "(none yet)"
        asked = f"Passages:\n\n{passages}\n\nQuestion: {question}\nFacts so far: {so_far}\nNext sentence:"
        text = self.chat.complete(user(asked, _SYSTEM), max_tokens=64, stop=("\n",)).text.strip()
        spans = split_sentences(text)
        return text[spans[0][0] : spans[0][1]].strip() if spans else ""


def _query(question: str, thoughts: Sequence[str]) -> str:
    """Return the last thought that states a fact, or the question; without the words that only ask."""
    facts = [t for t in thoughts if not _REASONING.match(t) and not _ARITHMETIC.search(t)]
    query = " ".join(_ASKING.sub(" ", facts[-1] if facts else question).split())
    return query or question


def _join(found: dict[str, Candidate], units: Sequence[Candidate], most: int) -> None:
    for unit in units:
        known = found.get(unit.id)
        if known is None and len(found) < most:
            found[unit.id] = unit
        elif known is not None and (unit.score or 0.0) > (known.score or 0.0):
            found[unit.id] = replace(known, score=unit.score)
