"""Adaptive candidate generation: follow-up search from the frontier, without a language model.

A question that needs two facts names only the first. Plain retrieval therefore finds the passage of the
first hop and, however deep it goes, often not the second (the director of a film is named in the film's
passage, not in the question). The follow-up reads what was found:

1. *start*: hybrid search for the question, and the documents whose titles the question names;
2. *follow*, a bounded number of rounds: from the passages that rank best so far, the documents whose
   titles they name, and the passages nearest to question ⊕ passage;
3. *rank*: each passage by how it matches the question and how the others lead to it
   (``candidate_features``), by two small forests trained on train files.
4. *go on*, where there is a support encoder: it reads the best passages together, and what it holds to be
   evidence is followed once more and has its place in the pool. A chain of three or four hops needs that
   its first facts are known for what they are.

The result is an ordinary Pool: promotion has the last word.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from pagerag.errors import InputError
from pagerag.promotion.signals import combined_worth, support_of
from pagerag.promotion.trees import Trees
from pagerag.protocols import Corpus, Encoder, Snapshot, SupportEncoder
from pagerag.retrieve.candidate_features import FeatureTable, QuestionReading
from pagerag.retrieve.retrievers import fuse_hits
from pagerag.text.names import NameReading, numbered_names
from pagerag.text.passage_reading import PassageCache, PassageReading
from pagerag.units import Candidate, Hit, Pool


@dataclass(frozen=True, slots=True)
class Limits:
    """How far follow-up search may go.

    ``first`` passages of the hybrid ranking start the pool; ``depth`` is how deep each ranking is read
    for fusion. In the first of ``rounds`` rounds the best ``seeds`` passages are followed, in the others
    those of the best ``joined`` that are new: documents they name (at most ``named`` passages of each), and
    for the best ``joined`` the ``near`` passages nearest to question ⊕ passage. Of these, ``worded`` names
    that lie nearest to a relation word of the question are also searched for as words, together with what of
    the question the passage leaves open, and of the first ``found`` passages of each search the ``taken``
    best taken; a name is searched for once. The pool never exceeds ``most`` passages. A support encoder reads
    the best ``judged`` of them, in each of ``guided`` further rounds.
    """

    first: int = 20
    depth: int = 50
    rounds: int = 1
    seeds: int = 6
    named: int = 3
    joined: int = 3
    near: int = 4
    worded: int = 4
    found: int = 4
    taken: int = 12
    most: int = 80
    guided: int = 1
    judged: int = 20

    def __post_init__(self) -> None:
        for name, value in asdict(self).items():
            least = int(name in {"first", "depth", "most", "judged"})
            if value < least:
                raise InputError(f"{name} must be at least {least}, not {value}")


@dataclass(frozen=True, slots=True)
class Step:
    """How a passage came into the pool.

    By ``search`` for the question, by ``title``, ``words`` or ``nearness``; in which round (0 is the first
    search); from which passage (None: from the question); by which name.
    """

    by: Literal["search", "title", "words", "nearness"]
    round: int = 0
    seed: str | None = None
    name: Callable[[], str] | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-able copy."""
        told = {"by": self.by, "from": self.seed, "name": self.name and self.name()}
        return {key: value for key, value in told.items() if value is not None}


_Named = tuple[str | None, NameReading, tuple[NDArray[np.int64], NDArray[np.intp]]]
"""A passage's id (None: the question), its reading, and the numbers and places of its names."""

_Found = list[tuple[int, Step]]
"""Rows of passages, each with how it was found."""


