"""Read LightRAG (lightrag-hku): the pool it retrieves, with entities and relations, and its rerank hook.

Two ways to promote. *Hook*: give ``PromotionHook(k=5)`` to LightRAG as ``rerank_model_func`` and query
as always; at most k chunks reach its prompt. *Two calls*: ``LightRAGBackend(rag).pool(question)`` has the
chunks with LightRAG's relations as relation edges; promote it and give the context to any reader.

Only the two-call form bounds all that the reader sees: with the hook, LightRAG still prints its entity and
relation tables beside the promoted chunks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pagerag._extras import need
from pagerag.errors import BackendError
from pagerag.promotion.foreign import as_score, unique_ids
from pagerag.systems._common import checked, confidences, expect, first, or_default, split_title
from pagerag.systems._records import Cursor, read_json
from pagerag.units import Candidate, Mode, Pool, Relation, SupportChoice

if TYPE_CHECKING:
    from pagerag import Promoter, Promotion

SEPARATOR = "<SEP>"
"""What LightRAG puts between the chunk ids of an entity or a relation."""
TESTED = "1.5.7"
_expect = partial(expect, package="lightrag-hku", tested=TESTED)


def relations_of(rows: Sequence[Mapping[str, Any]], chunks: set[str]) -> tuple[Relation, ...]:
    """Return LightRAG's relationships as relations of the chunks of this pool that state them."""
    usable = []
    for row in rows:
        units = tuple(c for c in str(row.get("source_id") or "").split(SEPARATOR) if c in chunks)
        head, tail = row.get("src_id"), row.get("tgt_id")
        if units and head and tail and head != tail:
            usable.append((row, str(head), str(tail), units))
    weights = confidences([as_score(row.get("weight")) for row, *_ in usable])
    return tuple(
        Relation(head, str(row.get("keywords") or row.get("description") or ""), tail, units, weight)
        for (row, head, tail, units), weight in zip(usable, weights, strict=True)
    )


def entities_of(rows: Sequence[Mapping[str, Any]]) -> dict[str, tuple[str, ...]]:
    """Return by chunk id the names of the entities that LightRAG found in it."""
    found: dict[str, list[str]] = {}
    for row in rows:
        for chunk in str(row.get("source_id") or "").split(SEPARATOR):
            if chunk and row.get("entity_name"):
                found.setdefault(chunk, []).append(str(row["entity_name"]))
    return {chunk: tuple(names) for chunk, names in found.items()}


def read_chunks(path: Path) -> dict[str, Mapping[str, Any]]:
    """Return the content of ``kv_store_text_chunks.json``: chunk id to the chunk as LightRAG keeps it."""
    stored = Cursor(read_json(path), path, None)
    return {name: stored.field(name).mapping() for name in stored.mapping()}


def pool_of(
    question: str,
    answer: Mapping[str, Any],
    chunks: Mapping[str, Mapping[str, Any]] | None = None,
    title: Callable[[str], str | None] | None = None,
) -> Pool:
    """Return the pool in an answer of ``aquery_data``; LightRAG gives chunks an order and no score.

    ``chunks`` is the content of ``kv_store_text_chunks.json``, which knows each chunk's document and
    its place in it. ``title`` makes a title of a file path, where file names mean something; without it a
    title on the first line of a chunk is taken. Chunks without text are left out. LightRAG
    answers ``{"status": "failure"}`` when it finds nothing: the pool is empty.
    """
    data = answer.get("data")
    if not isinstance(data, Mapping):
        raise BackendError(
            f"LightRAG's answer has no 'data' object but {sorted(answer)}; it must come from aquery_data"
        )
    rows = data.get("chunks") or []
    names = unique_ids([str(row.get("chunk_id") or place) for place, row in enumerate(rows)])
    entities = entities_of(data.get("entities") or [])
    candidates = []
    for row, name in zip(rows, names, strict=True):
        stored = (chunks or {}).get(str(row.get("chunk_id")), {})
        path = row.get("file_path")
        inside, text = split_title(str(row.get("content") or ""))
        if not text.strip():
            continue  # nothing to read, and promotion refuses it
        candidates.append(
            Candidate(
                id=name,
                text=text,
                title=title(str(path)) if title is not None and path else inside,
                source=stored.get("full_doc_id") or (path if path and path != "unknown_source" else None),
                position=stored.get("chunk_order_index"),
                entities=entities.get(str(row.get("chunk_id"))),
                metadata={"file_path": path, "reference_id": row.get("reference_id")},
            )
        )
    relations = relations_of(data.get("relationships") or [], set(names))
    return Pool(question, tuple(candidates), relations=relations, origin="lightrag")


