"""Everything that a strategy may judge by: the reading, the links, the signals, the paths."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from pagerag.promotion import score
from pagerag.promotion.graph import Links, build_links
from pagerag.promotion.paths import Paths, expand_paths
from pagerag.promotion.reading import Reading
from pagerag.promotion.signals import Signals
from pagerag.promotion.weights import Weights
from pagerag.units import Mode

__all__ = ["Evidence"]

_PLACED = re.compile(r"\b(?:in|at|near|from|of) (?=[^\W\d_a-z])")

Floats = NDArray[np.float32]


class Evidence:
    """A question's pool, read and linked, with relevance and seeds; paths are expanded when asked for."""

    def __init__(self, reading: Reading, signals: Signals, weights: Weights, mode: Mode) -> None:
        self.reading = reading
        self.signals = signals
        self.weights = weights
        self.mode = mode
        self.paragraph = mode == "paragraph"
        self.links: Links = build_links(reading, weights, paragraph=self.paragraph)

    def nodes_of(self, units: Iterable[int]) -> list[int]:
        """Return the sentences of these candidates, in order."""
        inside = set(units)
        return [node for node, unit in enumerate(self.reading.unit.tolist()) if unit in inside]

    @cached_property
    def segments(self) -> NDArray[np.int64]:
        """Where each unit's sentences start: they stand in the order of their units."""
        unit = self.reading.unit
        opens = np.ones(len(unit), dtype=bool)
        np.not_equal(unit[1:], unit[:-1], out=opens[1:])
        return opens.nonzero()[0]

    @cached_property
    def present(self) -> NDArray[np.int64]:
        """The candidates that are judged, in order: each sentence's, or in document mode each once."""
        unit = self.reading.unit
        return unit.take(self.segments) if self.mode == "document" else unit

    @cached_property
    def members(self) -> list[int]:
        """Where each of ``present`` stands among the candidates that take part."""
        place = {unit: row for row, unit in enumerate(self.reading.taking_part.tolist())}
        return [place[unit] for unit in self.present.tolist()]

    @cached_property
    def idf(self) -> Floats:
        """Each question token's share of their idf."""
        return self.reading.idf / self.reading.idf_total

    @cached_property
    def fresh(self) -> NDArray[np.bool_]:
        """Which links across documents have a trigger that the question does not name."""
        return self.links.cross & (self.links.unasked > 0.5)

    @cached_property
    def lex(self) -> Floats:
        """Lex(q, s), the title read as part of each of its sentences."""
        tokens = self.reading.question.tokens
        shared = self.reading.query_has
        if shared.shape[1] < len(tokens):  # a word that the question has twice counts up to twice
            wanted = np.array([tokens.count(token) for token in dict.fromkeys(tokens)], dtype=np.float32)
            shared = np.minimum(self.reading.query_count, wanted)
        return score.lexical_coverage(np.add.reduce(shared, axis=1), len(tokens))

    @cached_property
    def asked_entities(self) -> Floats:
        """How many question entities each sentence has, its title's included."""
        return np.add.reduce(self.reading.entity.take(self.reading.asked_places, axis=1), axis=1)

    @cached_property
    def literal(self) -> Floats:
        """n_lit(q, s): question entities named in the sentence itself."""
        return np.add.reduce(self.reading.explicit.take(self.reading.asked_places, axis=1), axis=1)

    @cached_property
    def cues(self) -> Floats:
        """Relation cues that the sentence shares with the question."""
        return np.asarray(np.add.reduce(self.signalled, axis=1))

    @cached_property
    def signalled(self) -> Floats:
        """Which of the question's relations each sentence signals: n x R."""
        asked = self.reading.question.relations
        bits = np.array([1 << bit for bit in range(asked.bit_length()) if asked >> bit & 1], dtype=np.int64)
        return (self.reading.relations[:, None] & bits > 0).astype(np.float32)

    @cached_property
    def other_cues(self) -> Floats:
        """Relation cues of the sentence that the question does not ask for (director, not composer)."""
        return _bits(self.reading.relations & ~self.reading.question.relations)

    @cached_property
    def steps(self) -> NDArray[np.bool_]:
        """Whether the sentence signals each of two relations of the question: 2 x n.

        The first is said of the question's names, the second is asked for in the end.
        """
        asked = self.reading.question
        return np.asarray((self.reading.relations & np.array([[asked.near], [asked.target]])) > 0)

    @cached_property
    def slot(self) -> NDArray[np.bool_]:
        """Whether the sentence signals the relation asked for in the end beside an answer of its kind."""
        reading, last = self.reading, self.steps[1]
        kind = reading.question.answer
        if kind == "place":
            found = np.zeros(len(reading), dtype=bool)
            for node in np.flatnonzero(last).tolist():
                start, end = reading.spans[node]
                text = reading.candidates[reading.unit[node]].text
                found[node] = _PLACED.search(text, start, end) is not None
            return found
        return np.asarray(last & self.answer_kind)

    @cached_property
    def titled(self) -> NDArray[np.bool_]:
        """Whether the question names the sentence's document."""
        own = self.reading.own
        return np.asarray((own >= 0) & self.reading.asked[own])

    @cached_property
    def lead(self) -> NDArray[np.bool_]:
        """Whether the sentence opens its document."""
        return np.asarray(self.reading.opens & (self.reading.own >= 0))

    @cached_property
    def answer_kind(self) -> NDArray[np.bool_]:
        """Whether the sentence holds something of the kind asked for that the question does not name.

        Of a comparison, something of the kind that is weighed (a whole document has a date anyway, and is not
        asked).
        """
        reading = self.reading
        asked = reading.question
        kind = (asked.weighed if self.mode != "document" else "") or asked.answer
        if kind == "yes-no":
            return np.ones(len(reading), dtype=bool)
        if kind in {"date", "number"}:
            return np.asarray((reading.flags & (2 if kind == "date" else 4)) > 0)
        return np.asarray(reading.named > self.literal)

    @cached_property
    def relevance(self) -> Floats:
        """sent_rel(q, s)."""
        unit = self.reading.unit
        overlap = score.entity_overlap(self.asked_entities, len(self.reading.asked_places))
        signals = self.signals
        similarity = signals.similarity[unit] if signals.similarity is not None else None
        support = signals.support[unit, 0] if signals.support is not None else None
        return score.sentence_relevance(
            self.lex, overlap, self.weights, signals.retrieved.take(unit), similarity, support
        )

    @cached_property
    def seeds(self) -> Floats:
        """seed(q, s)."""
        return score.seed_score(
            self.relevance, self.cues, self.literal, self.weights, self.titled, self.lead, self.answer_kind
        )

    @cached_property
    def paths(self) -> Paths:
        """Ranked support paths; a sentence counts in them with its seed score."""
        return expand_paths(
            self.reading,
            self.links,
            self.seeds,
            self.seeds,
            self.signalled,
            self.weights,
            paragraph=self.paragraph,
        )

    @cached_property
    def isolated(self) -> NDArray[np.bool_]:
        """Sentences that share no word with the question or with any other sentence of the pool."""
        reading = self.reading
        shared = np.add.reduce(reading.overlap, axis=1)  # its own words included
        return np.asarray((shared <= reading.size) & ~np.logical_or.reduce(reading.query_own, axis=1))


def _bits(values: NDArray[np.int64]) -> Floats:
    return np.array([value.bit_count() for value in values.tolist()], dtype=np.float32)
