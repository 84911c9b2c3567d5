"""The corpora on which retrieval is measured: real questions over one shared corpus.

``2wiki-open`` is the open-retrieval file pair. The others pool all contexts of a file into one corpus;
``musique-wide-train`` those of MuSiQue train and of the MuSiQue questions of the wider train sets.
Nothing here shows a gold annotation to a retriever.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pagerag.errors import InputError
from pagerag.text import read_question
from pagerag.units import Candidate
from pagerag_lab.datasets.corpora import pooled_corpus, read_corpus
from pagerag_lab.datasets.pool_sets import PoolQuestion, read_pool_sets
from pagerag_lab.datasets.questions import Question
from pagerag_lab.datasets.registry import read_questions

FILES = {
    "2wiki-train": ("2wikimultihopqa", "2wikimultihopqa/train.json", None),
    "hotpotqa-train": ("hotpotqa", "hotpotqa/train.json", None),
    "hotpotqa-dev": ("hotpotqa", "hotpotqa/dev.json", None),
    "musique-train": ("musique", "musique/train.jsonl", None),
    "musique-wide-train": ("musique", "musique/train.jsonl", "wide/train/musique_gold.jsonl.gz"),
    "musique-dev": ("musique", "musique/dev.jsonl", None),
    "2wiki-open": ("open", "2wikimultihopqa/open_dev.jsonl", "2wikimultihopqa/open_corpus.jsonl"),
}


@dataclass(frozen=True)
class Asked:
    """A question, the ids of its gold passages, its type, and the ids of its own context."""

    question: str
    gold: frozenset[str]
    kind: str
    context: tuple[str, ...]


@dataclass(frozen=True)
class Corpus:
    """Passages and the questions asked of them."""

    name: str
    units: tuple[Candidate, ...]
    questions: tuple[Asked, ...]

    def without_titles(self) -> Corpus:
        """Return the same corpus without titles; a passage is then its text alone."""
        units = tuple(replace(unit, title=None) for unit in self.units)
        return replace(self, name=f"{self.name}, no titles", units=units)

    def contexts(self) -> Iterator[tuple[Asked, tuple[Candidate, ...]]]:
        """Return each question with the passages of its own context."""
        units = {unit.id: unit for unit in self.units}
        for question in self.questions:
            yield question, tuple(units[name] for name in question.context)


def read(name: str, data: Path, limit: int | None = None) -> Corpus:
    """Return the corpus of this name under the data folder."""
    if name not in FILES:
        raise InputError(f"unknown corpus {name!r}; one of: {', '.join(FILES)}")
    dataset, file, corpus = FILES[name]
    records = list(read_questions(dataset, data / file))
    if dataset == "musique":
        pools = list(read_pool_sets(data / corpus)) if corpus else ()
        return _paragraphs(name, records, pools, limit)
    documents = tuple(read_corpus(data / corpus)) if corpus else pooled_corpus(records)
    by_key = {document.key: document for document in reversed(documents)}  # one text of each title: the first
    units = tuple(document.unit() for document in documents if by_key[document.key] is document)
    questions = tuple(
        Asked(
            question=record.question,
            gold=frozenset(by_key[key].id for key in {fact[0] for fact in record.facts}),
            kind=record.type or _kind(record.question, len({fact[0] for fact in record.facts})),
            context=tuple(by_key[document.key].id for document in record.documents),
        )
        for record in records[:limit]
    )
    return Corpus(name, units, questions)


def _paragraphs(
    name: str, records: Sequence[Question], pools: Sequence[PoolQuestion], limit: int | None
) -> Corpus:
    """Return the paragraphs of all contexts, and of all pools, as one corpus.

    Several paragraphs share a title and each is a passage of its own, so that gold is told by the text.
    Questions without a gold paragraph cannot be scored and are left out.
    """
    documents = pooled_corpus(records)
    ids = {(document.title, document.text): document.id for document in documents}
    units = [document.unit() for document in documents]
    questions = []
    for record in records:
        own = {document.key: ids[document.title, document.text] for document in record.documents}
        gold = frozenset(own[key] for key, _ in record.facts)
        questions.append(Asked(record.question, gold, f"{record.hops} hops", tuple(own.values())))
    for pool in pools:
        own = {}
        for unit in pool.candidates:
            key = (unit.title or "", unit.text)
            if key not in ids:
                ids[key] = f"{pool.id} {unit.id}"
                units.append(replace(unit, id=ids[key], source=None))
            own[unit.id] = ids[key]
        gold = frozenset(own[one] for one in pool.wanted)
        questions.append(Asked(pool.question, gold, f"{len(gold)} hops", tuple(own.values())))
    return Corpus(name, tuple(units), tuple(one for one in questions if one.gold)[:limit])


def _kind(question: str, gold: int) -> str:
    """Return a question's type where its file has none: by its form and how many passages it takes."""
    if gold > 2:
        return "bridge_comparison"
    return "compositional / inference" if read_question(question).form == "bridge" else "comparison"
