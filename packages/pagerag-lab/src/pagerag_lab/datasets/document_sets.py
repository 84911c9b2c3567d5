"""Read corpora of real documents with questions about them.

A corpus is a folder with ``files.tar.xz`` (text files with relative paths) and ``questions.jsonl``, one
question a line::

    {"id", "question", "type": "single" | "two" | "three" | "unanswerable", "answer": [texts],
     "answer_re": pattern, "facts": [{"file": path or [paths], "quote": text, "alt"?: [{"file", "quote"}],
                                      "same_text_elsewhere"?: true}]}

A folder of such folders stands for all of them.
"""

from __future__ import annotations

import re
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from pagerag.errors import FormatError
from pagerag_lab.datasets.records import Record, read_records
from pagerag_lab.metrics.quotes import Fact, Quote

__all__ = ["KINDS", "DocumentQuestion", "corpus_folders", "read_document_questions", "unpack"]

ARCHIVE, QUESTIONS = "files.tar.xz", "questions.jsonl"
KINDS = ("single", "two", "three", "unanswerable")

MOST_BYTES = 1 << 30
MOST_FILES = 100_000


@dataclass(frozen=True, slots=True)
class DocumentQuestion:
    """A question about a corpus, the places that answer it, and how its answer is recognised."""

    corpus: str
    id: str
    question: str
    kind: str
    answers: tuple[str, ...]
    pattern: str
    facts: tuple[Fact, ...]


def corpus_folders(path: str | Path) -> list[Path]:
    """Return the corpora that ``path`` stands for: itself, or the folders in it, by name."""
    place = Path(path)
    if _is_corpus(place):
        return [place]
    found = sorted(one for one in place.iterdir() if _is_corpus(one)) if place.is_dir() else []
    if not found:
        raise FormatError(f"no folder with {ARCHIVE} and {QUESTIONS} is here; check --data", file=place)
    return found


def _is_corpus(folder: Path) -> bool:
    return (folder / ARCHIVE).is_file() and (folder / QUESTIONS).is_file()


def read_document_questions(folder: Path, *, limit: int | None = None) -> Iterator[DocumentQuestion]:
    """Yield the questions of one corpus, in the file's order."""
    seen: set[str] = set()
    for number, record in enumerate(read_records(folder / QUESTIONS)):
        if limit is not None and number >= limit:
            return
        question = _question(record, folder.name)
        if question.id in seen:
            raise record.bad("id", f"the id {question.id!r} is there twice; remove one of the records")
        seen.add(question.id)
        yield question


def _question(record: Record, corpus: str) -> DocumentQuestion:
    value = record.value
    for field in ("id", "question"):
        if not isinstance(value.get(field), str) or not value[field].strip():
            raise record.bad(field, "must be text that is not empty")
    if value.get("type") not in KINDS:
        raise record.bad("type", f"must be one of: {', '.join(KINDS)}")
    answers, pattern, facts = (
        value.get("answer") or [],
        value.get("answer_re") or "",
        value.get("facts") or [],
    )
    if not isinstance(answers, list) or not all(isinstance(one, str) for one in answers):
        raise record.bad("answer", "must be a list of texts")
    if not isinstance(pattern, str):
        raise record.bad("answer_re", "must be a pattern, as text")
    try:
        re.compile(pattern, re.IGNORECASE)
    except re.error as problem:
        raise record.bad("answer_re", f"is no pattern ({problem})") from problem
    if not isinstance(facts, list):
        raise record.bad("facts", "must be a list of facts with file and quote")
    return DocumentQuestion(
        corpus=corpus,
        id=value["id"],
        question=value["question"],
        kind=value["type"],
        answers=tuple(answers),
        pattern=pattern,
        facts=tuple(_fact(record, f"facts[{place}]", one) for place, one in enumerate(facts)),
    )


def _fact(record: Record, where: str, value: Any) -> Fact:
    if not isinstance(value, dict):
        raise record.bad(where, "must be an object with file and quote")
    others = value.get("alt") or []
    if not isinstance(others, list) or not all(isinstance(one, dict) for one in others):
        raise record.bad(f"{where}.alt", "must be a list of objects with file and quote")
    return Fact(tuple(_quote(record, where, one) for one in (value, *others)))


def _quote(record: Record, where: str, value: dict[str, Any]) -> Quote:
    files, text = value.get("file"), value.get("quote")
    files = [files] if isinstance(files, str) else files
    if not isinstance(files, list) or not files or not all(isinstance(one, str) for one in files):
        raise record.bad(f"{where}.file", "must be a path or a list of paths")
    if not isinstance(text, str) or not text.strip():
        raise record.bad(f"{where}.quote", "must be text that is not empty")
    return Quote(tuple(files), text, this_file_only=bool(value.get("same_text_elsewhere")))


def unpack(archive: Path, into: Path) -> int:
    """Unpack the regular files of an archive and return how many there are.

    Links, devices and paths that lead out of ``into`` are refused, and so is an archive that holds more
    than 100,000 files or unpacks to more than 1 GiB: the size is counted as it is read.
    """
    count = size = 0
    try:
        with tarfile.open(archive, "r|*") as members:
            for member in members:
                if member.isdir():
                    continue
                content = members.extractfile(member) if member.isreg() else None
                place = _inside(into, member.name)
                if content is None or place is None:
                    raise FormatError(f"holds {member.name!r}, which is no plain file in it", file=archive)
                count, size = count + 1, size + member.size
                if count > MOST_FILES or size > MOST_BYTES:
                    raise FormatError(
                        f"holds more than {MOST_FILES:,} files or {MOST_BYTES >> 20} MiB", file=archive
                    )
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_bytes(content.read())
    except (tarfile.TarError, OSError, EOFError) as problem:
        raise FormatError(f"cannot be unpacked ({problem}); fetch it again", file=archive) from problem
    return count


def _inside(folder: Path, name: str) -> Path | None:
    path = PurePosixPath(name.replace("\\", "/"))
    if path.is_absolute() or ".." in path.parts or not path.parts or "\0" in name:
        return None
    return folder.joinpath(*path.parts)
