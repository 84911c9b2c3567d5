"""Noise robustness (Table 7): the pool with 5, 10 and 20 distractor documents more."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pagerag_lab.metrics.statistics import compare
from pagerag_lab.reproduce.figures import lines
from pagerag_lab.reproduce.paper import NOISE
from pagerag_lab.reproduce.tables import Cell, Table
from pagerag_lab.reproduce.workbench import Bench

__all__ = ["noise_experiment"]

LEVELS = (0, 5, 10, 20)


def noise_experiment(bench: Bench) -> list[Table]:
    """Measure Sup F1 of the core, the filled context and the plain top five at each level, and each loss."""
    rows: list[list[Cell]] = []
    rules: list[int] = []
    curves: dict[str, dict[str, list[float]]] = {}
    sizes = []
    for one in bench.present():
        rules.append(len(rows))
        results = [bench.run(one.name, limit=bench.limits.side, noise=level) for level in LEVELS]
        sizes.append(f"{one.title} {results[0]['n']:,}")
        series = {
            "plain top five": [result["baseline"]["sup_f1_filled"] for result in results],
            "PAGE-RAG core": [result["metrics"]["sup_f1_core"] for result in results],
            "PAGE-RAG filled": [result["metrics"]["sup_f1_filled"] for result in results],
        }
        if bench.reader is not None:
            told = [
                bench.run(one.name, limit=bench.limits.answers, reader=bench.reader, noise=level)
                for level in LEVELS
            ]
            series["plain top five, Ans F1"] = [result["baseline"]["ans_f1"] for result in told]
            series["PAGE-RAG, Ans F1"] = [result["metrics"]["ans_f1"] for result in told]
        curves[one.title] = {name: values for name, values in series.items() if "Ans" not in name}
        against = _against_plain(bench, results[0], results[-1])
        for name, values in series.items():
            loss = f"{100 * (values[-1] - values[0]):+.2f}"
            rows.append(
                [one.title, name, *values, f"{loss} ({against})" if name == "PAGE-RAG core" else loss]
            )
        rows.append(
            [
                one.title,
                "the paper, Ans F1",
                *(f"{NOISE[one.name][level]:.2f}" for level in LEVELS),
                f"{NOISE[one.name][20] - NOISE[one.name][0]:+.2f}",
            ]
        )
    table = Table(
        name="noise",
        title=f"Noise robustness: distractor documents added to the {bench.retriever} pool "
        f"(N: {', '.join(sizes)})",
        columns=["Dataset", "Sup F1 of", "+0", "+5", "+10", "+20", "+20 against +0"],
        rows=rows,
        notes=(
            "Distractors are whole documents of other questions of the same file, drawn once per question "
            "with a fixed seed; the levels are nested. In sentence mode all their sentences enter the pool. "
            "The retriever ranks the enlarged pool again. In brackets: the core's change less "
            "the plain top five's, paired by question, with its 95 % interval.",
        ),
        rules=rules,
        command=f"pagerag reproduce noise --data {bench.data}{bench.options}",
    )
    lines(bench.out / "noise.png", LEVELS, curves, "distractor documents added", "Sup F1")
    return [bench.write(table)]


def _against_plain(bench: Bench, clean: Mapping[str, Any], noisy: Mapping[str, Any]) -> str:
    """Return the core's change less the plain top five's, paired by question."""
    core, plain = [], []
    for before, after in zip(bench.rows(clean), bench.rows(noisy), strict=True):
        core.append(after["metrics"]["sup_f1_core"] - before["metrics"]["sup_f1_core"])
        was, now = (row["baseline"]["metrics"]["sup_f1_filled"] for row in (before, after))
        plain.append(now - was)
    found = compare(core, plain)
    return f"{100 * found.difference:+.2f}, {100 * found.low:+.2f} to {100 * found.high:+.2f}"
