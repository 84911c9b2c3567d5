"""Which sentence names whom: the entities of a pool, resolved within it, and the relations given with it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from pagerag.promotion.candidates import MAX_ENTITIES, most_confident
from pagerag.promotion.sentence_arrays import Documents, Rows
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
    """The entities of the pool, resolved within it.

    Only those that can link or anchor get a column, in the order in which they are first named, titles before
    all others: most names of a pool occur once.
    """

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
        self._relations = relations
        self._titles = [title for title in documents.titles if title.key]
        keys = [analysis.entities[place] for analysis, place in rows.nodes]
        surfaces = [analysis.surfaces[place] for analysis, place in rows.nodes]
        self._mentions = list(chain.from_iterable(keys))
        self._surfaces = list(chain.from_iterable(surfaces))
        self._gazetteer = self._make_gazetteer(asked)
        self._stands_for = self._resolve_short()
        self._names_of: list[Sequence[str]] = self._resolved(keys)
        mentioned = Counter(chain.from_iterable(self._names_of))
        self._besides = self._name_besides(candidates, mentioned)
        in_question = self._asked(asked)
        anchors = {*in_question, *chain.from_iterable([self._ends(relation) for relation, _ in relations])}
        titles = dict.fromkeys([title.key for title in self._titles])
        linking = [name for name, count in mentioned.items() if count > 1 or name in anchors]
        self._column = {name: column for column, name in enumerate(dict.fromkeys(chain(titles, linking)))}
        self._lay_out(documents, in_question, len(titles))
        self.has_singles = not self._column.keys() >= mentioned.keys()

    def _make_gazetteer(self, asked: Question) -> Gazetteer:
        mentions = [*self._mentions, *asked.entities]
        surfaces = [*self._surfaces, *asked.surfaces]
        capitals = [
            key
            for key, surface in zip(mentions, surfaces, strict=True)
            if len(key) <= 6 and surface.isupper()
        ]
        numbered = {title.key for title in self._titles if title.numbered}
        return Gazetteer([title.key for title in self._titles], mentions, capitals, numbered=numbered)

    def _resolve_short(self) -> dict[str, str]:
        """Return the names that the sentences' mentions stand for, where those are short for another."""
        resolve, short = self._gazetteer.resolve, self._gazetteer.short
        # from the last to the first, so that the first spelling stands
        spelled = zip(reversed(self._mentions), reversed(self._surfaces), strict=True)
        found = {key: surface for key, surface in spelled if key in short}
        return {key: name for key, surface in found.items() if (name := resolve(key, surface)) != key}

    def _resolved(self, keys: list[tuple[str, ...]]) -> list[Sequence[str]]:
        """Return, for each node, the names of what it mentions, each once."""
        stands_for = self._stands_for
        if not stands_for:
            return list(keys)
        short, whole = frozenset(stands_for), stands_for.get
        return [
            names if short.isdisjoint(names) else list(dict.fromkeys(map(whole, names, names)))
            for names in keys
        ]

    def _name_besides(
        self, candidates: Sequence[Candidate], mentioned: Counter[str]
    ) -> list[tuple[str, str]]:
        """Add rare words in text without capitals, and a backend's own entities; key and spelling of each."""
        found = [(node, token, token) for node, token in _rare_mentions(self._rows)]
        for node, given in _given_names(self._rows, candidates, self._relations).items():
            for surface in given:
                key = name_key(surface)
                if key:
                    found.append((node, self._gazetteer.resolve(key, surface), surface))
        for node, key, _ in found:
            if key not in self._names_of[node]:
                self._names_of[node] = [*self._names_of[node], key]
                mentioned[key] += 1
        return [(key, surface) for _, key, surface in found]

    def _asked(self, asked: Question) -> set[str]:
        """Return what the question may name: its own names, and any of its words in a row."""
        names = map(self._gazetteer.resolve, asked.entities, asked.surfaces)
        return {*names, *asked.runs}

    def _lay_out(self, documents: Documents, in_question: set[str], titles: int) -> None:
        """Return the columns as arrays."""
        column, rows = self._column, self._rows
        width = max(len(column), 1)  # where nothing links: one column that nobody has
        places = [
            node * width + column[name]
            for node, names in enumerate(self._names_of)
            for name in names
            if name in column
        ]
        alone = np.array(list(map(len, self._names_of)), dtype=np.float32)
        self.explicit = np.zeros((len(rows), width), dtype=np.float32)
        self.explicit.ravel()[places] = 1.0
        alone -= np.add.reduce(self.explicit, axis=1)
        self.explicit.ravel()[[node * width + column[key] for node, key in _titles_in(rows, documents)]] = 1.0
        self.named = alone + np.add.reduce(self.explicit, axis=1)
        self.own = np.array([column.get(title.key, -1) for title in documents.titles]).take(rows.document)
        self.entity = self.explicit.copy()
        titled = (self.own >= 0).nonzero()[0]
        self.entity[titled, self.own.take(titled)] = 1.0
        self.asked = np.zeros(width, dtype=np.bool_)
        self.asked[[column[name] for name in in_question if name in column]] = True
        self.is_title = np.zeros(width, dtype=np.bool_)
        self.is_title[:titles] = True

    def singles(self) -> Iterator[tuple[int, str, str]]:
        """Return (node, key, display name) of the entities that have no column, node by node."""
        for node, names in enumerate(self._names_of):
            for name in names:
                if name not in self._column:
                    yield node, name, self._display[name]

    @cached_property
    def columns(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The keys and the display names of the entities that have a column. Only traces ask for them."""
        return tuple(self._column), tuple([self._display[name] for name in self._column])

    @cached_property
    def _display(self) -> dict[str, str]:
        """How each entity is first spelled, in one line: a backend's may be of several."""
        spelled = [(title.key, title.name) for title in self._titles]
        mentions = [self._stands_for.get(key, key) for key in self._mentions]
        spelled += [*zip(mentions, self._surfaces, strict=True), *self._besides]
        return {key: " ".join(name.split()) for key, name in reversed(spelled)}

    def stated(self) -> tuple[tuple[int, int, Relation, tuple[int, ...]], ...]:
        """Return the given relations whose two ends the pool names, with the nodes that state each."""
        found = []
        for relation, units in self._relations:
            ends = [self._column[end] for end in self._ends(relation) if end in self._column]
            if len(ends) < 2 or ends[0] == ends[1]:
                continue
            named = np.logical_or.reduce(self.explicit[:, ends], axis=1).tolist()
            unit = self._rows.unit.tolist()
            nodes = tuple([node for node, names in enumerate(named) if names and unit[node] in units])
            found.append((ends[0], ends[1], relation, nodes))
        return tuple(found)

    def _ends(self, relation: Relation) -> list[str]:
        """Return the names at the relation's two ends."""
        keys = ((name_key(end), end) for end in (relation.head, relation.tail))
        return [self._gazetteer.resolve(key, end) for key, end in keys if key]


def _titles_in(rows: Rows, documents: Documents) -> list[tuple[int, str]]:
    """Return (node, key) of the titles of two words or more among a sentence's words, in any case."""
    titles = [title for title in documents.titles if title.parts]
    if not titles:
        return []
    heads = np.array([title.head for title in titles])
    at, which = (rows.words[:, None] == heads).nonzero()
    node = rows.node.take(at)
    found = []
    for row, place, title in zip(
        node.tolist(),
        (at - rows.starts.take(node)).tolist(),
        map(titles.__getitem__, which.tolist()),
        strict=True,
    ):
        if rows.tokens[row][place : place + len(title.parts)] == title.parts:
            found.append((row, title.key))
    return found


def stated_by(
    candidates: Sequence[Candidate], relations: Sequence[Relation]
) -> list[tuple[Relation, tuple[int, ...]]]:
    """Return the relations that are read, with the candidates that state each: owner, or units named.

    Of more relations than ``candidates.MAX_RELATIONS`` the most confident are read.
    """
    stated: list[tuple[Relation, tuple[int, ...]]] = [
        (relation, (index,))
        for index, candidate in enumerate(candidates)
        for relation in candidate.relations or ()
    ]
    if relations:
        place = {candidate.id: index for index, candidate in enumerate(candidates)}
        stated += [
            (relation, tuple(dict.fromkeys(place[unit] for unit in relation.units if unit in place)))
            for relation in relations
        ]
    return most_confident(stated)


def _rare_mentions(rows: Rows) -> list[tuple[int, str]]:
    """Return words that a few units share: in text without capitals, they stand in for names."""
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
    """Return a backend's own entities, on the unit's sentences that have their words, else on the first."""
    surfaces = {
        index: list(candidate.entities[:MAX_ENTITIES])
        for index, candidate in enumerate(candidates)
        if candidate.entities
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
