"""Which sentence names whom: the entities of a pool, resolved within it, and the relations given with it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import accumulate, chain

import numpy as np
from numpy.typing import NDArray

from pagerag.promote.rows import Documents, Rows, Title
from pagerag.text.codes import bigrams
from pagerag.text.entities import name_key
from pagerag.text.gazetteer import Gazetteer
from pagerag.text.questions import Question
from pagerag.text.tokens import tokenize
from pagerag.units import Candidate, Relation

__all__ = ["Names", "stated_by"]

_CASELESS = 8

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


class Names:
    """The entities of the pool, resolved within it, numbered by where they are first named: in the documents'
    titles, then in the sentences. Only entities that can link or anchor get a column: most names of a pool
    occur once."""

    explicit: Floats  # n x E: the sentence names the entity itself
    entity: Floats  # n x E: explicit, or the entity is the title of the sentence's document
    own: Ints  # n: the entity that is the document's title, or -1
    named: Floats  # n: how many entities the sentence names
    asked: Bools  # E: the question names the entity
    is_title: Bools  # E: the entity is the title of a document in the pool

    def __init__(
        self,
        rows: Rows,
        documents: Documents,
        candidates: Sequence[Candidate],
        asked: Question,
        relations: Sequence[tuple[Relation, tuple[int, ...]]],
    ) -> None:
        self._rows = rows
        self._titles = documents.titles
        self._relations = relations
        entities = [analysis.entities[place] for analysis, place in rows.nodes]
        surfaces = [analysis.surfaces[place] for analysis, place in rows.nodes]
        self._mentions = list(chain.from_iterable(entities))
        self._surfaces = list(chain.from_iterable(surfaces))
        self._gazetteer = self._make_gazetteer(asked)
        self._resolve()
        found = [*_titles_in(rows, documents), *self._besides(candidates)]
        self._mentions += [key for _, key, _ in found]
        self._surfaces += [surface for _, _, surface in found]
        titles = dict.fromkeys([title.key for title in documents.titles if title.key])
        self._title_count = len(titles)
        names = dict.fromkeys(chain(titles, self._mentions))
        self._number = dict(zip(names, range(len(names)), strict=True))
        self._marks = np.zeros((len(rows), len(names)), dtype=np.float32)
        nodes = np.arange(len(rows)).repeat(list(map(len, entities))).tolist()
        nodes += [node for node, _, _ in found]
        self._marks[nodes, list(map(self._number.__getitem__, self._mentions))] = 1.0
        self._lay_out(asked)

    def _make_gazetteer(self, asked: Question) -> Gazetteer:
        mentions = [*self._mentions, *asked.entities]
        surfaces = [*self._surfaces, *asked.surfaces]
        capitals = [
            key
            for key, surface in zip(mentions, surfaces, strict=True)
            if len(key) <= 6 and surface.isupper()
        ]
        return Gazetteer([title.key for title in self._titles if title.key], mentions, capitals)

    def _resolve(self) -> None:
        """Let each mention in the sentences be the name that it stands for."""
        mentions = self._mentions
        short = self._gazetteer.short.intersection(mentions)
        if short:
            resolve, spelled = self._gazetteer.resolve, self._surfaces
            stands_for = {key: resolve(key, spelled[mentions.index(key)]) for key in short}
            self._mentions = [stands_for.get(key, key) for key in mentions]

    def _besides(self, candidates: Sequence[Candidate]) -> Iterator[tuple[int, str, str]]:
        """(node, key, spelling) of rare words in text without capitals, and of a backend's own entities."""
        for node, token in _rare_mentions(self._rows):
            yield node, token, token
        for node, given in _given_names(self._rows, candidates, self._relations).items():
            for surface in given:
                key = name_key(surface)
                if key:
                    yield node, self._gazetteer.resolve(key, surface), surface

    def _asked(self, asked: Question) -> set[int]:
        """The pool's entities that the question names: its own names, and pool names found in its words."""
        number, resolve = self._number, self._gazetteer.resolve
        found = {number.get(resolve(*name), -1) for name in zip(asked.entities, asked.surfaces, strict=True)}
        found.update([number[run] for run in asked.runs if run in number])
        found.discard(-1)
        return found

    def _lay_out(self, asked: Question) -> None:
        """Give a column to each entity that links two sentences, titles a document, or is named by the question
        or by a given relation."""
        in_question = list(self._asked(asked))
        links = np.add.reduce(self._marks, axis=0) > 1.0
        links[: self._title_count] = True
        links[in_question] = True
        for relation, _ in self._relations:
            links[[end for end in self._ends(relation) if end is not None]] = True
        self._linking = links.nonzero()[0]
        width = len(self._linking)
        # one more than there are entities: the last is for documents without a title
        self._column = np.full(len(links) + 1, -1, dtype=np.int64)
        self._column[self._linking] = np.arange(width)
        self.explicit = self._marks.take(self._linking, axis=1)
        self.named = np.add.reduce(self._marks, axis=1)
        if not width:  # nothing that links: one column that nobody has
            self.explicit = np.zeros((len(self._marks), 1), dtype=np.float32)
        titles = [self._number[title.key] if title.key else -1 for title in self._titles]
        self.own = self._column.take(titles).take(self._rows.document)
        self.entity = self.explicit.copy()
        titled = (self.own >= 0).nonzero()[0]
        self.entity[titled, self.own.take(titled)] = 1.0
        self.asked = np.zeros(max(width, 1), dtype=np.bool_)
        self.asked[self._column.take(in_question)] = True
        self.is_title = np.zeros(max(width, 1), dtype=np.bool_)
        self.is_title[: self._title_count] = True

    @property
    def has_singles(self) -> bool:
        """Whether there are entities that a single sentence names, and nothing else."""
        return len(self._linking) < len(self._number)

    def singles(self) -> Iterator[tuple[int, str, str]]:
        """(node, key, display name) of those, node by node."""
        keys, display = list(self._number), self._display()
        for node, number in zip(*[places.tolist() for places in self._marks.nonzero()], strict=True):
            if self._column[number] < 0:
                yield node, keys[number], display[number]

    @cached_property
    def columns(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The keys and the display names of the entities that have a column. Only traces ask for them."""
        linking = self._linking.tolist()
        keys, display = list(self._number), self._display()
        return tuple(map(keys.__getitem__, linking)), tuple(map(display.__getitem__, linking))

    def _display(self) -> list[str]:
        """How each entity is first spelled."""
        titles = [title for title in self._titles if title.key]
        keys = [*[title.key for title in titles], *self._mentions]
        spelled = [*[title.name for title in titles], *self._surfaces]
        first = dict(zip(reversed(keys), reversed(spelled), strict=True))
        return list(map(first.__getitem__, self._number))

    def stated(self) -> tuple[tuple[int, int, Relation, tuple[int, ...]], ...]:
        """The given relations whose two ends the pool names, with the nodes that state each."""
        found = []
        for relation, units in self._relations:
            head, tail = self._ends(relation)
            if head is None or tail is None or head == tail:
                continue
            named = np.logical_or.reduce(self._marks[:, [head, tail]], axis=1).tolist()
            unit = self._rows.unit.tolist()
            nodes = tuple([node for node, names in enumerate(named) if names and unit[node] in units])
            found.append((int(self._column[head]), int(self._column[tail]), relation, nodes))
        return tuple(found)

    def _ends(self, relation: Relation) -> tuple[int | None, int | None]:
        return self._find(relation.head), self._find(relation.tail)

    def _find(self, surface: str) -> int | None:
        key = name_key(surface)
        return self._number.get(self._gazetteer.resolve(key, surface)) if key else None


def _titles_in(rows: Rows, documents: Documents) -> Iterator[tuple[int, str, str]]:
    """(node, key, title) of the titles of two words or more that stand in a sentence's words, whatever their
    case: found by their first two words."""
    titles: dict[int, list[Title]] = {}
    for title in documents.titles:
        if title.opening:
            titles.setdefault(title.opening, []).append(title)
    if not titles or len(rows.words) < 2:
        return
    openings = np.array(sorted(titles), dtype=np.int64)
    pairs = bigrams(rows.words)
    likely = openings.take(openings.searchsorted(pairs), mode="clip")
    place = (likely == pairs).nonzero()[0]
    node = np.arange(len(rows)).repeat(rows.sizes).take(place)
    starts = [0, *accumulate(rows.sizes)]
    for opening, here, at in zip(pairs.take(place).tolist(), node.tolist(), place.tolist(), strict=True):
        for title in titles[opening]:
            start = at - starts[here]
            if rows.tokens[here][start : start + len(title.parts)] == title.parts:
                yield here, title.key, title.name


def stated_by(
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


def _rare_mentions(rows: Rows) -> list[tuple[int, str]]:
    """In text without capitals, words that a few units share stand in for names."""
    caseless = (rows.flags & _CASELESS).nonzero()[0].tolist()
    if not caseless:
        return []
    seen: dict[str, int] = {}
    for node in caseless:
        for token in set(rows.tokens[node]):
            seen[token] = seen.get(token, 0) + 1
    most = max(2, len(rows.tokens) // 5)
    rare = {
        token
        for token, count in seen.items()
        if 2 <= count <= most and (len(token) >= 4 or not token.isascii())
    }
    return [(node, token) for node in caseless for token in rows.tokens[node] if token in rare]


def _given_names(
    rows: Rows,
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
    for node, unit in enumerate(rows.unit.tolist()):
        nodes.setdefault(unit, []).append(node)
    for index, names in surfaces.items():
        own = nodes.get(index, [])
        for surface in dict.fromkeys(names):
            words = set(tokenize(surface))
            holders = [node for node in own if words <= set(rows.tokens[node])]
            for node in holders or own[:1]:
                given.setdefault(node, []).append(surface)
    return given
