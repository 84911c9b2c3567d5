"""Make pools of sentences for single facts, yes-or-no questions and documents.

The benchmarks' questions over sentences all need several of them, so that a scorer that sees no others takes
every well-formed question for one of several hops. Here are others: a question of the reading sets with the
sentences of its passage and of the nearest ones, a StrategyQA question with the annotators' facts, and a
question over documents with the sentences of the passages that search found.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from pagerag.retrieve import BM25Retriever
from pagerag.text import split_sentences
from pagerag.units import Candidate
from pagerag_lab.datasets.records import read_values
from pagerag_lab.metrics.quotes import in_order, plain_words
from pagerag_lab.tune.pool_rows import SIZE, Row, as_units, plain, pool_rows, ranked

__all__ = [
    "Beside",
    "SentenceQuestion",
    "drawn",
    "natural_questions",
    "question_rows",
    "sentence_rows",
    "sentences_of",
    "texts_of",
    "xquad_questions",
]

MOST = 900
"""Questions of a set: no set may outweigh the others."""
NEAR = 3
"""Passages beside a question's own whose sentences are in its pool."""
FOUND = 8
"""Passages of a search over documents whose sentences are in the pool."""
LEAST_WORDS = 3
"""Shorter sentences of a document (a heading, a cell) are evidence only where they hold the whole quote."""


class SentenceQuestion(NamedTuple):
    """A question with the sentences that may be in its pool; all of ``gold`` are its evidence.

    ``answer`` is one that is accepted, where it is known.
    """

    key: str
    base: str
    name: str
    text: str
    kind: str
    units: list[Candidate]
    gold: set[str]
    answer: str = ""


def sentence_rows(data: Path, documents: Path, left_out: set[str], shown: set[str]) -> Iterator[Row]:
    """Make the rows; ``documents`` is the file of pools over documents.

    Questions in ``left_out`` (as ``plain`` writes them) are not used, nor passages with a sentence that is
    ``shown`` with a question of dev.
    """
    for made in (
        natural_questions(data, left_out, shown),
        xquad_questions(data, left_out, shown),
        _strategy(data, left_out),
        _over_documents(documents),
    ):
        yield from question_rows(list(made))


def question_rows(questions: Sequence[SentenceQuestion]) -> Iterator[Row]:
    """Make the rows of questions of one set: each gets every second time the pool of another, too."""
    for place, question in enumerate(questions):
        base = {
            "id": question.key, "base": question.base, "set": question.name, "question": question.text,
            "unit": "sentence", "kind": question.kind, "ids": question.gold,
            "sets": [sorted(question.gold)], "total": len(question.gold),
        }  # fmt: skip
        orders = {by: ranked(question.text, question.units, by) for by in ("bm25", "minilm")}
        other = questions[(place + 7) % len(questions)].units
        apart = [unit for unit in other if unit.id not in question.gold]
        yield from pool_rows(base, orders, apart if place % 2 else [])


def natural_questions(data: Path, left_out: set[str], shown: set[str]) -> Iterator[SentenceQuestion]:
    """Read questions whose answer stands in one sentence of the gold passage."""
    rows = [
        (f"nq:{number}", row)
        for number, row in enumerate(read_values(data / "reading/nq_open_oracle.jsonl"))
        if plain(row["question"]) not in left_out
    ]
    passages: dict[str, Candidate] = {}
    for _, row in rows:
        context = row["ctxs"][0]
        passages.setdefault(
            context["text"], Candidate(f"n{len(passages)}", context["text"], context["title"])
        )
    beside = Beside([unit for unit in passages.values() if shown.isdisjoint(texts_of(unit))])
    for key, row in islice(drawn(rows), 2 * MOST):
        own = passages[row["ctxs"][0]["text"]]
        units = sentences_of(own)
        answers = [answer.lower() for answer in row["answers"] if answer]
        gold = {unit.id for unit in units if any(answer in unit.text.lower() for answer in answers)}
        if len(gold) == 1 and len(units) > 1 and own.id in beside.known:
            around = beside(row["question"], own)
            yield SentenceQuestion(
                f"{key}:sentences", key, "nq_sentences", row["question"], "single", units + around, gold,
                row["answers"][0],
            )  # fmt: skip


