"""The pool as arrays: which sentence says what, names whom, and stands where.

Everything after this works on numbers. Nodes are sentences: one per unit in sentence and paragraph mode,
the sentences inside each unit in document mode.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pagerag.promotion.names import Names, stated_by
from pagerag.promotion.sentence_arrays import MAX_NODES, Documents, Rows, Sentences, Words, narrow
from pagerag.promotion.whole_units import whole_units
from pagerag.promotion.word_vectors import near_words
from pagerag.text.analysis import Analysis
from pagerag.text.codes import question_codes
from pagerag.text.questions import Question
from pagerag.units import Candidate, Relation

__all__ = ["MAX_NODES", "Reading", "read_pool"]

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class Reading:
    """A question and its pool, read. Arrays run over nodes (n), entities (E) or question tokens (Q)."""

    question: Question
    candidates: tuple[Candidate, ...]
    unit: Ints  # n: index of the candidate
    sentence: Ints  # n: index of the sentence in the candidate
    spans: tuple[tuple[int, int], ...]  # n: offsets into the candidate's text
    document: Ints  # n: index of the document
    place: Ints  # n: place in the document
    opens: Bools  # n: the sentence is the first of its document
    closes: Bools  # n: ... the last of its unit
    tokens: tuple[tuple[str, ...], ...]  # n: Tok(s)
    size: Floats  # n: |set(Tok(s))|
    relations: Ints  # n: relation cues as bits
    flags: Ints  # n: see Analysis.flags
    query_count: Floats  # n x Q: the sentence or its title (1), or both (2), have the question token
    query_has: Floats  # n x Q: whether either has it
    query_own: Bools  # n x Q: the sentence itself, without its title, has the token
    query_stem: Bools  # n x Q: the sentence or its title has a word with the token's stem
    idf: Floats  # Q: idf of each question token over the nodes
    idf_total: float  # its sum, never 0
    entities: Names  # E: who the entities are that two sentences, a title or the question share
    explicit: Floats  # n x E: the sentence names the entity itself
    entity: Floats  # n x E: explicit, or the entity is the title of the sentence's document
    named: Floats  # n: how many entities the sentence names, those that nothing else names included
    own: Ints  # n: the entity that is the document's title, or -1
    asked: Bools  # E: the question names the entity
    asked_places: NDArray[np.intp]  # which those are
    is_title: Bools  # E: the entity is the title of a document in the pool
    title_share: Floats  # n: share of the title's words that the question has
    stated: tuple[
        tuple[int, int, Relation, tuple[int, ...]], ...
    ]  # head, tail, relation, nodes that state it
    overlap: Floats  # n x n: |Tok(s_i) ∩ Tok(s_j)|
    taking_part: Ints  # u: the candidates that take part
    whole: Floats  # u x measures of the whole unit, see whole_units.WHOLE
    near: Floats  # u x measures of words like the question's, see word_vectors.NEAR
    held: Bools  # u x Q: the unit or its title has the question token
    title_held: Bools  # u x Q: its title has it
    relations_left_out: int = 0  # given with the pool, but beyond what is read

    def __len__(self) -> int:
        return len(self.unit)

    def singles(self) -> Iterator[tuple[int, str, str]]:
        """Return (node, key, display name) of the entities that a single sentence names."""
        return self.entities.singles()

    @property
    def names(self) -> tuple[str, ...]:
        """E: display name of each entity."""
        return self.entities.columns[1]

    @property
    def keys(self) -> tuple[str, ...]:
        """E: key of each entity."""
        return self.entities.columns[0]


def read_pool(
    asked: Question,
    candidates: tuple[Candidate, ...],
    analyses: Sequence[Analysis],
    units: Sequence[int],
    relations: Sequence[Relation] = (),
    prior: Floats | None = None,
) -> Reading:
    """Read the pool for a question.

    ``units`` are the places of the candidates that take part, ``analyses`` theirs. ``prior`` (one value per
    candidate) helps to choose when there are too many sentences.
    """
    documents = Documents(candidates, units)
    sentences = Sentences(analyses, documents, question_codes(asked.tokens))
    keep = narrow(sentences, analyses, documents, None if prior is None else prior.take(units))
    rows = Rows(candidates, analyses, units, sentences, keep)
    words = Words(rows, sentences, documents)
    tokens = tuple(dict.fromkeys(asked.tokens))
    whole, held, title_held = whole_units(sentences, tokens, len(units))
    stated = stated_by(candidates, relations)
    given = len(relations) + sum([len(unit.relations) for unit in candidates if unit.relations])
    named = Names(rows, documents, candidates, asked, stated)
    return Reading(
        question=asked,
        candidates=candidates,
        unit=rows.unit,
        sentence=rows.sentence,
        spans=rows.spans,
        document=rows.document,
        place=rows.place,
        opens=rows.opens,
        closes=rows.closes,
        tokens=rows.tokens,
        size=words.size,
        relations=rows.relations,
        flags=rows.flags,
        query_count=words.count,
        query_has=words.has,
        query_own=rows.own,
        query_stem=words.stem,
        idf=words.idf,
        idf_total=max(float(words.idf.sum()), 1e-9),
        entities=named,
        explicit=named.explicit,
        entity=named.entity,
        named=named.named,
        own=named.own,
        asked=named.asked,
        asked_places=named.asked.nonzero()[0],
        is_title=named.is_title,
        title_share=words.title_share,
        stated=named.stated(),
        overlap=words.overlap,
        taking_part=np.array(units, dtype=np.int64),
        whole=whole,
        near=near_words(sentences, tokens, held),
        held=held,
        title_held=title_held,
        relations_left_out=given - len(stated),
    )
