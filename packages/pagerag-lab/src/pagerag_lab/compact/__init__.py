"""Compact re-implementations of systems the paper compares with, made from their descriptions.

None of them is the original: each runs over any retriever of ours and any chat model or encoder in place of
the weights it was published with. Each is a Retriever over a Retriever. The order of its pool is the
system's own, so its first k units are what the system itself would read, and promotion of the same pool is
the system with PAGE-RAG.
"""

from pagerag_lab.compact.chat import Chat, EndpointChat, LocalChat, Reply
from pagerag_lab.compact.efficientrag import EfficientRAG
from pagerag_lab.compact.ircot import IRCoT
from pagerag_lab.compact.kg2rag import KG2RAG, ChatTriples, OpenTriples
from pagerag_lab.compact.recomp import RECOMP
from pagerag_lab.compact.selfrag import SelfRAG

__all__ = [
    "KG2RAG",
    "RECOMP",
    "Chat",
    "ChatTriples",
    "EfficientRAG",
    "EndpointChat",
    "IRCoT",
    "LocalChat",
    "OpenTriples",
    "Reply",
    "SelfRAG",
]
