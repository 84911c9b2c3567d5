"""The pool's sentences as arrays, and its words as numbers: what the reading is made from."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, chain

import numpy as np
from numpy.typing import NDArray

from pagerag._remember import remember
from pagerag.promotion import score
from pagerag.text.analysis import Analysis, codes_of
from pagerag.text.codes import word_codes
from pagerag.text.gazetteer import is_numbered, title_entities, title_parts
from pagerag.text.tokens import tokenize
from pagerag.units import Candidate

__all__ = [
    "MAX_NODES",
    "STRIDE",
    "Documents",
    "Rows",
    "Sentences",
    "Title",
    "Words",
    "narrow",
    "title_reading",
]

MAX_NODES = 36
"""How many sentences take part in the graph. Larger pools are narrowed to the most relevant sentences and
those that name another document, so that the work is bounded whatever the pool. In cross-validation on the
train files 36 did as well as 240."""

STRIDE = 100_000
"""More sentences than a unit has: a sentence's place in a document is its unit's times this, plus its own."""

_LONGEST_TITLE = 300  # characters; what is longer is no title

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


class Title:
    """A document's title, read. The key is empty where there is no title, or nothing to tell it by."""

    __slots__ = ("head", "key", "name", "numbered", "parts", "size", "words")

    def __init__(self, title: str) -> None:
        self.name = title[:_LONGEST_TITLE]
        self.key = title_entities(self.name)[0]
        self.numbered = is_numbered(self.name)
        tokens = tokenize(self.name)
        self.words = word_codes(tokens)
        self.size = len(set(tokens))
        self.parts = title_parts(self.key)[0]  # the words of the key, where there are several
        self.head = hash(self.parts[0]) if self.parts else 0  # the code of the first


@remember(8 << 20)
def title_reading(title: str) -> Title:
    """Read a title; kept, because an index has few titles and they come again and again."""
    return Title(title)


_UNTITLED = Title("")


class Documents:
    """The documents of the units that take part: a title each, and which unit is of which."""

    __slots__ = ("of", "titles")

    def __init__(self, candidates: Sequence[Candidate], units: Sequence[int]) -> None:
        number: dict[str, int] = {}
        self.of: list[int] = []
        self.titles: list[Title] = []
        for index in units:
            candidate = candidates[index]
            document = number.setdefault(candidate.document, len(number))
            if document == len(self.titles):
                self.titles.append(title_reading(candidate.title) if candidate.title else _UNTITLED)
            self.of.append(document)


class Sentences:
    """All sentences of the units that take part, one after the other, and the question's words in them."""

    __slots__ = (
        "counts", "document", "found", "lengths", "owner", "repeats", "row", "sizes", "titles", "which",
        "words",
    )  # fmt: skip

    lengths: list[int]  # how many sentences each unit has
    counts: list[int]  # how many tokens each unit has
    owner: Ints  # S: place of the unit among those that take part
    document: Ints  # S
    sizes: list[int]  # S: how many tokens
    repeats: bool  # a unit says something twice
    words: Ints  # the codes of the tokens
    row: Ints  # the sentence of each token
    found: Bools  # 2 x S x Q: the sentence has the question token; it has a word with the token's stem
    titles: Bools  # 2 x documents x Q: the title has the question token; ... its stem
    which: Ints  # for each token the question's word that it is, or -1

    def __init__(self, analyses: Sequence[Analysis], documents: Documents, asked: Ints) -> None:
        units = codes_of(analyses)
        self.repeats = any(unit.repeats for unit in units)
        self.lengths = [len(unit.sizes) for unit in units]
        self.counts = [unit.words.shape[1] for unit in units]
        self.owner = np.arange(len(units)).repeat(self.lengths)
        self.document = np.array(documents.of).take(self.owner)
        self.sizes = list(chain.from_iterable([unit.sizes for unit in units]))
        titles = [title.words for title in documents.titles]
        words = np.concatenate([*[unit.words for unit in units], *titles], axis=1)
        rows = [*self.sizes, *[title.shape[1] for title in titles]]
        row = np.arange(len(rows)).repeat(rows)
        # [half, q, t]: the token t, or its stem (the other half), is the question's q; then t's row in a
        # table of the sentences and the titles
        hits = (words[:, None] == asked[:, :, None]).ravel().nonzero()[0]
        at, place = np.divmod(hits, max(words.shape[1], 1))
        half, column = np.divmod(at, max(asked.shape[1], 1))
        marks = np.zeros((2, len(rows), asked.shape[1]), dtype=np.bool_)
        marks[half, row.take(place), column] = True
        self.found, self.titles = marks[:, : len(self.sizes)], marks[:, len(self.sizes) :]
        exact = int(half.searchsorted(1))
        which = np.empty(words.shape[1], dtype=np.int64)
        which.fill(-1)
        which[place[:exact]] = column[:exact]
        total = sum(self.counts)
        self.words, self.row, self.which = words[0, :total], row[:total], which[:total]


