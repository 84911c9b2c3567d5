"""LlamaIndex: promotion as a node postprocessor."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from pagerag._extras import need
from pagerag.errors import InputError
from pagerag.plugins._stage import Picked
from pagerag.plugins._units import KEY, ForeignUnit, flattened

need("llama_index.core", "llama-index-core", "llamaindex", "pagerag.plugins.llamaindex")
from llama_index.core.callbacks import CBEventType, EventPayload  # noqa: E402
from llama_index.core.instrumentation import get_dispatcher  # noqa: E402
from llama_index.core.instrumentation.events.rerank import ReRankEndEvent, ReRankStartEvent  # noqa: E402
from llama_index.core.postprocessor.types import BaseNodePostprocessor  # noqa: E402
from llama_index.core.schema import BaseNode, MetadataMode, NodeWithScore, QueryBundle  # noqa: E402

from pagerag.plugins._fields import StageFields  # noqa: E402

__all__ = ["PageRAGPostprocessor"]

_dispatcher = get_dispatcher(__name__)
_MODEL = "pagerag"
"""The name under which rerank events and callbacks report us."""


class PageRAGPostprocessor(StageFields, BaseNodePostprocessor):  # type: ignore[misc]
    """Hand on at most ``k`` (or ``top_n``) of the retrieved nodes: the promoted evidence, best first.

    Nodes are copied; ``NodeWithScore.score`` is the score. Provenance is in the metadata under
    ``pagerag_role``, ``pagerag_why`` and so on, one plain value each, because vector stores keep no nested
    values; ``flat_metadata=False`` puts it under ``pagerag`` as one mapping. It is kept out of what language
    models and embedders see. A node's document and its neighbours are taken from its relationships, its
    vector from its embedding when the query has one too. Every call is reported as a rerank: by
    ``ReRankStartEvent`` and ``ReRankEndEvent``, and to the callback manager.
    """

    flat_metadata: bool = True

    @classmethod
    def class_name(cls) -> str:
        """Return the name under which LlamaIndex stores the component."""
        return "PageRAGPostprocessor"

    def _postprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        stage, asked = self._stage(), _asked(query_bundle)
        with self._reported(nodes, asked, stage.k) as kept:
            picked = stage.select(asked.query_str, _units(nodes), vector=asked.embedding)
            kept += _copies(nodes, picked, flat=self.flat_metadata)
        return kept

    async def _apostprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        stage, asked = self._stage(), _asked(query_bundle)
        with self._reported(nodes, asked, stage.k) as kept:
            picked = await stage.aselect(asked.query_str, _units(nodes), vector=asked.embedding)
            kept += _copies(nodes, picked, flat=self.flat_metadata)
        return kept

    @contextmanager
    def _reported(
        self, nodes: list[NodeWithScore], asked: QueryBundle, k: int
    ) -> Iterator[list[NodeWithScore]]:
        """Report a rerank around the block, which fills the list that it is given."""
        kept: list[NodeWithScore] = []
        payload = {
            EventPayload.NODES: nodes,
            EventPayload.MODEL_NAME: _MODEL,
            EventPayload.QUERY_STR: asked.query_str,
            EventPayload.TOP_K: k,
        }
        _dispatcher.event(ReRankStartEvent(query=asked, nodes=nodes, top_n=k, model_name=_MODEL))
        with self.callback_manager.event(CBEventType.RERANKING, payload=payload) as event:
            yield kept
            event.on_end(payload={EventPayload.NODES: kept})
        _dispatcher.event(ReRankEndEvent(nodes=kept))


def _asked(bundle: QueryBundle | None) -> QueryBundle:
    if bundle is None:
        raise InputError("promotion needs the question: pass query_bundle or query_str")
    return bundle


def _units(nodes: Sequence[NodeWithScore]) -> list[ForeignUnit]:
    places = _positions([scored.node for scored in nodes])
    return [
        ForeignUnit(
            scored.node.get_content(metadata_mode=MetadataMode.NONE),
            scored.node.node_id,
            scored.score,
            metadata=scored.node.metadata,
            source=scored.node.ref_doc_id,
            position=places.get(scored.node.node_id),
            vector=scored.node.embedding,
        )
        for scored in nodes
    ]


def _positions(nodes: Sequence[BaseNode]) -> dict[str, int]:
    """Return places in their documents for nodes whose neighbour is in the pool too.

    LlamaIndex keeps no numbers, but links each chunk to the next. Every chain of linked nodes gets
    consecutive numbers, with a gap before the next chain so that its first node is nobody's neighbour.
    """
    after = {node.node_id: node.next_node.node_id for node in nodes if node.next_node is not None}
    pool = {node.node_id for node in nodes}
    follows = {tail for head, tail in after.items() if tail in pool}
    places: dict[str, int] = {}
    number = 0
    for node in nodes:
        current: str | None = node.node_id
        if current in follows or after.get(node.node_id) not in pool:
            continue
        while current is not None and current in pool and current not in places:
            places[current] = number
            number += 1
            current = after.get(current)
        number += 1
    return places


def _copies(nodes: Sequence[NodeWithScore], picked: Sequence[Picked], *, flat: bool) -> list[NodeWithScore]:
    return [NodeWithScore(node=_copy(nodes[p.index].node, p, flat=flat), score=p.score) for p in picked]


def _copy(node: BaseNode, picked: Picked, *, flat: bool) -> BaseNode:
    ours = flattened(picked.provenance) if flat else {KEY: picked.provenance}
    earlier = {key for key in node.metadata if key == KEY or str(key).startswith(f"{KEY}_")}
    metadata = {key: value for key, value in node.metadata.items() if key not in earlier}
    # Metadata is part of the text that LlamaIndex shows to models unless a key is excluded.
    hidden = {
        name: list(dict.fromkeys([*(key for key in getattr(node, name) if key not in earlier), *ours]))
        for name in ("excluded_llm_metadata_keys", "excluded_embed_metadata_keys")
    }
    return node.model_copy(update={"metadata": {**metadata, **ours}, **hidden})
