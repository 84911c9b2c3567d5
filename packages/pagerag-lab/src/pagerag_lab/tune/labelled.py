"""Read the pools that ``train_pools`` made: what the scorer is fitted on, with labels and weights."""

from __future__ import annotations

import gzip
import json
import math
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pagerag.errors import InputError
from pagerag.protocols import Encoder
from pagerag.units import Candidate, Mode, Pool

__all__ = ["FILES", "LabelledPool", "fold_of", "kind_of_set", "labelled", "read_pools"]

FILES = ("documents-train", "reading-train", "wide-train", "benchmarks-train", "sentences-train")
VARIANTS = {"removed": 0.5, "stranger": 0.35, "noisy": 0.5}
"""Weight of the pools of a question that are not its first retriever's; of another retriever's: 0.6."""
KEPT = {"nq": 0.3, "xquad": 0.7, "qasper": 0.5, "qasc_train": 0.6, "qed_train": 0.7}
"""Share of the questions of large sets that are read: more of them taught nothing and cost time."""
GROUPS = {"documents": 2.0}
"""Sets that count for more than the root of their number: few questions, of many kinds."""


KINDS = (
    ("hotpotqa", "2wikimultihopqa", "hotpot_ecm", "hotpot_decoded", "musique", "musique_gold", "ircot"),
    ("qasc_train", "entailmentbank_train"),
    ("nq", "nq_sentences", "qed_train"),
    ("xquad", "xquad_sentences"),
    ("documents", "document_sentences"),
)
"""Sets whose questions or texts are alike: to who knows one of them the others are not new."""


@dataclass(frozen=True, eq=False)
class LabelledPool:
    """A pool with its labels.

    ``total`` units of evidence exist, ``gold_ids`` of them, or in their place, are here.
    """

    id: str
    base: str
    dataset: str
    mode: Mode
    kind: str
    pool: Pool
    gold_ids: frozenset[str]
    total: int
    complete: bool
    facts: tuple[frozenset[str], ...]
    weight: float

    @cached_property
    def gold(self) -> NDArray[np.bool_]:
        """Which units of the pool are evidence."""
        return np.array([unit.id in self.gold_ids for unit in self.pool.candidates])

    @property
    def group(self) -> str:
        """The set's name without the corpus."""
        return self.dataset.partition(":")[0]

    @property
    def variant(self) -> str:
        """How the pool was made: a retriever, or removed, stranger, noisy."""
        return self.id.rpartition("~")[2]

    @property
    def main(self) -> bool:
        """Whether the pool is one that a retriever gave for its own question."""
        return self.variant not in VARIANTS

    def covered(self, chosen: Sequence[int]) -> bool:
        """Tell whether these places of the pool hold all the evidence."""
        ids = {self.pool.candidates[place].id for place in chosen}
        if self.facts:
            return all(ids & fact for fact in self.facts)
        return bool(self.total) and len(ids & self.gold_ids) >= self.total


def fold_of(base: str, folds: int) -> int:
    """Return the fold of a question, the same on every machine; all questions over one corpus share one."""
    return zlib.crc32(base.encode()) % folds


def kind_of_set(group: str) -> str:
    """Return the name of the kind that a set belongs to: one of ``KINDS``, or its own."""
    return next((kind[0] for kind in KINDS if group in kind), group)


def read_pools(folder: Path, family: Mode, encoder: Encoder | None = None) -> list[LabelledPool]:
    """Read the pools whose units are sentences, or those whose units are paragraphs and documents."""
    rows = [
        row
        for row in _rows(folder)
        if (row["unit"] == "sentence") == (family == "sentence")
        and zlib.crc32(f"kept:{row['base']}".encode()) % 1000 < 1000 * KEPT.get(row["set"], 1.0)
    ]
    return labelled(rows, encoder)


def labelled(rows: Sequence[dict[str, Any]], encoder: Encoder | None = None) -> list[LabelledPool]:
    """Return rows as pools, weighted so that no question and no large set outweighs the others."""
    count: Counter[str] = Counter()
    first: set[str] = set()
    weights = []
    for row in rows:
        variant = row["id"].rpartition("~")[2]
        stem = row["id"].rpartition("~")[0]
        weight = VARIANTS.get(variant, 1.0 if stem not in first else 0.6)
        first.add(stem)
        weights.append(weight)
        count[row["set"].partition(":")[0]] += weight  # type: ignore[assignment]
    found = []
    for row, weight in zip(rows, weights, strict=True):
        group = row["set"].partition(":")[0]
        share = GROUPS.get(group, 1.0) * 30 / math.sqrt(count[group])
        found.append(_labelled(row, weight * share, encoder))
    return found


def _rows(folder: Path) -> Iterator[dict[str, Any]]:
    for name in FILES:
        path = folder / f"{name}.jsonl.gz"
        if not path.exists():
            raise InputError(f"{path} is missing; make it with: python -m pagerag_lab.tune.train_pools")
        with gzip.open(path, "rt", encoding="utf-8") as file:
            yield from map(json.loads, file)


def _labelled(row: dict[str, Any], weight: float, encoder: Encoder | None) -> LabelledPool:
    vectors: list[Any] = [None] * len(row["candidates"])
    asked = None
    if row["encoder"] and encoder is not None:
        texts = [f"{c['title']}. {c['text']}" if c["title"] else c["text"] for c in row["candidates"]]
        vectors = list(encoder.encode_passages(texts))
        asked = encoder.encode_queries([row["question"]])[0]
    units = tuple(
        Candidate(c["id"], c["text"], c["title"], c["source"], c["position"], c["score"], vector=v)
        for c, v in zip(row["candidates"], vectors, strict=True)
    )
    mode: Mode = "sentence" if row["unit"] == "sentence" else "document"
    return LabelledPool(
        id=row["id"],
        base=row["base"],
        dataset=row["set"],
        mode=mode,
        kind=row["kind"],
        pool=Pool(row["question"], units, vector=asked),
        gold_ids=frozenset(row["gold"]),
        total=row["total"],
        complete=row["complete"],
        facts=tuple(frozenset(f["ids"]) for f in row.get("facts") or ()),
        weight=weight,
    )
