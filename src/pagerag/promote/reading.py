"""The pool as arrays: which sentence says what, names whom, and stands where.

Everything after this works on numbers. Nodes are sentences: one per unit in sentence and paragraph mode,
the sentences inside each unit in document mode.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pagerag.text.analysis import Analysis
from pagerag.text.entities import name_key
from pagerag.text.gazetteer import Gazetteer, title_keys
from pagerag.text.questions import Question, read_question
from pagerag.text.tokens import tokenize
from pagerag.units import Candidate, Relation

__all__ = ["MAX_NODES", "Reading", "read_pool"]

MAX_NODES = 240
"""How many sentences take part in the graph. Larger pools are narrowed to the most relevant sentences and
those that the best of them name, so that the work is bounded whatever the pool."""

_CASELESS = 8

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
    tokens: tuple[tuple[str, ...], ...]  # n: Tok(s)
    size: Floats  # n: |set(Tok(s))|
    relations: Ints  # n: relation cues as bits
    flags: Ints  # n: see Analysis.flags
    query_count: Floats  # n x Q: how often the sentence (with its title) has each question token
    query_own: Bools  # n x Q: the sentence itself, without its title, has the token
    idf: Floats  # Q: idf of each question token over the nodes
    names: tuple[str, ...]  # E: display name
    keys: tuple[str, ...]  # E: key
    explicit: Floats  # n x E: the sentence names the entity itself
    entity: Floats  # n x E: explicit, or the entity is the title of the sentence's document
    own: Ints  # n: the entity that is the document's title, or -1
    asked: Bools  # E: the question names the entity
    is_title: Bools  # E: the entity is the title of a document in the pool
    title_share: Floats  # n: share of the title's words that the question has
    stated: tuple[tuple[int, int, Relation, tuple[int, ...]], ...]  # head, tail, relation, nodes that state it
    overlap: Floats  # n x n: |Tok(s_i) ∩ Tok(s_j)|

    def __len__(self) -> int:
        return len(self.unit)


def read_pool(
    question: str,
    candidates: Sequence[Candidate],
    analyses: Sequence[Analysis],
    relations: Sequence[Relation] = (),
    prior: Floats | None = None,
) -> Reading:
    """Read the pool for ``question``. ``prior`` (one value per candidate) breaks ties when a pool is too
    large for all of its sentences to take part."""
    rows = _Rows(candidates, analyses)
    asked = read_question(question)
    keep = _narrow(rows, asked, prior)
    if keep is not None:
        rows = rows.take(keep)
    count, own_count, idf = _query_counts(rows, asked.tokens)
    names = _Names(rows, candidates, asked, _stated_by(candidates, relations))
    explicit, entity, own = names.incidence(rows)
    return Reading(
        question=asked,
        candidates=tuple(candidates),
        unit=np.array(rows.unit, dtype=np.int64),
        sentence=np.array(rows.sentence, dtype=np.int64),
        spans=tuple(rows.spans),
        document=np.array(rows.document, dtype=np.int64),
        place=np.array(rows.place, dtype=np.int64),
        tokens=tuple(rows.tokens),
        size=np.array([len(set(row)) for row in rows.tokens], dtype=np.float32),
        relations=np.array(rows.relations, dtype=np.int64),
        flags=np.array(rows.flags, dtype=np.int64),
        query_count=count,
        query_own=own_count,
        idf=idf,
        names=tuple(names.display.values()),
        keys=tuple(names.display),
        explicit=explicit,
        entity=entity,
        own=own,
        asked=names.asked_mask(),
        is_title=names.title_mask(),
        title_share=_title_share(rows, asked.tokens),
        stated=names.stated(rows),
        overlap=_overlap(rows.tokens),
    )


class _Rows:
    """The nodes as parallel lists, while they are being gathered."""

    __slots__ = (
        "document", "entities", "flags", "place", "relations", "sentence", "spans", "surfaces", "title_names",
        "title_tokens", "titles", "tokens", "unit",
    )  # fmt: skip

    def __init__(self, candidates: Sequence[Candidate], analyses: Sequence[Analysis]) -> None:
        self.unit: list[int] = []
        self.sentence: list[int] = []
        self.spans: list[tuple[int, int]] = []
        self.document: list[int] = []
        self.place: list[int] = []
        self.tokens: list[tuple[str, ...]] = []
        self.entities: list[tuple[str, ...]] = []
        self.surfaces: list[tuple[str, ...]] = []
        self.relations: list[int] = []
        self.flags: list[int] = []
        documents: dict[str, int] = {}
        self.titles: list[tuple[str, str] | None] = []
        self.title_tokens: list[tuple[str, ...]] = []
        self.title_names: list[str] = []
        for index, (candidate, analysis) in enumerate(zip(candidates, analyses, strict=True)):
            document = documents.setdefault(candidate.document, len(documents))
            if document == len(self.titles):
                title = candidate.title
                self.titles.append(title_keys(title) if title else None)
                self.title_tokens.append(tuple(tokenize(title)) if title else ())
                self.title_names.append(title or "")
            size = len(analysis)
            first = candidate.position if candidate.position is not None else index
            self.unit += [index] * size
            self.sentence += range(size)
            self.spans += analysis.spans
            self.document += [document] * size
            # Sentences of one chunk follow each other; the next chunk of the same document comes after.
            self.place += [first] if analysis.whole else [first * 100_000 + i for i in range(size)]
            self.tokens += analysis.tokens
            self.entities += analysis.entities
            self.surfaces += analysis.surfaces
            self.relations += analysis.relations
            self.flags += analysis.flags

    def take(self, keep: list[int]) -> _Rows:
        """The same documents with only the nodes in ``keep``."""
        rows = object.__new__(_Rows)
        rows.titles, rows.title_tokens, rows.title_names = self.titles, self.title_tokens, self.title_names
        for name in _Rows.__slots__:
            if not name.startswith("title"):
                column = getattr(self, name)
                setattr(rows, name, [column[i] for i in keep])
        return rows


def _narrow(rows: _Rows, asked: Question, prior: Floats | None) -> list[int] | None:
    """The nodes that take part in a pool that is too large: the most relevant half, then what they name."""
    total = len(rows.unit)
    if total <= MAX_NODES:
        return None
    wanted = set(asked.tokens)
    titles = [len(wanted.intersection(tokens)) for tokens in rows.title_tokens]
    relevance = np.array(
        [
            len(wanted.intersection(row)) + titles[document]
            for row, document in zip(rows.tokens, rows.document, strict=True)
        ],
        dtype=np.float64,
    )
    if prior is not None:
        relevance += 2.0 * prior[np.array(rows.unit)]
    ranked = np.argsort(-relevance, kind="stable")
    keep = dict.fromkeys(int(i) for i in ranked[: MAX_NODES // 2])
    named = {key for i in list(keep)[: MAX_NODES // 6] for key in rows.entities[i]}
    for i in ranked[MAX_NODES // 2 :]:
        if len(keep) >= MAX_NODES:
            break
        title = rows.titles[rows.document[i]]
        if (title is not None and title[0] in named) or not named.isdisjoint(rows.entities[i]):
            keep[int(i)] = None
    for i in ranked[MAX_NODES // 2 :]:
        if len(keep) >= MAX_NODES:
            break
        keep[int(i)] = None
    return sorted(keep)


def _query_counts(rows: _Rows, tokens: tuple[str, ...]) -> tuple[Floats, Bools, Floats]:
    """How often each node has each question token: with its title, without it; and the tokens' idf."""
    index = {token: i for i, token in enumerate(dict.fromkeys(tokens))}
    nodes, columns = [], []
    for node, row in enumerate(rows.tokens):
        for token in row:
            column = index.get(token)
            if column is not None:
                nodes.append(node)
                columns.append(column)
    shape = (len(rows.tokens), len(index))
    count = np.zeros(shape, dtype=np.float32)
    np.add.at(count, (nodes, columns), 1.0)
    own = count > 0
    titled = np.zeros((max(len(rows.title_tokens), 1), len(index)), dtype=np.float32)
    for document, title in enumerate(rows.title_tokens):
        for token in title:
            column = index.get(token)
            if column is not None:
                titled[document, column] += 1.0
    count += titled[rows.document]
    seen = (count > 0).sum(axis=0)
    idf = np.log((1.0 + shape[0]) / (1.0 + seen)) + 1.0
    return count, own, idf.astype(np.float32)


