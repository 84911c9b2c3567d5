"""GFM-RAG: its retriever's documents as a pool, its graph's edges as relations, its own prompt as reader.

::

    backend = GFMRAGBackend(retriever, stage1="data/my_data/processed/stage1")
    promoted = promote(question, backend.pool(question), k=5, mode="document")
    answer = backend.ask(question, promoted.context, prompt_builder, llm)

The file pair of its single-step evaluation (predictions and nodes.csv) is the format
``gfmrag-predictions`` of ``pagerag.systems.formats``.
"""

from __future__ import annotations

import ast
import csv
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from pagerag.errors import BackendError, FormatError
from pagerag.promotion.foreign import unique_ids
from pagerag.systems._common import checked, expect
from pagerag.systems._records import open_text
from pagerag.units import Candidate, Pool, Relation

TESTED = "2.0.0"
_expect = partial(expect, package="gfmrag", tested=TESTED)
MENTION = "is_mentioned_in"
"""The relation from an entity to a document in GFM-RAG's edges.csv."""


class EntityGraph:
    """The edges of GFM-RAG's stage 1: which document mentions which entity, and facts between entities."""

    def __init__(self, path: Path) -> None:
        self.mentions: dict[str, list[str]] = {}
        self._documents: dict[str, set[str]] = {}
        self._facts: list[tuple[str, str, str]] = []
        for line, row in _rows(path, ("source", "relation", "target")):
            head, relation, tail = row["source"], row["relation"], row["target"]
            if not (head and relation and tail):
                raise FormatError("an edge needs source, relation and target", file=path, line=line)
            if relation == MENTION:
                self.mentions.setdefault(tail, []).append(head)
                self._documents.setdefault(head, set()).add(tail)
            elif head != tail:
                self._facts.append((head, relation, tail))

    def relations(self, documents: Sequence[str]) -> tuple[Relation, ...]:
        """Return the facts that these documents can state: both ends are mentioned in one of them."""
        wanted, nowhere = set(documents), set[str]()
        stated = (
            (fact, self._documents.get(fact[0], nowhere) & self._documents.get(fact[2], nowhere) & wanted)
            for fact in self._facts
        )
        return tuple(Relation(*fact, tuple(sorted(both))) for fact, both in stated if both)


def read_nodes(path: Path) -> dict[str, str]:
    """Document name to its text, from nodes.csv."""
    texts = {}
    for line, row in _rows(path, ("type", "attributes")):
        name = row.get("uid") or row.get("name")
        if row["type"] != "document" or not name:
            continue
        try:
            attributes = ast.literal_eval(row["attributes"] or "{}")
        except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
            raise FormatError(
                "not a Python literal, as GFM-RAG writes it", file=path, line=line, field="attributes"
            ) from None
        texts[name] = str(attributes.get("content", "")) if isinstance(attributes, Mapping) else ""
    return texts


def pool_of(question: str, rows: Sequence[Mapping[str, Any]], graph: EntityGraph | None = None) -> Pool:
    """Return a pool from GFM-RAG's document rows; a document's id is its title, its score a logit."""
    names = unique_ids([str(row.get("id", place)) for place, row in enumerate(rows)])
    candidates = []
    for row, name in zip(rows, names, strict=True):
        attributes = row.get("attributes")
        content = attributes.get("content") if isinstance(attributes, Mapping) else None
        if not isinstance(content, str):
            raise BackendError(f"GFM-RAG's document {name!r} has no attributes.content")
        title, score = row.get("id"), row.get("score")
        candidates.append(
            Candidate(
                id=name,
                text=content,
                title=None if title is None else str(title),
                score=None if score is None else float(score),
                entities=tuple(graph.mentions.get(name, ())) or None if graph is not None else None,
            )
        )
    relations = graph.relations(names) if graph is not None else ()
    return Pool(question, tuple(candidates), relations=relations, origin="gfmrag")


class GFMRAGBackend:
    """A GFMRetriever seen through its pool; ``stage1`` is the folder with its edges.csv."""

    name = "gfmrag"

    def __init__(self, retriever: Any, *, stage1: str | Path | None = None) -> None:
        self.retriever = retriever
        self.graph = EntityGraph(Path(stage1) / "edges.csv") if stage1 is not None else None

    def pool(self, question: str, k: int = 20) -> Pool:
        """Return the ``k`` documents that GFM-RAG retrieves, with the facts of its graph."""
        checked(k)
        found = _expect(self.retriever, "retrieve")(question, top_k=k, target_types=["document"])
        rows = found.get("document") if isinstance(found, Mapping) else None
        if rows is None:
            said = sorted(found) if isinstance(found, Mapping) else type(found).__name__
            raise BackendError(f"GFM-RAG 2 answers {{'document': [...]}}; this retriever answered {said}")
        return pool_of(question, rows[:k], self.graph)

    def ask(self, question: str, context: Sequence[Candidate], prompt_builder: Any, llm: Any) -> str:
        """Return the answer of GFM-RAG's own prompt and model on these documents and no others."""
        rows = []
        for unit in context:
            row = {"id": unit.title or unit.id, "type": "document", "score": unit.score}
            rows.append({**row, "attributes": {"content": unit.text}})
        prompt = _expect(prompt_builder, "build_input_prompt")(question, {"document": rows})
        answer = _expect(llm, "generate_sentence")(prompt)
        if isinstance(answer, Exception):  # GFM-RAG's clients return their errors
            raise BackendError(f"GFM-RAG's language model failed: {answer}") from answer
        return str(answer)


def _rows(path: Path, needed: Sequence[str]) -> Iterator[tuple[int, dict[str, str]]]:
    with open_text(path, newline="") as file:  # csv reads the line ends inside quotes itself
        reader = csv.DictReader(file)
        try:
            missing = [name for name in needed if name not in (reader.fieldnames or ())]
            if missing:
                raise FormatError("this column is missing", file=path, line=1, field=missing[0])
            for row in reader:
                yield reader.line_num, row
        except csv.Error as wrong:
            raise FormatError(f"not a table: {wrong}", file=path, line=reader.line_num) from None
