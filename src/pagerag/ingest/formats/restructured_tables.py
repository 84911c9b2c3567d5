"""The two kinds of drawn tables in reStructuredText: rows that keep their headers."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from itertools import pairwise

from pagerag.ingest.builder import Piece, TextBuilder, words_of
from pagerag.ingest.formats.restructured_inline import inline
from pagerag.ingest.formats.stretch import FileSpan, Stretch

__all__ = ["grid_table", "simple_table"]

_RULE = re.compile(r"(?<![=\- \t])[=\-][=\- \t]{0,5000}\Z")


def _cell(source: str, spans: Sequence[FileSpan], targets: Collection[str]) -> list[Piece]:
    filled = [span for span in spans if source[span.start : span.end].strip()]
    if not filled:
        return []
    stretch = Stretch(source, filled)
    return list(stretch.pieces(inline(stretch.text, targets)))


def grid_table(
    source: str, builder: TextBuilder, lines: Sequence[FileSpan], at: int, targets: Collection[str]
) -> int:
    """Add a table drawn with ``+---+`` and bars; returns where it ends."""
    end = at
    while end < len(lines) and source[lines[end].start : lines[end].end][:1] in ("+", "|"):
        end += 1
    drawn = [source[line.start : line.end] for line in lines[at:end]]
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
            wide = _wide(source, row, columns)
            rows.append({n: _cell(source, _column(row, a, b), targets) for n, a, b in wide})
            row = []
        if "==" in words and rows:
            heads = rows.pop()
            headers = [words_of(heads[max(k for k in heads if k <= n)]) for n in range(len(columns) - 1)]
    for cells in rows:
        builder.row(list(cells.values()), [headers[n] for n in cells] if headers else [])
    return end


def _wide(source: str, row: Sequence[FileSpan], columns: Sequence[int]) -> list[tuple[int, int, int]]:
    """Return the cells of a row, each with the number of its first column: no bar, and it takes several."""
    first = row[0]
    kept = [
        (number, place)
        for number, place in enumerate(columns)
        if number in (0, len(columns) - 1) or source[first.start + place : first.start + place + 1] in "|+"
    ]
    return [(number, a + 1, b) for (number, a), (_, b) in pairwise(kept)]


def _column(row: Sequence[FileSpan], first: int, last: int) -> list[FileSpan]:
    return [FileSpan(min(s.start + first, s.end), min(s.start + last, s.end)) for s in row]


def simple_table(
    source: str, builder: TextBuilder, lines: Sequence[FileSpan], at: int, targets: Collection[str]
) -> int:
    """Add a table drawn with ``====`` lines; returns where it ends, 0 when it is none."""
    border = source[lines[at].start : lines[at].end]
    rules = [at]
    end = at + 1
    while end < len(lines):
        words = source[lines[end].start : lines[end].end]
        if words.startswith("==") and _RULE.match(words):
            rules.append(end)
            below = source[lines[end + 1].start : lines[end + 1].end] if end + 1 < len(lines) else ""
            if not below.strip() and len(rules) > 1:
                break
        end += 1
    if len(rules) < 2:
        return 0
    columns = [match.span() for match in re.finditer(r"=+", border)]
    edges = [
        (first, columns[n + 1][0] if n + 1 < len(columns) else 10**9) for n, (first, _) in enumerate(columns)
    ]
    headers: list[str] = []
    if len(rules) > 2:
        head = lines[rules[0] + 1 : rules[1]]
        headers = [words_of(_cell(source, _column(head, a, b), targets)) for a, b in edges]
    row: list[FileSpan] = []
    for line in [*lines[rules[-2] + 1 : rules[-1]], None]:
        if line is not None:
            words = source[line.start : line.end]
            if not words.strip() or _RULE.match(words):
                continue
            opens = bool(words[edges[0][0] : columns[0][1]].strip())
            if row and not opens:
                row.append(line)
                continue
        if row:
            builder.row([_cell(source, _column(row, a, b), targets) for a, b in edges], headers)
        row = [line] if line is not None else []
    return rules[-1] + 1
