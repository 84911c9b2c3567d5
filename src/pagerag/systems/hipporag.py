"""HippoRAG 2: retrieve, promote, and hand the promoted passages to its own reader.

::

    backend = HippoRAGBackend(hipporag)
    promoted = promote(question, backend.pool(question), k=5, mode="document")
    answer = backend.ask(question, promoted.context)        # HippoRAG's rag_qa, on these passages alone

Its OpenIE results become relation edges: taken from the file HippoRAG writes, or from its object.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from functools import partial
from hashlib import md5
from pathlib import Path
from typing import Any

import numpy as np

from pagerag.errors import BackendError, FormatError
from pagerag.promotion.foreign import unique_ids
from pagerag.systems._common import checked, expect, split_title, triples
from pagerag.systems._records import Cursor, read_json
from pagerag.units import Candidate, Pool, Relation

TESTED = "2.0.0a4"
_expect = partial(expect, package="hipporag", tested=TESTED)


def chunk_id(passage: str) -> str:
    """Return the id under which HippoRAG files a passage: an md5 of its text."""
    return "chunk-" + md5(passage.encode(), usedforsecurity=False).hexdigest()


def openie(path: Path) -> dict[str, Mapping[str, Any]]:
    """Read an OpenIE results file: chunk id to passage, ``extracted_entities`` and ``extracted_triples``."""
    content = read_json(path)
    if not isinstance(content, Mapping) or not isinstance(content.get("docs"), list):
        raise FormatError("HippoRAG writes its OpenIE results as a list here", file=path, field="docs")
    found = {}
    for row in Cursor(content, path, None).need("docs").items():
        passage = row.need("passage").text()
        for name in ("extracted_entities", "extracted_triples"):
            row.maybe_items(name)  # complains unless it is a list
        found[str(row.mapping().get("idx") or chunk_id(passage))] = row.mapping()
    return found


def pool_of(
    question: str,
    docs: Sequence[str],
    scores: Sequence[float] | None = None,
    facts: Mapping[str, Mapping[str, Any]] | None = None,
) -> Pool:
    """Return a pool from the passages of a QuerySolution; a passage is ``title``, newline, ``text``."""
    if scores is not None and len(scores) != len(docs):
        raise BackendError(f"HippoRAG gave {len(docs)} passages and {len(scores)} scores")
    names = unique_ids([chunk_id(doc) for doc in docs])
    candidates, relations = [], list[Relation]()
    for place, (doc, name) in enumerate(zip(docs, names, strict=True)):
        title, text = split_title(doc)
        known = (facts or {}).get(name, {})
        entities = known.get("extracted_entities")
        relations += triples(known.get("extracted_triples") or [], name)
        candidates.append(
            Candidate(
                id=name,
                text=text,
                title=title,
                score=None if scores is None else float(scores[place]),
                entities=tuple(str(e) for e in entities) if entities else None,
                metadata={"passage": doc},
            )
        )
    return Pool(question, tuple(candidates), relations=tuple(relations), origin="hipporag")


class HippoRAGBackend:
    """A HippoRAG object that has an index, seen through its pool.

    ``openie_file`` is its ``openie_results_*.json``; without it, the file it wrote into its own folder is
    used when there is one. ``fallbacks`` counts the questions whose graph search HippoRAG gave up.
    """

    name = "hipporag"

    def __init__(self, hipporag: Any, *, openie_file: str | Path | None = None) -> None:
        self.hipporag = hipporag
        self.fallbacks = 0
        path = openie_file or getattr(hipporag, "openie_results_path", None)
        self.facts = openie(Path(path)) if path and (openie_file or Path(path).is_file()) else {}

    def pool(self, question: str, k: int = 20) -> Pool:
        """Return its passages, by personalised PageRank; by dense similarity where its own assertion fails.

        HippoRAG asserts that no kept fact has a weight of exactly zero, which happens with small
        corpora; it does not catch that itself.
        """
        checked(k)
        retrieve = _expect(self.hipporag, "retrieve")
        try:
            found = retrieve([question], num_to_retrieve=k)
        except AssertionError:
            self.fallbacks += 1
            found = _expect(self.hipporag, "retrieve_dpr")([question], num_to_retrieve=k)
        solution = _first(found)
        docs = list(solution.docs)[:k]
        scores = getattr(solution, "doc_scores", None)
        values = None if scores is None else [float(s) for s in list(scores)[: len(docs)]]
        pool = pool_of(question, docs, values, self.facts)
        seeds = [r for seed in getattr(solution, "graph_seeds", None) or () for r in triples([seed], "")]
        return replace(pool, metadata={"graph_seeds": seeds})

    def ask(self, question: str, context: Sequence[Candidate]) -> str:
        """Ask HippoRAG's reader on these passages alone; it reads the first ``qa_top_k`` (5) of them."""
        reader = _expect(self.hipporag, "rag_qa")
        docs = [str(unit.metadata.get("passage", unit.text)) for unit in context]
        scores = np.array([unit.score or 0.0 for unit in context], dtype=float)
        solution = _query_solution(self.hipporag)(question=question, docs=docs, doc_scores=scores)
        return str(_first(_first(reader(queries=[solution]))).answer)


def _query_solution(hipporag: Any) -> Any:
    """Return HippoRAG's QuerySolution class, from the package that the object comes from."""
    if type(hipporag).__module__.split(".")[0] == "hipporag":
        from hipporag.utils.misc_utils import QuerySolution as Kind
    else:
        Kind = getattr(hipporag, "QuerySolution", None)
    own = {f.name for f in fields(Kind)} if isinstance(Kind, type) and is_dataclass(Kind) else set()
    if missing := {"question", "docs", "doc_scores"} - own:
        raise BackendError(
            f"this is not a HippoRAG {TESTED} object: its QuerySolution has no {', '.join(sorted(missing))}"
        )
    return Kind


def _first(found: Any) -> Any:
    if not isinstance(found, list | tuple) or not found:
        raise BackendError(f"HippoRAG answered {type(found).__name__} where a list of solutions is expected")
    return found[0]