def _title_share(rows: _Rows, tokens: tuple[str, ...]) -> Floats:
    wanted = set(tokens)
    share = [
        sum(token in wanted for token in title) / len(title) if title else 0.0 for title in rows.title_tokens
    ]
    return np.array([share[document] for document in rows.document], dtype=np.float32)


def _overlap(tokens: Sequence[tuple[str, ...]]) -> Floats:
    """|Tok(s_i) ∩ Tok(s_j)| for all pairs. Words of a single sentence cannot be shared: they get no column."""
    first: dict[str, int] = {}
    column: dict[str, int] = {}
    nodes: list[int] = []
    columns: list[int] = []
    for node, row in enumerate(tokens):
        for token in set(row):
            earlier = first.setdefault(token, node)
            if earlier != node:
                place = column.get(token)
                if place is None:
                    place = column[token] = len(column)
                    nodes.append(earlier)
                    columns.append(place)
                nodes.append(node)
                columns.append(place)
    incidence = np.zeros((len(tokens), max(len(column), 1)), dtype=np.float32)
    incidence[nodes, columns] = 1.0
    return incidence @ incidence.T


class _Names:
    """The entities of the pool, resolved within it."""

    def __init__(
        self,
        rows: _Rows,
        candidates: Sequence[Candidate],
        asked: Question,
        relations: Sequence[tuple[Relation, tuple[int, ...]]],
    ) -> None:
        titles = [title[0] for title in rows.titles if title is not None and title[0]]
        mentions = dict.fromkeys(key for row in rows.entities for key in row)
        self.gazetteer = Gazetteer(titles, [*mentions, *asked.entities])
        self.display: dict[str, str] = {}
        self.index: dict[str, int] = {}
        self.titles = set(titles)
        resolve = self.gazetteer.resolve
        titles_in = self.gazetteer.titles_in
        rare = _rare_words(rows)
        given = _given_names(rows, candidates, relations)
        self.relations = relations
        self.named: list[dict[int, None]] = []
        for document, title in enumerate(rows.titles):
            if title is not None and title[0]:
                self._add(title[0], rows.title_names[document])
        for node, (keys, surfaces) in enumerate(zip(rows.entities, rows.surfaces, strict=True)):
            ids: dict[int, None] = {}
            for key, surface in zip(keys, surfaces, strict=True):
                ids[self._add(resolve(key, surface), surface)] = None
            for title_key in titles_in(rows.tokens[node]):
                ids[self._add(title_key, title_key)] = None
            if rare and rows.flags[node] & _CASELESS:
                for token in rows.tokens[node]:
                    if token in rare:
                        ids[self._add(token, token)] = None
            for surface in given.get(node, ()):
                key = name_key(surface)
                if key:
                    ids[self._add(resolve(key, surface), surface)] = None
            self.named.append(ids)
        self.asked = self._asked(asked)

    def _add(self, key: str, surface: str) -> int:
        index = self.index.get(key)
        if index is None:
            index = self.index[key] = len(self.index)
            self.display[key] = surface
        return index

    def _asked(self, asked: Question) -> set[int]:
        """The pool's entities that the question names: its own names, and pool names found in its words."""
        found: set[int] = set()
        for key, surface in zip(asked.entities, asked.surfaces, strict=True):
            index = self.index.get(self.gazetteer.resolve(key, surface))
            if index is not None:
                found.add(index)
        tokens = asked.tokens
        caseless = asked.text == asked.text.lower()
        for start in range(len(tokens)):
            for end in range(start + (1 if caseless else 2), min(start + 8, len(tokens)) + 1):
                index = self.index.get(" ".join(tokens[start:end]))
                if index is not None:
                    found.add(index)
        return found

    def incidence(self, rows: _Rows) -> tuple[Floats, Floats, Ints]:
        """Which node names which entity; the same with each document's title added; the title's entity."""
        shape = (len(rows.unit), max(len(self.index), 1))
        explicit = np.zeros(shape, dtype=np.float32)
        for node, ids in enumerate(self.named):
            if ids:
                explicit[node, list(ids)] = 1.0
        of_document = [
            self.index[title[0]] if title is not None and title[0] else -1 for title in rows.titles
        ]
        own = np.array([of_document[document] for document in rows.document], dtype=np.int64)
        entity = explicit.copy()
        titled = np.nonzero(own >= 0)[0]
        entity[titled, own[titled]] = 1.0
        return explicit, entity, own

    def asked_mask(self) -> Bools:
        mask = np.zeros(max(len(self.index), 1), dtype=np.bool_)
        mask[sorted(self.asked)] = True
        return mask

    def title_mask(self) -> Bools:
        mask = np.zeros(max(len(self.index), 1), dtype=np.bool_)
        mask[sorted(self.index[title] for title in self.titles)] = True
        return mask

    def stated(self, rows: _Rows) -> tuple[tuple[int, int, Relation, tuple[int, ...]], ...]:
        """The given relations whose two ends the pool names, with the nodes that state each."""
        found = []
        for relation, units in self.relations:
            head, tail = (self._find(surface) for surface in (relation.head, relation.tail))
            if head is None or tail is None or head == tail:
                continue
            nodes = tuple(
                node
                for node, unit in enumerate(rows.unit)
                if unit in units and (head in self.named[node] or tail in self.named[node])
            )
            found.append((head, tail, relation, nodes))
        return tuple(found)

    def _find(self, surface: str) -> int | None:
        key = name_key(surface)
        return self.index.get(self.gazetteer.resolve(key, surface)) if key else None


