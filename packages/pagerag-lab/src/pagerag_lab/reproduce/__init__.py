"""Make every table and figure again: one function on a bench for each, by name."""

from __future__ import annotations

from collections.abc import Callable

from pagerag_lab.reproduce.ablations import component_ablation, edge_types, feature_ablation
from pagerag_lab.reproduce.breadth import breadth_experiment
from pagerag_lab.reproduce.cases import cases_experiment
from pagerag_lab.reproduce.documents import documents_experiment
from pagerag_lab.reproduce.main_tables import mixed_table, sentence_table
from pagerag_lab.reproduce.noise import noise_experiment
from pagerag_lab.reproduce.open_table import open_experiment
from pagerag_lab.reproduce.positions import positions_experiment
from pagerag_lab.reproduce.sufficiency import sufficiency_experiment
from pagerag_lab.reproduce.tables import Table
from pagerag_lab.reproduce.workbench import Bench, Limits

__all__ = ["EXPERIMENTS", "Bench", "Limits", "Table", "reproduce"]


EXPERIMENTS: dict[str, tuple[Callable[[Bench], list[Table]], str]] = {
    "sentence-table": (sentence_table, "Table 1: sentence-level results"),
    "mixed-table": (mixed_table, "Table 2: document units, systems with and without promotion"),
    "component-ablation": (component_ablation, "Table 3: components removed"),
    "edge-types": (edge_types, "Table 4: edge types, and how many there are"),
    "feature-ablation": (feature_ablation, "Tables 5 and 6: feature groups removed"),
    "noise": (noise_experiment, "Table 7: distractor documents added"),
    "positions": (positions_experiment, "the heat map of support positions"),
    "cases": (cases_experiment, "Tables 8 and 9: case studies"),
    "open-table": (open_experiment, "one corpus for all questions, follow-up search included"),
    "sufficiency": (sufficiency_experiment, "AUROC of sufficiency against twin pools"),
    "breadth": (breadth_experiment, "questions of other kinds, with their own pools (wide/dev)"),
    "documents": (documents_experiment, "questions about real documents (documents/dev)"),
}
"""Name to (function, what it is): the paper's tables and figures in its order, then what is not in it."""

FOLDERS = {"breadth": "wide/dev", "documents": "documents/dev"}
"""Experiments that need a folder of the data beyond the three benchmarks."""


def reproduce(name: str, bench: Bench) -> list[Table]:
    """Run one experiment, or ``all``; tables and figures are written under the bench's folder.

    ``all`` passes over experiments whose data is not there, and says so.
    """
    if name != "all":
        return EXPERIMENTS[name][0](bench)
    tables: list[Table] = []
    for one, (experiment, _) in EXPERIMENTS.items():
        if one in FOLDERS and not (bench.data / FOLDERS[one]).is_dir():
            bench.say(f"{one} is left out: {bench.data / FOLDERS[one]} is not here")
            continue
        tables += experiment(bench)
    return tables
