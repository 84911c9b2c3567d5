"""Measure evidence, rankings, probabilities and answers."""

from pagerag_lab.metrics.measures import (
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

__all__ = [
    "MEASURES",
    "AnsEM",
    "AnsF1",
    "FullRecall",
    "JointEM",
    "JointF1",
    "Judged",
    "Measure",
    "Recall",
    "SupEM",
    "SupF1",
    "SupPrecision",
    "SupRecall",
    "parse_measure",
]
