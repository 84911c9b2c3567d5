"""Where a question's pool comes from in a run: its own context, a corpus, a file, or a noisier pool."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Protocol

from pagerag.errors import InputError
from pagerag.pipeline import guide_of
from pagerag.protocols import Retriever
from pagerag.units import Candidate, Mode, Pool
from pagerag_lab.datasets.corpora import pooled_corpus, read_corpus
from pagerag_lab.datasets.questions import Document, Question
from pagerag_lab.datasets.registry import read_questions
from pagerag_lab.pools.pool_files import FiledPools
from pagerag_lab.pools.rankers import Pools, Ranker, top
from pagerag_lab.pools.retrievers import cached_encoder, corpus_retriever, is_system, ranker, system_parts
from pagerag_lab.rivals.selection import named_support
from pagerag_lab.runs.config import RunConfig

__all__ = ["Source", "source"]


class Source(Protocol):
    """Question to (pool, unit id → gold key)."""

    def __call__(self, question: Question) -> tuple[Pool, Mapping[str, str]]:
        """Return the question's pool, and the gold key of each unit id."""
        ...


class OwnContext:
    """The question's own units, the ``size`` best of them."""

    def __init__(self, ranker: Ranker, mode: Mode, size: int) -> None:
        self.pools = Pools(ranker, mode=mode, size=size)

    def __call__(self, question: Question) -> tuple[Pool, Mapping[str, str]]:
        return self.pools(question), question.keys(self.pools.mode)


class OpenCorpus:
    """A retriever over passages that all questions share, led by the larger ``support`` encoder."""

    def __init__(
        self, documents: Sequence[Document], make: str, size: int, support: str | None = None
    ) -> None:
        self.keys = {document.id: document.key for document in documents}
        units = [document.unit() for document in documents if document.text]
        guide = guide_of(named_support(support)) if support is not None else None
        self.retriever: Retriever = corpus_retriever(make, units, guide)
        self.size = size

    def __call__(self, question: Question) -> tuple[Pool, Mapping[str, str]]:
        return self.retriever.retrieve(question.question, self.size), self.keys


class PooledContexts(OpenCorpus):
    """All contexts of a file as one corpus.

    Gold is the very passage of the question's own context: several passages of a corpus may share a title,
    and a paragraph's number means nothing outside its question.
    """

    def __init__(
        self, documents: Sequence[Document], make: str, size: int, support: str | None = None
    ) -> None:
        super().__init__(documents, make, size, support)
        self.keys = {document.id: document.id for document in documents}
        self._ids = {(document.title, document.sentences): document.id for document in documents}

    def gold(self, question: Question) -> frozenset[str]:
        """Return the corpus ids of the question's gold passages; a title without a passage stays as it is."""
        own = {document.key: document for document in question.documents}
        found = set()
        for key, _ in question.facts:
            document = own.get(key)
            found.add(self._ids[document.title, document.sentences] if document else key)
        return frozenset(found)


class SystemContext:
    """Another RAG system, re-implemented, over a retriever of the question's own units."""

    def __init__(self, name: str, mode: Mode, size: int) -> None:
        self.name, self.mode, self.size = name, mode, size
        self.system, self.inner, self.chat = system_parts(name)

    def __call__(self, question: Question) -> tuple[Pool, Mapping[str, str]]:
        units = question.units(self.mode)
        if not units:
            return Pool(question=question.question, candidates=(), origin=self.name), {}
        given = (
            {"encoder": cached_encoder("minilm")} if "encoder" in self.system.needs else {"chat": self.chat}
        )
        retriever = self.system.over(corpus_retriever(self.inner, units), **given)
        return retriever.retrieve(question.question, self.size), question.keys(self.mode)


class Noisy:
    """Another source's pool with distractor documents of the same benchmark appended, then ranked again.

    The distractors of a question are drawn once, with a seed of its own, and never come from its context or
    its gold; a higher level holds every distractor of a lower one.
    """

    def __init__(
        self, inner: OwnContext, documents: Sequence[Document], level: int, seed: int, most: int = 20
    ) -> None:
        self.inner, self.documents, self.level, self.seed = inner, documents, level, seed
        self.most = max(level, most)

    def distractors(self, question: Question) -> list[Document]:
        """Return the documents that this question gets."""
        own = {document.key for document in question.documents} | {key for key, _ in question.facts}
        titles = {document.title for document in question.documents}
        rng = random.Random(f"{self.seed}:{question.id}")
        order = rng.sample(range(len(self.documents)), min(len(self.documents), self.most + len(own) + 40))
        chosen = [
            self.documents[place]
            for place in order
            if self.documents[place].title not in titles and self.documents[place].key not in own
        ]
        if len(chosen) < self.level:
            raise InputError(
                f"the file has too few other documents for {self.level} distractors; lower --noise"
            )
        return chosen[: self.level]

    def __call__(self, question: Question) -> tuple[Pool, Mapping[str, str]]:
        """Return the noisier pool."""
        pool, keys = self.inner(question)
        pools = self.inner.pools
        extra: list[Candidate] = []
        for number, document in enumerate(self.distractors(question)):
            marked = replace(document, id=f"distractor {number}: {document.id}")
            extra.extend(marked.sentence_units() if pools.mode == "sentence" else (marked.unit(),))
        units = [*(replace(unit, score=None, vector=None) for unit in pool.candidates), *extra]
        ranking = pools.ranker.rank(question.question, units)
        return top(question.question, units, ranking, len(units), pool.origin), keys


def source(config: RunConfig) -> Source:
    """Return the source that a run's settings describe."""
    if config.retriever.startswith("file:"):
        return FiledPools(config.retriever.removeprefix("file:"), mode=config.mode, size=config.pool)
    if config.corpus == "contexts":
        # Gold of the whole file is in it, whatever the limit: a smaller corpus would be an easier task.
        contexts = pooled_corpus(read_questions(config.dataset, config.data))
        return PooledContexts(contexts, config.retriever, config.pool, config.support)
    if config.corpus is not None:
        documents = tuple(read_corpus(config.corpus))
        return OpenCorpus(documents, config.retriever, config.pool, config.support)
    if is_system(config.retriever):
        return SystemContext(config.retriever, config.mode, config.pool)
    own = OwnContext(ranker(config.retriever), config.mode, config.pool)
    if not config.noise:
        return own
    documents = pooled_corpus(read_questions(config.dataset, config.data))
    return Noisy(own, documents, config.noise, config.seed)
