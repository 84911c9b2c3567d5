"""Corpora: passages that all questions of a file share (the open setting), and BEIR folders."""

from __future__ import annotations

import csv
import gzip
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TextIO, cast

from pagerag.errors import FormatError
from pagerag_lab.datasets.questions import Document, Question, make_documents
from pagerag_lab.datasets.records import Record, read_records

__all__ = ["beir_questions", "pooled_corpus", "read_corpus"]


def read_corpus(path: str | Path) -> Iterator[Document]:
    """Yield the passages of a corpus file, one at a time.

    Read are ``{id, title, text}``, BEIR's ``{_id, title, text}`` and FlashRAG's ``{id, contents}``, whose
    first line is the title. A passage's key, by which gold names it, is its title, or its id in BEIR.
    """
    path = Path(path)
    beir = path.is_dir()
    seen: set[str] = set()
    for record in read_records(_inside(path, "corpus.jsonl") if beir else path):
        document = _passage(record, by_id=beir)
        if document.id in seen:
            raise record.bad("id", f"the id {document.id!r} is there twice; remove one of the passages")
        seen.add(document.id)
        yield document


def _passage(record: Record, *, by_id: bool) -> Document:
    value = record.value
    identifier = value.get("_id", value.get("id"))
    if not isinstance(identifier, str | int) or isinstance(identifier, bool):
        raise record.bad("id", "a passage needs an id (text or number)")
    title, text = value.get("title"), value.get("text", value.get("passage_text"))
    if text is None and isinstance(value.get("contents"), str):
        first, newline, rest = value["contents"].partition("\n")
        title, text = (first.strip().strip('"'), rest) if newline else (None, first)
    if not isinstance(text, str):
        raise record.bad("text", "a passage needs its text (fields text or contents)")
    if title is not None and not isinstance(title, str):
        raise record.bad("title", "must be text")
    key = str(identifier) if by_id or not title else title
    return Document(id=str(identifier), key=key, title=title or None, sentences=(text,))


def pooled_corpus(questions: Iterable[Question]) -> tuple[Document, ...]:
    """Return all contexts of a file as one corpus; the same document in two contexts is there once."""
    return make_documents(
        (document.key if document.title is None else document.title, document.title, document.sentences)
        for question in questions
        for document in question.documents
    )


def beir_questions(folder: str | Path, split: str | None = None) -> Iterator[Question]:
    """Yield the judged queries of a BEIR folder; gold is every passage with a positive judgement.

    ``split`` names a file of ``qrels`` (test, dev, train); by default the first of these that is there.
    An answer is taken from a query's metadata where it has one.
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise FormatError(
            "a BEIR dataset is a folder with corpus.jsonl, queries.jsonl and qrels", file=folder
        )
    gold = _qrels(folder, split)
    for record in read_records(_inside(folder, "queries.jsonl")):
        identifier, text = record.value.get("_id"), record.value.get("text")
        if not isinstance(identifier, str | int):
            raise record.bad("_id", "a query needs an id")
        if not isinstance(text, str) or not text.strip():
            raise record.bad("text", "a query needs its text")
        facts = gold.get(str(identifier))
        if facts is None:
            continue  # queries of other splits stand in the same file; they are not judged here
        metadata = record.value.get("metadata")
        answer = metadata.get("answer") if isinstance(metadata, dict) else None
        yield Question(
            id=str(identifier),
            question=text,
            answers=(answer,) if isinstance(answer, str) and answer else (),
            documents=(),
            facts=tuple((passage, None) for passage in facts),
            hops=len(facts),
        )


def _inside(folder: Path, name: str) -> Path:
    for candidate in (folder / name, folder / f"{name}.gz"):
        if candidate.is_file():
            return candidate
    raise FormatError(f"there is no {name} (or {name}.gz) in this folder", file=folder)


def _qrels(folder: Path, split: str | None) -> dict[str, list[str]]:
    wanted = [split] if split else ["test", "dev", "train"]
    for name in wanted:
        path = folder / "qrels" / f"{name}.tsv"
        if path.is_file():
            return _judgements(path)
        if path.with_suffix(".tsv.gz").is_file():
            return _judgements(path.with_suffix(".tsv.gz"))
    raise FormatError(f"there is no qrels/{{{','.join(wanted)}}}.tsv in this folder", file=folder)


def _judgements(path: Path) -> dict[str, list[str]]:
    gold: dict[str, list[str]] = {}
    with _text(path) as stream:
        for line, row in enumerate(csv.reader(stream, delimiter="\t"), start=1):
            if not row or (line == 1 and row[0].replace("_", "-").startswith(("query-id", "qid"))):
                continue
            if len(row) != 3:
                raise FormatError(
                    "a judgement has three columns: query-id, corpus-id, score", file=path, line=line
                )
            try:
                score = float(row[2])
            except ValueError as problem:
                raise FormatError("must be a number", file=path, line=line, field="score") from problem
            passages = gold.setdefault(row[0], [])
            if score > 0 and row[1] not in passages:
                passages.append(row[1])
    return gold


def _text(path: Path) -> TextIO:
    if path.suffix == ".gz":
        return cast(TextIO, gzip.open(path, "rt", encoding="utf-8", newline=""))
    return path.open(encoding="utf-8", newline="")
