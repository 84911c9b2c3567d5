"""Read documents as rerank clients send them, and find the titles they hide in the text."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pagerag.serve.problems import Unusable

_TITLE_KEYS = ("title", "document_title", "doc_title", "page_title", "headline", "name")
_SOURCE_KEYS = ("source", "file_path", "file_name", "filename", "url", "path", "doc_id", "document_id")
_OTHER_KEYS = (
    "page_label",
    "author",
    "section",
    "creation_date",
    "last_modified_date",
    "file_type",
    "section_summary",
)
_KNOWN = frozenset((*_TITLE_KEYS, *_SOURCE_KEYS, *_OTHER_KEYS))
_FIELD = re.compile(r"([A-Za-z][\w .\-/]{0,39}): ?(.*)")
_LONGEST_HEADER = 4_000
_LONGEST_TITLE = 120
_ENDS_A_SENTENCE = tuple(".!?;:,…。！？،؛")


@dataclass(frozen=True, slots=True)
class RequestDocument:
    """One document of a request: what is ranked, what it is called, and what goes back to the client.

    ``text`` may be empty; such a document is ranked last. ``echo`` is the document as ``return_documents``
    shows it.
    """

    text: str
    title: str | None = None
    source: str | None = None
    whole: str = ""
    echo: Mapping[str, Any] = field(default_factory=dict)


def read_document(value: object, place: int, rank_fields: Sequence[str] = ()) -> RequestDocument:
    """Return the document that a client sent at ``place``: a text, or an object in one of the known forms.

    ``rank_fields`` are Cohere's: of an object, only these fields are read.
    """
    if value is None:
        return RequestDocument("", echo={"text": ""})
    if isinstance(value, str):
        title, source, text = _hidden(value)
        return RequestDocument(text, title, source, value, {"text": value})
    if isinstance(value, Mapping):
        return _from_object(value, place, rank_fields)
    raise Unusable(
        f"document {place} is a {_kind(value)}; send a text, or an object with 'text'", field="documents"
    )


def read_text(value: object, name: str) -> str:
    """Return a text that may come as a string, as ``{"text"}`` or as a list of content parts."""
    while isinstance(value, Mapping):
        if isinstance(value.get("text"), str):
            return str(value["text"])
        if "content" not in value:
            break
        value = value["content"]
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        parts = [part.get("text") if isinstance(part, Mapping) else part for part in value]
        return "\n".join(part for part in parts if isinstance(part, str))
    raise Unusable(f"{name} is {_kind(value)}; it must be a text", field=name)


def _from_object(value: Mapping[str, Any], place: int, rank_fields: Sequence[str]) -> RequestDocument:
    title = next((t for key in _TITLE_KEYS if isinstance(t := value.get(key), str) and t.strip()), None)
    source = next(
        (str(s) for key in _SOURCE_KEYS if isinstance(s := value.get(key), str | int) and str(s)), None
    )
    if rank_fields:
        named = [value[name] for name in rank_fields if name in value and name not in _TITLE_KEYS]
        text = "\n".join(str(item) for item in named if isinstance(item, str | int | float))
    elif value.get("text") is not None or "content" in value:
        inner = value.get("text")
        text = read_text(inner if inner is not None else value["content"], f"document {place}")
    else:  # an object without text: its own fields are what it says
        said = [
            f"{key}: {item}"
            for key, item in value.items()
            if isinstance(item, str) and key not in _TITLE_KEYS
        ]
        if (
            not said
            and title is None
            and value
            and not any(isinstance(item, Mapping | list) for item in value.values())
        ):
            raise Unusable(
                f"document {place} has no 'text' and no other field with a text", field="documents"
            )
        text = "\n".join(said)
    if title is None and isinstance(value.get("text"), str) and not rank_fields:
        title, found, text = _hidden(text)
        source = source or found
    whole = f"{title}\n{text}" if title else text
    return RequestDocument(text, title, source, whole, {**value, "text": text})


def _hidden(text: str) -> tuple[str | None, str | None, str]:
    """Return (title, source, text) of a text whose head is metadata, or a title on a line of its own."""
    header, gap, body = text[:_LONGEST_HEADER].partition("\n\n")
    if gap and body.strip():
        fields = _fields(header)
        if fields is not None:
            title = next((fields[key] for key in _TITLE_KEYS if fields.get(key)), None)
            source = next((fields[key] for key in _SOURCE_KEYS if fields.get(key)), None)
            return title, source, text[len(header) + 2 :]
    first, newline, rest = text.partition("\n")
    if newline and _reads_as_title(first, rest):
        return first.strip().lstrip("#").strip(), None, rest.lstrip("\n")
    return None, None, text


def _fields(header: str) -> dict[str, str] | None:
    """Return the metadata lines ``key: value`` of a header, or None where it is prose."""
    found: dict[str, str] = {}
    for line in header.split("\n"):
        match = _FIELD.fullmatch(line)
        if match is None:
            return None
        found[match[1].strip().lower()] = match[2].strip()
    return found if not _KNOWN.isdisjoint(found) else None


def _reads_as_title(first: str, rest: str) -> bool:
    """Tell whether a first line is a title: short, no sentence, and not the first of many wrapped lines."""
    line = first.strip()
    if line.startswith("#") and line.lstrip("#").strip():
        return bool(rest.strip())
    following = [other for other in rest[:_LONGEST_HEADER].split("\n") if other.strip()]
    if not line or not following or len(line) > _LONGEST_TITLE or line.endswith(_ENDS_A_SENTENCE):
        return False
    opening = following[0].lstrip()[0]
    if opening.islower() or line[0] in "-*•>|{[<" or line.lower().startswith(("http://", "https://")):
        return False
    # Text wrapped at a column has lines of about one length; a title is shorter than what follows it.
    return len(line) < 0.6 * max(len(other) for other in following)


def _kind(value: object) -> str:
    return {"int": "number", "float": "number", "bool": "truth value", "list": "list", "dict": "object"}.get(
        type(value).__name__, "null" if value is None else type(value).__name__
    )
