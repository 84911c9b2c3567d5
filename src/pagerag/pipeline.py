"""Retrieve → promote → read: from a question to an answer with its evidence path, sync and async."""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, Self, TypeVar, cast

import numpy as np

from pagerag._extras import app_named
from pagerag.errors import EmptyPoolError, InputError, PageRAGError
from pagerag.promotion import Promoter, Promotion, Weights
from pagerag.protocols import Corpus, Encoder, Reader, ReadsOn, Retriever, SupportEncoder
from pagerag.read import reader as make_reader
from pagerag.result import NEAREST, Failure, Result
from pagerag.settings import Settings
from pagerag.store import sentences_of
from pagerag.text.terms import encoded_text
from pagerag.text.tokens import fold
from pagerag.units import Answer, Candidate, Mode, Pool, SupportChoice

if TYPE_CHECKING:
    import asyncio

__all__ = ["Failure", "PageRAG", "Result", "Stage", "promoter_of"]

Given = TypeVar("Given")
Units = Literal["auto", "core", "context"]

LONGEST_QUESTION = 20_000
"""Characters of a question."""


@dataclass(frozen=True, slots=True)
class Stage:
    """One stage that has ended; streaming callers hear of it before the words come."""

    name: str
    seconds: float
    detail: str


@dataclass(slots=True)
class _Work:
    """One question on its way."""

    question: str
    pool: Pool
    promotion: Promotion
    timings: dict[str, float] = field(default_factory=dict)


