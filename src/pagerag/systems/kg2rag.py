"""KG2RAG: promotion as one more node postprocessor, and its per-title triples as relations.

::

    postprocessor = KG2RAGPostprocessor(read_triples("kgs/hotpotqa"), k=5)
    engine = RetrieverQueryEngine.from_args(retriever, node_postprocessors=[expansion, postprocessor])

Put it behind KG2RAG's expansion: its input is the expanded pool. A re-implementation of the system itself,
made from its description alone, is in ``pagerag_lab.compact``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pagerag.errors import BackendError, FormatError, InputError
from pagerag.promotion.foreign import as_position, unique_ids
from pagerag.systems._common import checked, or_default, triples
from pagerag.systems._records import read_json
from pagerag.units import Candidate, Mode, Pool, Relation, SupportChoice

if TYPE_CHECKING:
    from pagerag import Promoter, Promotion

Triples = Mapping[str, Mapping[str, Sequence[Sequence[str]]]]
"""Title to sentence number, as a string, to its ``[head, relation, tail]`` rows."""


def read_triples(path: str | Path) -> Triples:
    """Return the graph that KG2RAG extracted: a folder with one JSON file a title, or one file with all."""
    place = Path(path)
    files = sorted(place.glob("*.json")) if place.is_dir() else [place]
    if not files:
        raise FormatError("there is no .json file in this folder; KG2RAG writes one a title", file=place)
    graph: dict[str, dict[str, Any]] = {}
    for file in files:
        content = read_json(file)
        if not isinstance(content, dict):
            raise FormatError("an object is expected: title, or sentence number, to triples", file=file)
        # A file of one title may leave its own title out.
        numbered = all(isinstance(rows, list) for rows in content.values())
        for title, units in ({file.stem: content} if numbered else content).items():
            if not isinstance(units, dict):
                raise FormatError("sentence number to triples is expected here", file=file, field=str(title))
            graph.setdefault(str(title), {}).update(units)
    return graph


def split_name(name: str) -> tuple[str, int | None]:
    """Return title and sentence number of ``title##7`` or ``3##title##7``."""
    *head, number = name.split("##")
    position = as_position(number)
    if not head or position is None:
        return name, None
    return "##".join(head[1:] if len(head) > 1 and head[0].isdigit() else head), position


def pool_of(
    question: str, units: Sequence[tuple[str, str, float | None]], graph: Triples | None = None
) -> Pool:
    """Return a pool from (id, text, score) units; the text's own ``title: `` prefix is taken off."""
    names = unique_ids([name for name, _, _ in units])
    candidates, relations = [], list[Relation]()
    for (given, text, score), name in zip(units, names, strict=True):
        title, position = split_name(given)
        body = text.removeprefix(f"{title}: ")
        numbered = position is not None
        candidates.append(
            Candidate(id=name, text=body, title=title if numbered else None, position=position, score=score)
        )
        relations += triples((graph or {}).get(title, {}).get(str(position), ()), name)
    return Pool(question, tuple(candidates), relations=tuple(relations), origin="kg2rag")


class KG2RAGPostprocessor:
    """A LlamaIndex node postprocessor, by shape: of the nodes it is given, at most ``k`` are promoted.

    Nodes are returned as they came, never changed; the promotion is at ``last``.
    """

    def __init__(
        self,
        graph: Triples | None = None,
        *,
        k: int = 5,
        promoter: Promoter | None = None,
        mode: Mode = "sentence",
        support: SupportChoice = "auto",
    ) -> None:
        self.graph, self.k, self.mode = graph, k, mode
        self.promoter = or_default(promoter, support)
        self.calls = 0
        self.last: Promotion | None = None
        self.callback_manager: Any = None  # LlamaIndex sets it on every postprocessor

    def postprocess_nodes(
        self, nodes: Sequence[Any], query_bundle: Any = None, query_str: str | None = None
    ) -> list[Any]:
        """Return at most ``k`` of the nodes: the promoted ones, best first."""
        question = query_str if query_str is not None else getattr(query_bundle, "query_str", None)
        if not question:
            raise InputError("promotion needs the question: pass query_str or query_bundle")
        if not nodes:
            return []
        pool = pool_of(question, [_unit(node) for node in nodes], self.graph)
        by_id = {unit.id: node for unit, node in zip(pool.candidates, nodes, strict=True)}
        self.last = self.promoter.promote(question, pool, k=self.k, mode=self.mode)
        self.calls += 1
        return [by_id[unit.id] for unit in self.last.context]

    async def apostprocess_nodes(
        self, nodes: Sequence[Any], query_bundle: Any = None, query_str: str | None = None
    ) -> list[Any]:
        """Return what ``postprocess_nodes`` returns, off the event loop."""
        return await asyncio.to_thread(self.postprocess_nodes, nodes, query_bundle, query_str)


class KG2RAGBackend:
    """KG2RAG seen through its expanded pool: a LlamaIndex retriever, and what expands it."""

    name = "kg2rag"

    def __init__(
        self, retriever: Any, *, expansion: Sequence[Any] = (), graph: Triples | None = None
    ) -> None:
        self.retriever, self.expansion, self.graph = retriever, tuple(expansion), graph

    def pool(self, question: str, k: int = 20) -> Pool:
        """Return the first ``k`` nodes that KG2RAG retrieves and expands."""
        checked(k)
        retrieve = getattr(self.retriever, "retrieve", None)
        if retrieve is None:
            kind = type(self.retriever).__name__
            raise BackendError(f"{kind} has no 'retrieve'; pass a LlamaIndex retriever")
        nodes = list(retrieve(question))
        for step in self.expansion:
            nodes = list(step.postprocess_nodes(nodes, query_str=question))
        return pool_of(question, [_unit(node) for node in nodes[:k]], self.graph)


def _unit(node: Any) -> tuple[str, str, float | None]:
    inner = getattr(node, "node", node)
    name, content = getattr(inner, "node_id", None), getattr(inner, "get_content", None)
    if name is None or content is None:
        kind = type(node).__name__
        raise BackendError(f"{kind} is not a LlamaIndex node: it has no node_id or get_content")
    score = getattr(node, "score", None)
    return str(name), str(content()), None if score is None else float(score)
