"""Adaptive candidate generation: follow-up search from the frontier, without a language model.

A question that needs two facts names only the first. Plain retrieval therefore finds the passage of the
first hop and, however deep it goes, often not the second (the director of a film is named in the film's
passage, not in the question). The follow-up reads what was found:

1. *start*: hybrid search for the question, and the documents whose titles the question names;
2. *follow*, a bounded number of rounds: from the passages that rank best so far, the documents whose
   titles they name, and the passages nearest to question ⊕ passage;
3. *rank*: each passage by how it matches the question and how the others lead to it (``paths``), by
   two small forests trained on train files.

The result is an ordinary Pool: promotion has the last word.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib.resources import files

import numpy as np
from numpy.typing import NDArray

from pagerag.errors import InputError
from pagerag.promote import Promoter, Promotion
from pagerag.promote.trees import Trees
from pagerag.protocols import Encoder
from pagerag.retrieve.corpus import Searcher
from pagerag.retrieve.paths import Asked, Passage, Readings, direct_features, link_features
from pagerag.store.fusion import reciprocal_rank_fusion
from pagerag.units import Candidate, Mode, Pool

__all__ = ["AdaptiveRetriever", "Limits", "fill_by_rank", "promote_adaptively"]


@dataclass(frozen=True, slots=True)
class Limits:
    """How far follow-up search may go.

    ``first`` passages of the hybrid ranking start the pool; ``depth`` is how deep each ranking is read
    for fusion. In each of ``rounds`` rounds the best ``seeds`` passages are followed: documents they
    name (at most ``named`` passages of each), and the ``near`` passages nearest to question ⊕ passage
    for the best ``joined`` of them. The pool never exceeds ``most`` passages.
    """

    first: int = 20
    depth: int = 50
    rounds: int = 2
    seeds: int = 6
    named: int = 3
    joined: int = 3
    near: int = 4
    most: int = 80

    def __post_init__(self) -> None:
        for name in ("first", "depth", "most"):
            if getattr(self, name) < 1:
                raise InputError(f"{name} must be at least 1, not {getattr(self, name)}")
        for name in ("rounds", "seeds", "named", "joined", "near"):
            if getattr(self, name) < 0:
                raise InputError(f"{name} must not be negative, but is {getattr(self, name)}")


class Frontier:
    """The pool of one question while it grows."""

    def __init__(
        self,
        question: str,
        vector: NDArray[np.float32] | None,
        searcher: Searcher,
        limits: Limits,
        readings: Readings | None = None,
    ) -> None:
        self.question, self.vector = question, vector
        self.readings = readings or Readings()
        self.searcher, self.limits = searcher, limits
        self.passages: dict[str, Passage] = {}
        self.looked_up: set[str] = set()
        self.followed: set[str] = set()
        self.fused: Mapping[str, float] = {}
        self.lexical: dict[str, float] = {}
        self.asked = Asked.of(question, vector, ())
        self._start()

    def _start(self) -> None:
        limits = self.limits
        words = self.searcher.search_text(self.question, limits.depth)
        rankings = [words]
        if self.vector is not None:
            rankings.append(self.searcher.search_vector(self.vector, limits.depth))
        self.lexical = {unit.id: float(unit.score or 0.0) for unit in words}
        self.fused = reciprocal_rank_fusion([[unit.id for unit in ranking] for ranking in rankings])
        units: dict[str, Candidate] = {}
        for ranking in rankings:
            for unit in ranking:
                if unit.id not in units or units[unit.id].vector is None:
                    units[unit.id] = unit
        self._add(units[name] for name in list(self.fused)[: limits.first])
        self._look_up(self.asked.reading.names)
        self.asked = Asked.of(self.question, self.vector, tuple(self.passages.values()))

    def follow(self, own: NDArray[np.float32]) -> bool:
        """Extend the pool from the passages with the highest ``own`` score; whether anything was new."""
        before = len(self.passages)
        passages = list(self.passages.values())
        order = [passages[place] for place in np.argsort(-own, kind="stable")[: self.limits.seeds]]
        seeds = [(place, seed) for place, seed in enumerate(order) if seed.unit.id not in self.followed]
        self.followed.update(seed.unit.id for _, seed in seeds)
        # All names and all vectors of a round are searched at once: a store answers many as fast as one.
        named = self._titled([seed.reading.names for _, seed in seeds])
        near = self._near([seed for place, seed in seeds if place < self.limits.joined])
        for (_, seed), found in zip(seeds, named, strict=True):
            self._add(found)
            self._add(near.get(seed.unit.id, ()))
        return len(self.passages) > before

    def _near(self, seeds: Sequence[Passage]) -> dict[str, Sequence[Candidate]]:
        """For each seed the passages nearest to question ⊕ seed."""
        usable = [seed for seed in seeds if self.vector is not None and seed.unit.vector is not None]
        if not usable:
            return {}
        joined = np.stack([self.vector + seed.unit.vector for seed in usable])  # type: ignore[operator]
        k = self.limits.near + 1
        many = getattr(self.searcher, "search_vectors", None)
        found = (
            many(joined, k) if many is not None else [self.searcher.search_vector(row, k) for row in joined]
        )
        return {seed.unit.id: units for seed, units in zip(usable, found, strict=True)}

    def _titled(self, groups: Sequence[Iterable[str]]) -> list[list[Candidate]]:
        """For each group of names the passages of documents so titled; a name is looked up once."""
        fresh: list[list[str]] = []
        for names in groups:
            fresh.append([name for name in names if name not in self.looked_up])
            self.looked_up.update(fresh[-1])
        flat = [name for names in fresh for name in names]
        many = getattr(self.searcher, "lookup_titles", None)
        answers = iter(many(flat) if many is not None else map(self.searcher.lookup_title, flat))
        most = self.limits.named
        return [[unit for _ in names for unit in next(answers)[:most]] for names in fresh]

    def _look_up(self, names: Iterable[str]) -> None:
        for found in self._titled([names]):
            self._add(found)

    def _add(self, units: Iterable[Candidate]) -> None:
        for unit in units:
            if len(self.passages) >= self.limits.most:
                return
            if unit.id not in self.passages:
                self.passages[unit.id] = self.readings.of(unit)

    def direct(self) -> NDArray[np.float32]:
        """The direct features of the pool, in pool order."""
        return direct_features(self.asked, list(self.passages.values()), self.fused, self.lexical)

    def links(self, own: NDArray[np.float32]) -> NDArray[np.float32]:
        """The link features of the pool, in pool order."""
        return link_features(self.asked, list(self.passages.values()), own)


@lru_cache(maxsize=1)
def rankers() -> tuple[Trees, Trees]:
    """The two rankers that come with the package: by direct features, and by all of them."""
    file = files("pagerag.retrieve").joinpath("data", "adaptive.npz")
    with np.load(io.BytesIO(file.read_bytes()), allow_pickle=False) as arrays:
        return Trees.from_arrays("direct", arrays), Trees.from_arrays("linked", arrays)


def probability(ranker: Trees, rows: NDArray[np.float32]) -> NDArray[np.float32]:
    """The ranker's probability that each row's passage belongs to the evidence."""
    return (1.0 / (1.0 + np.exp(-ranker.log_odds(rows).astype(np.float64)))).astype(np.float32)


class AdaptiveRetriever:
    """A retriever that follows what it finds. Any ``Searcher`` will do: a store, or a MemoryCorpus.

    ``encoder`` must be the one the searcher's vectors come from; without one, search is lexical and by
    title alone. The pool's scores are the ranker's probabilities that a passage belongs to the evidence.
    """

    def __init__(
        self, searcher: Searcher, encoder: Encoder | None = None, *, limits: Limits | None = None
    ) -> None:
        self.searcher = searcher
        self.encoder: Encoder | None = encoder if encoder is not None else getattr(searcher, "encoder", None)
        self.limits = limits or Limits()
        self._readings = Readings()
        self.name = f"adaptive:{self.encoder.name if self.encoder is not None else 'lexical'}"

    def start(self, question: str, k: int = 20) -> Pool:
        """The pool before any follow-up: the ``k`` best of the fused rankings."""
        frontier = self._frontier(question, replace(self.limits, first=max(k, 1)))
        units = [(frontier.passages[name].unit, score) for name, score in list(frontier.fused.items())[:k]]
        chosen = tuple(replace(unit, score=score) for unit, score in units)
        return Pool(question, chosen, vector=frontier.vector, origin=f"{self.name}:start")

    def retrieve(self, question: str, k: int = 20) -> Pool:
        """At most ``k`` passages of the grown pool, best first."""
        frontier = self._frontier(question, self.limits)
        scores = _ranked(frontier)
        passages = list(frontier.passages.values())
        order = np.argsort(-scores, kind="stable")[: max(k, 0)]
        chosen = tuple(replace(passages[place].unit, score=float(scores[place])) for place in order)
        # Unlike other retrievers' scores these are comparable between questions, and say so.
        return Pool(
            question, chosen, vector=frontier.vector, origin=self.name, metadata={"scores": "probability"}
        )

    def _frontier(self, question: str, limits: Limits) -> Frontier:
        vector = self.encoder.encode_queries([question])[0] if self.encoder is not None else None
        return Frontier(question, vector, self.searcher, limits, self._readings)


def promote_adaptively(
    question: str,
    retriever: AdaptiveRetriever,
    promoter: Promoter,
    *,
    k: int = 5,
    mode: Mode = "document",
    pool: int = 20,
    always: bool = True,
) -> Promotion:
    """Retrieve, promote, and follow up, in at most ``k`` units.

    With ``always`` the follow-up does not wait to be asked for. Otherwise the plain pool is promoted
    first, and followed up only when that ends ambiguous or insufficient.
    """
    if not always:
        start = retriever.start(question, pool)
        if len(start):
            first = promoter.promote(question, start, k=k, mode=mode)
            if first.state == "enough":
                return first
    followed = promoter.promote(question, retriever.retrieve(question, pool), k=k, mode=mode)
    return fill_by_rank(followed)


def fill_by_rank(promotion: Promotion) -> Promotion:
    """The same core, but the places left in the context filled in the order of the pool.

    The order of a followed pool already weighs how its passages lead to each other. On train questions
    filling by it is as good as filling by promotion's own order, and much better where there are no
    titles to link by.
    """
    places = list(promotion.core_places)
    said = {promotion.candidates[place].text.strip().casefold() for place in places}
    for place, unit in enumerate(promotion.candidates):
        if len(places) >= len(promotion.context_places):
            break
        text = unit.text.strip().casefold()
        if text not in said:
            said.add(text)
            places.append(place)
    return replace(promotion, context_places=tuple(places))


def _ranked(frontier: Frontier) -> NDArray[np.float32]:
    """Follow the frontier for its rounds; the passages' scores at the end, in pool order."""
    by_match, by_path = rankers()
    own = probability(by_match, frontier.direct())
    for _ in range(frontier.limits.rounds):
        grew = frontier.follow(own)
        direct = frontier.direct()
        own = probability(by_match, direct)
        own = probability(by_path, np.hstack([direct, frontier.links(own)]))
        if not grew:
            break
    return own
