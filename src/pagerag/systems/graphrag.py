"""Microsoft GraphRAG: the ranked text units of its local search, and a context builder that promotes them.

::

    engine = get_local_search_engine(...)
    engine.context_builder = PromotedContext(engine.context_builder, k=5)
    result = await engine.search(question)          # its own reader; at most 5 text units in the prompt

GraphRAG keeps no score, and its candidate mode loses the ranking; the pool here is ranked as its local
search ranks it: by the entities nearest to the question, then by their relationships in the unit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from pagerag._extras import need
from pagerag.errors import BackendError
from pagerag.systems._common import checked, confidences, expect, or_default
from pagerag.units import Candidate, Mode, Pool, Relation

if TYPE_CHECKING:
    from pagerag import Promoter, Promotion

TESTED = "3.1 to 3.3"
_expect = partial(expect, package="graphrag", tested=TESTED)
SOURCES = "sources"
_BOUNDLESS = 10**9


def relations_of(rows: Sequence[tuple[str, str, str, float | None, Sequence[str]]]) -> tuple[Relation, ...]:
    """Return relations from (source, target, description, weight, unit ids) rows that name units."""
    usable = [row for row in rows if row[4] and row[0] != row[1]]
    weights = confidences([row[3] for row in usable])
    return tuple(
        Relation(source, description, target, tuple(units), weight)
        for (source, target, description, _, units), weight in zip(usable, weights, strict=True)
    )


class GraphRAGBackend:
    """GraphRAG's local search seen through its pool of text units.

    ``engine`` is a local search engine, or its context builder. ``titles`` maps document ids to titles.
    ``entities`` is how many entities the question is mapped to; more entities make a larger pool.
    """

    name = "graphrag"

    def __init__(self, engine: Any, *, titles: Mapping[str, str] | None = None, entities: int = 20) -> None:
        builder = getattr(engine, "context_builder", engine)
        self.builder = builder.builder if isinstance(builder, PromotedContext) else builder
        self.titles = dict(titles or {})
        self.entities = entities

    def pool(self, question: str, k: int = 20) -> Pool:
        """Return at most ``k`` text units that mention the entities nearest to the question, best first."""
        checked(k)
        units = _expect(self.builder, "text_units")
        short = {str(unit.short_id): unit for unit in units.values()}
        found = [short[name] for name in self._ranked(question) if name in short][:k]
        return self._pool(question, found)

    def _ranked(self, question: str) -> list[str]:
        module, builder = "graphrag.query.context_builder.entity_extraction", self.builder
        mapper = need(module, "graphrag", "graphrag", "GraphRAG backend")
        chosen = mapper.map_query_to_entities(
            query=question,
            text_embedding_vectorstore=_expect(builder, "entity_text_embeddings"),
            text_embedder=_expect(builder, "text_embedder"),
            all_entities_dict=_expect(builder, "entities"),
            embedding_vectorstore_key=_expect(builder, "embedding_vectorstore_key"),
            include_entity_names=[],
            exclude_entity_names=[],
            k=self.entities,
            oversample_scaler=2,
        )
        rank = _expect(builder, "_build_text_unit_context")
        _, tables = rank(selected_entities=chosen, max_context_tokens=_BOUNDLESS)
        table = tables.get(SOURCES)
        return [] if table is None or table.empty else [str(name) for name in table["id"]]

    def _pool(self, question: str, units: Sequence[Any]) -> Pool:
        names = {unit.id: str(unit.short_id) for unit in units}
        entities: dict[str, list[str]] = {}
        for entity in self.builder.entities.values():
            for unit in _units_of(entity):
                if unit in names:
                    entities.setdefault(unit, []).append(str(entity.title))
        rows = []
        for edge in self.builder.relationships.values():
            where = [names[unit] for unit in _units_of(edge) if unit in names]
            rows.append((edge.source, edge.target, edge.description or "", edge.weight, where))
        candidates = tuple(
            Candidate(
                id=str(unit.short_id),
                text=unit.text,
                title=self.titles.get(str(unit.document_id)),
                source=str(unit.document_id) if unit.document_id is not None else None,
                entities=tuple(entities.get(unit.id, ())) or None,
                metadata={"text_unit_id": unit.id},
            )
            for unit in units
        )
        return Pool(question, candidates, relations=relations_of(rows), origin="graphrag")


class PromotedContext:
    """A context builder for GraphRAG's local search whose text units are promoted.

    The entity, relationship and report tables are GraphRAG's own; of the text units at most ``k`` of a
    pool of ``pool_size`` stand in the prompt. ``calls`` and ``last`` tell that promotion ran, and on what.
    """

    def __init__(
        self,
        builder: Any,
        *,
        k: int = 5,
        pool_size: int = 20,
        promoter: Promoter | None = None,
        mode: Mode = "document",
        titles: Mapping[str, str] | None = None,
    ) -> None:
        self.builder, self.k, self.pool_size, self.mode = builder, k, pool_size, mode
        self.promoter = or_default(promoter)
        self.backend = GraphRAGBackend(builder, titles=titles)
        self.calls = 0
        self.last: Promotion | None = None

    def build_context(self, query: str, conversation_history: Any = None, **options: Any) -> Any:
        """Return GraphRAG's context with the promoted text units in place of its own."""
        build = _expect(self.builder, "build_context")
        own = build(query=query, conversation_history=conversation_history, **options)
        records = getattr(own, "context_records", None)
        if not isinstance(records, Mapping) or not isinstance(own.context_chunks, str):
            raise BackendError(f"GraphRAG's context is not that of a local search of {TESTED}")
        pool = self.backend.pool(query, self.pool_size)
        if not pool.candidates:
            return own  # nothing was retrieved: there is nothing to promote
        self.calls += 1
        self.last = promotion = self.promoter.promote(query, pool, k=self.k, mode=self.mode)
        delimiter = str(options.get("column_delimiter", "|"))
        rows = [("id", "text"), *((unit.id, unit.text) for unit in promotion.context)]
        head, _, _ = own.context_chunks.partition("-----Sources-----")
        section = "\n".join(["-----Sources-----", *map(delimiter.join, rows)]) + "\n"
        chunks = f"{head.rstrip()}\n\n{section}" if head.strip() else section
        pandas = need("pandas", "pandas", "graphrag", "GraphRAG's context tables")
        table = pandas.DataFrame([list(row) for row in rows[1:]], columns=list(rows[0]))
        return replace(own, context_chunks=chunks, context_records={**records, SOURCES: table})

    def __getattr__(self, name: str) -> Any:
        # GraphRAG's engines ask their builder for other attributes; those are the wrapped builder's.
        if name == "builder":
            raise AttributeError(name)
        return getattr(self.builder, name)


def _units_of(item: Any) -> Sequence[str]:
    """Return the ids of the text units that state an entity or a relationship; they may be an array."""
    return item.text_unit_ids if item.text_unit_ids is not None else ()
