"""Runs compared in one self-contained HTML file."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jinja2 import TemplateError

from pagerag.errors import InputError, PageRAGError
from pagerag_lab.metrics.statistics import Comparison, compare
from pagerag_lab.product import write_atomic
from pagerag_lab.report.page import page
from pagerag_lab.runs.results import Row, read_result, read_rows

__all__ = ["Case", "RunView", "report"]


@dataclass(frozen=True, slots=True)
class Case:
    """A question on which the run and the plain retriever differ, by how much (Sup F1 core − plain)."""

    change: float
    row: Row

    @property
    def shown(self) -> Row:
        """Return the row with every field that its card shows, and the gold that the context lacks."""
        missing = [key for key, rank in self.row["gold_rank_after"].items() if rank is None]
        return {"texts": {}, "explanation": None, **self.row, "missing": missing}


@dataclass(frozen=True, slots=True)
class RunView:
    """What the page shows of a run."""

    name: str
    anchor: str
    result: dict[str, Any]
    before: tuple[float, ...]
    after: tuple[float, ...]
    wins: tuple[Case, ...]
    losses: tuple[Case, ...]
    counts: tuple[int, int, int]
    scores: dict[str, float]
    errors: tuple[Row, ...]


def report(folders: Sequence[str | os.PathLike[str]], out: str | os.PathLike[str], *, most: int = 40) -> Path:
    """Write the page for the runs in ``folders``; ``most`` wins and losses of each are shown in full."""
    if not folders:
        raise InputError("name at least one folder that pagerag evaluate has written")
    names = _names([Path(folder) for folder in folders])
    target = Path(out)
    if not target.parent.is_dir():
        raise InputError(f"--out {target}: the folder {target.parent} does not exist")
    try:
        views = [_view(folder, name, f"run{number}", most) for number, (folder, name) in enumerate(names)]
        text = page(views, _paired(views))
    except PageRAGError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError, TemplateError) as problem:
        # Anybody may have edited the folder: what does not fit is refused, and nothing is written.
        raise InputError(
            f"one of these runs is not as pagerag evaluate wrote it ({problem}); run it again"
        ) from problem
    write_atomic(target, text)
    return target


def _names(folders: Sequence[Path]) -> list[tuple[Path, str]]:
    """Return each folder with its own name, and its parent's where two are alike."""
    short = [folder.resolve().name for folder in folders]
    return [
        (folder, name if short.count(name) == 1 else f"{folder.resolve().parent.name}/{name}")
        for folder, name in zip(folders, short, strict=True)
    ]


def _view(folder: Path, name: str, anchor: str, most: int) -> RunView:
    result = read_result(folder)
    places = {"gold_rank_before": [0] * 6, "gold_rank_after": [0] * 6}
    scores: dict[str, float] = {}
    wins: list[Case] = []
    losses: list[Case] = []
    errors: list[Row] = []
    ties = 0
    for row in read_rows(folder):
        change = row["metrics"]["sup_f1_core"] - row["baseline"]["metrics"]["sup_f1_filled"]
        scores[row["id"]] = row["metrics"]["sup_f1_core"]
        if row["error"] is not None:
            errors.append(row)
        for which, counts in places.items():
            for rank in row[which].values():
                counts[rank - 1 if rank is not None and rank <= 5 else 5] += 1
        if abs(change) < 1e-12:
            ties += 1
        else:
            (wins if change > 0 else losses).append(Case(change, row))
    count = (len(wins), len(losses), ties)
    wins.sort(key=lambda case: (-case.change, case.row["id"]))
    losses.sort(key=lambda case: (case.change, case.row["id"]))
    total = max(1, sum(places["gold_rank_before"]))
    return RunView(
        name=name,
        anchor=anchor,
        result=result,
        before=tuple(value / total for value in places["gold_rank_before"]),
        after=tuple(value / total for value in places["gold_rank_after"]),
        wins=tuple(wins[:most]),
        losses=tuple(losses[:most]),
        counts=count,
        scores=scores,
        errors=tuple(errors[:most]),
    )


def _paired(views: Sequence[RunView]) -> list[tuple[RunView, RunView, Comparison]]:
    """Compare the runs on the same questions, two by two."""
    pairs = []
    for place, first in enumerate(views):
        for second in views[place + 1 :]:
            same = first.result["sha256"]["data"] == second.result["sha256"]["data"]
            shared = [name for name in first.scores if name in second.scores]
            if same and shared and first.result["config"]["mode"] == second.result["config"]["mode"]:
                pairs.append(
                    (
                        first,
                        second,
                        compare([first.scores[n] for n in shared], [second.scores[n] for n in shared]),
                    )
                )
    return pairs