class Frontier:
    """The pool of one question while it grows; all that it asks comes from one snapshot of the corpus."""

    def __init__(
        self,
        question: str,
        vector: NDArray[np.float32] | None,
        corpus: Snapshot,
        limits: Limits,
        readings: PassageCache | None = None,
    ) -> None:
        self.vector, self.corpus, self.limits = vector, corpus, limits
        self.readings = readings or PassageCache()
        self.passages: dict[str, PassageReading] = {}
        self.steps: dict[str, Step] = {}
        self.round = 0
        self._looked_up: set[int] = set()
        self._followed: set[str] = set()
        self._searched: set[str] = set()
        self._worded_hits: list[tuple[int, float, int]] = []
        self._ids: dict[int, str] = {}  # of the rows that were read
        words: Sequence[Hit]
        near: Sequence[Sequence[Hit]] = ()
        if vector is not None:
            words, near = corpus.rank_both(question, vector[None, :], limits.depth)
        else:
            words = corpus.rank_text(question, limits.depth)
        self._lexical, self._fused = dict(words), fuse_hits([words, *near])
        self.asked = QuestionReading.of(question, vector)
        found = [(key, Step("search")) for key in list(self._fused)[: limits.first]]
        names = numbered_names([self.asked.reading]).of(0)
        taken = self._take(found + self._titled([(None, self.asked.reading, names)])[0])
        most = max(self._fused.values(), default=0.0), max(self._lexical.values(), default=0.0)
        self.table = FeatureTable(self.asked, [passage for _, passage in taken], *most)
        self._enter(taken)

    def follow(self, own: NDArray[np.float32]) -> bool:
        """Extend the pool from the passages with the highest ``own`` score; whether anything was new."""
        self.round += 1
        passages = list(self.passages.values())
        # Later rounds go on from the best alone: those are what a chain of three or four hops needs.
        width = self.limits.seeds if self.round == 1 else min(self.limits.seeds, self.limits.joined)
        best = np.argsort(-own, kind="stable")[:width].tolist()
        fresh = [place for place in best if passages[place].unit.id not in self._followed]
        seeds = [passages[place] for place in fresh]
        self._followed.update(seed.unit.id for seed in seeds)
        # All names and all vectors of a round are searched at once, and the units read together.
        self.table.direct()
        named = self._titled(
            [
                (seed.unit.id, seed.reading, self.table.names.of(place))
                for seed, place in zip(seeds, fresh, strict=True)
            ]
        )
        best_seeds = [passages[place] for place in best[: self.limits.joined] if place in fresh]
        near, worded = self._near(best_seeds), self._worded(best_seeds)
        found: _Found = []
        for seed, titled in zip(seeds, named, strict=True):
            found += [*titled, *near.get(seed.unit.id, ()), *worded.get(seed.unit.id, ())]
        taken = self._take(found)
        self._enter(taken)
        for key, score, rank in self._worded_hits:
            if key in self._ids:
                self.table.add_worded(self._ids[key], score, rank)
        return bool(taken)

    def _near(self, seeds: Sequence[PassageReading]) -> dict[str, _Found]:
        """Return, for each seed, the passages nearest to question ⊕ seed."""
        usable = [seed for seed in seeds if self.vector is not None and seed.unit.vector is not None]
        if not usable:
            return {}
        joined = np.stack([self.vector + seed.unit.vector for seed in usable])  # type: ignore[operator]
        rankings = self.corpus.rank_vectors(joined, self.limits.near + 1)
        return {
            seed.unit.id: [(key, Step("nearness", self.round, seed.unit.id)) for key, _ in ranking]
            for seed, ranking in zip(usable, rankings, strict=True)
        }

    def _worded(self, seeds: Sequence[PassageReading]) -> dict[str, _Found]:
        """Return the passages that hold the words of a name in each seed, and of what it leaves open."""
        limits = self.limits
        found: dict[int, tuple[float, Step]] = {}
        for seed in seeds if limits.found and limits.taken else ():
            left_open = " ".join(sorted(self.asked.terms - seed.terms - seed.title_terms))
            names = [name for name in self.table.open_names(seed) if name not in self._searched]
            for name in names[: limits.worded]:
                self._searched.add(name)
                step = Step("words", self.round, seed.unit.id, partial(str, name))
                hits = self.corpus.rank_text(f"{name} {left_open}", limits.found)
                self._worded_hits += [(key, score, rank) for rank, (key, score) in enumerate(hits)]
                for key, score in hits:
                    if key not in self._ids and (key not in found or score > found[key][0]):
                        found[key] = score, step
        # To read a passage takes longer than to find it: only the best of all these searches are read.
        best = sorted(found.items(), key=lambda hit: (-hit[1][0], hit[0]))[: limits.taken]
        taken: dict[str, _Found] = {}
        for key, (_, step) in best:
            taken.setdefault(step.seed or "", []).append((key, step))
        return taken

    def _titled(self, groups: Sequence[_Named]) -> list[_Found]:
        """Return the passages of documents whose titles each reading names; a name is looked up once."""
        result: list[_Found] = [[] for _ in groups]
        if not groups or not self.limits.named:
            return result
        numbers, starts = (np.concatenate(c) for c in zip(*(names for _, _, names in groups), strict=True))
        owner = np.repeat(np.arange(len(groups)), [len(names[0]) for _, _, names in groups])
        new = np.zeros(len(numbers), dtype=bool)
        new[np.unique(numbers, return_index=True)[1]] = True
        # NumPy's own set functions import numpy.ma when first called: 45 ms of a process with one question.
        new &= np.array([number not in self._looked_up for number in numbers.tolist()], dtype=bool)
        numbers, starts, owner = numbers[new], starts[new], owner[new]
        self._looked_up.update(numbers.tolist())

        def spelled(place: int) -> str:
            reading: NameReading = groups[owner[place]][1]
            return reading.spelled(int(numbers[place]), int(starts[place]))

        found = self.corpus.rank_names(numbers, self.limits.named)
        for place in sorted(found):
            step = Step("title", self.round, groups[owner[place]][0], partial(spelled, place))
            result[owner[place]] += [(key, step) for key in found[place]]
        return result

    def _take(self, found: Iterable[tuple[int, Step]]) -> list[tuple[int, PassageReading]]:
        """Read the units that are not in the pool yet, as many as it may hold."""
        steps: dict[int, Step] = {}
        for key, step in found:
            if len(self.passages) + len(steps) >= self.limits.most:
                break
            if key not in self._ids:
                steps.setdefault(key, step)
        taken = []
        for (key, step), unit in zip(steps.items(), self.corpus.units(list(steps)), strict=True):
            self._ids[key] = unit.id
            if unit.id not in self.passages:
                passage = self.passages[unit.id] = self.readings.of(unit)
                self.steps[unit.id] = step
                taken.append((key, passage))
        return taken

    def _enter(self, taken: Iterable[tuple[int, PassageReading]]) -> None:
        for key, passage in taken:
            self.table.add(passage, self._fused.get(key, 0.0), self._lexical.get(key, 0.0))

    def rounds(self, units: Iterable[Candidate]) -> list[dict[str, Any]]:
        """Return what each round found of these units, and how: the trace of the pool."""
        kept = [(unit.id, self.steps[unit.id]) for unit in units]
        return [
            {
                "round": number,
                "found": sum(step.round == number for step in self.steps.values()),
                "kept": [{"id": name, **step.to_dict()} for name, step in kept if step.round == number],
            }
            for number in range(self.round + 1)
        ]