class PageRAG:
    """Answer questions with a store, a retriever, a promoter and a reader. Thread-safe when they are.

    Stored units are passages. In mode ``document`` (what ``auto`` means) passages are promoted by the
    sentences in them, and the reader sees passages; in ``paragraph`` each passage is one piece; in
    ``sentence`` the sentences of the best passages are promoted, and the reader sees sentences.
    ``units`` says whether the reader gets the minimal core or the context filled to ``k``; ``auto`` follows
    the reader's own ``prefers``, and lets a reader that can do so read on beyond the core.
    """

    def __init__(
        self,
        store: Corpus | None = None,
        retriever: Retriever | None = None,
        promoter: Promoter | None = None,
        reader: Reader | None = None,
        *,
        encoder: Encoder | None = None,
        k: int = 5,
        pool: int = 20,
        mode: Mode | Literal["auto"] = "auto",
        strategy: str | None = None,
        max_tokens: int | None = None,
        units: Units = "auto",
    ) -> None:
        if store is None and retriever is None:
            raise InputError("PageRAG needs a store or a retriever; PageRAG.open(path) makes both")
        if k < 1 or pool < 1:
            raise InputError(f"k and pool must be at least 1, not k={k}, pool={pool}")
        self.promoter = promoter if promoter is not None else Promoter()
        self.store = store
        self.encoder = store.encoder if encoder is None and store is not None else encoder
        if retriever is None and store is not None:
            retriever = default_retriever(store, self.encoder, support=self.promoter.support)
        self.retriever = cast(Retriever, retriever)
        self.reader = reader if reader is not None else make_reader("auto")
        if not isinstance(self.reader, Reader):
            raise InputError(
                f"{type(self.reader).__name__} is no whole reader: it needs name, identity, prefers, read, "
                "aread, stream and close; a subclass of pagerag.read.AtOnceReader has all but name and read"
            )
        self._to_close: list[Callable[[], None]] = [] if reader is not None else [self.reader.close]
        self.k, self.pool, self.units = k, pool, units
        self.mode: Mode = "document" if mode == "auto" else mode
        self.strategy, self.max_tokens = strategy, max_tokens

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str] | None = None,
        settings: Settings | None = None,
        *,
        reader: Reader | str | None = None,
        encoder: Encoder | None = None,
        k: int | None = None,
        pool: int | None = None,
        mode: Mode | Literal["auto"] | None = None,
        strategy: str | None = None,
        max_tokens: int | None = None,
        units: Units | None = None,
        adaptive: bool | None = None,
    ) -> PageRAG:
        """Return the pipeline over the store at ``path``, everything else as ``settings`` say.

        The other arguments win over the settings of the same name: ``k``, ``mode``, ``strategy`` and
        ``max_tokens`` of ``promote``, ``pool`` and ``adaptive`` of ``retrieve``, ``reader`` and ``units`` of
        ``read``. ``close`` closes the store, and the reader unless it was given ready made.
        """
        from pagerag.retrieve.encoders import encoder_of_store
        from pagerag.store import open_store

        overrides = {
            "promote.k": k,
            "promote.mode": mode,
            "promote.strategy": strategy,
            "promote.max_tokens": max_tokens,
            "retrieve.pool": pool,
            "retrieve.adaptive": adaptive,
            "read.units": units,
        }
        given = {name: value for name, value in overrides.items() if value is not None}
        settings = (settings or Settings()).updated(given, dict.fromkeys(given, "argument"))
        place = os.fspath(path) if path is not None else settings.store.path
        if encoder is None:
            with open_store(place) as named, app_named("to ask a store"):
                encoder = encoder_of_store(named.encoder_name, named.location, settings.store.encoder)
        store = open_store(place, encoder=encoder)
        to_close = [store.close]
        promoter = promoter_of(settings)
        if reader is None or isinstance(reader, str):
            reader = make_reader(reader or settings.read.reader, settings)
            to_close.insert(0, reader.close)
        found = settings.retrieve
        made = cls(
            store,
            default_retriever(
                store,
                encoder,
                mode=found.retriever,
                adaptive=found.adaptive,
                support=promoter.support,
            ),
            promoter,
            reader,
            encoder=encoder,
            k=settings.promote.k,
            pool=found.pool,
            mode=cast(Any, settings.promote.mode),
            strategy=None if settings.promote.strategy == "auto" else settings.promote.strategy,
            max_tokens=settings.promote.max_tokens or None,
            units=cast(Units, settings.read.units),
        )
        made._to_close = to_close
        return made

    def close(self) -> None:
        """Close the store and the reader that this pipeline opened itself; what it was given stays open."""
        for close in self._to_close:
            close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    async def aclose(self) -> None:
        """Close without blocking the event loop."""
        await _in_thread(self.close)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.aclose()

    def ask(self, question: str) -> Result:
        """Answer one question."""
        started = time.perf_counter()
        work = self._gather(question)
        with _timed(work.timings, "read"):
            answer = self._read(work)
        return self._result(work, answer, started)

    async def aask(self, question: str) -> Result:
        """Answer one question without blocking the event loop."""
        started = time.perf_counter()
        work = await _in_thread(self._gather, question)
        with _timed(work.timings, "read"):
            if self._others(work):
                answer = await _in_thread(self._read, work)
            else:
                answer = await self.reader.aread(question, self._shown(work), state=work.promotion.state)
        return self._result(work, answer, started)

    def ask_many(self, questions: Iterable[str], *, workers: int | None = None) -> Iterator[Result | Failure]:
        """Answer many questions at once, in their order; none is lost.

        A question that fails comes back as a Failure that holds the error; the others go on. At most
        ``workers`` questions are in flight (8 unless told), so the input may be endless.
        """
        count = _checked(8 if workers is None else workers)
        with ThreadPoolExecutor(count, thread_name_prefix="pagerag-ask") as threads:
            flying: deque[Future[Result | Failure]] = deque()
            try:
                for question in questions:
                    flying.append(threads.submit(self._attempt, question))
                    if len(flying) >= 2 * count:
                        yield flying.popleft().result()
                while flying:
                    yield flying.popleft().result()
            finally:
                for future in flying:
                    future.cancel()

    async def aask_many(
        self, questions: Iterable[str], *, workers: int = 8
    ) -> AsyncIterator[Result | Failure]:
        """Answer many questions as ``ask_many`` does, for async callers."""
        from asyncio import create_task

        count = _checked(workers)
        flying: deque[asyncio.Task[Result | Failure]] = deque()
        try:
            for question in questions:
                flying.append(create_task(self._aattempt(question)))
                if len(flying) >= count:
                    yield await flying.popleft()
            while flying:
                yield await flying.popleft()
        finally:
            for task in flying:
                task.cancel()

    def stream(self, question: str) -> Iterator[Stage | str | Result]:
        """Yield stages as they end, the reader's words as they come, then the Result."""
        started = time.perf_counter()
        work = self._gather(question)
        yield Stage("retrieve", work.timings["retrieve"], f"{len(work.pool)} units")
        units = self._shown(work)
        yield Stage("promote", work.timings["promote"], f"{len(units)} units, {work.promotion.state}")
        answer: Answer | None = None
        with _timed(work.timings, "read"):
            for item in self._stream(work):
                if isinstance(item, Answer):
                    answer = item
                    break
                work.timings.setdefault("first_words", time.perf_counter() - started)
                yield item
        if answer is None:
            raise InputError(f"the reader {self.reader.name!r} ended its stream without an Answer")
        yield self._result(work, answer, started)

    def gather(self, question: str) -> tuple[Pool, Promotion]:
        """Return pool and promotion without reading, for those who read elsewhere."""
        work = self._gather(question)
        return work.pool, work.promotion

    def _gather(self, question: str) -> _Work:
        if not isinstance(question, str) or not question.strip():
            raise InputError("the question is empty; ask something")
        if len(question) > LONGEST_QUESTION:
            raise InputError(
                f"the question has {len(question):,} characters; at most {LONGEST_QUESTION:,} are taken: "
                "index long texts, and ask about them"
            )
        timings: dict[str, float] = {}
        with _timed(timings, "retrieve"):
            pool = self.retriever.retrieve(question, self.pool)
        if not pool.candidates:
            raise EmptyPoolError(
                f"retrieval ({self.retriever.name}) found nothing for this question; "
                "if the store is empty, fill it with: pagerag index DOCUMENTS"
            )
        with _timed(timings, "promote"):
            promotion = self._promote(question, pool)
        return _Work(question, pool, promotion, timings)

    def _promote(self, question: str, pool: Pool) -> Promotion:
        given: Pool | list[Candidate] = pool
        units: Sequence[Candidate] = pool.candidates
        more: dict[str, Any] = {"fill_by_score": pool.scores == "probability"}
        if self.mode == "sentence" and self.store is not None:
            units = given = self._sentences(pool, self._best_passages(question, pool))
            more = {"vector": pool.vector if given[0].vector is not None else None}
        return self.promoter.promote(
            question,
            given,
            k=self.k,
            mode=self.mode,
            analyses=self._analyses(units),
            strategy=self.strategy,
            max_tokens=self.max_tokens,
            **more,
        )

    def _best_passages(self, question: str, pool: Pool) -> Sequence[Candidate]:
        """Return the passages whose sentences are worth weighing, a few more than units will be read.

        Adaptive retrieval has ranked its pool by evidence already; any other pool is promoted for it.
        """
        most = self.k + 3
        if pool.scores == "probability" or len(pool) <= most:
            return pool.candidates[:most]
        analyses = self._analyses(pool.candidates)
        return self.promoter.promote(question, pool, k=most, mode="paragraph", analyses=analyses).context

    def _sentences(self, pool: Pool, passages: Sequence[Candidate]) -> list[Candidate]:
        """Return the sentences of ``passages``, scored, as many as the pool may hold.

        A sentence is worth its nearness to the question plus its passage's share of the best score: the
        second hop resembles the question little, and its passage is what follow-up search found. Eight
        passages and twenty sentences gave the best recall (benchmarks/funnel.py).
        """
        sentences = [sentence for passage in passages for sentence in _telling(passage)]
        if self.encoder is None or not sentences or pool.vector is None:
            return sentences[: max(self.pool, self.k)]
        texts = [encoded_text(sentence.title, sentence.text) for sentence in sentences]
        vectors = np.asarray(self.encoder.encode_passages(texts), dtype=np.float32)
        best = max((unit.score or 0.0 for unit in pool.candidates), default=0.0)
        share = {unit.id: (unit.score or 0.0) / best if best > 0 else 0.0 for unit in pool.candidates}
        scored = [
            replace(one, score=float(near) + share.get(str(one.metadata.get("passage")), 0.0), vector=vector)
            for one, near, vector in zip(sentences, vectors @ pool.vector, vectors, strict=True)
        ]
        return sorted(scored, key=lambda one: -(one.score or 0.0))[: max(self.pool, self.k)]

    def _analyses(self, candidates: Sequence[Candidate]) -> Any:
        return self.store.analyses(candidates) if self.store is not None else None

    def _shown(self, work: _Work) -> tuple[Candidate, ...]:
        wanted = self.reader.prefers if self.units == "auto" else self.units
        core = tuple(work.promotion.core)
        return core if wanted == "core" and core else tuple(work.promotion.context)

    def _others(self, work: _Work) -> tuple[Candidate, ...]:
        """Return the units beyond the core that the reader may read as well, if it is one that reads on."""
        if self.units != "auto" or not isinstance(self.reader, ReadsOn):
            return ()
        shown = {unit.id for unit in self._shown(work)}
        return tuple(unit for unit in work.promotion.context if unit.id not in shown)

    def _read(self, work: _Work) -> Answer:
        shown, others, state = self._shown(work), self._others(work), work.promotion.state
        if others and isinstance(self.reader, ReadsOn):
            return self.reader.read_on(work.question, shown, others, state=state)
        return self.reader.read(work.question, shown, state=state)

    def _stream(self, work: _Work) -> Iterator[str | Answer]:
        if self._others(work):
            answer = self._read(work)
            yield from (answer.text, answer) if answer.text else (answer,)
        else:
            yield from self.reader.stream(work.question, self._shown(work), state=work.promotion.state)

    def _attempt(self, question: str) -> Result | Failure:
        try:
            return self.ask(question)
        except PageRAGError as problem:
            return Failure(question, problem)

    async def _aattempt(self, question: str) -> Result | Failure:
        try:
            return await self.aask(question)
        except PageRAGError as problem:
            return Failure(question, problem)

    def _result(self, work: _Work, answer: Answer, started: float) -> Result:
        work.timings["total"] = time.perf_counter() - started
        units = self._shown(work)
        if any(citation.number > len(units) for citation in answer.citations):
            units += self._others(work)
        elif not answer.text and work.promotion.state != "insufficient":
            # What is asked may take more than a reader can quote; its nearest evidence is shown then.
            known = {unit.id for unit in units}
            more = [unit for unit in work.promotion.context if unit.id not in known]
            units += tuple(more[: max(NEAREST - len(units), 0)])
        return Result(work.question, answer, units, work.promotion, work.pool, work.timings)


