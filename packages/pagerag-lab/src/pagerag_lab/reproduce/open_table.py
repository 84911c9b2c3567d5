"""The open setting: one corpus for all questions, retrievers with and without promotion."""

from __future__ import annotations

from typing import Any

from pagerag_lab.datasets.registry import DATASETS
from pagerag_lab.reproduce.tables import Cell, Table
from pagerag_lab.reproduce.workbench import Bench

__all__ = ["open_experiment"]


def open_experiment(bench: Bench) -> list[Table]:
    """Return passage recall and Sup F1 on 2Wiki's corpus and on all contexts of HotpotQA and MuSiQue dev."""
    quick = bench.limits.is_quick
    tables = []
    for label, settings in _settings(bench, quick):
        # MiniLM over all HotpotQA contexts would take longer than all other experiments together.
        encoders = ("wordllama",) if settings["name"] == "hotpotqa" or quick else ("wordllama", "minilm")
        names = ["bm25"]
        for encoder in encoders:
            names += [encoder, f"bm25+{encoder}", f"adaptive:{encoder}"]
        rows: list[list[Cell]] = []
        n, size = 0, 0.0
        for name in names:
            result = bench.run(retriever=name, mode="document", limit=bench.limits.main, **settings)
            n, size = result["n"], result["metrics"]["ceiling_filled"]
            reach = result["gold_reach"].get("all in pool", 0) / max(1, n)
            for side, shown in (("baseline", name), ("metrics", f"{name} → PAGE-RAG-doc")):
                scores = result[side]
                rows.append(
                    [shown, scores["recall_at_5"], scores["full_recall_at_5"], scores["sup_f1_core"],
                     scores["sup_f1_filled"], reach, n]
                )  # fmt: skip
        tables.append(
            bench.write(
                Table(
                    name=f"open-table-{settings['name']}",
                    title=f"Open corpus: {label}, N = {n:,}, ceiling of five filled units {100 * size:.1f}",
                    columns=["Method", "Recall@5", "Full recall@5", "Sup F1 core", "Sup F1 filled",
                             "All gold in pool of 20", "N"],
                    rows=rows,
                    ours=(1, 2, 3, 4),
                    command=f"pagerag reproduce open-table --data {bench.data}{bench.options}",
                )
            )
        )  # fmt: skip
    return tables


def _settings(bench: Bench, quick: bool) -> list[tuple[str, dict[str, Any]]]:
    found: list[tuple[str, dict[str, Any]]] = []
    questions, corpus = (bench.data / DATASETS["open"].files[part] for part in ("dev", "corpus"))
    if questions.is_file() and corpus.is_file():
        settings = {"name": "open", "data": str(questions), "corpus": str(corpus)}
        found.append(("2Wiki open dev, its own corpus", settings))
    if not quick and "hotpotqa" in {one.name for one in bench.present()}:
        found.append(("HotpotQA dev, all contexts as one corpus", {"name": "hotpotqa", "corpus": "contexts"}))
    if not quick and "musique" in {one.name for one in bench.present()}:
        found.append(("MuSiQue dev, all contexts as one corpus", {"name": "musique", "corpus": "contexts"}))
    return found
