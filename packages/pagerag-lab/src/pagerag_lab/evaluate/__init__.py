"""Measure on real benchmarks: datasets, pools, metrics, runs, tables and figures."""

from pagerag_lab.evaluate.datasets import DATASETS, Dataset, dataset, read_questions
from pagerag_lab.evaluate.metrics import (
    MEASURES,
    AnsEM,
    AnsF1,
    FullRecall,
    JointEM,
    JointF1,
    Judged,
    Measure,
    Recall,
    SupEM,
    SupF1,
    SupPrecision,
    SupRecall,
    parse_measure,
)
from pagerag_lab.evaluate.questions import Document, Question

__all__ = [
    "DATASETS",
    "MEASURES",
    "AnsEM",
    "AnsF1",
    "Dataset",
    "Document",
    "FullRecall",
    "JointEM",
    "JointF1",
    "Judged",
    "Measure",
    "Question",
    "Recall",
    "SupEM",
    "SupF1",
    "SupPrecision",
    "SupRecall",
    "dataset",
    "parse_measure",
    "read_questions",
]
