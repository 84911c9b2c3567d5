"""Read ranked lines: ColBERT rankings, TREC runs and CSV rankings, with corpus and queries beside them.

A run that is written back gets new ranks, and one over the rank as score: tools sort a run by its score.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import IO, Any, ClassVar

from pagerag.errors import FormatError
from pagerag.systems._records import Beside, Companion, Cursor, Layout, Record, open_text, records
from pagerag.systems.formats._base import PoolFormat
from pagerag.units import Candidate, Mode, Pool


class Trec(PoolFormat):
    """A TREC run: six columns separated by white space; the lines of one question stand together.

    ``columns`` tells question, passage, score and the width; the rank is in the column before the score.
    """

    name = "trec"
    summary = "qid Q0 docid rank score tag, with collection and queries: TREC run"
    columns: ClassVar[tuple[int, int, int, int]] = (0, 2, 4, 6)
    companions = (
        Companion(
            "collection",
            ("collection.tsv", "corpus.jsonl", "collection.jsonl", "corpus.tsv"),
            "id and text of each passage: tab-separated, or JSON lines",
            True,
        ),
        Companion(
            "queries",
            ("queries.tsv", "queries.jsonl", "questions.tsv", "topics.tsv"),
            "id and text of each question: tab-separated, or JSON lines",
            True,
        ),
    )

    def cells(self, line: str) -> list[str]:
        """Return the columns of a line."""
        return line.split()

    def joined(self, row: Sequence[str]) -> str:
        """Return the line of these columns."""
        return " ".join(row)

    def heading(self, row: list[str]) -> bool:  # noqa: ARG002 - only some formats have one
        """Return whether the file's first line names its columns."""
        return False

    def claims(self, layout: Layout, first: Any) -> bool:
        return layout == "table" and len(self.cells(first)) == self.columns[3]

    def records(self, path: Path, layout: Layout, beside: Beside, unit: Mode) -> Iterator[Record]:
        beside.load("queries", lambda file: {name: text for name, text, _ in _pairs(file)})
        # One pass over the run finds the passages it names, so that the collection's others are not kept.
        wanted = {row[self.columns[1]] for _, row in self._rows(path)}
        beside.load(
            "collection",
            lambda file: {name: (text, title) for name, text, title in _pairs(file) if name in wanted},
        )
        done: set[str] = set()
        groups = groupby(self._rows(path), key=lambda item: item[1][self.columns[0]])
        for number, (question, rows) in enumerate(groups):
            lines = list(rows)
            if question in done:
                said = f"question {question!r} comes again; sort the run by question"
                raise FormatError(said, file=path, line=lines[0][0])
            done.add(question)
            yield Record(path, self.name, layout, number, lines[0][0], lines, beside, unit)

    def _rows(self, path: Path) -> Iterator[tuple[int, list[str]]]:
        question, passage, score, width = self.columns
        with open_text(path) as file:
            for line, content in enumerate(file, 1):
                if not content.strip():
                    continue
                row = self.cells(content.rstrip("\r\n"))
                if line == 1 and self.heading(row):
                    continue
                if len(row) != width:
                    said = f"{len(row)} columns instead of {width}; {self.summary}"
                    raise FormatError(said, file=path, line=line)
                if not (row[question] and row[passage]):
                    raise FormatError("a question or passage id is empty", file=path, line=line)
                Cursor(row[score], path, line, "score").number()
                yield line, row

    def _read(self, row: Cursor, record: Record) -> Pool:
        question, passage, score, _ = self.columns
        beside, name = record.beside, record.raw[0][1][question]
        queries, texts = beside.loaded["queries"], beside.loaded["collection"]
        if name not in queries:
            raise row.error(f"question {name!r} is not in {beside.paths['queries']}")
        candidates = []
        for line, cells in record.raw:
            place, found = Cursor(cells, record.file, line), cells[passage]
            if found in record.places:
                raise place.error(f"passage {found!r} comes twice for question {name!r}")
            if found not in texts:
                raise place.error(f"passage {found!r} is not in {beside.paths['collection']}")
            text, title = texts[found]
            candidates.append(Candidate(found, text, title=title, score=float(cells[score])))
            record.places[found] = cells
        candidates.sort(key=lambda c: -(c.score or 0.0))
        return Pool(queries[name], tuple(candidates), origin=self.name, metadata={"id": name})

    def write(self, file: IO[str], kept: Iterable[tuple[Record, Sequence[str], Any]]) -> int:
        count, score = 0, self.columns[2]
        for record, ids, _ in kept:
            for rank, name in enumerate(ids, 1):
                row = list(record.places[name])
                row[score - 1 : score + 1] = str(rank), f"{1 / rank:.6g}"
                file.write(self.joined(row) + "\n")
            count += 1
        return count


class Colbert(Trec):
    """ColBERT's ranking: four columns separated by tabs."""

    name = "colbert"
    summary = "qid, pid, rank, score separated by tabs, with collection and queries: ColBERT ranking"
    columns = (0, 1, 3, 4)

    def cells(self, line: str) -> list[str]:
        return line.split("\t")

    def joined(self, row: Sequence[str]) -> str:
        return "\t".join(row)


class CsvRun(Trec):
    """A ranking with commas: question id, passage id, rank and score, with or without a line of names."""

    name = "csv"
    summary = "qid, docid, rank, score separated by commas, with corpus and queries: CSV ranking"
    columns = (0, 1, 3, 4)

    def cells(self, line: str) -> list[str]:
        try:
            return [cell.strip() for cell in next(csv.reader(io.StringIO(line)), [])]
        except csv.Error:  # a field beyond csv's bound: no ranking has one
            return []

    def joined(self, row: Sequence[str]) -> str:
        out = io.StringIO()
        csv.writer(out, lineterminator="").writerow(row)
        return out.getvalue()

    def heading(self, row: list[str]) -> bool:
        """Return whether the file's first line names its columns: then the last is no number."""
        if len(row) != self.columns[3]:
            return False
        try:
            float(row[self.columns[2]])
        except ValueError:
            return True
        return False

    def claims(self, layout: Layout, first: Any) -> bool:
        return super().claims(layout, first) and "\t" not in first


def _pairs(path: Path) -> Iterator[tuple[str, str, str | None]]:
    """Return (id, text, title) of each line of a tab-separated or JSON-lines file."""
    if ".jsonl" in path.suffixes:
        for line, raw in records(path, "lines"):
            row = Cursor(raw, path, line)
            text = row.need("text", "contents", "question", "question_text", "query").text()
            name = row.need("_id", "id", "pid", "qid", "docid", "doc_id").label()
            yield name, text, row.maybe_text("title")
        return
    with open_text(path) as file:
        for number, content in enumerate(file, 1):
            if not content.strip():
                continue
            cells = content.rstrip("\r\n").split("\t")
            if len(cells) < 2:
                raise FormatError("id, tab, text is expected", file=path, line=number)
            yield cells[0], cells[1], cells[2] if len(cells) > 2 and cells[2] else None
