"""One record of each benchmark's official format to a Question.

Both layouts of a field are read where both are in use: the authors' own files (lists of pairs) and the
columns that dataset hubs make of them (a mapping of lists).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from typing import Any

from pagerag_lab.datasets.questions import Question, make_documents
from pagerag_lab.datasets.records import Record

__all__ = ["FORMATS", "flashrag_question", "hotpotqa_question", "musique_question", "open_question"]


def text_field(record: Record, *names: str, required: bool = True) -> str:
    """Return the first of these fields that is there, as text."""
    for name in names:
        value = record.value.get(name)
        if isinstance(value, str):
            if required and not value.strip():
                raise record.bad(name, "is empty; every question needs one")
            return value
        if value is not None:
            raise record.bad(name, f"must be text, is {type(value).__name__}; is this the right --dataset?")
    if required:
        raise record.bad(names[0], "is missing; is this the right --dataset?")
    return ""


def _loads(record: Record, name: str, value: Any) -> Any:
    # Some mirrors store nested columns as JSON text.
    if isinstance(value, str):
        try:
            return json.loads(value)
        except json.JSONDecodeError as problem:
            raise record.bad(name, f"is text that is not JSON ({problem.msg})") from problem
    return value


def _context(record: Record, value: Any) -> list[tuple[str, str | None, tuple[str, ...]]]:
    value = _loads(record, "context", value)
    if isinstance(value, dict):
        titles, texts = value.get("title"), value.get("sentences", value.get("content"))
        if not isinstance(titles, list) or not isinstance(texts, list) or len(titles) != len(texts):
            raise record.bad("context", "needs 'title' and 'sentences' lists of one length")
        value = list(zip(titles, texts, strict=True))
    if not isinstance(value, list):
        raise record.bad("context", f"must be a list of [title, sentences], is {type(value).__name__}")
    documents: list[tuple[str, str | None, tuple[str, ...]]] = []
    for place, pair in enumerate(value):
        if not isinstance(pair, list | tuple) or len(pair) != 2:
            raise record.bad(f"context[{place}]", "must be a pair [title, sentences]")
        title, sentences = pair
        if not isinstance(title, str):
            raise record.bad(f"context[{place}][0]", f"the title must be text, is {type(title).__name__}")
        if isinstance(sentences, str) or not isinstance(sentences, list | tuple):
            raise record.bad(f"context[{place}][1]", "must be the list of the document's sentences")
        if not all(isinstance(sentence, str) for sentence in sentences):
            raise record.bad(f"context[{place}][1]", "every sentence must be text")
        documents.append((title, title, tuple(sentences)))
    return documents


def _facts(record: Record, value: Any) -> tuple[tuple[str, int | None], ...]:
    value = _loads(record, "supporting_facts", value)
    if isinstance(value, dict):
        titles, places = value.get("title"), value.get("sent_id")
        if not isinstance(titles, list) or not isinstance(places, list) or len(titles) != len(places):
            raise record.bad("supporting_facts", "needs 'title' and 'sent_id' lists of one length")
        value = list(zip(titles, places, strict=True))
    if not isinstance(value, list):
        raise record.bad("supporting_facts", f"must be a list of [title, index], is {type(value).__name__}")
    facts: dict[tuple[str, int | None], None] = {}
    for place, pair in enumerate(value):
        if (
            not isinstance(pair, list | tuple)
            or len(pair) != 2
            or not isinstance(pair[0], str)
            or isinstance(pair[1], bool)
            or not isinstance(pair[1], int)
            or pair[1] < 0
        ):
            raise record.bad(f"supporting_facts[{place}]", "must be a pair [title, sentence index from 0]")
        facts[pair[0], pair[1]] = None
    return tuple(facts)


def _aliases(record: Record, name: str) -> tuple[str, ...]:
    value = record.value.get(name) or []
    if not isinstance(value, list) or not all(isinstance(alias, str) for alias in value):
        raise record.bad(name, "must be a list of texts")
    return tuple(value)


def _unique(texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(texts))


def hotpotqa_question(record: Record) -> Question:
    """Read a row of HotpotQA (distractor, fullwiki) or 2WikiMultiHopQA, which shares the format.

    Test files have no answer and no facts; they can be run for predictions and score the defaults.
    """
    value = record.value
    identifier = text_field(record, "_id", "id")
    question = text_field(record, "question")
    if "context" not in value:
        raise record.bad("context", "is missing; is this the right --dataset?")
    answer = text_field(record, "answer", required=False)
    facts = _facts(record, value.get("supporting_facts") or [])
    return Question(
        id=identifier,
        question=question,
        answers=_unique((answer, *_aliases(record, "answer_aliases"))) if answer else (),
        documents=make_documents(_context(record, value["context"])),
        facts=facts,
        type=text_field(record, "type", required=False),
        hops=len({key for key, _ in facts}),
    )


_MUSIQUE_HOPS = re.compile(r"(\d)hop\d?__")


def musique_question(record: Record) -> Question:
    """Read a row of MuSiQue (Ans and Full): units are paragraphs, named p0, p1, ... by their idx."""
    value = record.value
    identifier = text_field(record, "id", "_id")
    question = text_field(record, "question")
    paragraphs = value.get("paragraphs")
    if not isinstance(paragraphs, list):
        raise record.bad("paragraphs", "must be a list of paragraphs; is this the right --dataset?")
    documents: list[tuple[str, str | None, tuple[str, ...]]] = []
    facts: list[tuple[str, int | None]] = []
    for place, paragraph in enumerate(paragraphs):
        where = f"paragraphs[{place}]"
        if not isinstance(paragraph, dict):
            raise record.bad(where, "must be an object with idx, title, paragraph_text, is_supporting")
        text, title = paragraph.get("paragraph_text"), paragraph.get("title")
        if not isinstance(text, str):
            raise record.bad(f"{where}.paragraph_text", "must be text")
        if title is not None and not isinstance(title, str):
            raise record.bad(f"{where}.title", "must be text")
        index = paragraph.get("idx", place)
        if isinstance(index, bool) or not isinstance(index, int):
            raise record.bad(f"{where}.idx", "must be a whole number")
        documents.append((f"p{index}", title, (text,)))
        if paragraph.get("is_supporting"):
            facts.append((f"p{index}", None))
    if len({key for key, _, _ in documents}) != len(documents):
        raise record.bad("paragraphs", "two paragraphs have one idx; number them from 0")
    answer = text_field(record, "answer", required=False)
    shape = _MUSIQUE_HOPS.match(identifier)
    steps = value.get("question_decomposition")
    hops = int(shape[1]) if shape else len(steps) if isinstance(steps, list) else len(facts)
    return Question(
        id=identifier,
        question=question,
        answers=_unique((answer, *_aliases(record, "answer_aliases"))) if answer else (),
        documents=make_documents(documents),
        facts=tuple(facts),
        type=identifier.split("__")[0] if shape else "",
        hops=hops,
        answer_rule="musique",
    )


def open_question(record: Record) -> Question:
    """Return a question for a corpus of its own: gold is the titles in ``supporting_titles``, no context."""
    titles = record.value.get("supporting_titles")
    if not isinstance(titles, list) or not all(isinstance(title, str) for title in titles):
        raise record.bad("supporting_titles", "must be a list of titles of the corpus")
    answer = text_field(record, "answer", required=False)
    return Question(
        id=text_field(record, "id", "_id"),
        question=text_field(record, "question"),
        answers=_unique((answer, *_aliases(record, "answer_aliases"))) if answer else (),
        documents=(),
        facts=tuple((title, None) for title in _unique(titles)),
        type=text_field(record, "type", required=False),
        hops=len(set(titles)),
    )


def flashrag_question(record: Record) -> Question:
    """Read a row of FlashRAG: id, question, golden_answers, metadata (context and facts if it has them)."""
    golden = record.value.get("golden_answers", [])
    if isinstance(golden, str):
        golden = [golden]
    if not isinstance(golden, list) or not all(isinstance(answer, str) for answer in golden):
        raise record.bad("golden_answers", "must be a list of texts")
    metadata = record.value.get("metadata") or {}
    if not isinstance(metadata, dict):
        raise record.bad("metadata", "must be an object")
    inner = Record(value=metadata, file=record.file, line=record.line, number=record.number)
    facts: tuple[tuple[str, int | None], ...] = ()
    if metadata.get("supporting_facts"):
        facts = _facts(record, metadata["supporting_facts"])
    return Question(
        id=text_field(record, "id", "_id"),
        question=text_field(record, "question"),
        answers=_unique(golden),
        documents=make_documents(_context(record, metadata["context"]) if metadata.get("context") else []),
        facts=facts,
        type=text_field(inner, "type", required=False),
        hops=len({key for key, _ in facts}),
    )


FORMATS: dict[str, Callable[[Record], Question]] = {
    "hotpotqa": hotpotqa_question,
    "2wikimultihopqa": hotpotqa_question,
    "musique": musique_question,
    "flashrag": flashrag_question,
    "open": open_question,
}
"""How a record of each dataset becomes a Question."""