def narrow(
    sentences: Sentences, analyses: Sequence[Analysis], documents: Documents, prior: Floats | None
) -> list[int] | None:
    """Return the sentences that take part in a pool with too many.

    Each unit's best, then the best of the rest.

    A sentence counts by the question's words in it and its title, by what the retriever said of its unit
    (``prior``, one value per unit), and by whether it names another document of the pool: a bridge often has
    no word of the question.
    """
    total = len(sentences.owner)
    if total <= MAX_NODES:
        return None
    found = np.add.reduce(sentences.found[0], axis=1, dtype=np.float32)
    worth = found + np.add.reduce(sentences.titles[0], axis=1, dtype=np.float32).take(sentences.document)
    worth[_leading(analyses, documents, sentences.document.tolist())] += 1.5
    if prior is not None:
        worth += (2.0 * prior).take(sentences.owner)
    ranked = np.argsort(-worth, kind="stable").tolist()
    # Boilerplate that a unit repeats counts once, and every unit is heard before any is heard twice. A later
    # value of a key replaces an earlier one, so that from the last to the first the best of each stands.
    ranked.reverse()
    owner = sentences.owner.tolist()
    if sentences.repeats:
        tokens = list(chain.from_iterable([analysis.tokens for analysis in analyses]))
        best = set({(owner[i], tokens[i]): i for i in ranked}.values())
        ranked = [i for i in ranked if i in best]
    first = set(dict(zip(map(owner.__getitem__, ranked), ranked, strict=True)).values())
    ranked.reverse()
    ordered = [i for i in ranked if i in first] + [i for i in ranked if i not in first]
    return sorted(ordered[:MAX_NODES])


def _leading(analyses: Sequence[Analysis], documents: Documents, document: list[int]) -> list[int]:
    """Return the sentences that name the title of another document, counted through all units."""
    own = [title.key for title in documents.titles]
    keys = frozenset(own)
    named = list(chain.from_iterable([analysis.entities for analysis in analyses]))
    return [
        place
        for place, none in enumerate(map(keys.isdisjoint, named))
        if not none and len(keys.intersection(named[place])) > (own[document[place]] in named[place])
    ]


