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

    def _name_nodes(self, rows: Rows, candidates: Sequence[Candidate]) -> None:
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

    def incidence(self, rows: Rows) -> tuple[Floats, Floats, Ints, Floats]:
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


def _rare_words(rows: Rows) -> frozenset[str]:
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
