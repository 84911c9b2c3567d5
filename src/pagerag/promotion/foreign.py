"""Read the documents of other frameworks as the fields of a Candidate, without importing any of them.

=============  ==========================================================================================
framework      recognised by
=============  ==========================================================================================
LangChain      ``page_content`` and ``metadata``, as attributes or as keys of a mapping
Haystack       ``content`` and ``meta``, as attributes or as keys of a mapping
LlamaIndex     ``node`` with a ``node_id`` (NodeWithScore), or ``node_id`` and ``metadata`` (a node itself)
=============  ==========================================================================================

Title, document and place in it are looked up in the metadata under the names that frameworks and their
splitters use (``MetadataKeys``).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any, TypeVar

__all__ = [
    "FARTHEST_POSITION",
    "MetadataKeys",
    "as_name",
    "as_position",
    "as_score",
    "as_text",
    "document_fields",
    "look_up",
    "unique_ids",
]

T = TypeVar("T")

FARTHEST_POSITION = 2**40
"""The largest place of a unit in its document; places are multiplied by a stride in 64-bit integers."""


@dataclass(frozen=True, slots=True)
class MetadataKeys:
    """Name where in the metadata things are; the first usable value wins."""

    title: tuple[str, ...] = ("title", "document_title", "doc_title")
    source: tuple[str, ...] = ("source", "source_id", "document_id", "doc_id", "file_path", "url")
    position: tuple[str, ...] = ("position", "split_id", "chunk_index", "sent_idx")
    score: tuple[str, ...] = ("relevance_score",)


_KEYS = MetadataKeys()


def document_fields(item: object) -> dict[str, Any] | None:
    """Return the Candidate fields of a framework's document, or None when ``item`` is not one.

    ``id`` is missing from the fields where the document has none. Nothing of the document is changed.
    """
    if isinstance(item, Mapping):
        return _mapping_fields(item)
    node = getattr(item, "node", None)
    if node is not None and _has(node, "node_id", "metadata"):
        return _node_fields(node, getattr(item, "score", None))
    if _has(item, "node_id", "metadata"):
        return _node_fields(item, None)
    if _has(item, "page_content", "metadata"):
        return _fields(_get(item, "page_content"), _get(item, "id"), None, _get(item, "metadata"), None)
    if _has(item, "content", "meta"):
        return _fields(
            _get(item, "content"),
            _get(item, "id"),
            _get(item, "score"),
            _get(item, "meta"),
            _get(item, "embedding"),
        )
    return None


def _mapping_fields(item: Mapping[Any, Any]) -> dict[str, Any] | None:
    for text_key, metadata_key in (("page_content", "metadata"), ("content", "meta")):
        if text_key in item and "text" not in item:
            own = item.get(metadata_key)
            besides = {k: v for k, v in item.items() if k not in {text_key, metadata_key, "embedding"}}
            metadata = {**besides, **own} if isinstance(own, Mapping) else besides
            return _fields(item[text_key], item.get("id"), item.get("score"), metadata, item.get("embedding"))
    return None


def _node_fields(node: Any, score: object) -> dict[str, Any]:
    # ``text`` is the node's own text; ``get_content`` would put the metadata before it.
    text = _get(node, "text")
    fields = _fields(text, node.node_id, score, node.metadata, _get(node, "embedding"))
    source = as_name(_get(node, "ref_doc_id"))
    if source and "source" not in fields:
        fields["source"] = source
    return fields


def _fields(text: object, name: object, score: object, metadata: object, vector: object) -> dict[str, Any]:
    """Lay out what a document has as Candidate fields; what it lacks is left out."""
    found = metadata if isinstance(metadata, Mapping) else {}
    number = as_score(score)
    fields: dict[str, Any] = {
        "text": text,
        "id": name,
        "title": look_up(found, _KEYS.title, as_text),
        "source": look_up(found, _KEYS.source, as_name),
        "position": look_up(found, _KEYS.position, as_position),
        "score": look_up(found, _KEYS.score, as_score) if number is None else number,
        "vector": vector,
        "metadata": found,
    }
    if fields["source"] and fields["title"]:
        # "source" alone often names a whole collection; with the title it names the document.
        fields["source"] = f"{fields['source']} / {fields['title']}"
    return {key: value for key, value in fields.items() if value is not None}


def _has(item: object, *names: str) -> bool:
    return not isinstance(item, type) and all(hasattr(item, name) for name in names)


def _get(item: object, name: str) -> Any:
    return getattr(item, name, None)


def look_up(
    metadata: Mapping[Any, Any] | None, keys: Sequence[str], read: Callable[[object], T | None]
) -> T | None:
    """Return the first value under ``keys`` that ``read`` can use, or None."""
    if not isinstance(metadata, Mapping):
        return None
    values = (read(metadata.get(key)) for key in keys)
    return next((value for value in values if value is not None), None)


def as_text(value: object) -> str | None:
    """Return a text without the white space around it; None for anything else, and for a blank one."""
    return (value.strip() or None) if isinstance(value, str) else None


def as_name(value: object) -> str | None:
    """Return what can identify a document: a text, a number or a path."""
    if isinstance(value, bool):
        return None
    if isinstance(value, PurePath) or (isinstance(value, int) and abs(value) < 10**18):
        return str(value)
    return as_text(value)


def as_position(value: object) -> int | None:
    """Return a place in a document: a whole number from 0, which may be written as text."""
    if isinstance(value, bool):
        return None
    if isinstance(value, str) and value.isascii() and value.isdecimal() and len(value) < 10:
        return int(value)
    return value if isinstance(value, int) and 0 <= value <= FARTHEST_POSITION else None


def as_score(value: object) -> float | None:
    """Return a retriever's score; some systems write scores as text, some as arrays of one number."""
    if value is None or isinstance(value, bool):
        return None
    try:
        score = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        return None
    return score if math.isfinite(score) else None


def unique_ids(ids: Sequence[str]) -> list[str]:
    """Return the ids, with ``#2``, ``#3`` … behind those that came before."""
    seen: dict[str, int] = {}
    taken = set(ids)
    unique = []
    for one in ids:
        seen[one] = count = seen.get(one, 0) + 1
        name = one
        while count > 1 and name in taken:
            name = f"{one}#{count}"
            count += 1
        taken.add(name)
        unique.append(name)
    return unique