def _checked(workers: int) -> int:
    if workers < 1:
        raise InputError(f"workers must be at least 1, not {workers}")
    return workers


def default_retriever(
    corpus: Corpus,
    encoder: Encoder | None,
    *,
    mode: str = "hybrid",
    adaptive: bool = True,
    support: SupportEncoder | None = None,
) -> Retriever:
    """Return follow-up search over the corpus, led by ``support`` where it is to, or one plain search."""
    if not adaptive or mode != "hybrid":
        from pagerag.retrieve.retrievers import CorpusRetriever

        return CorpusRetriever(corpus, mode=cast(Any, mode), encoder=encoder)
    from pagerag.retrieve.adaptive import AdaptiveRetriever

    return AdaptiveRetriever(corpus, encoder, guide=guide_of(support))


def guide_of(support: SupportEncoder | None) -> SupportEncoder | None:
    """Return the support encoder if it is to lead follow-up search as well: the larger one.

    It reads twenty passages once more for each question, and finds more of a long chain (docs/retrieval.md).
    """
    return support if getattr(support, "fitted", None) == "judge" else None


def _telling(passage: Candidate) -> list[Candidate]:
    """Return the passage's sentences without its bare headings: a title names everything and says nothing."""
    sentences = sentences_of(passage)
    names = {fold(name).strip() for name in (passage.title, passage.metadata.get("section")) if name}
    return [sentence for sentence in sentences if fold(sentence.text).strip() not in names] or sentences


def promoter_of(settings: Settings) -> Promoter:
    """Return the promoter that the settings describe."""
    weights = Weights.load(settings.promote.weights) if settings.promote.weights else None
    return Promoter(weights=weights, support=cast(SupportChoice, settings.promote.support))


async def _in_thread(work: Callable[..., Given], *given: Any) -> Given:
    """Do work in a thread; asyncio is imported here, because one question of the command never needs it."""
    from asyncio import to_thread  # 20 ms

    return await to_thread(work, *given)


@contextmanager
def _timed(timings: dict[str, float], name: str) -> Iterator[None]:
    started = time.perf_counter()
    try:
        yield
    finally:
        timings[name] = time.perf_counter() - started
