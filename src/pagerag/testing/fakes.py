"""Small components that keep the contracts and need no model: for tests of what is built around them."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from pagerag.errors import InputError
from pagerag.read.base import AtOnceReader
from pagerag.text import split_sentences, tokenize
from pagerag.units import Answer, Candidate, Citation, Pool, State


class FakeEncoder:
    """Words hashed to directions: texts that share words are near each other. Deterministic everywhere."""

    def __init__(self, dimension: int = 64, name: str = "fake-hashing") -> None:
        if dimension < 1:
            raise InputError(f"dimension is {dimension}; it must be 1 or more")
        self.name, self.dimension = name, dimension

    def encode_queries(self, texts: Sequence[str], /) -> NDArray[np.float32]:
        """Return one unit-length row for each text."""
        rows = np.zeros((len(texts), self.dimension), dtype=np.float32)
        for row, text in zip(rows, texts, strict=True):
            for token in tokenize(text):
                number = zlib.crc32(token.encode("utf-8", "surrogatepass"))
                row[number % self.dimension] += 1 if number & 0x80000000 else -1
            length = float(np.linalg.norm(row))
            if length:
                row /= length
            else:  # no token, or all of them cancelled: some direction, always the same
                row[0] = 1
        return rows

    encode_passages = encode_queries


class FakeRetriever:
    """The units of a list that share most words with the question, best first.

    A mapping from questions to units gives exactly those. ``questions`` records what was asked.
    """

    def __init__(
        self,
        units: Sequence[Candidate | str] | Mapping[str, Sequence[Candidate | str]],
        *,
        name: str = "fake-retriever",
        scores: bool = True,
    ) -> None:
        self.name = name
        self.questions: list[str] = []
        self._scores = scores
        self._scripted = {q: _candidates(u) for q, u in units.items()} if isinstance(units, Mapping) else None
        self._units = () if isinstance(units, Mapping) else _candidates(units)
        self._words = [set(tokenize(f"{unit.title or ''} {unit.text}")) for unit in self._units]

    def retrieve(self, question: str, k: int = 20) -> Pool:
        """Return a pool of at most ``k``; for a question that no script knows, an empty one."""
        if k < 1:
            raise InputError(f"k is {k}; it must be 1 or more")
        self.questions.append(question)
        if self._scripted is not None:
            return Pool(question, self._scripted.get(question, ())[:k], origin=self.name)
        asked = set(tokenize(question))
        shared = [len(asked & words) / (len(asked) or 1) for words in self._words]
        order = sorted(range(len(shared)), key=lambda n: (-shared[n], n))[:k]
        units = (replace(self._units[n], score=shared[n] if self._scores else None) for n in order)
        return Pool(question, tuple(units), origin=self.name)


class FakeBackend(FakeRetriever):
    """The same behind the method of a backend."""

    def pool(self, question: str, k: int = 20) -> Pool:
        """Return a pool of at most ``k``."""
        return self.retrieve(question, k)


class FakeReader(AtOnceReader):
    """Answers with what it is told to, or with the first sentence it sees, and cites that unit.

    ``answers`` is a text, a mapping from questions to texts, or a function of the question and the context.
    ``calls`` records (question, context, state): what really reached the reader.
    """

    def __init__(
        self,
        answers: str | Mapping[str, str] | Callable[[str, Sequence[Candidate]], str] | None = None,
        *,
        name: str = "fake-reader",
    ) -> None:
        self.name = name
        self.calls: list[tuple[str, tuple[Candidate, ...], State]] = []
        self._answers = answers

    def read(self, question: str, context: Sequence[Candidate], *, state: State = "enough") -> Answer:
        """Return the answer; abstain without context or answer, and when evidence is insufficient."""
        given = tuple(context)
        self.calls.append((question, given, state))
        text = "" if state == "insufficient" or not given else self._text(question, given)
        if not text.strip():
            return Answer("", abstained=True, reader=self.name)
        for number, unit in enumerate(given, 1):
            start = unit.text.find(text)
            if start >= 0:
                cited = Citation(number, unit.id, start, start + len(text), text)
                return Answer(text, (cited,), confidence=1.0, reader=self.name)
        return Answer(text, (Citation(1, given[0].id),), confidence=0.5, reader=self.name)

    def _text(self, question: str, context: tuple[Candidate, ...]) -> str:
        match self._answers:
            case None:
                spans = split_sentences(context[0].text)
                return context[0].text[slice(*spans[0])] if spans else context[0].text
            case str(text):
                return text
            case Mapping() as texts:
                return str(texts.get(question, ""))
            case function:
                return function(question, context)


class FakeSupportEncoder:
    """The share of the question's words that a unit has, as the one signal."""

    def __init__(self, name: str = "fake-support") -> None:
        self.name = name
        self.signals = ("overlap",)

    def support(self, question: str, units: Sequence[Candidate], /) -> NDArray[np.float32]:
        """Return one row for each unit."""
        asked = set(tokenize(question))
        rows = [[len(asked & set(tokenize(unit.text))) / (len(asked) or 1)] for unit in units]
        return np.array(rows, dtype=np.float32).reshape(len(units), 1)


def _candidates(units: Sequence[Candidate | str]) -> tuple[Candidate, ...]:
    return tuple(Candidate(f"u{n}", unit) if isinstance(unit, str) else unit for n, unit in enumerate(units))
