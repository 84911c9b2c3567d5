"""Self-RAG's critique, re-implemented from its description: every passage judged on its own by a chat model.

Score = w_rel * relevance + w_sup * support + w_use * utility. Relevance is of the passage, utility of
a draft answer from it, support is whether the passage states the draft: as probabilities of one-word
verdicts where the model gives log-probabilities, as a number it writes otherwise. Asai et al., ICLR 2024.
Ours: any chat model in place of the one trained to emit reflection tokens.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from pagerag.protocols import Retriever
from pagerag.units import Candidate, Pool
from pagerag_lab.compact._base import CompactSystem, shown
from pagerag_lab.compact.chat import Chat, Reply, all_replies, user

__all__ = ["SelfRAG"]

_NUMBER = re.compile(r"\d+(?:\.\d+)?")
RELEVANCE = {"Relevant": 1.0, "Irrelevant": 0.0}
SUPPORT = {"Fully": 1.0, "Partially": 0.5, "No": 0.0}
UTILITY = {"1": -1.0, "2": -0.5, "3": 0.0, "4": 0.5, "5": 1.0}


class SelfRAG(CompactSystem):
    """``weights`` are those of relevance, support and utility; a weight of 0 saves the call."""

    label = "SelfRAG"

    def __init__(
        self,
        retriever: Retriever,
        chat: Chat,
        *,
        weights: tuple[float, float, float] = (1.0, 1.0, 0.5),
        words: int = 350,
        workers: int = 8,
    ) -> None:
        super().__init__(retriever)
        self.chat, self.weights, self.words, self.workers = chat, weights, words, workers

    def _retrieve(self, question: str, k: int) -> Pool:
        first = self.retriever.retrieve(question, k)
        judged = all_replies(
            lambda unit: self._critique(question, unit), first.candidates, self.workers, self.chat
        )
        order = sorted(range(len(judged)), key=lambda i: -judged[i][0])
        units = [replace(first.candidates[i], score=judged[i][0]) for i in order]
        drafts = {first.candidates[i].id: draft for i, (_, draft) in enumerate(judged)}
        return self._pool(question, units, k, first, drafts=drafts)

    def _critique(self, question: str, unit: Candidate) -> tuple[float, str]:
        passage = f"Passage: {shown(unit, self.words)}\n\nQuestion: {question}"
        relevance, support, utility = self.weights
        total = 0.0
        if relevance:
            asked = f"{passage}\n\nDoes the passage give information that helps to answer the question?"
            total += relevance * self._verdict(asked, RELEVANCE)
        draft = self.chat.complete(
            user(f"{passage}\n\nAnswer with a few words, from the passage alone."),
            max_tokens=24,
            stop=("\n",),
        ).text.strip()
        drafted = f"{passage}\nAnswer: {draft}"
        if support:
            asked = f"{drafted}\n\nDoes the passage state this answer: fully, partially, or not at all?"
            total += support * self._verdict(asked, SUPPORT)
        if utility:
            asked = (
                f"{drafted}\n\nHow useful is this answer to the question, from 1 (useless) to 5 (perfect)?"
            )
            total += utility * self._verdict(asked, UTILITY)
        return total, draft

    def _verdict(self, asked: str, labels: Mapping[str, float]) -> float:
        words = " or ".join(labels)
        reply = self.chat.complete(
            user(f"{asked} Reply with one word: {words}."), max_tokens=4, logprobs=True
        )
        weighed = expected(reply, labels)
        if weighed is not None:
            return weighed
        said = next((value for label, value in labels.items() if _starts(reply.text, label)), None)
        if said is not None and len(labels) == len(UTILITY):
            return said  # the number is written out: it is its own scale
        low, high = min(labels.values()), max(labels.values())
        asked = f"{asked} Reply with one number from 0 (no) to 10 (yes)."
        number = _NUMBER.search(self.chat.complete(user(asked), max_tokens=6).text)
        if number is None:
            return said if said is not None else (low + high) / 2
        return low + (high - low) * min(float(number[0]), 10.0) / 10.0


def expected(reply: Reply, labels: Mapping[str, float]) -> float | None:
    """Return the labels' mean value under the probabilities of the first token that tells them apart."""
    for token in reply.tokens:
        mass = dict.fromkeys(labels, 0.0)
        for text, logprob in token.items():
            word = text.strip().strip('"*').lower()
            for label in labels:
                # A label may be cut into tokens: its beginning stands for it, unless another shares it.
                if word and label.lower().startswith(word) and _alone(word, label, labels):
                    mass[label] += math.exp(logprob)
        total = sum(mass.values())
        if total > 0:
            return sum(labels[label] * p for label, p in mass.items()) / total
    return None


def _alone(word: str, label: str, labels: Sequence[str] | Mapping[str, float]) -> bool:
    return not any(other != label and other.lower().startswith(word) for other in labels)


def _starts(text: str, label: str) -> bool:
    return text.strip().strip('"*').lower().startswith(label.lower())
