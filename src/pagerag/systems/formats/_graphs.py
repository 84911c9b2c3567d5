"""Formats of the graph systems: GFM-RAG, LightRAG, HippoRAG, GraphRAG, KG2RAG; their facts are relations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from pagerag._extras import need
from pagerag.errors import FormatError
from pagerag.promotion.foreign import unique_ids
from pagerag.systems import gfmrag, graphrag, hipporag, kg2rag, lightrag
from pagerag.systems._records import Beside, Companion, Cursor, Record
from pagerag.systems.formats._base import PoolFormat, pair_of
from pagerag.units import Candidate, Pool

_EDGES = Companion("edges", ("edges.csv", "stage1/edges.csv"), "GFM-RAG's graph: source, relation, target")


class GfmRag(PoolFormat):
    """GFM-RAG's prediction.jsonl: each document whole, with its logit."""

    name = "gfmrag"
    needs: ClassVar = {"retrieved_docs": Mapping}
    lists = ("retrieved_docs.document",)
    signs = ("question", "retrieved_docs")
    summary = "question + retrieved_docs.document [{id, attributes.content, score}]: GFM-RAG"
    companions = (_EDGES,)

    def _read(self, row: Cursor, record: Record) -> Pool:
        documents = row.need("retrieved_docs").need("document")
        for one in documents.items():
            one.need("attributes").need("content").text()
            one.maybe_number("score")
        graph = record.beside.load("edges", gfmrag.EntityGraph)
        return gfmrag.pool_of(row.need("question", "query").text(), documents.value, graph)


class GfmPredictions(PoolFormat):
    """GFM-RAG's single-step file: names and logits; the texts are in nodes.csv beside it."""

    name = "gfmrag-predictions"
    lists = ("predictions.document",)
    signs = ("question", "predictions")
    summary = "question + predictions.document [[id, score]], with nodes.csv: GFM-RAG single-step"
    companions = (
        Companion("nodes", ("nodes.csv", "stage1/nodes.csv"), "GFM-RAG's documents and their texts", True),
        _EDGES,
    )

    def holds(self, first: Mapping[str, Any]) -> bool:
        return isinstance(first.get("predictions"), Mapping) and "document" in first["predictions"]

    def _read(self, row: Cursor, record: Record) -> Pool:
        texts = record.beside.load("nodes", gfmrag.read_nodes) or {}
        rows = []
        for pair in row.need("predictions").need("document").items():
            first, score = pair_of(pair, "[name, score]")
            name = first.label()
            if name not in texts:
                raise pair.error(f"{name!r} is not in {record.beside.paths['nodes']}")
            rows.append({"id": name, "attributes": {"content": texts[name]}, "score": score.number()})
        graph = record.beside.load("edges", gfmrag.EntityGraph)
        return gfmrag.pool_of(row.need("question", "query").text(), rows, graph)


class LightRag(PoolFormat):
    """Answers of LightRAG's ``aquery_data``, each with the question added as ``query``."""

    name = "lightrag"
    signs = ("query", "data")
    summary = "query + data {chunks, entities, relationships}: LightRAG's aquery_data"
    companions = (
        Companion("text_chunks", ("kv_store_text_chunks.json",), "the document and place of each chunk"),
    )

    def holds(self, first: Mapping[str, Any]) -> bool:
        answer = first.get("data")
        return isinstance(answer, Mapping) and ("chunks" in answer or first.get("status") == "failure")

    def _read(self, row: Cursor, record: Record) -> Pool:
        question = row.maybe_text("query", "question")
        if question is None:
            raise row.field("query").error(
                "LightRAG's answer does not hold the question; dump {'query': question, **answer}"
            )
        data = row.need("data")
        for one in data.maybe_items("chunks"):
            one.need("content").text()
        for one in (*data.maybe_items("entities"), *data.maybe_items("relationships")):
            one.mapping()
        stored = record.beside.load("text_chunks", lightrag.read_chunks)
        return lightrag.pool_of(question, record.raw, stored)

    def rewrite(self, record: Record, ids: Sequence[str]) -> Any:
        data = record.raw["data"]
        chunks = [data["chunks"][record.places[name]] for name in ids]
        shown = [chunk.get("reference_id") for chunk in chunks]
        kept = {**data, "chunks": chunks}
        if isinstance(data.get("references"), list):
            kept["references"] = [
                r for r in data["references"] if isinstance(r, Mapping) and r.get("reference_id") in shown
            ]
        return {**record.raw, "data": kept}


