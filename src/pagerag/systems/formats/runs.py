"""Ranked lines: ColBERT rankings and TREC runs, with the collection and the queries beside them.

A run that is written back gets new ranks, and one over the rank as score: tools sort a run by its score.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import IO, Any, ClassVar

from pagerag.errors import FormatError
from pagerag.systems.formats._base import Format
from pagerag.systems.formats._records import Beside, Companion, Cursor, Layout, Record, open_text, records
from pagerag.units import Candidate, Mode, Pool

__all__ = ["Colbert", "Trec"]

_COLLECTION = Companion(
    "collection",
    ("collection.tsv", "corpus.jsonl", "collection.jsonl", "corpus.tsv"),
    "id and text of each passage: tab-separated, or JSON lines",
    True,
)
_QUERIES = Companion(
    "queries",
    ("queries.tsv", "queries.jsonl", "questions.tsv", "topics.tsv"),
    "id and text of each question: tab-separated, or JSON lines",
    True,
)


class _Run(Format):
    """Lines of one question stand together; ``columns`` tells question, passage, score and the width."""

    companions = (_COLLECTION, _QUERIES)
    columns: ClassVar[tuple[int, int, int, int]]

    def cells(self, line: str) -> list[str]:
        return line.split()

    def records(self, path: Path, layout: Layout, beside: Beside) -> Iterator[Record]:
        beside.load(_QUERIES, _queries)
        # One pass over the run finds the passages it names, so that the collection's others are not kept.
        wanted = {row[self.columns[1]] for _, row in self._rows(path)}
        beside.load(_COLLECTION, lambda file: _collection(file, wanted))
        done: set[str] = set()
        groups = groupby(self._rows(path), key=lambda item: item[1][self.columns[0]])
        for number, (question, rows) in enumerate(groups):
            lines = list(rows)
            if question in done:
                raise FormatError(
                    f"question {question!r} comes again; sort the run by question",
                    file=path,
                    line=lines[0][0],
                )
            done.add(question)
            yield Record(path, self.name, layout, number, lines[0][0], lines)

    def _rows(self, path: Path) -> Iterator[tuple[int, list[str]]]:
        question, passage, score, width = self.columns
        with open_text(path) as file:
            for line, content in enumerate(file, 1):
                if not content.strip():
                    continue
                row = self.cells(content.rstrip("\r\n"))
                if len(row) != width:
                    raise FormatError(
                        f"{len(row)} columns instead of {width}; {self.summary}", file=path, line=line
                    )
                if not (row[question] and row[passage]):
                    raise FormatError("a question or passage id is empty", file=path, line=line)
                Cursor(row[score], path, line, "score").number()
                yield line, row

    def pool(self, record: Record, beside: Beside, unit: Mode) -> Pool:  # noqa: ARG002
        question, passage, score, _ = self.columns
        name = record.raw[0][1][question]
        queries = beside.load(_QUERIES, _queries) or {}
        texts = beside.load(_COLLECTION, lambda file: _collection(file, set())) or {}  # loaded already
        if name not in queries:
            raise FormatError(
                f"question {name!r} is not in {beside.path(_QUERIES)}", file=record.file, line=record.line
            )
        candidates = []
        for line, row in record.raw:
            if row[passage] in record.places:
                raise FormatError(
                    f"passage {row[passage]!r} comes twice for question {name!r}", file=record.file, line=line
                )
            if row[passage] not in texts:
                raise FormatError(
                    f"passage {row[passage]!r} is not in {beside.path(_COLLECTION)}",
                    file=record.file,
                    line=line,
                )
            text, title = texts[row[passage]]
            candidates.append(Candidate(row[passage], text, title=title, score=float(row[score])))
            record.places[row[passage]] = row
        candidates.sort(key=lambda c: -(c.score or 0.0))
        return Pool(queries[name], tuple(candidates), origin=self.name, metadata={"id": name})

    def line(self, row: list[str], rank: int) -> str:
        raise NotImplementedError

    def write(self, file: IO[str], kept: Iterable[tuple[Record, Sequence[str], Any]]) -> int:
        count = 0
        for record, ids, _ in kept:
            for rank, name in enumerate(ids, 1):
                file.write(self.line(record.places[name], rank) + "\n")
            count += 1
        return count


class Colbert(_Run):
    name = "colbert"
    summary = "qid, pid, rank, score separated by tabs, with collection and queries: ColBERT ranking"
    columns = (0, 1, 3, 4)

    def cells(self, line: str) -> list[str]:
        return line.split("\t")

    def claims(self, layout: Layout, first: Any) -> bool:
        return layout == "table" and len(first.split("\t")) == 4

    def line(self, row: list[str], rank: int) -> str:
        return "\t".join((row[0], row[1], str(rank), f"{1 / rank:.6g}"))


class Trec(_Run):
    name = "trec"
    summary = "qid Q0 docid rank score tag, with collection and queries: TREC run"
    columns = (0, 2, 4, 6)

    def claims(self, layout: Layout, first: Any) -> bool:
        return layout == "table" and len(first.split()) == 6

    def line(self, row: list[str], rank: int) -> str:
        return " ".join((row[0], row[1], row[2], str(rank), f"{1 / rank:.6g}", row[5]))


def _pairs(path: Path) -> Iterator[tuple[str, str, str | None]]:
    """(id, text, title) of a tab-separated or JSON-lines file."""
    if ".jsonl" in path.suffixes:
        for line, raw in records(path, "lines"):
            row = Cursor(raw, path, line)
            title = row.maybe("title")
            text = row.need("text", "contents", "question", "question_text").text()
            yield row.need("_id", "id", "pid", "qid").label(), text, title.text() if title else None
        return
    with open_text(path) as file:
        for number, content in enumerate(file, 1):
            if not content.strip():
                continue
            cells = content.rstrip("\r\n").split("\t")
            if len(cells) < 2:
                raise FormatError("id, tab, text is expected", file=path, line=number)
            yield cells[0], cells[1], cells[2] if len(cells) > 2 and cells[2] else None


def _queries(path: Path) -> dict[str, str]:
    return {name: text for name, text, _ in _pairs(path)}


def _collection(path: Path, wanted: set[str]) -> dict[str, tuple[str, str | None]]:
    return {name: (text, title) for name, text, title in _pairs(path) if name in wanted}
