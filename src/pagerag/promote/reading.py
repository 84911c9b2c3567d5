"""The pool as arrays: which sentence says what, names whom, and stands where.

Everything after this works on numbers. Nodes are sentences: one per unit in sentence and paragraph mode,
the sentences inside each unit in document mode.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

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
_LONGEST_TITLE = 300  # characters; what is longer is no title
_LONGEST_QUESTION = 4_000
_STEM = 5  # "composer" and "composed" meet in their first letters; good enough for a soft signal

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
    query_stem: Bools  # n x Q: the sentence or its title has a word with the token's stem
    idf: Floats  # Q: idf of each question token over the nodes
    names: tuple[str, ...]  # E: display name of each entity that two sentences, a title or the question share
    keys: tuple[str, ...]  # E: key
    explicit: Floats  # n x E: the sentence names the entity itself
    entity: Floats  # n x E: explicit, or the entity is the title of the sentence's document
    named: Floats  # n: how many entities the sentence names, those that nothing else names included
    single: tuple[
        tuple[int, str, str], ...
    ]  # (node, key, display name) of the entities that one sentence has
    own: Ints  # n: the entity that is the document's title, or -1
    asked: Bools  # E: the question names the entity
    is_title: Bools  # E: the entity is the title of a document in the pool
    title_share: Floats  # n: share of the title's words that the question has
    stated: tuple[
        tuple[int, int, Relation, tuple[int, ...]], ...
    ]  # head, tail, relation, nodes that state it
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
    asked = read_question(question[:_LONGEST_QUESTION])
    keep = _narrow(rows, asked, prior)
    if keep is not None:
        rows = rows.take(keep)
    words = _Words(rows)
    count, own_count, stems, idf = _query_counts(rows, words, asked.tokens)
    names = _Names(rows, candidates, asked, _stated_by(candidates, relations))
    explicit, entity, own, named = names.incidence(rows)
    return Reading(
        question=asked,
        candidates=tuple(candidates),
        unit=np.array(rows.unit, dtype=np.int64),
        sentence=np.array(rows.sentence, dtype=np.int64),
        spans=tuple(rows.spans),
        document=np.array(rows.document, dtype=np.int64),
        place=np.array(rows.place, dtype=np.int64),
        tokens=tuple(rows.tokens),
        size=words.size,
        relations=np.array(rows.relations, dtype=np.int64),
        flags=np.array(rows.flags, dtype=np.int64),
        query_count=count,
        query_own=own_count,
        query_stem=stems,
        idf=idf,
        names=tuple(names.display.values()),
        keys=tuple(names.display),
        explicit=explicit,
        entity=entity,
        named=named,
        single=names.single,
        own=own,
        asked=names.asked_mask(),
        is_title=names.title_mask(),
        title_share=_title_share(rows, asked.tokens),
        stated=names.stated(rows),
        overlap=words.overlap(),
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
                title = candidate.title[:_LONGEST_TITLE] if candidate.title else None
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
    ranked = [int(i) for i in np.argsort(-relevance, kind="stable")]
    # Boilerplate that a unit repeats counts once, and every unit is heard before any is heard twice.
    said: set[tuple[int, tuple[str, ...]]] = set()
    heard: set[int] = set()
    first: list[int] = []
    later: list[int] = []
    for i in ranked:
        unit, key = rows.unit[i], (rows.unit[i], rows.tokens[i])
        if key in said:
            continue
        said.add(key)
        (later if unit in heard else first).append(i)
        heard.add(unit)
    best = first[: MAX_NODES // 2]
    named = {key for i in best[: MAX_NODES // 6] for key in rows.entities[i]}
    place = {i: order for order, i in enumerate(ranked)}
    rest = sorted([*first[MAX_NODES // 2 :], *later], key=place.__getitem__)

    def reached(i: int) -> bool:
        title = rows.titles[rows.document[i]]
        return (title is not None and title[0] in named) or not named.isdisjoint(rows.entities[i])

    keep = dict.fromkeys(best)
    keep.update(dict.fromkeys([i for i in rest if reached(i)][: MAX_NODES // 4]))
    for i in rest:
        if len(keep) >= MAX_NODES:
            break
        keep[i] = None
    return sorted(keep)


class _Words:
    """The pool's words as numbers: one entry per occurrence in titles (first) and sentences (after them)."""

    __slots__ = ("first", "index", "nodes", "row", "size", "unique", "word")

    def __init__(self, rows: _Rows) -> None:
        self.first = len(rows.title_tokens)
        self.nodes = len(rows.tokens)
        lists = [*rows.title_tokens, *rows.tokens]
        flat = list(chain.from_iterable(lists))
        self.index = {word: place for place, word in enumerate(dict.fromkeys(flat))}
        self.word = np.fromiter(map(self.index.__getitem__, flat), dtype=np.int64, count=len(flat))
        self.row = np.repeat(np.arange(len(lists)), [len(words) for words in lists])
        width = max(len(self.index), 1)
        inside = self.row >= self.first
        pairs = np.unique((self.row[inside] - self.first) * width + self.word[inside])
        self.unique = (pairs // width, pairs % width)  # node, word: each pair once
        self.size = np.bincount(self.unique[0], minlength=self.nodes).astype(np.float32)

    def counts(self, column: Ints, columns: int) -> Floats:
        """How often each title and sentence has words of each column; ``column`` maps words, -1: none."""
        if not columns or not len(self.word):
            return np.zeros((self.first + self.nodes, columns), dtype=np.float32)
        place = column[self.word]
        hit = place >= 0
        flat = np.bincount(
            self.row[hit] * columns + place[hit], minlength=(self.first + self.nodes) * columns
        )
        return flat.reshape(-1, columns).astype(np.float32)

    def overlap(self) -> Floats:
        """|Tok(s_i) ∩ Tok(s_j)| for all pairs. A word of one sentence cannot be shared: it gets no column."""
        node, word = self.unique
        shared = np.bincount(word, minlength=max(len(self.index), 1)) > 1
        column = np.cumsum(shared) - 1
        keep = shared[word]
        incidence = np.zeros((self.nodes, max(int(shared.sum()), 1)), dtype=np.float32)
        incidence[node[keep], column[word[keep]]] = 1.0
        return incidence @ incidence.T


def _query_counts(rows: _Rows, words: _Words, tokens: tuple[str, ...]) -> tuple[Floats, Bools, Bools, Floats]:
    """How often each node has each question token: with its title, without it; whether it has a word of
    the token's stem; and the tokens' idf."""
    asked = list(dict.fromkeys(tokens))
    exact = np.full(max(len(words.index), 1), -1, dtype=np.int64)
    for place, token in enumerate(asked):
        known = words.index.get(token)
        if known is not None:
            exact[known] = place
    stems = {stem: place for place, stem in enumerate(dict.fromkeys(token[:_STEM] for token in asked))}
    find = stems.get
    alike = np.array([find(word[:_STEM], -1) for word in words.index] or [-1], dtype=np.int64)
    both = words.counts(exact, len(asked))
    near = words.counts(alike, len(stems))[:, [stems[token[:_STEM]] for token in asked]] > 0
    document = np.array(rows.document, dtype=np.int64)
    own = both[words.first :]
    count = own + both[document]
    stem = near[words.first :] | near[document]
    seen = (count > 0).sum(axis=0)
    idf = np.log((1.0 + len(count)) / (1.0 + seen)) + 1.0
    return count, own > 0, stem, idf.astype(np.float32)


def _title_share(rows: _Rows, tokens: tuple[str, ...]) -> Floats:
    wanted = set(tokens)
    share = [
        sum(token in wanted for token in title) / len(title) if title else 0.0 for title in rows.title_tokens
    ]
    return np.array([share[document] for document in rows.document], dtype=np.float32)


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
        keys = [*chain.from_iterable(rows.entities), *asked.entities]
        surfaces = [*chain.from_iterable(rows.surfaces), *asked.surfaces]
        capitals = [key for key, surface in zip(keys, surfaces, strict=True) if surface.isupper()]
        self.gazetteer = Gazetteer(titles, keys, capitals)
        self.display: dict[str, str] = {}
        self.index: dict[str, int] = {}
        self.titles = set(titles)
        self.relations = relations
        self.names_of: list[dict[int, None]] = []
        self.single: tuple[tuple[int, str, str], ...] = ()
        for document, title in enumerate(rows.titles):
            if title is not None and title[0]:
                self._add(title[0], rows.title_names[document])
        self._name_nodes(rows, candidates)
        self.asked = self._asked(asked)

    def _name_nodes(self, rows: _Rows, candidates: Sequence[Candidate]) -> None:
        resolve, titles_in = self.gazetteer.resolve, self.gazetteer.titles_in
        rare = _rare_words(rows)
        given = _given_names(rows, candidates, self.relations)
        known: dict[str, int] = {}
        for node, keys in enumerate(rows.entities):
            for place, key in enumerate(keys):
                if key not in known:
                    surface = rows.surfaces[node][place]
                    known[key] = self._add(resolve(key, surface), surface)
            ids = dict.fromkeys([known[key] for key in keys])
            for title in titles_in(rows.tokens[node]):
                ids[self.index[title]] = None
            if rare and rows.flags[node] & _CASELESS:
                for token in rows.tokens[node]:
                    if token in rare:
                        ids[self._add(token, token)] = None
            for surface in given.get(node, ()):
                key = name_key(surface)
                if key:
                    ids[self._add(resolve(key, surface), surface)] = None
            self.names_of.append(ids)

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

    def incidence(self, rows: _Rows) -> tuple[Floats, Floats, Ints, Floats]:
        """Which node names which entity; the same with each document's title added; the title's entity; how
        many entities each node names.

        Only entities that can link or anchor get a column: most names of a pool occur once.
        """
        count = len(rows.unit)
        nodes = np.repeat(np.arange(count), [len(ids) for ids in self.names_of])
        flat = np.fromiter(chain.from_iterable(self.names_of), dtype=np.int64, count=len(nodes))
        total = len(self.index)
        links = np.bincount(flat, minlength=total) > 1
        titles = [self.index[title[0]] if title is not None and title[0] else -1 for title in rows.titles]
        links[[title for title in titles if title >= 0]] = True
        links[sorted(self.asked)] = True
        for relation in self.relations:
            links[[end for end in self._ends(relation[0]) if end is not None]] = True
        column = np.where(links, np.cumsum(links) - 1, -1)
        keep = links[flat]
        width = max(int(links.sum()), 1)
        explicit = np.zeros((count, width), dtype=np.float32)
        explicit[nodes[keep], column[flat[keep]]] = 1.0
        of_document = np.array([column[title] if title >= 0 else -1 for title in titles], dtype=np.int64)
        own = of_document[rows.document]
        entity = explicit.copy()
        titled = np.nonzero(own >= 0)[0]
        entity[titled, own[titled]] = 1.0
        pairs = list(self.display.items())
        self.single = tuple(
            (int(node), *pairs[name])
            for node, name in zip(nodes[~keep].tolist(), flat[~keep].tolist(), strict=True)
        )
        self.display = {key: name for (key, name), link in zip(pairs, links.tolist(), strict=True) if link}
        self.index = {key: place for place, key in enumerate(self.display)}
        self.asked = {int(column[place]) for place in self.asked}
        named = np.bincount(nodes, minlength=count).astype(np.float32)
        self.names_of = (
            [{int(column[name]): None for name in ids if links[name]} for ids in self.names_of]
            if self.relations
            else []
        )
        return explicit, entity, own, named

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
            head, tail = self._ends(relation)
            if head is None or tail is None or head == tail:
                continue
            nodes = tuple(
                node
                for node, unit in enumerate(rows.unit)
                if unit in units and (head in self.names_of[node] or tail in self.names_of[node])
            )
            found.append((head, tail, relation, nodes))
        return tuple(found)

    def _ends(self, relation: Relation) -> tuple[int | None, int | None]:
        return self._find(relation.head), self._find(relation.tail)

    def _find(self, surface: str) -> int | None:
        key = name_key(surface)
        return self.index.get(self.gazetteer.resolve(key, surface)) if key else None


def _stated_by(
    candidates: Sequence[Candidate], relations: Sequence[Relation]
) -> list[tuple[Relation, tuple[int, ...]]]:
    """Every given relation with the candidates that state it: its owner, or the units it names."""
    stated: list[tuple[Relation, tuple[int, ...]]] = [
        (relation, (index,))
        for index, candidate in enumerate(candidates)
        for relation in candidate.relations or ()
    ]
    if relations:
        place = {candidate.id: index for index, candidate in enumerate(candidates)}
        stated += [
            (relation, tuple(place[unit] for unit in relation.units if unit in place))
            for relation in relations
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
    surfaces = {
        index: list(candidate.entities) for index, candidate in enumerate(candidates) if candidate.entities
    }
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