class HippoRag(PoolFormat):
    """QuerySolutions of HippoRAG, whole: its own ``to_dict`` keeps five documents only."""

    name = "hipporag"
    needs: ClassVar = {"docs": list}
    signs = ("question", "docs", "doc_scores")
    lists = ("docs", "doc_scores", "doc_metadata")
    summary = "question + docs [text] + doc_scores [number], with openie_results_*.json: HippoRAG 2"
    companions = (Companion("openie", ("openie_results_*.json",), "entities and triples of each passage"),)

    def _read(self, row: Cursor, record: Record) -> Pool:
        listed = row.need("docs")
        docs, scores = [one.text() for one in listed.items()], row.maybe("doc_scores")
        values = None if scores is None else [one.number() for one in scores.items()]
        if values is not None and len(values) < len(docs):
            raise listed.error(f"{len(docs)} docs and {len(values)} doc_scores; there must be one for each")
        facts = record.beside.load("openie", hipporag.openie)
        values = None if values is None else values[: len(docs)]
        return hipporag.pool_of(row.need("question", "query").text(), docs, values, facts)


class GraphRag(PoolFormat):
    """Dumped context records of GraphRAG's local search; the parquet files of its index give the facts."""

    name = "graphrag"
    needs: ClassVar = {"context_records": Mapping}
    lists = ("context_records.sources",)
    signs = ("query", "context_records")
    summary = "query + context_records.sources [{id, text}], with text_units/relationships.parquet: GraphRAG"
    companions = (
        Companion("text_units", ("text_units.parquet", "output/text_units.parquet"), "the text units"),
        Companion("relationships", ("relationships.parquet", "output/relationships.parquet"), "the facts"),
        Companion("documents", ("documents.parquet", "output/documents.parquet"), "titles of documents"),
    )

    def _read(self, row: Cursor, record: Record) -> Pool:
        units = row.need("context_records").need("sources").items()
        names = unique_ids([one.need("id").label() for one in units])
        tables = record.beside
        stored = {
            str(r["human_readable_id"]): r
            for r in _table(tables, "text_units", "id", "human_readable_id", "document_id")
        }
        titles = {str(r["id"]): str(r["title"]) for r in _table(tables, "documents", "id", "title")}
        long = {str(stored[name]["id"]): name for name in names if name in stored}
        candidates = []
        for one, name in zip(units, names, strict=True):
            document = stored.get(name, {}).get("document_id")
            source = None if document is None else str(document)
            text = one.need("text").text()
            candidates.append(Candidate(name, text, title=titles.get(source or ""), source=source))
        columns = ("source", "target", "description", "weight", "text_unit_ids")
        rows = [
            (
                str(e["source"]),
                str(e["target"]),
                str(e["description"] or ""),
                None if e["weight"] is None else float(e["weight"]),
                [long[str(u)] for u in e["text_unit_ids"] or () if str(u) in long],
            )
            for e in _table(tables, "relationships", *columns)
        ]
        question = row.need("query", "question").text()
        return Pool(question, tuple(candidates), relations=graphrag.relations_of(rows), origin=self.name)


class Kg2Rag(PoolFormat):
    """Expanded nodes of KG2RAG, dumped by the caller; its own output holds the final choice alone."""

    name = "kg2rag"
    lists = ("nodes",)
    signs = ("question", "nodes")
    summary = "question + nodes [{id: 'title##7', text, score}], with its triples: KG2RAG"
    unit = "sentence"
    companions = (Companion("triples", ("kgs", "kg", "kg.json", "triples.json"), "triples of each title"),)

    def holds(self, first: Mapping[str, Any]) -> bool:
        return isinstance(first.get("nodes"), list) or ("sp" in first and "answer" in first)

    def _read(self, row: Cursor, record: Record) -> Pool:
        if row.maybe("nodes") is None and row.maybe("sp") is not None:
            raise row.field("nodes").error(
                "this is KG2RAG's prediction file: it holds the final choice and no pool. Dump the nodes "
                "behind the expansion step: {'question': ..., 'nodes': [{'id', 'text', 'score'}]}"
            )
        units = [
            (one.need("id", "id_").label(), one.need("text").text(), one.maybe_number("score"))
            for one in row.need("nodes").items()
        ]
        graph = record.beside.load("triples", kg2rag.read_triples)
        return kg2rag.pool_of(row.need("question", "query").text(), units, graph)


def _table(beside: Beside, name: str, *columns: str) -> list[dict[str, Any]]:
    """Return these columns of the rows of a parquet file, none where there is no file."""

    def load(path: Path) -> list[dict[str, Any]]:
        parquet = need("pyarrow.parquet", "pyarrow", "parquet", "reading GraphRAG's tables")
        have = parquet.read_schema(path).names
        missing = [column for column in columns if column not in have]
        if missing:
            raise FormatError("this column is missing; is it GraphRAG 3's?", file=path, field=missing[0])
        rows: list[dict[str, Any]] = parquet.read_table(path, columns=list(columns)).to_pylist()
        return rows

    return beside.load(name, load) or []
