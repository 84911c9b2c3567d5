"""The pool's sentences as parallel lists, and its words as numbers: what the reading is made from."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from pagerag.text.analysis import Analysis
from pagerag.text.gazetteer import title_keys
from pagerag.text.questions import Question
from pagerag.text.tokens import tokenize
from pagerag.units import Candidate

__all__ = ["MAX_NODES", "Rows", "Words", "narrow", "query_counts", "title_share"]

MAX_NODES = 240
"""How many sentences take part in the graph. Larger pools are narrowed to the most relevant sentences and
those that the best of them name, so that the work is bounded whatever the pool."""

_LONGEST_TITLE = 300  # characters; what is longer is no title
_STEM = 5  # "composer" and "composed" meet in their first letters; good enough for a soft signal

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


class Rows:
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

    def take(self, keep: list[int]) -> Rows:
        """The same documents with only the nodes in ``keep``."""
        rows = object.__new__(Rows)
        rows.titles, rows.title_tokens, rows.title_names = self.titles, self.title_tokens, self.title_names
        for name in Rows.__slots__:
            if not name.startswith("title"):
                column = getattr(self, name)
                setattr(rows, name, [column[i] for i in keep])
        return rows


def narrow(rows: Rows, asked: Question, prior: Floats | None) -> list[int] | None:
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


class Words:
    """The pool's words as numbers: one entry per occurrence in titles (first) and sentences (after them)."""

    __slots__ = ("first", "index", "nodes", "row", "size", "unique", "word")

    def __init__(self, rows: Rows) -> None:
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


def query_counts(rows: Rows, words: Words, tokens: tuple[str, ...]) -> tuple[Floats, Bools, Bools, Floats]:
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


def title_share(rows: Rows, tokens: tuple[str, ...]) -> Floats:
    wanted = set(tokens)
    share = [
        sum(token in wanted for token in title) / len(title) if title else 0.0 for title in rows.title_tokens
    ]
    return np.array([share[document] for document in rows.document], dtype=np.float32)
