"""Compute what can be said of a candidate before promotion, as numbers for the rankers of ``adaptive``.

That is: how it matches the question, and how the other candidates lead to it.

A ``FeatureTable`` grows with the pool. Its direct features look at the question and one passage; its link
features at the passages that name it, are named by it, or stand near it, each weighted by how well it does
itself: the one-step paths of the frontier. The columns are named below.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pagerag.text.keys import key_number
from pagerag.text.names import NameReading, numbered_names, read_names
from pagerag.text.passage_reading import PassageReading
from pagerag.text.questions import read_question
from pagerag.text.terms import terms

DIRECT = (
    "fused", "dense", "dense_gap", "lexical", "lexical_share", "title_named", "title_kind", "title_words",
    "title_share", "title_inside", "covered", "covered_rest", "cues_shared", "names_shared", "length",
    "names_in_question", "titles_in_question", "bridge", "yes_no",
)  # fmt: skip
LINK = (
    "own", "rank", "named_by", "named_by_cued", "named_place", "named_kind", "named_first", "cue_gap",
    "named_count", "rivals", "names_seed", "seed_title", "seed_own", "near_joined", "near_seed", "near_gain",
    "rest_covered", "shared_rare", "best_own", "same_head", "named_by_title", "cued_share", "worded",
    "worded_first", "bridged", "bridged_rest", "bridged_cued", "bridges",
)  # fmt: skip

_GAP, _INSIDE, _TITLES = map(DIRECT.index, ("dense_gap", "title_inside", "titles_in_question"))
_FAR = 12.0  # words between a cue and a name that have nothing to do with each other


@dataclass(frozen=True)
class QuestionReading:
    """A question as follow-up search reads it."""

    reading: NameReading
    terms: frozenset[str]
    cues: frozenset[int]
    form: str
    vector: NDArray[np.float32] | None

    @classmethod
    def of(cls, text: str, vector: NDArray[np.float32] | None) -> QuestionReading:
        """Read a question."""
        reading = read_names(text)
        cues = frozenset(relation for _, relation in reading.cues)
        return cls(reading, frozenset(terms(text)), cues, read_question(text).form, vector)


def _title_match(asked: QuestionReading, passage: PassageReading) -> tuple[float, str]:
    """Return how exactly the question names the passage, and the key by which it does.

    1 for the whole title, less for its shorter forms, 0 for none.
    """
    for kind, (key, number) in enumerate(zip(passage.keys, passage.key_numbers, strict=True)):
        if number in asked.reading.places:
            return 1.0 / (1 + kind), key
    return 0.0, ""


class FeatureTable:
    """The features of the passages of one question's pool.

    What does not change as the pool grows is computed once for each passage; what passages say of each other,
    for all pairs at once. The question's terms weigh by how rare they are among the passages ``found`` first.
    """

    def __init__(
        self,
        asked: QuestionReading,
        found: Sequence[PassageReading],
        most_fused: float,
        most_lexical: float,
    ) -> None:
        self.asked = asked
        self.passages: list[PassageReading] = []
        self._scores: list[tuple[float, float]] = []
        self._most = (most_fused or 1.0, most_lexical or 1.0)
        self._direct = np.zeros((0, len(DIRECT)), dtype=np.float32)
        self._matches: list[tuple[float, str]] = []
        width = len(asked.vector) if asked.vector is not None else 0
        self._vectors = np.zeros((0, width), dtype=np.float32)
        self._similar = np.zeros(0, dtype=np.float32)
        self._terms = list(asked.terms)
        counts = [sum(word in p.terms or word in p.title_terms for p in found) for word in self._terms]
        idf = [math.log1p((len(found) - n + 0.5) / (n + 0.5)) for n in counts]
        self._idf, self._weight = np.array(idf, dtype=np.float64), sum(idf) or 1.0
        self._asked_names = np.sort(np.array(list(asked.reading.places), dtype=np.int64))
        self._covers = np.zeros((0, len(self._terms)), dtype=np.float64)
        self.names = numbered_names([])
        empty = np.zeros(0, dtype=np.intp)
        self._keys = (np.zeros(0, dtype=np.int64), empty, empty)  # number, owner, kind
        self._worded: dict[str, tuple[float, float]] = {}
        self._open: dict[str, dict[str, int]] = {}

    def add(self, passage: PassageReading, fused: float, lexical: float) -> None:
        """Add one more passage, with its scores in the first search (0 if it was not found there)."""
        self.passages.append(passage)
        self._scores.append((fused / self._most[0], lexical))

    def add_worded(self, unit: str, score: float, rank: int) -> None:
        """Note that a search for the words of a name found a passage, with this score and at this place."""
        most, first = self._worded.get(unit, (0.0, 0.0))
        self._worded[unit] = max(most, score / self._most[1]), max(first, 1.0 / (1 + rank))

    def open_names(self, passage: PassageReading) -> dict[str, int]:
        """Map the names in a passage that are neither the question's nor its own to their nearness to a cue.

        That is, the number of words to the nearest relation word that the question uses, too; those that
        stand nearest come first.
        """
        if passage.unit.id in self._open:
            return self._open[passage.unit.id]
        known = {*self.asked.reading.places, *passage.key_numbers}
        reading = passage.reading
        cues = [place for place, relation in reading.cues if relation in self.asked.cues]
        names: dict[str, int] = {}
        for key in passage.entity_keys:
            number = key_number(key)
            if number not in known:
                place = reading.places.get(number, reading.length)
                names.setdefault(key, min((abs(place - cue) for cue in cues), default=reading.length))
        found = self._open[passage.unit.id] = dict(sorted(names.items(), key=lambda pair: pair[1]))
        return found

    def direct(self) -> NDArray[np.float32]:
        """Return one row per passage, columns ``DIRECT``."""
        self._settle()
        rows = self._direct.copy()
        named = {key for _, key in self._matches if key}
        spaced = [f" {key} " for key in named]
        rows[:, _GAP] = self._similar - self._similar.max(initial=0.0)
        rows[:, _TITLES] = len(named)
        for place, (_, key) in enumerate(self._matches):
            if key:
                mine = f" {key} "
                rows[place, _INSIDE] = any(mine in other and mine != other for other in spaced)
        return rows

    def _settle(self) -> None:
        """Take in the passages that were added since the last time."""
        first, asked = len(self._matches), self.asked
        new = self.passages[first:]
        if not new:
            return
        matches = [_title_match(asked, passage) for passage in new]
        self._matches += matches
        self.names += numbered_names([passage.reading for passage in new], first)
        keys = (
            np.array([key for p in new for key in p.key_numbers], dtype=np.int64),
            np.repeat(np.arange(first, first + len(new)), [len(p.key_numbers) for p in new]),
            np.array([kind for p in new for kind in range(len(p.key_numbers))], dtype=np.intp),
        )
        numbers, owners, kinds = (np.concatenate(pair) for pair in zip(self._keys, keys, strict=True))
        self._keys = numbers, owners, kinds
        vectors = np.zeros((len(new), self._vectors.shape[1]), dtype=np.float32)
        similar = np.zeros(len(new), dtype=np.float32)
        if asked.vector is not None:
            for row, passage in zip(vectors, new, strict=True):
                if passage.unit.vector is not None:
                    row[:] = passage.unit.vector
            similar = vectors @ asked.vector / np.float32(float(np.linalg.norm(asked.vector)) or 1.0)
        self._vectors = np.vstack([self._vectors, vectors])
        self._similar = np.append(self._similar, similar)
        shared = self._shared_names(first, len(new))
        shape = len(new), len(self._terms)
        inside = np.array([[w in p.terms for w in self._terms] for p in new], dtype=bool).reshape(shape)
        titled = np.array([[w in p.title_terms for w in self._terms] for p in new], dtype=bool).reshape(shape)
        self._covers = np.vstack([self._covers, (inside | titled).astype(np.float64)])
        covered = (inside | titled) @ self._idf / self._weight
        rest = ~titled @ self._idf
        covered_rest = (inside & ~titled) @ self._idf / np.where(rest > 0, rest, 1.0)
        titles = [len(passage.title_terms) for passage in new]
        rows = np.zeros((len(new), len(DIRECT)), dtype=np.float32)
        for i, (passage, (kind, key)) in enumerate(zip(new, matches, strict=True)):
            fused, lexical = self._scores[first + i]
            rows[i] = (
                fused,
                similar[i],
                0.0,
                lexical,
                lexical / self._most[1],
                float(bool(key)),
                kind,
                key.count(" ") + 1 if key else 0,
                titled[i].sum() / titles[i] if titles[i] else 0.0,
                0.0,
                covered[i],
                covered_rest[i],
                len(asked.cues & {relation for _, relation in passage.reading.cues}),
                shared[i],
                math.log1p(passage.reading.length),
                len(self._asked_names),
                0.0,
                asked.form == "bridge",
                asked.form == "yes-no",
            )
        self._direct = np.vstack([self._direct, rows])

    def _shared_names(self, first: int, count: int) -> NDArray[np.intp]:
        """Return how many of the question's names each of the last ``count`` passages holds."""
        start = np.searchsorted(self.names.owners, first)
        numbers, owners = self.names.numbers[start:], self.names.owners[start:] - first
        asked = self._asked_names
        if not len(asked):
            return np.zeros(count, dtype=np.intp)
        at = np.minimum(np.searchsorted(asked, numbers), len(asked) - 1)
        hit = asked[at] == numbers
        held = np.zeros((count, len(asked)), dtype=bool)
        held[owners[hit], at[hit]] = True
        return np.asarray(np.count_nonzero(held, axis=1), dtype=np.intp)

    def _mentions(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Return by which name (-1: none), and at which word, each passage (row) names each (column)."""
        size = len(self.passages)
        kinds, places = np.full((size, size), -1, dtype=np.intp), np.zeros((size, size), dtype=np.intp)
        numbers, owners, at = self.names.numbers, self.names.owners, self.names.places
        keys, targets, ranks = self._keys
        order = np.argsort(keys, kind="stable")
        ordered = keys[order]
        left = np.searchsorted(ordered, numbers, side="left")
        hit = left < len(ordered)
        hit[hit] = ordered[left[hit]] == numbers[hit]
        places_hit = np.flatnonzero(hit)
        counts = np.searchsorted(ordered, numbers[places_hit], side="right") - left[places_hit]
        name = np.repeat(places_hit, counts)
        offset = np.arange(len(name)) - np.repeat(np.cumsum(counts) - counts, counts)
        key = order[left[name] + offset]
        # Written last, and so kept: the first of the target's names, where it first stands.
        name, key = name[::-1], key[::-1]
        best_last = np.argsort(-ranks[key], kind="stable")
        name, key = name[best_last], key[best_last]
        kinds[owners[name], targets[key]] = ranks[key]
        places[owners[name], targets[key]] = at[name]
        np.fill_diagonal(kinds, -1)
        return kinds, places

    def links(self, own: NDArray[np.float32], seeds: int = 8) -> NDArray[np.float32]:
        """Return one row per passage, columns ``LINK``.

        They tell what the ``seeds`` passages with the highest ``own`` score say of it.
        """
        self._settle()
        passages, size = self.passages, len(self.passages)
        rows = np.zeros((size, len(LINK)), dtype=np.float32)
        if not size:
            return rows
        order = np.argsort(-own, kind="stable")
        ranks = np.empty(size, dtype=np.int64)
        ranks[order] = np.arange(size)
        chosen = order[:seeds]
        weight = own[chosen].astype(np.float64)[:, None]
        each, other = np.arange(size), chosen[:, None] != np.arange(size)
        every_kind, every_place = self._mentions()
        kinds, places = every_kind[chosen], every_place[chosen]
        mentioned = kinds >= 0
        exact = np.where(mentioned, 1.0 / (1 + np.maximum(kinds, 0)), 0.0)
        gaps = self._gaps(chosen, mentioned, places)
        named = np.array([self._matches[place][0] for place in chosen])[:, None]
        # The seed that names a passage best says where and how.
        said = weight * exact
        by = np.argmax(said, axis=0)
        best_name = said[by, each]
        told = best_name > 0
        gap_of = np.where(told, gaps[by, each], _FAR)
        lengths = np.array([max(1, passages[place].reading.length) for place in chosen])
        spread = [np.sort(gaps[s][mentioned[s]]) for s in range(len(chosen))]
        cued_share = [
            np.searchsorted(spread[s], gap, side="right") if t else 0
            for s, gap, t in zip(by, gap_of, told, strict=True)
        ]
        back = (every_kind[:, chosen].T >= 0) & other
        missing = (1.0 - self._covers[chosen]) * self._idf
        left = missing.sum(axis=1, keepdims=True)
        covers_rest = np.where(left > 0, missing @ self._covers.T / np.where(left > 0, left, 1.0), 0.0)
        seed_terms = [passages[place].terms for place in chosen]
        rare = np.array(
            [[len(p.title_terms & held) / (1 + len(p.title_terms)) for p in passages] for held in seed_terms]
        )
        heads = {p.keys[0].split(" ")[0] for p in (passages[s] for s in chosen[:2]) if p.keys}
        joined, near, gain = self._near(chosen[:4], other[:4], weight[:4])
        bridged, cued, bridges = self._bridged(chosen, other)
        worded = [self._worded.get(passage.unit.id, (0.0, 0.0)) for passage in passages]
        columns: dict[str, Any] = {
            "own": own,
            "rank": ranks,
            "named_by": best_name,
            "named_by_cued": np.where(mentioned, said / (1.0 + gaps / 3), 0.0).max(axis=0),
            "named_place": np.where(told, places[by, each] / lengths[by], 0.0),
            "named_kind": np.where(told, exact[by, each], 0.0),
            "named_first": told & (places[by, each] < 25),
            "cue_gap": gap_of,
            "named_count": mentioned.sum(axis=0),
            "rivals": np.where(told, mentioned.sum(axis=1)[by], 0.0),
            "names_seed": np.where(back, weight, 0.0).max(axis=0),
            "seed_title": np.where(told, named[by, 0], 0.0),
            "seed_own": np.where(told, weight[by, 0], 0.0),
            "near_joined": joined,
            "near_seed": near,
            "near_gain": gain,
            "rest_covered": np.where(other, covers_rest * weight, 0.0).max(axis=0),
            "shared_rare": np.where(other, rare * weight, 0.0).max(axis=0),
            "best_own": own[chosen[0]],
            "same_head": [bool(p.keys) and p.keys[0].split(" ")[0] in heads for p in passages],
            "named_by_title": (exact * named).max(axis=0),
            "cued_share": cued_share,
            "worded": [score for score, _ in worded],
            "worded_first": [first for _, first in worded],
            "bridged": (weight * bridged).max(axis=0),
            "bridged_rest": (weight * bridged * covers_rest).max(axis=0),
            "bridged_cued": (weight * cued).max(axis=0),
            "bridges": bridges,
        }
        for column, name in enumerate(LINK):
            rows[:, column] = columns[name]
        return rows

    def _bridged(
        self, chosen: NDArray[np.intp], other: NDArray[np.bool_]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.intp]]:
        """Return how rare a name each passage has in common with each seed, beyond the question's own names.

        Rows are seeds. The second is the same, less for a name far from a cue; the third counts the names.
        """
        size = len(self.passages)
        open_names = [self.open_names(self.passages[place]) for place in chosen]
        keys = sorted({key for names in open_names for key in names})
        bridged, cued = np.zeros((len(chosen), size)), np.zeros((len(chosen), size))
        if not keys:
            return bridged, cued, np.zeros(size, dtype=np.intp)
        numbers = np.array([key_number(key) for key in keys], dtype=np.int64)
        order = np.argsort(numbers, kind="stable")
        at = np.minimum(np.searchsorted(numbers, self.names.numbers, sorter=order), len(keys) - 1)
        at = order[at]
        hit = numbers[at] == self.names.numbers
        held = np.zeros((len(keys), size), dtype=bool)
        held[at[hit], self.names.owners[hit]] = True
        rarity = np.log((1 + size) / (1 + held.sum(axis=1))) / np.log(1 + size)
        place_of = {key: place for place, key in enumerate(keys)}
        counted = np.zeros((len(keys), size), dtype=bool)
        for seed, names in enumerate(open_names):
            if not names:
                continue
            own = np.array([place_of[key] for key in names])
            shared = held[own] & other[seed]
            counted[own] |= shared
            gaps = np.array(list(names.values()), dtype=np.float64)
            worth = shared * rarity[own, None]
            bridged[seed] = worth.max(axis=0)
            cued[seed] = (worth / (1.0 + gaps / 3)[:, None]).max(axis=0)
        return bridged, cued, np.asarray(counted.sum(axis=0), dtype=np.intp)

    def _gaps(
        self, chosen: NDArray[np.intp], mentioned: NDArray[np.bool_], places: NDArray[np.intp]
    ) -> NDArray[np.float64]:
        """Count the words between each mention and the nearest cue of a relation that is asked for."""
        gaps = np.full(mentioned.shape, _FAR)
        for s, number in enumerate(chosen):
            wanted = self.asked.cues
            cues = np.array([p for p, relation in self.passages[number].reading.cues if relation in wanted])
            targets = np.flatnonzero(mentioned[s])
            if len(cues) and len(targets):
                away = places[s, targets][:, None] - cues
                gaps[s, targets] = np.minimum(np.where(away > 0, away, 2.0 - away).min(axis=1), _FAR)
        return gaps

    def _near(
        self, chosen: NDArray[np.intp], other: NDArray[np.bool_], weight: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Return nearness to question ⊕ seed, to the seed, and what the seed adds to the question alone."""
        vector = self.asked.vector
        usable = np.array([self.passages[place].unit.vector is not None for place in chosen], dtype=bool)
        if vector is None or not usable.any():
            nothing = np.zeros(len(self.passages))
            return nothing, nothing, nothing
        seeds = self._vectors[chosen[usable]]
        to_seed = seeds @ self._vectors.T
        lengths = np.linalg.norm(seeds + vector, axis=1, keepdims=True)
        alone = float(np.linalg.norm(vector)) or 1.0
        to_both = (to_seed + self._similar * np.float32(alone)) / np.where(lengths > 0, lengths, 1.0)
        other, weight = other[usable], weight[usable]
        return (
            np.where(other, to_both, 0.0).max(axis=0, initial=0.0),
            np.where(other, weight * to_seed, 0.0).max(axis=0, initial=0.0),
            np.where(other, weight * (to_both - self._similar), 0.0).max(axis=0, initial=0.0),
        )