class Rows:
    """The nodes: the sentences that take part, as arrays and lists of the same length."""

    __slots__ = (
        "closes", "document", "flags", "node", "nodes", "opens", "own", "place", "relations", "sentence",
        "spans", "starts", "stem", "tokens", "unit", "words",
    )  # fmt: skip

    def __init__(
        self,
        candidates: Sequence[Candidate],
        analyses: Sequence[Analysis],
        units: Sequence[int],
        sentences: Sentences,
        keep: list[int] | None,
    ) -> None:
        owner, sizes, self.words = sentences.owner, sentences.sizes, sentences.words
        self.document, found = sentences.document, sentences.found
        within = list(chain.from_iterable(map(range, sentences.lengths)))
        if keep is not None:
            kept = np.zeros(len(owner), dtype=np.bool_)
            kept[keep] = True
            self.words = self.words[kept.take(sentences.row)]
            sizes = list(map(sizes.__getitem__, keep))
            within = list(map(within.__getitem__, keep))
            owner, self.document = owner.take(keep), self.document.take(keep)
            found = found.take(keep, axis=1)
        self.own, self.stem = found
        # of each token the node, and of each node its first token
        self.node: Ints = np.arange(len(sizes)).repeat(sizes)
        self.starts: Ints = np.array([0, *accumulate(sizes)], dtype=np.int64)
        first = []
        for index, analysis in zip(units, analyses, strict=True):
            position = candidates[index].position
            place = index if position is None else position
            # Sentences of one chunk follow each other; the next chunk of the same document comes after.
            first.append(place if analysis.whole else place * STRIDE)
        lengths = np.array(sentences.lengths, dtype=np.int64)
        # A sentence of unknown place may stand anywhere; a document of unknown place is whole.
        opening = np.array(
            [
                candidates[index].position == 0 or (candidates[index].position is None and not analysis.whole)
                for index, analysis in zip(units, analyses, strict=True)
            ],
            dtype=bool,
        )
        self.unit: Ints = np.array(units, dtype=np.int64).take(owner)
        self.sentence: Ints = np.array(within, dtype=np.int64)
        self.place: Ints = np.array(first, dtype=np.int64).take(owner) + self.sentence
        # Of a document that comes in pieces only the first piece opens it.
        self.opens: Bools = (self.sentence == 0) & opening.take(owner)
        self.closes: Bools = self.sentence == lengths.take(owner) - 1
        self.nodes = list(zip(map(analyses.__getitem__, owner.tolist()), within, strict=True))
        self.spans = tuple([analysis.spans[place] for analysis, place in self.nodes])
        self.tokens = tuple([analysis.tokens[place] for analysis, place in self.nodes])
        cues = [analysis.relations[place] for analysis, place in self.nodes]
        flags = [analysis.flags[place] for analysis, place in self.nodes]
        self.relations: Ints
        self.flags: Ints
        self.relations, self.flags = np.array((cues, flags), dtype=np.int64)

    def __len__(self) -> int:
        return len(self.nodes)


class Words:
    """What the nodes have of the question's words, and what words they have in common."""

    __slots__ = ("count", "has", "idf", "overlap", "size", "stem", "title_share")

    count: Floats  # n x Q: the sentence has the question token (1), its title has it as well (2)
    has: Floats  # n x Q: whether either has it
    stem: Bools  # n x Q: the sentence or its title has a word with the token's stem
    idf: Floats  # Q: over the nodes
    size: Floats  # n: |set(Tok(s))|
    overlap: Floats  # n x n: |Tok(s_i) ∩ Tok(s_j)|
    title_share: Floats  # n: share of the title's words that the question has

    def __init__(self, rows: Rows, sentences: Sentences, documents: Documents) -> None:
        document = rows.document
        title, title_stem = sentences.titles.take(document, axis=1)
        self.count = np.add(rows.own, title, dtype=np.float32)
        self.has = (self.count > 0.0).astype(np.float32)
        self.stem = rows.stem | title_stem
        self.idf = score.idf_by_df(len(rows)).take(np.add.reduce(self.has, axis=0).astype(np.intp))
        sizes = np.array([title.size or 1 for title in documents.titles], dtype=np.float32)
        self.title_share = (np.add.reduce(sentences.titles[0], axis=1, dtype=np.float32) / sizes).take(
            document
        )
        self.overlap = _overlap(rows.words, rows.node, len(rows))
        self.size = self.overlap.diagonal().copy()


def _overlap(words: Ints, node: Ints, nodes: int) -> Floats:
    """Compute |Tok(s_i) ∩ Tok(s_j)|: a column for each word that is there, and the product of the rows."""
    order = words.argsort()
    ordered = words.take(order)
    column = np.zeros(len(words), dtype=np.intp)
    np.add.accumulate(ordered[1:] != ordered[:-1], out=column[1:])
    has = np.zeros((nodes, int(column[-1]) + 1 if len(words) else 1), dtype=np.float32)
    has[node.take(order), column] = 1.0
    return has @ has.T
