"""Every table and figure of the paper as one function on a bench, by name."""

from __future__ import annotations

from collections.abc import Callable

from pagerag_lab.reproduce.tables import Table
from pagerag_lab.reproduce.workbench import Bench, Limits

__all__ = ["EXPERIMENTS", "Bench", "Limits", "Table", "reproduce"]


def _sentence(bench: Bench) -> list[Table]:
    from pagerag_lab.reproduce.main_tables import sentence_table

    return sentence_table(bench)


def _mixed(bench: Bench) -> list[Table]:
    from pagerag_lab.reproduce.main_tables import mixed_table

    return mixed_table(bench)


def _open(bench: Bench) -> list[Table]:
    from pagerag_lab.reproduce.open_table import open_table

    return open_table(bench)


def _components(bench: Bench) -> list[Table]:
    from pagerag_lab.reproduce.ablations import component_ablation

    return component_ablation(bench)


def _features(bench: Bench) -> list[Table]:
    from pagerag_lab.reproduce.ablations import feature_ablation

    return feature_ablation(bench)


def _edge_types(bench: Bench) -> list[Table]:
    from pagerag_lab.reproduce.ablations import edge_types

    return edge_types(bench)


def _noise(bench: Bench) -> list[Table]:
    from pagerag_lab.reproduce.noise import noise

    return noise(bench)


def _positions(bench: Bench) -> list[Table]:
    from pagerag_lab.reproduce.positions import positions

    return positions(bench)


def _cases(bench: Bench) -> list[Table]:
    from pagerag_lab.reproduce.cases import cases

    return cases(bench)


def _sufficiency(bench: Bench) -> list[Table]:
    from pagerag_lab.reproduce.sufficiency import sufficiency

    return sufficiency(bench)


def _breadth(bench: Bench) -> list[Table]:
    from pagerag_lab.reproduce.breadth import breadth

    return breadth(bench)


def _documents(bench: Bench) -> list[Table]:
    from pagerag_lab.reproduce.documents import documents

    return documents(bench)


EXPERIMENTS: dict[str, tuple[Callable[[Bench], list[Table]], str]] = {
    "sentence-table": (_sentence, "Table 1: sentence-level results"),
    "mixed-table": (_mixed, "Table 2: document units, systems with and without promotion"),
    "component-ablation": (_components, "Table 3: components removed"),
    "edge-types": (_edge_types, "Table 4: edge types, and how many there are"),
    "feature-ablation": (_features, "Tables 5 and 6: feature groups removed"),
    "noise": (_noise, "Table 7: distractor documents added"),
    "positions": (_positions, "the heat map of support positions"),
    "cases": (_cases, "Tables 8 and 9: case studies"),
    "open-table": (_open, "one corpus for all questions, follow-up search included"),
    "sufficiency": (_sufficiency, "AUROC of sufficiency against twin pools"),
    "breadth": (_breadth, "questions of other kinds, with their own pools (wide/dev)"),
    "documents": (_documents, "questions about real documents (documents/dev)"),
}
"""Name to (function, what it is), in the paper's order."""


def reproduce(name: str, bench: Bench) -> list[Table]:
    """Run one experiment, or ``all``; tables and figures are written under the bench's folder."""
    chosen = list(EXPERIMENTS) if name == "all" else [name]
    tables: list[Table] = []
    for one in chosen:
        tables += EXPERIMENTS[one][0](bench)
    return tables
