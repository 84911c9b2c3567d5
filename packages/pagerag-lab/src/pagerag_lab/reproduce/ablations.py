"""What each part is worth: components (Table 3), feature groups (Tables 5 and 6), edge types (Table 4)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from pagerag import Promoter
from pagerag_lab.datasets.registry import Dataset, read_questions
from pagerag_lab.metrics.statistics import compare
from pagerag_lab.pools.rankers import Pools
from pagerag_lab.pools.retrievers import ranker
from pagerag_lab.reproduce.paper import (
    COMPONENTS,
    CONTRADICTIONS,
    EDGE_TYPES,
    FEATURE_GROUPS,
    FEATURES,
)
from pagerag_lab.reproduce.tables import Cell, Table
from pagerag_lab.reproduce.workbench import Bench

__all__ = ["component_ablation", "edge_types", "feature_ablation"]

Beside = dict[str, dict[str, tuple[float, float | None]]]
"""The paper's (Ans F1, Sup F1) by row and dataset."""

_COMPONENTS = {
    "w/o support-aware scoring": "support_scoring",
    "w/o minimal selection": "minimal_selection",
}
_FEATURES = {
    "w/o query alignment": "query_alignment",
    "w/o provenance reliability": "provenance_reliability",
    "w/o bridge specificity": "bridge_specificity",
    "w/o path quality control": "path_quality",
}


def component_ablation(bench: Bench) -> list[Table]:
    """Table 3: support-aware scoring and minimal selection removed, one at a time."""
    paper: Beside = {
        name: {dataset: (value, None) for dataset, value in values.items()}
        for name, values in COMPONENTS.items()
    }
    return _ablation(bench, "component-ablation", "Components removed", _COMPONENTS, paper)


def feature_ablation(bench: Bench) -> list[Table]:
    """Table 6, with Table 5 (what each group holds) beside it."""
    groups = Table(
        name="feature-groups",
        title="Feature groups that the ablations remove",
        columns=["Group", "--ablate", "Removed signals (the paper's)"],
        rows=[
            [label.removeprefix("w/o "), group, FEATURE_GROUPS[group]] for label, group in _FEATURES.items()
        ],
        command=f"pagerag reproduce feature-ablation --data {bench.data}{bench.options}",
    )
    paper: Beside = {name: dict(values) for name, values in FEATURES.items()}
    return [
        bench.write(groups),
        *_ablation(bench, "feature-ablation", "Feature groups removed", _FEATURES, paper),
    ]


def _ablation(
    bench: Bench,
    name: str,
    title: str,
    parts: dict[str, str],
    paper: Beside,
) -> list[Table]:
    tables = []
    for one in bench.present():
        rows: list[list[Cell]] = []
        rules: list[int] = []
        full_n = 0
        ceiling = 0.0
        for strategy in bench.strategies(one.mode):
            rules.append(len(rows))
            full = bench.run(one.name, limit=bench.limits.side, strategy=strategy)
            full_n, ceiling = full["n"], full["metrics"]["ceiling_filled"]
            whole = [row["metrics"]["sup_f1_core"] for row in bench.rows(full)]
            answers = bench.answers(one.name, strategy=strategy)
            if not rows:
                rows.append(_row(f"plain {bench.retriever} top five", full, "baseline", answers, None, None))
                rules.append(1)
            for label, part in parts.items():
                result = bench.run(one.name, limit=bench.limits.side, strategy=strategy, ablate=(part,))
                told = bench.answers(one.name, strategy=strategy, ablate=(part,))
                values = [row["metrics"]["sup_f1_core"] for row in bench.rows(result)]
                beside = paper[label][one.name] if strategy == "formula" else None
                rows.append(_row(f"{strategy}, {label}", result, "metrics", told, (values, whole), beside))
            beside = paper["PAGE-RAG"][one.name] if strategy == "formula" else None
            rows.append(_row(f"{strategy}, whole", full, "metrics", answers, None, beside))
        answer_n = bench.limits.answers if bench.reader else 0
        table = Table(
            name=f"{name}-{one.name}",
            title=f"{title}: {one.title}, {bench.retriever} pool, subset of dev, N = {full_n:,}, "
            f"ceiling of five filled units {100 * ceiling:.1f}",
            columns=[
                "Variant",
                "Sup F1 core",
                "Change from whole",
                "Sup F1 filled",
                "Recall@5",
                f"Ans F1 (N ≤ {answer_n})" if answer_n else "Ans F1",
                "N",
                "Paper Sup F1",
                "Paper Ans F1",
            ],
            rows=rows,
            notes=(
                "“Change from whole” is the paired difference in Sup F1 core to the same scorer with nothing "
                "removed, with a sign-flip permutation test.",
                CONTRADICTIONS["ablations"],
            ),
            rules=rules,
            command=f"pagerag reproduce {name} --data {bench.data}{bench.options}",
        )
        tables.append(bench.write(table))
    return tables


def _row(
    label: str,
    result: dict[str, object],
    side: str,
    answers: dict[str, object] | None,
    pair: tuple[Sequence[float], Sequence[float]] | None,
    beside: tuple[float, float | None] | None,
) -> list[Cell]:
    scores = result[side]
    assert isinstance(scores, dict)  # noqa: S101 - our own result
    told = answers[side] if answers else None
    change = None
    if pair is not None:
        from pagerag_lab.reproduce.method_rows import p_text

        test = compare(*pair)
        change = f"{100 * test.difference:+.1f} ({p_text(test.p)})"
    n = result["n"]
    assert isinstance(n, int)  # noqa: S101
    return [
        label,
        scores["sup_f1_core"],
        change,
        scores["sup_f1_filled"],
        scores["recall_at_5"],
        told["ans_f1"] if isinstance(told, dict) else None,
        n,
        f"{beside[1]:.2f}" if beside and beside[1] is not None else None,
        f"{beside[0]:.2f}" if beside else None,
    ]


def edge_types(bench: Bench) -> list[Table]:
    """Table 4: the five kinds of edges, and how many of each a question's graph really has."""
    promoter = Promoter(strategy="formula")
    counts: dict[str, Counter[str]] = {}
    sizes: dict[str, int] = {}
    present = bench.present()
    for one in present:
        counts[one.name], sizes[one.name] = _edges(bench, one, promoter)
    rows: list[list[Cell]] = [
        [kind, *EDGE_TYPES[kind], *(f"{counts[one.name][kind] / sizes[one.name]:.1f}" for one in present)]
        for kind in EDGE_TYPES
    ]
    return [
        bench.write(
            Table(
                name="edge-types",
                title="Edge types of the query-local graph: mean number per question "
                f"({bench.retriever} pool of 20)",
                columns=[
                    "Edge type",
                    "Endpoints",
                    "Role",
                    *(f"{o.title} (N = {sizes[o.name]})" for o in present),
                ],
                rows=rows,
                notes=("Relation edges come from a backend's own triples; these pools have none.",),
                command=f"pagerag reproduce edge-types --data {bench.data}{bench.options}",
            )
        )
    ]


def _edges(bench: Bench, one: Dataset, promoter: Promoter) -> tuple[Counter[str], int]:
    make = Pools(ranker(bench.retriever), mode=one.mode, size=20)
    counts: Counter[str] = Counter()
    number = 0
    for question in read_questions(one.name, bench.file(one.name), limit=min(100, bench.limits.side or 100)):
        graph = promoter.promote(question.question, make(question), k=5, mode=one.mode).graph
        counts.update(edge["kind"] for edge in graph.edges)
        number += 1
    return counts, number