def _stated_by(
    candidates: Sequence[Candidate], relations: Sequence[Relation]
) -> list[tuple[Relation, tuple[int, ...]]]:
    """Every given relation with the candidates that state it: its owner, or the units it names."""
    stated = [
        (relation, (index,))
        for index, candidate in enumerate(candidates)
        for relation in candidate.relations or ()
    ]
    if relations:
        place = {candidate.id: index for index, candidate in enumerate(candidates)}
        stated += [
            (relation, tuple(place[unit] for unit in relation.units if unit in place)) for relation in relations
        ]
    return stated


def _rare_words(rows: _Rows) -> frozenset[str]:
    """In text without capitals, words that a few units share stand in for names."""
    if not any(flag & _CASELESS for flag in rows.flags):
        return frozenset()
    seen: dict[str, int] = {}
    for row, flag in zip(rows.tokens, rows.flags, strict=True):
        if flag & _CASELESS:
            for token in set(row):
                seen[token] = seen.get(token, 0) + 1
    most = max(2, len(rows.tokens) // 5)
    return frozenset(
        token
        for token, count in seen.items()
        if 2 <= count <= most and (len(token) >= 4 or not token.isascii())
    )


def _given_names(
    rows: _Rows,
    candidates: Sequence[Candidate],
    relations: Sequence[tuple[Relation, tuple[int, ...]]],
) -> dict[int, list[str]]:
    """A backend's own entities, on the sentences of the unit that have their words (else on the first)."""
    surfaces = {index: list(candidate.entities) for index, candidate in enumerate(candidates) if candidate.entities}
    for relation, units in relations:
        for index in units:
            surfaces.setdefault(index, []).extend((relation.head, relation.tail))
    given: dict[int, list[str]] = {}
    if not surfaces:
        return given
    nodes: dict[int, list[int]] = {}
    for node, unit in enumerate(rows.unit):
        nodes.setdefault(unit, []).append(node)
    for index, names in surfaces.items():
        own = nodes.get(index, [])
        for surface in dict.fromkeys(names):
            words = set(tokenize(surface))
            holders = [node for node in own if words <= set(rows.tokens[node])]
            for node in holders or own[:1]:
                given.setdefault(node, []).append(surface)
    return given
