"""What can be said of a candidate before promotion: how it matches the question, and how the other
candidates lead to it.

``direct_features`` looks at the question and one passage. ``link_features`` looks at the passages that
name it, are named by it, or stand near it, each weighted by how well it does itself: the one-step paths
of the frontier. Both are tables of numbers for the rankers of ``adaptive``; the columns are named below.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from pagerag.retrieve.names import Reading, head_name, read
from pagerag.store.terms import terms
from pagerag.store.titles import title_keys
from pagerag.text.questions import read_question
from pagerag.units import Candidate

__all__ = ["DIRECT", "LINK", "Asked", "Passage", "Readings", "direct_features", "link_features"]

DIRECT = (
    "fused", "dense", "dense_gap", "lexical", "lexical_share", "title_named", "title_kind", "title_words",
    "title_share", "title_inside", "covered", "covered_rest", "cues_shared", "names_shared", "length",
    "names_in_question", "titles_in_question", "bridge", "yes_no",
)  # fmt: skip
LINK = (
    "own", "rank", "named_by", "named_by_cued", "named_place", "named_kind", "named_first", "cue_gap",
    "named_count", "rivals", "names_seed", "seed_title", "seed_own", "near_joined", "near_seed", "near_gain",
    "rest_covered", "shared_rare", "best_own", "same_head", "named_by_title", "cued_share",
)  # fmt: skip

_FAR = 12.0  # words between a cue and a name that have nothing to do with each other


@dataclass(frozen=True)
class Passage:
    """A candidate with its reading; made once for each passage and kept."""

    unit: Candidate
    reading: Reading
    keys: tuple[str, ...]
    terms: frozenset[str]
    title_terms: frozenset[str]
    has_title: bool

    @classmethod
    def of(cls, unit: Candidate) -> Passage:
        name = unit.title or head_name(unit.text)
        return cls(
            unit=unit,
            reading=read(unit.text),
            keys=title_keys(name) if name else (),
            terms=frozenset(terms(unit.text)),
            title_terms=frozenset(terms(name)) if name else frozenset(),
            has_title=bool(unit.title),
        )


class Readings:
    """The last passages that were read, so that one that many questions find is read once.

    Safe for several threads: two may read the same passage, and either reading will do.
    """

    def __init__(self, most: int = 2048) -> None:
        self.most = most
        self._kept: dict[tuple[str, str | None, str], Passage] = {}

    def of(self, unit: Candidate) -> Passage:
        """The unit's reading."""
        key = (unit.id, unit.title, unit.text)
        kept = self._kept.get(key)
        if kept is None:
            kept = Passage.of(unit)
            if len(self._kept) >= self.most:
                self._kept = {}
            self._kept[key] = kept
        elif kept.unit.vector is None and unit.vector is not None:
            kept = replace(kept, unit=unit)
        return kept


@dataclass(frozen=True)
class Asked:
    """A question as follow-up search reads it. ``idf`` weighs its terms by how rare they are among the
    passages first found, the only corpus that any retriever shows us."""

    text: str
    reading: Reading
    terms: frozenset[str]
    cues: frozenset[int]
    form: str
    vector: NDArray[np.float32] | None
    idf: Mapping[str, float] = field(default_factory=dict)

    @classmethod
    def of(cls, text: str, vector: NDArray[np.float32] | None, passages: Sequence[Passage]) -> Asked:
        words = frozenset(terms(text))
        reading = read(text)
        size = len(passages)
        counts = {word: sum(word in p.terms or word in p.title_terms for p in passages) for word in words}
        return cls(
            text=text,
            reading=reading,
            terms=words,
            cues=frozenset(relation for _, relation in reading.cues),
            form=read_question(text).form,
            vector=vector,
            idf={word: math.log1p((size - n + 0.5) / (n + 0.5)) for word, n in counts.items()},
        )

    @cached_property
    def weight(self) -> float:
        return sum(self.idf.values()) or 1.0


def _title_match(asked: Asked, passage: Passage) -> tuple[float, str]:
    """How exactly the question names the passage (1 the whole title, less for its shorter forms), and
    the key by which it does."""
    for kind, key in enumerate(passage.keys):
        if key in asked.reading.names:
            return 1.0 / (1 + kind), key
    return 0.0, ""


def direct_features(
    asked: Asked, passages: Sequence[Passage], fused: Mapping[str, float], lexical: Mapping[str, float]
) -> NDArray[np.float32]:
    """One row per passage, columns ``DIRECT``. ``fused`` and ``lexical`` are scores by id, 0 if absent."""
    rows = np.zeros((len(passages), len(DIRECT)), dtype=np.float32)
    similar = similarities(asked.vector, passages)
    top = float(similar.max(initial=0.0))
    most = max(lexical.values(), default=0.0) or 1.0
    best = max(fused.values(), default=0.0) or 1.0
    matches = [_title_match(asked, passage) for passage in passages]
    named = {key for _, key in matches if key}
    bridge, yes_no = float(asked.form == "bridge"), float(asked.form == "yes-no")
    for i, (passage, (kind, key)) in enumerate(zip(passages, matches, strict=True)):
        inside = any(key != other and f" {key} " in f" {other} " for other in named) if key else False
        shared = asked.terms & passage.terms
        titled = asked.terms & passage.title_terms
        covered = sum(asked.idf[word] for word in shared | titled) / asked.weight
        rest = asked.terms - passage.title_terms
        rest_weight = sum(asked.idf[word] for word in rest) or 1.0
        lex = lexical.get(passage.unit.id, 0.0)
        rows[i] = (
            fused.get(passage.unit.id, 0.0) / best,
            similar[i],
            similar[i] - top,
            lex,
            lex / most,
            float(bool(key)),
            kind,
            key.count(" ") + 1 if key else 0,
            len(titled) / len(passage.title_terms) if passage.title_terms else 0.0,
            float(inside),
            covered,
            sum(asked.idf[word] for word in shared & rest) / rest_weight,
            len(asked.cues & {relation for _, relation in passage.reading.cues}),
            sum(name in passage.reading.names for name in asked.reading.names),
            math.log1p(passage.reading.length),
            len(asked.reading.names),
            len(named),
            bridge,
            yes_no,
        )
    return rows