class LightRAGBackend:
    """A LightRAG object seen through its pool.

    ``mode`` and further keywords go to LightRAG's QueryParam. ``hook`` is the PromotionHook that was
    given to LightRAG as ``rerank_model_func``; with it ``ask`` hands back to LightRAG's own reader.
    """

    name = "lightrag"

    def __init__(
        self,
        rag: Any,
        *,
        mode: str = "mix",
        hook: PromotionHook | None = None,
        title: Callable[[str], str | None] | None = None,
        query_param: Callable[..., Any] | None = None,
        **parameters: Any,
    ) -> None:
        self.rag, self.mode, self.hook, self.title = rag, mode, hook, title
        self._query_param, self._parameters = query_param, parameters

    def pool(self, question: str, k: int = 20) -> Pool:
        """Return the chunks LightRAG would put into its prompt, before any reranking."""
        answer = _expect(self.rag, "query_data")(question, self._param(k, rerank=False))
        return first(pool_of(question, answer, title=self.title), k)

    async def apool(self, question: str, k: int = 20) -> Pool:
        """Return what ``pool`` returns, for code that already runs in LightRAG's event loop."""
        answer = await _expect(self.rag, "aquery_data")(question, self._param(k, rerank=False))
        return first(pool_of(question, answer, title=self.title), k)

    async def aask(self, question: str, k: int = 20) -> str:
        """Return LightRAG's own answer from the chunks that the hook promoted out of ``k``.

        Raises BackendError when promotion did not take part: LightRAG falls back without a word when a
        hook fails, and its answer cache does not know that the chunks changed.
        """
        hook = self._hook()
        before = hook.calls
        answer = await _expect(self.rag, "aquery")(question, self._param(k, rerank=True))
        if hook.calls == before:
            raise BackendError(
                "LightRAG did not call the promotion hook: it found no chunk, or it was not built with "
                "LightRAG(rerank_model_func=hook)"
            )
        hook.check()
        return str(answer)

    def _hook(self) -> PromotionHook:
        if self.hook is None:
            raise BackendError(
                "LightRAG reads promoted chunks through its rerank hook: hook = PromotionHook(k=5); "
                "rag = LightRAG(rerank_model_func=hook, ...); LightRAGBackend(rag, hook=hook)"
            )
        if getattr(self.rag, "enable_llm_cache", False):
            raise BackendError(
                "LightRAG's answer cache ignores the promoted chunks and would repeat an older answer; "
                "build it with LightRAG(enable_llm_cache=False)"
            )
        return self.hook

    def _param(self, k: int, *, rerank: bool) -> Any:
        checked(k)
        make = self._query_param
        if make is None:
            make = need("lightrag", "lightrag-hku", "lightrag", "LightRAG backend").QueryParam
        return make(mode=self.mode, chunk_top_k=k, enable_rerank=rerank, **self._parameters)


class PromotionHook:
    """Promote inside LightRAG, as its ``rerank_model_func``: at most ``k`` chunks come back, best first.

    A chunk that begins with a title on a line of its own is read with that title; chunks without text are
    passed over. Scores of the selected core lie in [0.5, 1], those of what fills up to ``k`` below 0.5: with
    ``MIN_RERANK_SCORE=0.5`` LightRAG reads the core alone.

    ``support`` names the support encoder (``models.support_named``); a promoter brings its own.

    ``calls`` counts its calls, ``last`` is the last Promotion, ``error`` what the last call raised; LightRAG
    hides errors, so ``check`` raises them again.
    """

    def __init__(
        self,
        k: int = 5,
        *,
        promoter: Promoter | None = None,
        mode: Mode = "document",
        support: SupportChoice = "auto",
    ) -> None:
        self.k, self.mode = k, mode
        self.promoter = or_default(promoter, support)
        self.calls = 0
        self.last: Promotion | None = None
        self.error: Exception | None = None

    async def __call__(
        self, query: str, documents: Sequence[str], top_n: int | None = None, **_: Any
    ) -> list[dict[str, Any]]:
        """Return ``{"index", "relevance_score"}`` of each chunk to read, best first."""
        self.calls += 1
        self.error = None
        try:
            candidates = [
                Candidate(str(place), text, title=title)
                for place, (title, text) in enumerate(map(split_title, documents))
                if text.strip()
            ]
            k = self.k if top_n is None else min(self.k, top_n)
            promotion = await self.promoter.apromote(query, candidates, k=k, mode=self.mode)
        except Exception as error:
            self.error = error
            raise
        self.last = promotion
        # LightRAG drops rows below its min_rerank_score, 0 by default.
        core = set(promotion.core_places)
        return [
            {
                "index": int(promotion.candidates[place].id),
                "relevance_score": 0.499 * float(promotion.scores[place]) + (0.5 if place in core else 0.0),
            }
            for place in promotion.context_places
        ]

    def check(self) -> Promotion:
        """Return the last promotion; raises when there was none, or when LightRAG hid its failure."""
        if self.error is not None:
            raise BackendError(
                f"the promotion hook failed and LightRAG went on without it: {self.error}"
            ) from self.error
        if self.last is None:
            raise BackendError("LightRAG has not called the promotion hook")
        return self.last
