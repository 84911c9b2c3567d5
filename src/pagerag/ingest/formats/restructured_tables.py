"""The two kinds of drawn tables in reStructuredText: rows that keep their headers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from pagerag.ingest.builder import Piece, words_of
from pagerag.ingest.formats.stretch import FileSpan, LineReader

_RULE = re.compile(r"(?<![=\- \t])[=\-][=\- \t]{0,5000}\Z")


def grid_table(reader: LineReader, lines: Sequence[FileSpan], at: int) -> int:
    """Add a table drawn with ``+---+`` and bars; returns where it ends."""
    end = at
    while end < len(lines) and reader.words(lines[end])[:1] in ("+", "|"):
        end += 1
    drawn = [reader.words(line) for line in lines[at:end]]
    borders = [words.startswith("+") and ("--" in words or "==" in words) for words in drawn]
    corners = (words for words, border in zip(drawn, borders, strict=True) if border)
    columns = sorted({place for words in corners for place, sign in enumerate(words) if sign == "+"})
    headers: list[str] = []
    row: list[FileSpan] = []
    rows: list[dict[int, list[Piece]]] = []
    for line, words, border in zip(lines[at:end], drawn, borders, strict=True):
        if not border:
            row.append(line)
            continue
        if row:
            wide = _wide(reader.words(row[0]), columns)
            rows.append({n: reader.cell(_column(row, a, b)) for n, a, b in wide})
            row = []
        if "==" in words and rows:
            heads = rows.pop()
            headers = [words_of(heads[max(k for k in heads if k <= n)]) for n in range(len(columns) - 1)]
    for cells in rows:
        reader.builder.row(list(cells.values()), [headers[n] for n in cells] if headers else [])
    return end


def _wide(first: str, columns: Sequence[int]) -> list[tuple[int, int, int]]:
    """Return the cells of a row by its first line, each with the number of its first column.

    Where a column has no bar, the cell before it takes several.
    """
    ends = (0, len(columns) - 1)
    kept = [(n, place) for n, place in enumerate(columns) if n in ends or first[place : place + 1] in "|+"]
    return [(n, a + 1, b) for (n, a), (_, b) in pairwise(kept)]


def _column(row: Sequence[FileSpan], first: int, last: int) -> list[FileSpan]:
    return [FileSpan(min(s.start + first, s.end), min(s.start + last, s.end)) for s in row]


def simple_table(reader: LineReader, lines: Sequence[FileSpan], at: int) -> int:
    """Add a table drawn with ``====`` lines; returns where it ends, 0 when it is none."""
    rules = [at]
    for end in range(at + 1, len(lines)):
        words = reader.words(lines[end])
        if words.startswith("==") and _RULE.match(words):
            rules.append(end)
            if end + 1 == len(lines) or reader.blank(lines[end + 1]):
                break
    if len(rules) < 2:
        return 0
    columns = [match.span() for match in re.finditer(r"=+", reader.words(lines[at]))]
    edges = list(pairwise([*(first for first, _ in columns), 10**9]))
    heads = [lines[rules[0] + 1 : rules[1]]] if len(rules) > 2 else []
    rows: list[list[FileSpan]] = []
    for line in lines[rules[-2] + 1 : rules[-1]]:
        words = reader.words(line)
        if not words.strip() or _RULE.match(words):
            continue
        if rows and not words[slice(*columns[0])].strip():
            rows[-1].append(line)
        else:
            rows.append([line])
    cells = ([reader.cell(_column(row, a, b)) for a, b in edges] for row in (*heads, *rows))
    reader.builder.rows(cells, len(heads))
    return rules[-1] + 1
