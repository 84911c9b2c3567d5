"""The pool's sentences as parallel lists, and its words as numbers: what the reading is made from."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import chain, count

import numpy as np
from numpy.typing import NDArray

from pagerag.text.analysis import Analysis
from pagerag.text.gazetteer import title_keys
from pagerag.text.questions import Question
from pagerag.text.tokens import tokenize
from pagerag.units import Candidate

__all__ = ["MAX_NODES", "Rows", "Words", "narrow", "title_reading"]

MAX_NODES = 36
"""How many sentences take part in the graph. Larger pools are narrowed to the most relevant sentences and
those that name another document, so that the work is bounded whatever the pool. In cross-validation on the
train files 36 did as well as 240."""

_LONGEST_TITLE = 300  # characters; what is longer is no title
_STEM = 5  # "composer" and "composed" meet in their first letters; good enough for a soft signal

Floats = NDArray[np.float32]
Bools = NDArray[np.bool_]


@lru_cache(maxsize=1 << 14)
def title_reading(title: str) -> tuple[tuple[str, str], tuple[str, ...]]:
    """A title's keys and tokens. Kept, because an index has few titles and they come again and again."""
    title = title[:_LONGEST_TITLE]
    return title_keys(title), tuple(tokenize(title))


class Rows:
    """The nodes as parallel lists, while they are being gathered."""

    __slots__ = (
        "document", "entities", "flags", "place", "relations", "sentence", "spans", "surfaces", "title_names",
        "title_tokens", "titles", "tokens", "unit",
    )  # fmt: skip

    def __init__(
        self, candidates: Sequence[Candidate], analyses: Sequence[Analysis], units: Sequence[int]
    ) -> None:
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
        for index, analysis in zip(units, analyses, strict=True):
            candidate = candidates[index]
            document = documents.setdefault(candidate.document, len(documents))
            if document == len(self.titles):
                keys, tokens = title_reading(candidate.title) if candidate.title else (None, ())
                self.titles.append(keys)
                self.title_tokens.append(tokens)
                self.title_names.append(candidate.title[:_LONGEST_TITLE] if candidate.title else "")
            size = len(analysis)
            first = candidate.position if candidate.position is not None else index
            self.unit += [index] * size
            self.sentence += range(size)
            self.spans += analysis.spans
            self.document += [document] * size
            # Sentences of one chunk follow each other; the next chunk of the same document comes after.
            self.place += [first] if analysis.whole else range(first * 100_000, first * 100_000 + size)
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
                setattr(rows, name, list(map(getattr(self, name).__getitem__, keep)))
        return rows


def narrow(rows: Rows, asked: Question, prior: Floats | None) -> list[int] | None:
    """The nodes that take part in a pool with too many sentences: each unit's best, then the best of the rest.

    A sentence counts by the question's words in it and its title, by what the retriever said of its unit
    (``prior``), and by whether it names another document of the pool: a bridge often has no word of the
    question.
    """
    total = len(rows.unit)
    if total <= MAX_NODES:
        return None
    wanted = frozenset(asked.tokens)
    titles = [len(wanted.intersection(tokens)) for tokens in rows.title_tokens]
    keys = frozenset([title[0] for title in rows.titles if title is not None])
    own = [title[0] if title is not None else "" for title in rows.titles]
    relevance = [
        len(wanted.intersection(row))
        + titles[document]
        + (
            0.0
            if keys.isdisjoint(names)
            else 1.5 * any(key in keys and key != own[document] for key in names)
        )
        for row, names, document in zip(rows.tokens, rows.entities, rows.document, strict=True)
    ]
    worth = np.array(relevance, dtype=np.float32)
    if prior is not None:
        worth += 2.0 * prior.take(rows.unit)
    ranked = np.argsort(-worth, kind="stable").tolist()
    # Boilerplate that a unit repeats counts once, and every unit is heard before any is heard twice. A later
    # value of a key replaces an earlier one, so that from the last to the first the best of each stands.
    ranked.reverse()
    said = dict(zip([(rows.unit[i], rows.tokens[i]) for i in ranked], ranked, strict=True))
    if len(said) < total:
        best = set(said.values())
        ranked = [i for i in ranked if i in best]
    first = set(dict(zip(map(rows.unit.__getitem__, ranked), ranked, strict=True)).values())
    ranked.reverse()
    ordered = [i for i in ranked if i in first] + [i for i in ranked if i not in first]
    return sorted(ordered[:MAX_NODES])


class Words:
    """Which sentence and which title has which word, and which of them are the question's."""

    __slots__ = ("count", "idf", "overlap", "own", "size", "stem", "title_share")

    count: Floats  # n x Q: the sentence has the question token (1), its title has it as well (2)
    own: Bools  # n x Q: the sentence itself has it
    stem: Bools  # n x Q: the sentence or its title has a word with the token's stem
    idf: Floats  # Q: over the nodes
    size: Floats  # n: |set(Tok(s))|
    overlap: Floats  # n x n: |Tok(s_i) ∩ Tok(s_j)|
    title_share: Floats  # n: share of the title's words that the question has

    def __init__(self, rows: Rows, document: NDArray[np.int64], tokens: tuple[str, ...]) -> None:
        titles = len(rows.title_tokens)
        lists = [*rows.title_tokens, *rows.tokens]
        flat = list(chain.from_iterable(lists))
        asked = dict.fromkeys(tokens)
        width = len(asked)
        # the question's own words come first, so that theirs are the first columns; the others are told in one
        # pass by where each first stands, and then numbered without gaps
        place = dict(zip(asked, range(width), strict=True))
        stands = np.fromiter(map(place.setdefault, flat, count(width)), dtype=np.intp, count=len(flat))
        opens = np.zeros(width + len(flat), dtype=np.bool_)
        opens[:width] = True
        opens[stands] = True
        number = np.add.accumulate(opens, dtype=np.intp) - 1
        column = number.take(stands)
        row = np.arange(len(lists)).repeat(list(map(len, lists)))
        has = np.zeros((len(lists), max(len(place), 1)), dtype=np.float32)
        has[row, column] = 1.0
        mine = has[titles:]
        sizes = np.add.reduce(has, axis=1)
        self.size = sizes[titles:]
        self.overlap = mine @ mine.T
        self.own = mine[:, :width] > 0.0
        self.count = mine[:, :width] + has[:titles, :width].take(document, axis=0)
        seen = np.add.reduce(self.count > 0.0, axis=0)
        self.idf = (np.log((1.0 + len(mine)) / (1.0 + seen)) + 1.0).astype(np.float32)
        of_title = np.add.reduce(has[:titles, :width], axis=1) / np.maximum(sizes[:titles], 1.0)
        self.title_share = of_title.take(document)
        self.stem = self._stems(has, place, number, asked, titles, document)

    def _stems(
        self,
        has: Floats,
        place: dict[str, int],
        number: NDArray[np.intp],
        asked: dict[str, None],
        titles: int,
        document: NDArray[np.int64],
    ) -> Bools:
        heads: dict[str, list[int]] = {}
        for column, token in enumerate(asked):
            heads.setdefault(token[:_STEM], []).append(column)
        letters = {head[0] for head in heads if head}  # most words fail at the first letter
        alike = [word for word in place if word[0] in letters and word[:_STEM] in heads]
        near = np.zeros((len(alike), len(asked)), dtype=np.float32)
        for line, word in enumerate(alike):
            near[line, heads[word[:_STEM]]] = 1.0
        found = has.take(number[[place[word] for word in alike]], axis=1) @ near
        return np.asarray((found[titles:] + found.take(document, axis=0)) > 0.0)
