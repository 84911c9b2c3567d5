"""Where gold supporting facts stand (the paper's heat map): positions 1 to 5 of the context, or out of it."""

from __future__ import annotations

from typing import Any

from pagerag_lab.reproduce.figures import heat_map
from pagerag_lab.reproduce.paper import OUT_OF_CONTEXT
from pagerag_lab.reproduce.tables import Cell, Table
from pagerag_lab.reproduce.workbench import Bench

__all__ = ["positions_experiment"]

_PLACES = ("1", "2", "3", "4", "5", "Out")


def positions_experiment(bench: Bench) -> list[Table]:
    """Measure the share of gold facts at each place, over all datasets at hand; a table and a picture."""
    left: dict[str, list[float]] = {}
    for label, retriever in (("BM25", "bm25"), ("wordllama", "wordllama"), ("MiniLM", "minilm")):
        _pair(bench, left, label, {"retriever": retriever})
    left["MiniLM linking"] = _shares(bench, {"retriever": "minilm", "strategy": "linking"}, "gold_rank_after")
    right: dict[str, list[float]] = {}
    _pair(bench, right, "RECOMP", {"retriever": "recomp@bm25"})
    for label, retriever in (("BM25 documents", "bm25"), ("MiniLM documents", "minilm")):
        _pair(bench, right, label, {"retriever": retriever, "mode": "document"})
    heat_map(
        bench.out / "positions.png",
        _PLACES,
        {"Sentence units (MuSiQue: paragraphs)": left, "Plug-in pairs": right},
        "Position of gold supporting facts in the context, % of gold facts",
    )
    rows: list[list[Cell]] = [
        [name, *shares, None] for part in (left, right) for name, shares in part.items()
    ]
    rules = [len(left), len(rows)]
    rows += [
        [f"the paper: {name}", *[None] * 5, None, f"{value:.1f}"] for name, value in OUT_OF_CONTEXT.items()
    ]
    table = Table(
        name="positions",
        title="Positions of gold supporting facts in the five-unit context, % of gold facts, "
        + ", ".join(f"{one.title}" for one in bench.present()),
        columns=["Method", *_PLACES, "Paper Out"],
        rows=rows,
        notes=(
            "Every gold fact of every question counts once; a fact that never entered the pool is Out. Of "
            "the paper's heat map only the Out shares that its text names are known.",
        ),
        rules=rules,
        command=f"pagerag reproduce positions --data {bench.data}{bench.options}",
    )
    return [bench.write(table)]


def _pair(bench: Bench, into: dict[str, list[float]], label: str, settings: dict[str, Any]) -> None:
    into[label] = _shares(bench, settings, "before")
    into[f"{label} → PAGE-RAG"] = _shares(bench, settings, "gold_rank_after")


def _shares(bench: Bench, settings: dict[str, Any], which: str) -> list[float]:
    counts = [0] * 6
    for one in bench.present():
        result = bench.run(one.name, limit=bench.limits.side, **settings)
        for row in bench.rows(result):
            ranks = row["gold_rank_before"] if which == "before" else row[which]
            for rank in ranks.values():
                counts[rank - 1 if rank is not None and rank <= 5 else 5] += 1
    total = sum(counts)
    return [count / total if total else 0.0 for count in counts]
