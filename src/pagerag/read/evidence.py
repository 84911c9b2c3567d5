"""The reader that needs no model: it returns the sentences that support the answer."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence

from pagerag.text import split_sentences, tokenize
from pagerag.units import Answer, Candidate, Citation, State

__all__ = ["EvidenceReader"]


class EvidenceReader:
    """Quotes the best sentence of each unit, with its number.

    A unit of one sentence is quoted whole. From a longer unit comes the sentence that shares most with
    the question and with the other units, rare words counting more. With state ``insufficient`` it
    abstains and cites the nearest sentences. Deterministic; never calls a model.
    """

    name = "evidence"
    prefers = "core"

    def read(self, question: str, context: Sequence[Candidate], *, state: State = "enough") -> Answer:
        """The supporting sentences of ``context``."""
        spans = _best_sentences(question, context)
        citations = tuple(
            Citation(number, unit.id, start, end, unit.text[start:end])
            for number, (unit, (start, end)) in enumerate(zip(context, spans, strict=True), 1)
            if end > start
        )
        if state == "insufficient" or not citations:
            return Answer("", citations, abstained=True, reader=self.name)
        text = " ".join(f"{citation.quote} [{citation.number}]" for citation in citations)
        return Answer(text, citations, reader=self.name)

    async def aread(self, question: str, context: Sequence[Candidate], *, state: State = "enough") -> Answer:
        """The same; there is nothing to wait for."""
        return self.read(question, context, state=state)

    def stream(
        self, question: str, context: Sequence[Candidate], *, state: State = "enough"
    ) -> Iterator[str | Answer]:
        """The text in one piece, then the answer."""
        answer = self.read(question, context, state=state)
        if answer.text:
            yield answer.text
        yield answer


def _best_sentences(question: str, context: Sequence[Candidate]) -> list[tuple[int, int]]:
    split = [split_sentences(unit.text) or [(0, 0)] for unit in context]
    words = [
        [set(tokenize(unit.text[a:b])) for a, b in spans] for unit, spans in zip(context, split, strict=True)
    ]
    count = sum(map(len, words))
    seen_in = Counter(word for unit in words for sentence in unit for word in sentence)
    weight = {word: math.log((1 + count) / (1 + n)) + 1 for word, n in seen_in.items()}
    asked = set(tokenize(question))
    best = []
    for number, (spans, sentences) in enumerate(zip(split, words, strict=True)):
        others = set().union(*(s for i, unit in enumerate(words) if i != number for s in unit))
        titles = set(tokenize(context[number].title or ""))
        scores = [
            sum(weight[w] for w in s & asked) + 0.5 * sum(weight[w] for w in (s & others) - asked - titles)
            for s in sentences
        ]
        best.append(spans[max(range(len(spans)), key=lambda i: (scores[i], -i))])
    return best