@lru_cache(maxsize=1)
def rankers() -> tuple[Trees, Trees]:
    """Return the two rankers that come with the package: by direct features, and by all of them."""
    with np.load(Path(__file__).with_name("data") / "adaptive.npz", allow_pickle=False) as arrays:
        return Trees.from_arrays("direct", arrays), Trees.from_arrays("linked", arrays)


def probability(ranker: Trees, rows: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the ranker's probability that each row's passage belongs to the evidence."""
    return _sigmoid(ranker.log_odds(rows))


def _sigmoid(x: NDArray[np.floating[Any]]) -> NDArray[np.float32]:
    return (1.0 / (1.0 + np.exp(-x.astype(np.float64)))).astype(np.float32)


class AdaptiveRetriever:
    """A retriever that follows what it finds in a corpus.

    ``encoder`` must be the one that the vectors of the corpus come from, and is the corpus's own unless
    given; without one, search is lexical and by title alone. With a ``guide``, a support encoder whose first
    signal is a probability, search goes on from what that holds to be evidence. The pool's scores are the
    ranker's probabilities that a passage belongs to the evidence.
    """

    def __init__(
        self,
        corpus: Corpus,
        encoder: Encoder | None = None,
        *,
        limits: Limits | None = None,
        guide: SupportEncoder | None = None,
    ) -> None:
        self.corpus = corpus
        self.encoder: Encoder | None = encoder if encoder is not None else corpus.encoder
        self.limits = limits or Limits()
        if guide is not None and not (isinstance(guide, SupportEncoder) and guide.signals):
            raise InputError(
                f"guide is {guide!r}; it must be an object with name, signals and support(), such as "
                "pagerag.models.support_encoder()"
            )
        self.guide = guide
        self._readings = PassageCache()
        self.name = f"adaptive:{self.encoder.name if self.encoder is not None else 'lexical'}"
        if guide is not None:
            self.name += f"+{guide.name}"

    def retrieve(self, question: str, k: int = 20) -> Pool:
        """Return at most ``k`` passages of the grown pool, best first."""
        vector = self.encoder.encode_queries([question])[0] if self.encoder is not None else None
        with self.corpus.snapshot() as now:
            frontier = Frontier(question, vector, now, self.limits, self._readings)
            worth = scores = _ranked(frontier)
            if self.guide is not None and len(scores) and question.strip():
                scores, worth = _guided(frontier, scores, question, self.guide)
        passages = list(frontier.passages.values())
        order = np.argsort(-worth, kind="stable")[: max(k, 0)]
        order = order[np.argsort(-scores[order], kind="stable")]
        chosen = tuple(replace(passages[place].unit, score=float(scores[place])) for place in order)
        return Pool(
            question,
            chosen,
            vector=vector,
            origin=self.name,
            metadata={"rounds": frontier.rounds(chosen)},
            scores="probability",
        )


def _ranked(frontier: Frontier) -> NDArray[np.float32]:
    """Follow the frontier for its rounds; the passages' scores at the end, in pool order."""
    own = probability(rankers()[0], frontier.table.direct())
    for _ in range(frontier.limits.rounds):
        grew = frontier.follow(own)
        own = _linked(frontier, ())
        if not grew:
            break
    return own


def _linked(frontier: Frontier, known: Sequence[float]) -> NDArray[np.float32]:
    """Return the passages' scores by how they lead to each other; ``known`` are those of the first ones."""
    by_match, by_path = rankers()
    direct = frontier.table.direct()
    own = probability(by_match, direct)
    own[: len(known)] = known
    return probability(by_path, np.hstack([direct, frontier.table.links(own)]))


def _guided(
    frontier: Frontier, own: NDArray[np.float32], question: str, guide: SupportEncoder
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Follow what a support encoder holds to be evidence; the ranker's scores then, and those of both.

    Both choose the passages of the pool, the ranker alone scores them: where titles name what is asked it
    knows more, and promotion, which has the last word, asks the encoder anyway.
    """
    told: dict[str, float] = {}
    for _ in range(frontier.limits.guided):
        passages = list(frontier.passages.values())
        best = np.argsort(-_mixed(frontier, own, told), kind="stable")[: frontier.limits.judged].tolist()
        units = [replace(passages[place].unit, score=float(own[place])) for place in best]
        judged = support_of(guide, question, units)[:, 0].tolist()
        told |= zip((unit.id for unit in units), judged, strict=True)
        mixed = _mixed(frontier, own, told)
        frontier.follow(mixed)
        own = _linked(frontier, mixed.tolist())
    return own, _mixed(frontier, own, told)


def _mixed(frontier: Frontier, own: NDArray[np.float32], told: Mapping[str, float]) -> NDArray[np.float32]:
    """Return the ranker's probabilities, and for what the support encoder has read those of both.

    logit(p) = (2 · logit(p of the encoder) + logit(p of the ranker)) / 3.
    """
    judged = np.array([told.get(name, np.nan) for name in frontier.passages], dtype=np.float32)
    known = np.isfinite(judged)
    mixed = own.copy()
    mixed[known] = _sigmoid(combined_worth(judged[known], own[known]) / np.float32(3))
    return mixed
