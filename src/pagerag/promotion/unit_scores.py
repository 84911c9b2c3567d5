"""From sentences back to the caller's units (3.5, A.6)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pagerag.promotion.evidence import Evidence

__all__ = ["best_of_unit", "document_scores"]

Floats = NDArray[Any]


def best_of_unit(values: Floats, unit: NDArray[np.int64], units: int, empty: float = 0.0) -> Floats:
    """Return the maximum of ``values`` over the sentences of each unit."""
    best = np.full(units, -np.inf, dtype=np.float32)
    np.maximum.at(best, unit, values.astype(np.float32))
    return np.where(np.isfinite(best), best, empty).astype(np.float32)


def document_scores(evidence: Evidence, nodes: Floats, *, plain: bool = False) -> Floats:
    """Return one score in [0, 1] per candidate from the scores of its sentences.

    In sentence and paragraph mode a unit is its own sentence. In document mode the unit's best sentence
    is joined by what the paper lists: title-question overlap, the retriever's score, question coverage by
    the whole unit, the share of its sentences that support, and length.
    """
    reading = evidence.reading
    units = len(reading.candidates)
    best = best_of_unit(nodes, reading.unit, units)
    if evidence.mode != "document" or plain:
        return best
    w = evidence.weights
    size = np.bincount(reading.unit, minlength=units).astype(np.float32)
    mean = np.bincount(reading.unit, weights=nodes, minlength=units).astype(np.float32) / np.maximum(
        size, 1.0
    )
    covered = np.zeros((units, reading.query_count.shape[1]), dtype=bool)
    np.logical_or.at(covered, reading.unit, reading.query_count > 0)
    cover = covered.astype(np.float32) @ reading.idf / reading.idf_total
    title = best_of_unit(reading.title_share, reading.unit, units)
    length = np.log1p(size) / np.log(16.0)
    total = (
        w.d_best * best
        + w.d_mean * mean
        + w.d_cover * cover
        + w.d_title * title
        + w.d_ret * evidence.signals.retrieved
        - w.d_length * length
    )
    most = w.d_best + w.d_mean + w.d_cover + w.d_title + w.d_ret
    return np.clip(total / max(most, 1e-6), 0.0, 1.0).astype(np.float32)
