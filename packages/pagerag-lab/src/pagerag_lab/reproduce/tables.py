"""A table as a value, written as Markdown and as LaTeX."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

__all__ = ["Cell", "Table", "points"]

Cell = float | int | str | None


def points(value: Cell, digits: int = 1) -> str:
    """Return a fraction as points; text as it is; an en dash for nothing."""
    if value is None:
        return "–"
    if isinstance(value, str):
        return value
    if isinstance(value, int):
        return f"{value:,}"
    return f"{100 * value:.{digits}f}"


@dataclass(frozen=True, slots=True)
class Table:
    """Rows under named columns, with notes. Floats are fractions of 1 and shown as points.

    ``ours`` are the columns in which the best value is marked; ``rules`` are row numbers that a line is
    drawn before.
    """

    name: str
    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    notes: Sequence[str] = ()
    ours: Sequence[int] = ()
    rules: Sequence[int] = ()
    command: str = ""
    extra: dict[str, object] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for row in self.rows:
            if len(row) != len(self.columns):
                raise ValueError(
                    f"table {self.name}: a row has {len(row)} cells for {len(self.columns)} columns"
                )

    def _best(self) -> dict[int, float]:
        best: dict[int, float] = {}
        for column in self.ours:
            values = [row[column] for row in self.rows if isinstance(row[column], float)]
            if len(values) > 1:
                best[column] = max(value for value in values if isinstance(value, float))
        return best

    def to_markdown(self) -> str:
        """Return GitHub's Markdown."""
        best = self._best()
        lines = [f"### {self.title}", ""]
        if self.command:
            lines += [f"`{self.command}`", ""]
        lines.append("| " + " | ".join(_md(column) for column in self.columns) + " |")
        lines.append("|" + "|".join("---" if i == 0 else "---:" for i in range(len(self.columns))) + "|")
        for row in self.rows:
            cells = []
            for column, cell in enumerate(row):
                text = _md(points(cell))
                cells.append(f"**{text}**" if column in best and cell == best[column] else text)
            lines.append("| " + " | ".join(cells) + " |")
        if self.notes:
            lines += ["", *(f"{number}. {note}" for number, note in enumerate(self.notes, start=1))]
        return "\n".join(lines) + "\n"

    def to_latex(self) -> str:
        """Return a booktabs table."""
        best = self._best()
        shape = "l" + "r" * (len(self.columns) - 1)
        lines = [
            r"\begin{table}[t]",
            r"\centering\small",
            rf"\begin{{tabular}}{{{shape}}}",
            r"\toprule",
            " & ".join(rf"\textbf{{{_tex(column)}}}" for column in self.columns) + r" \\",
            r"\midrule",
        ]
        for number, row in enumerate(self.rows):
            if number in self.rules:
                lines.append(r"\midrule")
            cells = []
            for column, cell in enumerate(row):
                text = _tex(points(cell))
                cells.append(rf"\textbf{{{text}}}" if column in best and cell == best[column] else text)
            lines.append(" & ".join(cells) + r" \\")
        lines += [r"\bottomrule", r"\end{tabular}"]
        caption = " ".join([f"{self.title}.", *self.notes])
        lines += [rf"\caption{{{_tex(caption)}}}", rf"\label{{tab:{self.name}}}", r"\end{table}"]
        return "\n".join(lines) + "\n"


def _md(text: str) -> str:
    return text.replace("|", r"\|").replace("\n", " ")


_TEX = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{",
    "}": r"\}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "→": r"$\rightarrow$", "≥": r"$\geq$",
    "≤": r"$\leq$", "–": "--", "·": r"$\cdot$", "±": r"$\pm$", "−": r"$-$", "“": "``", "”": "''",
}  # fmt: skip
_TEX_ANY = re.compile("|".join(re.escape(character) for character in _TEX))


def _tex(text: str) -> str:
    return _TEX_ANY.sub(lambda match: _TEX[match[0]], text.replace("\n", " "))