def similarities(vector: NDArray[np.float32] | None, passages: Sequence[Passage]) -> NDArray[np.float32]:
    """The passages' similarity to a vector; 0 for those without one."""
    found = np.zeros(len(passages), dtype=np.float32)
    if vector is not None:
        length = float(np.linalg.norm(vector)) or 1.0
        for i, passage in enumerate(passages):
            if passage.unit.vector is not None:
                found[i] = float(passage.unit.vector @ vector) / length
    return found


def _mention(seed: Passage, target: Passage) -> tuple[int, int] | None:
    """Where the seed's text names the target: the key's number and the word's place."""
    for kind, key in enumerate(target.keys):
        place = seed.reading.names.get(key)
        if place is not None:
            return kind, place
    return None


def _cue_gap(asked: Asked, seed: Passage, place: int) -> float:
    """How many words lie between a name and the nearest cue of a relation that the question asks for."""
    gap = _FAR
    for position, relation in seed.reading.cues:
        if relation in asked.cues:
            gap = min(gap, place - position if position < place else position - place + 2.0)
    return gap


def link_features(
    asked: Asked, passages: Sequence[Passage], own: NDArray[np.float32], seeds: int = 8
) -> NDArray[np.float32]:
    """One row per passage, columns ``LINK``: what the ``seeds`` passages with the highest ``own`` score
    say of it."""
    size = len(passages)
    rows = np.zeros((size, len(LINK)), dtype=np.float32)
    order = np.argsort(-own, kind="stable")
    ranks = np.empty(size, dtype=np.int64)
    ranks[order] = np.arange(size)
    chosen = [int(i) for i in order[:seeds]]
    mentions = {
        (s, t): found
        for s in chosen
        for t in range(size)
        if s != t and (found := _mention(passages[s], passages[t])) is not None
    }
    gaps = {(s, t): _cue_gap(asked, passages[s], place) for (s, t), (_, place) in mentions.items()}
    out_degree = {s: sum((s, t) in mentions for t in range(size)) for s in chosen}
    base = similarities(asked.vector, passages)
    joined = {
        s: similarities(asked.vector + unit_vector, passages)
        for s in chosen[:4]
        if asked.vector is not None and (unit_vector := passages[s].unit.vector) is not None
    }
    named = [_title_match(asked, passage)[0] for passage in passages]
    covers = [asked.terms & (p.terms | p.title_terms) for p in passages]
    heads = {p.keys[0].split(" ")[0] for p in (passages[s] for s in chosen[:2]) if p.keys}
    for t, target in enumerate(passages):
        best_name = best_cued = by_title = place_of = kind_of = first = 0.0
        gap_of, rivals, count, names_seed, seed_title, seed_own = _FAR, 0.0, 0, 0.0, 0.0, 0.0
        near_joined = near_seed = near_gain = rest = rare = cued_share = 0.0
        for s in chosen:
            if s == t:
                continue
            seed, weight = passages[s], float(own[s])
            found = mentions.get((s, t))
            if found is not None:
                kind, place = found
                gap = gaps[s, t]
                exact = 1.0 / (1 + kind)
                count += 1
                cued = weight * exact / (1.0 + gap / 3)
                best_cued = max(best_cued, cued)
                by_title = max(by_title, exact * named[s])
                if weight * exact > best_name:
                    best_name, kind_of, gap_of = weight * exact, exact, gap
                    place_of = place / max(1, seed.reading.length)
                    first = float(place < 25)
                    rivals, seed_title, seed_own = out_degree[s], named[s], weight
                    cued_share = sum(
                        _cue_gap(asked, seed, place) <= gap
                        for (a, _), (_, place) in mentions.items()
                        if a == s
                    )
            if _mention(target, seed) is not None:
                names_seed = max(names_seed, weight)
            missing = asked.terms - covers[s]
            if missing:
                share = sum(asked.idf[w] for w in missing & covers[t]) / sum(asked.idf[w] for w in missing)
                rest = max(rest, weight * share)
            rare = max(rare, weight * len(target.title_terms & seed.terms) / (1 + len(target.title_terms)))
            if s in joined:
                near_joined = max(near_joined, float(joined[s][t]))
                near_gain = max(near_gain, weight * float(joined[s][t] - base[t]))
                seed_vector, vector = seed.unit.vector, target.unit.vector
                if seed_vector is not None and vector is not None:
                    near_seed = max(near_seed, weight * float(seed_vector @ vector))
        rows[t] = (
            own[t], ranks[t], best_name, best_cued, place_of, kind_of, first, gap_of, count, rivals,
            names_seed, seed_title, seed_own, near_joined, near_seed, near_gain, rest, rare,
            float(own[chosen[0]]) if chosen else 0.0,
            float(bool(target.keys) and target.keys[0].split(" ")[0] in heads), by_title, cued_share,
        )  # fmt: skip
    return rows
