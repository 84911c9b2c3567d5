"""Read benchmark files: every question becomes a value, and a bad record is named with file and line."""

from pagerag_lab.datasets.questions import Document, Question
from pagerag_lab.datasets.registry import DATASETS, Dataset, dataset, read_questions

__all__ = ["DATASETS", "Dataset", "Document", "Question", "dataset", "read_questions"]
