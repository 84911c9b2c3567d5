"""Inputs that once made ``promote`` raise something else than our own errors, or not end. Add, never remove.

Each is the keyword arguments of one call; a question and a pool stand in where they are missing.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pagerag import Candidate, Pool, Relation

_CYCLE: list[Any] = [1.0]
_CYCLE.append(_CYCLE)

PAST_FAILURES: dict[str, dict[str, Any]] = {
    "title with a space behind": {"candidates": [{"title": "Hans Zimmer ", "text": "x."}]},
    "title with a space before": {"candidates": [{"title": " Hans Zimmer", "text": "x."}]},
    "title with two spaces": {"candidates": [{"title": "Hans  Zimmer", "text": "x."}]},
    "title of spaces": {"candidates": [{"title": "   ", "text": "x."}]},
    "position beyond 64 bits": {"candidates": [{"text": "x.", "position": 2**63}]},
    "position far below zero": {"candidates": [{"text": "x.", "position": -(2**70)}], "mode": "document"},
    "position whose stride overflows": {
        "candidates": [{"text": "x.", "position": 2**62}],
        "mode": "document",
    },
    "entities is a number": {"candidates": [{"text": "x.", "entities": 5}]},
    "relations of a candidate is a number": {"candidates": [{"text": "x.", "relations": 5}]},
    "relations of a Candidate is a number": {"candidates": [Candidate("a", "x.", relations=5)]},  # type: ignore[arg-type]
    "relations is None": {"relations": None},
    "relations of a Pool is None": {"candidates": Pool("q", (Candidate("a", "x."),), relations=None)},  # type: ignore[arg-type]
    "ragged vector in a mapping": {"candidates": [{"text": "x.", "vector": [[1], [1, 2]]}]},
    "ragged vector in a Candidate": {"candidates": [Candidate("a", "x.", vector=[[1], [1, 2]])]},  # type: ignore[arg-type]
    "vector that contains itself": {"candidates": [{"text": "x.", "vector": _CYCLE}]},
    "vector of huge whole numbers": {"candidates": [{"text": "x.", "vector": [10**400]}]},
    "vector of complex numbers": {"candidates": [{"text": "x.", "vector": np.array([1j])}], "vector": [1.0]},
    "vector whose norm overflows": {
        "candidates": [{"text": "x.", "vector": [1e38, 1e38]}],
        "vector": [1e38, 1e38],
    },
    "ragged question vector": {"candidates": [{"text": "x.", "vector": [1.0]}], "vector": [[1], [1, 2]]},
    "units of a relation is None": {"relations": [Relation("a", "b", "c", units=None)]},  # type: ignore[arg-type]
    "units of a relation is a number": {"relations": [Relation("a", "b", "c", units=5)]},  # type: ignore[arg-type]
    "units of a relation are lists": {"relations": [Relation("a", "b", "c", units=([],))]},  # type: ignore[arg-type]
    "strategy is a number": {"strategy": 5},
    "strategy is a list": {"strategy": ["learned"]},
    "analyses is an iterator": {"analyses": iter([None])},
    "analyses holds a number": {"analyses": [5]},
    "count_tokens is a number": {"max_tokens": 5, "count_tokens": 5},
    "fill_by_score is an array": {"fill_by_score": np.array([True, False])},
    "id that is too long to print": {"candidates": [{"id": 10**5000, "text": "x."}]},
    "score that is too long to print": {"candidates": [{"text": "x.", "score": 10**5000}]},
    "k that is too long to print": {"k": 10**5000},
    "k that is an array": {"k": np.array([1, 2]), "top_n": 3},
    "unhashable mode": {"mode": ["sentence"]},
    "metadata is a number": {"candidates": [Candidate("a", "x.", metadata=5)]},  # type: ignore[arg-type]
    "100,000 relations on one candidate": {
        "candidates": [
            {
                "text": "Interstellar.",
                "relations": [(f"Name {n}", "knows", f"Name {n + 1}") for n in range(100_000)],
            }
        ]
    },
    "2,000 relations that each name every unit": {
        "candidates": [f"Sentence {n} about Interstellar." for n in range(20)],
        "relations": [
            Relation(f"Name {n}", "knows", f"Name {n + 1}", tuple(map(str, range(20)))) for n in range(2_000)
        ],
    },
    "a relation that names its unit a million times": {
        "relations": [Relation("a", "b", "c", ("0",) * 1_000_000)]
    },
    "100,000 entities on one candidate": {
        "candidates": [{"text": "Interstellar.", "entities": [f"Name {n}" for n in range(100_000)]}]
    },
}
