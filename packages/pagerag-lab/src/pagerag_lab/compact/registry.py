"""List the compact re-implementations by name, with what each needs, and make their chat models."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from pagerag.errors import InputError
from pagerag.protocols import Encoder, Retriever
from pagerag.units import Candidate, Mode

if TYPE_CHECKING:
    from pagerag.settings import ChatSettings
    from pagerag_lab.compact import Chat

__all__ = ["System", "chat_from", "systems"]


@dataclass(frozen=True, slots=True)
class System:
    """A compact re-implementation: what it is, what it needs, and what the original needs in its place."""

    name: str
    label: str
    unit: Mode
    needs: tuple[str, ...]
    summary: str
    original: str

    def over(
        self,
        retriever: Retriever,
        *,
        chat: Chat | None = None,
        encoder: Encoder | None = None,
        triples: Callable[[Candidate], Sequence[tuple[str, str, str]]] | None = None,
        **options: Any,
    ) -> Retriever:
        """Return the system over ``retriever``: a retriever whose pool stands in the system's own order.

        ``triples`` is for KG2RAG, which otherwise has ``chat`` extract them.
        """
        from pagerag_lab import compact

        given = {"chat": chat, "encoder": encoder, "triples": triples}
        if self.name == "kg2rag" and triples is None and chat is not None:
            given["triples"] = compact.ChatTriples(chat)
        missing = [need for need in self.needs if given[need] is None]
        if missing:
            raise InputError(f"{self.label} needs {' and '.join(missing)}: over(retriever, {missing[0]}=...)")
        kinds: dict[str, Callable[..., Retriever]] = {
            "ircot": compact.IRCoT,
            "recomp": compact.RECOMP,
            "selfrag": compact.SelfRAG,
            "efficientrag": compact.EfficientRAG,
            "kg2rag": compact.KG2RAG,
        }
        return kinds[self.name](retriever, *(given[need] for need in self.needs), **options)


_SYSTEMS = (
    System(
        "ircot",
        "IRCoT",
        "document",
        ("chat",),
        "retrieval interleaved with a chain of thought; cumulative pool",
        "Elasticsearch and code-davinci-002 (retired) or FLAN-T5-XXL",
    ),
    System(
        "recomp",
        "RECOMP",
        "sentence",
        ("encoder",),
        "extractive compression: sentences by dot product of one dual encoder",
        "the trained compressors fangyuan/*_extractive_compressor from a model hub",
    ),
    System(
        "selfrag",
        "SelfRAG",
        "document",
        ("chat",),
        "each passage criticised on its own: relevance, support, utility",
        "selfrag_llama2_7b or 13b from a model hub, and a GPU",
    ),
    System(
        "efficientrag",
        "EfficientRAG",
        "document",
        ("chat",),
        "labeler and filter in a loop of at most four queries",
        "the trained DeBERTa labeler and filter, which were never published",
    ),
    System(
        "kg2rag",
        "KG2RAG",
        "document",
        ("triples",),
        "seeds, one hop over triples, maximum spanning trees",
        "llama3:8b, mxbai-embed-large and bge-reranker-large from model hubs",
    ),
)


def systems() -> Mapping[str, System]:
    """Return the compact re-implementations by name."""
    return MappingProxyType({one.name: one for one in _SYSTEMS})


def chat_from(source: ChatSettings | Any, *, cache: str | os.PathLike[str] | None = None) -> Chat:
    """Return a chat model for the compact systems: from chat settings, from a reader of ours, or as it is.

    Readers: a ChatReader (its settings are used) and a GgufReader (its model is used, in this process).
    ``cache`` is a file that keeps the replies, so that the same request is generated once; settings that
    name a cache of their own keep to it.
    """
    from pagerag.endpoint import ResponseCache
    from pagerag.read.chat import ChatReader
    from pagerag.settings import ChatSettings
    from pagerag_lab.compact.chat import Chat, EndpointChat, LocalChat, LocalModel

    kept = ResponseCache(Path(cache)) if cache is not None else None
    if isinstance(source, ChatSettings):
        return EndpointChat(source, cache=kept)
    if isinstance(source, ChatReader):
        return EndpointChat(source.settings, cache=kept)
    if isinstance(source, LocalModel):
        return LocalChat(source, cache=kept)
    if isinstance(source, Chat):
        return source
    raise InputError(
        f"{type(source).__name__} is no chat model: pass ChatSettings, a ChatReader or a GgufReader"
    )
