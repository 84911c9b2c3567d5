"""Benchmarks by name: their files, their default unit, and how to read them.

>>> questions = list(read_questions("hotpotqa", "hotpot_dev_distractor_v1.json"))   # doctest: +SKIP
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from pagerag.errors import FormatError, InputError
from pagerag.units import Mode
from pagerag_lab.datasets.formats import FORMATS
from pagerag_lab.datasets.hub import PREFIX, hub_records
from pagerag_lab.datasets.questions import Document, Question
from pagerag_lab.datasets.records import read_records

__all__ = ["DATASETS", "Dataset", "Document", "Question", "dataset", "read_questions"]


@dataclass(frozen=True, slots=True)
class Dataset:
    """What is fixed about a benchmark: its format, its default unit and its names for people.

    ``files`` are the names under a data folder that ``pagerag reproduce`` looks for, ``full_dev`` is the
    size of the official dev set, by which the paper weights its averages.
    """

    name: str
    title: str
    format: str
    mode: Mode
    modes: tuple[Mode, ...]
    files: dict[str, str]
    full_dev: int = 0


DATASETS = {
    one.name: one
    for one in (
        Dataset(
            name="hotpotqa",
            title="HotpotQA",
            format="hotpotqa",
            mode="sentence",
            modes=("sentence", "paragraph", "document"),
            files={"train": "hotpotqa/train.json", "dev": "hotpotqa/dev.json"},
            full_dev=7405,
        ),
        Dataset(
            name="musique",
            title="MuSiQue",
            format="musique",
            mode="paragraph",
            modes=("paragraph", "document"),
            files={"train": "musique/train.jsonl", "dev": "musique/dev.jsonl"},
            full_dev=2417,
        ),
        Dataset(
            name="2wikimultihopqa",
            title="2Wiki",
            format="2wikimultihopqa",
            mode="sentence",
            modes=("sentence", "paragraph", "document"),
            files={"train": "2wikimultihopqa/train.json", "dev": "2wikimultihopqa/dev.json"},
            full_dev=12576,
        ),
        Dataset(
            name="flashrag",
            title="FlashRAG",
            format="flashrag",
            mode="document",
            modes=("sentence", "paragraph", "document"),
            files={},
        ),
        Dataset(
            name="beir",
            title="BEIR",
            format="beir",
            mode="document",
            modes=("paragraph", "document"),
            files={},
        ),
        Dataset(
            name="open",
            title="open corpus",
            format="open",
            mode="document",
            modes=("paragraph", "document"),
            files={"dev": "2wikimultihopqa/open_dev.jsonl", "corpus": "2wikimultihopqa/open_corpus.jsonl"},
        ),
    )
}

_ALIASES = {"2wiki": "2wikimultihopqa", "2wikimultihop": "2wikimultihopqa", "musique-ans": "musique"}


def dataset(name: str) -> Dataset:
    """Return the dataset of this name (case and the usual short names do not matter)."""
    key = name.lower()
    key = _ALIASES.get(key, key)
    if key not in DATASETS:
        raise InputError(f"unknown dataset {name!r}; one of: {', '.join(DATASETS)}")
    return DATASETS[key]


def read_questions(name: str, path: str | Path, *, limit: int | None = None) -> Iterator[Question]:
    """Yield the questions of an official file, one at a time, in the file's order.

    Raises FormatError with file, line and field at the first record that cannot be used, and at an id
    that is there twice: a run that skipped one would not be the benchmark.
    """
    one = dataset(name)
    if limit is not None and limit < 1:
        raise InputError(f"limit is {limit}; it must be at least 1")
    return islice(_questions(one, str(path)), limit)


def _questions(one: Dataset, path: str) -> Iterator[Question]:
    if one.format == "beir":
        from pagerag_lab.datasets.corpora import beir_questions

        yield from beir_questions(path)
        return
    parse = FORMATS[one.format]
    seen: set[str] = set()
    for record in hub_records(path) if path.startswith(PREFIX) else read_records(path):
        question = parse(record)
        if question.id in seen:
            raise record.bad("_id", f"the id {question.id!r} is there twice; remove one of the records")
        seen.add(question.id)
        yield question
    if not seen:
        raise FormatError("holds no question; check --data", file=path)
