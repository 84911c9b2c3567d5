"""Which sentence names whom: the entities of a pool, resolved within it, and the relations given with it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from pagerag.promote.rows import Rows
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
    """The entities of the pool, resolved within it."""

    def __init__(
        self,
        rows: Rows,
        candidates: Sequence[Candidate],
        asked: Question,
        relations: Sequence[tuple[Relation, tuple[int, ...]]],
    ) -> None:
        titles = [title[0] for title in rows.titles if title is not None and title[0]]
        keys = [*chain.from_iterable(rows.entities), *asked.entities]
        surfaces = [*chain.from_iterable(rows.surfaces), *asked.surfaces]
        spelled = dict(zip(reversed(keys), reversed(surfaces), strict=True))  # the first spelling stands
        capitals = [
            key for key, surface in zip(keys, surfaces, strict=True) if len(key) <= 6 and surface.isupper()
        ]
        self.gazetteer = Gazetteer(titles, spelled, capitals)
        self.display: dict[str, str] = {}
        self.index: dict[str, int] = {}
        self.titles = set(titles)
        self.relations = relations
        self.single: tuple[list[int], list[int], list[tuple[str, str]]] = ([], [], [])
        for document, title in enumerate(rows.titles):
            if title is not None and title[0]:
                self._add(title[0], rows.title_names[document])
        self.names_of = self._name_nodes(rows, candidates, spelled)
        self.asked = self._asked(asked)

    def _name_nodes(
        self, rows: Rows, candidates: Sequence[Candidate], spelled: dict[str, str]
    ) -> list[dict[int, None]]:
        """For each node the numbers of the entities that it names."""
        resolve, titles_in, add = self.gazetteer.resolve, self.gazetteer.titles_in, self._add
        short = self.gazetteer.short
        index, display = self.index, self.display
        known: dict[str, int] = {}
        for key in dict.fromkeys(chain.from_iterable(rows.entities)):
            name = resolve(key, spelled[key]) if key in short else key
            place = index.get(name)
            if place is None:
                place = index[name] = len(index)
                display[name] = spelled[key]
            known[key] = place
        number = known.__getitem__
        named = [dict.fromkeys(map(number, keys)) for keys in rows.entities]
        heads = self.gazetteer.heads
        for node, tokens in enumerate(rows.tokens):
            if not heads.isdisjoint(tokens):
                for title in titles_in(tokens):
                    named[node][self.index[title]] = None
        for node, token in _rare_mentions(rows):
            named[node][add(token, token)] = None
        for node, given in _given_names(rows, candidates, self.relations).items():
            for surface in given:
                key = name_key(surface)
                if key:
                    named[node][add(resolve(key, surface), surface)] = None
        return named

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
        least = 1 if asked.text == asked.text.lower() else 2
        for start in range(len(tokens)):
            for end in range(start + least, min(start + 8, len(tokens)) + 1):
                index = self.index.get(" ".join(tokens[start:end]))
                if index is not None:
                    found.add(index)
        return found

    def incidence(self, rows: Rows, document: Ints) -> tuple[Floats, Floats, Ints, Floats]:
        """Which node names which entity; the same with each document's title added; the title's entity; how
        many entities each node names.

        Only entities that can link or anchor get a column: most names of a pool occur once.
        """
        count = len(rows.unit)
        sizes = list(map(len, self.names_of))
        flat = np.fromiter(chain.from_iterable(self.names_of), dtype=np.int64, count=sum(sizes))
        nodes = np.arange(count).repeat(sizes)
        links = np.bincount(flat, minlength=len(self.index)) > 1
        titles = [self.index[title[0]] if title is not None and title[0] else -1 for title in rows.titles]
        anchors = [title for title in titles if title >= 0]
        anchors += self.asked
        for relation in self.relations:
            anchors += [end for end in self._ends(relation[0]) if end is not None]
        links[anchors] = True
        linking = links.nonzero()[0]
        column = np.full(len(links) + 1, -1, dtype=np.int64)  # the last is for documents without a title
        column[linking] = np.arange(len(linking))
        place = column.take(flat)
        keep = place >= 0
        explicit = np.zeros((count, max(len(linking), 1)), dtype=np.float32)
        explicit[nodes[keep], place[keep]] = 1.0
        own = column.take(titles).take(document)
        entity = explicit.copy()
        titled = (own >= 0).nonzero()[0]
        entity[titled, own.take(titled)] = 1.0
        pairs = list(self.display.items())
        alone = ~keep
        self.single = (nodes[alone].tolist(), flat[alone].tolist(), pairs)
        self.display = dict(map(pairs.__getitem__, linking.tolist()))
        self.index = dict(zip(self.display, range(len(linking)), strict=True))
        self.asked = {int(column[place]) for place in self.asked}
        if self.relations:
            self.names_of = [
                {int(column[name]): None for name in ids if links[name]} for ids in self.names_of
            ]
        return explicit, entity, own, np.array(sizes, dtype=np.float32)

    def asked_mask(self) -> Bools:
        mask = np.zeros(max(len(self.index), 1), dtype=np.bool_)
        mask[list(self.asked)] = True
        return mask

    def title_mask(self) -> Bools:
        mask = np.zeros(max(len(self.index), 1), dtype=np.bool_)
        mask[[self.index[title] for title in self.titles]] = True
        return mask

    def stated(self, rows: Rows) -> tuple[tuple[int, int, Relation, tuple[int, ...]], ...]:
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
    caseless = [node for node, flag in enumerate(rows.flags) if flag & _CASELESS]
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