def xquad_questions(data: Path, left_out: set[str], shown: set[str]) -> Iterator[SentenceQuestion]:
    """Read questions with the sentence in which their answer stands."""
    body = json.loads((data / "reading/xquad.en.json").read_text(encoding="utf-8"))
    passages: list[Candidate] = []
    found: list[tuple[Candidate, Row]] = []
    for article in body["data"]:
        asked = [row["question"] for paragraph in article["paragraphs"] for row in paragraph["qas"]]
        if any(plain(question) in left_out for question in asked):
            continue
        for paragraph in article["paragraphs"]:
            title = article["title"].replace("_", " ")
            own = Candidate(f"x{len(passages)}", paragraph["context"], title)
            if shown.isdisjoint(texts_of(own)):
                passages.append(own)
                found += [(own, row) for row in paragraph["qas"]]
    beside = Beside(passages)
    for own, row in found:
        start = row["answers"][0]["answer_start"]
        end = start + len(row["answers"][0]["text"])
        spans = split_sentences(own.text)
        gold = {f"{own.id}.{n}" for n, (low, high) in enumerate(spans) if low <= start and end <= high}
        if gold and len(spans) > 1:
            key, units = f"xquad:{row['id']}", sentences_of(own) + beside(row["question"], own)
            yield SentenceQuestion(
                f"{key}:sentences", key, "xquad_sentences", row["question"], "single", units, gold,
                row["answers"][0]["text"],
            )  # fmt: skip


def _strategy(data: Path, left_out: set[str]) -> Iterator[SentenceQuestion]:
    """Read yes-or-no questions: their facts among those of other questions."""
    rows = [
        row
        for row in read_values(data / "reading/strategyqa_train.json")
        if len(row["facts"]) > 1 and plain(row["question"]) not in left_out
    ]
    texts = dict.fromkeys(" ".join(fact.split()) for row in rows for fact in row["facts"])
    units = {text: Candidate(f"s{number}", text) for number, text in enumerate(texts)}
    search = BM25Retriever(list(units.values()))
    for key, row in islice(drawn((f"strategyqa:{row['qid']}", row) for row in rows), MOST):
        own = {units[" ".join(fact.split())].id: units[" ".join(fact.split())] for fact in row["facts"]}
        near = search.retrieve(row["question"], SIZE + len(own)).candidates
        others = [Candidate(unit.id, unit.text) for unit in near if unit.id not in own]
        pool = [*own.values(), *others[: max(SIZE - len(own), 0)]]
        yield SentenceQuestion(key, key, "strategyqa", row["question"], "multi", pool, set(own))


def _over_documents(pools: Path) -> Iterator[SentenceQuestion]:
    """Read questions over documents: the sentences that are a quote, or a part of one."""
    for row in read_values(pools):
        if row["retriever"] != "follow" or not row["id"].endswith("~follow"):
            continue
        wanted = {key for fact in row["facts"] for key in fact["ids"]}
        passages = as_units(row["candidates"])
        chosen = [unit for n, unit in enumerate(passages) if n < FOUND or unit.id in wanted]
        units = {unit.id: sentences_of(unit) for unit in chosen}
        told = [
            _told(fact["quote"], [s for key in fact["ids"] for s in units.get(key, ())])
            for fact in row["facts"]
        ]
        if all(told):
            yield SentenceQuestion(
                f"{row['id'].removesuffix('~follow')}:sentences", row["base"], "document_sentences",
                row["question"], row["kind"], [s for part in units.values() for s in part],
                set().union(*told),
            )  # fmt: skip


def _told(quote: str, sentences: Sequence[Candidate]) -> set[str]:
    """Return the sentences that hold the quote, or stand in it; of several passages those of the first."""
    wanted = plain_words(quote)
    found: set[str] = set()
    passage = None
    for unit in sentences:
        words = plain_words(unit.text)
        holds = in_order(words, wanted) or (len(words) >= LEAST_WORDS and in_order(wanted, words))
        if holds and passage in (None, unit.metadata["passage"]):
            passage = unit.metadata["passage"]
            found.add(unit.id)
    return found


class Beside:
    """The sentences of the passages nearest to a question."""

    def __init__(self, passages: Sequence[Candidate]) -> None:
        self.known = {unit.id: unit for unit in passages}
        self.search = BM25Retriever(passages)

    def __call__(self, question: str, own: Candidate) -> list[Candidate]:
        """Return them, without those of the question's ``own`` passage."""
        found = self.search.retrieve(question, NEAR + 1).candidates
        others = [self.known[unit.id] for unit in found if unit.id != own.id][:NEAR]
        return [sentence for unit in others for sentence in sentences_of(unit)]


def sentences_of(unit: Candidate) -> list[Candidate]:
    """Return a passage's sentences; its own place, or itself, is where they come from."""
    first = 1000 * (unit.position or 0)
    return [
        Candidate(
            f"{unit.id}.{number}",
            unit.text[start:end],
            unit.title,
            unit.source or unit.id,
            first + number,
            metadata={"passage": unit.id},
        )
        for number, (start, end) in enumerate(split_sentences(unit.text))
    ]


def texts_of(unit: Candidate) -> Collection[str]:
    """Return a passage's sentences as they are compared: without case and marks."""
    return {plain(unit.text[start:end]) for start, end in split_sentences(unit.text)}


def drawn(rows: Iterable[tuple[str, Row]]) -> Iterator[tuple[str, Row]]:
    """Return the rows in an order that their keys decide."""
    return iter(sorted(rows, key=lambda pair: zlib.crc32(pair[0].encode())))
