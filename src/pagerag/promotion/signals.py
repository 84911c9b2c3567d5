"""Gather what comes with the candidates from outside their text: scores, vectors, support."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from operator import gt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pagerag.errors import CandidateError, InputError
from pagerag.promotion.admission import WIDTH
from pagerag.promotion.candidates import as_vector
from pagerag.protocols import SupportEncoder
from pagerag.units import Candidate

__all__ = [
    "Signals",
    "anchored_scores",
    "canonical_order",
    "combined_worth",
    "gather_signals",
    "probabilities",
    "retrieved_scores",
    "support_of",
]

Floats = NDArray[np.float32]


def retrieved_scores(candidates: Sequence[Candidate]) -> Floats:
    """Return the retriever's own scores in [0, 1], per pool: min-max where scores are given, else by place.

    Scores of different retrievers are never compared: only the order and the gaps within this pool count.
    A candidate without a score, among others that have one, counts as the lowest.
    """
    given = [candidate.score for candidate in candidates]
    known = [value for value in given if value is not None]
    n = len(given)
    if not known:
        return np.linspace(1.0, 0.0, n, dtype=np.float32) if n > 1 else np.ones(1, dtype=np.float32)
    low, high = min(known), max(known)
    gap = float(high) - float(low)
    if not gap > 0.0:
        return np.array([0.5 if value is None else 1.0 for value in given], dtype=np.float32)
    if not np.isfinite(gap):  # scores near both ends of the floating-point range: halve before subtracting
        return np.array(
            [0.0 if v is None else (v / 2 - low / 2) / (high / 2 - low / 2) for v in given], dtype=np.float32
        )
    return np.array([0.0 if v is None else (v - low) / gap for v in given], dtype=np.float32)


def anchored_scores(candidates: Sequence[Candidate], retrieved: Floats) -> Floats:
    """Return the scores that the ``WIDTH`` best would have if they were the whole pool; the others have 0.

    So whatever stands behind them leaves them as they are, to the last bit. What ties with the last has its
    score. ``retrieved`` are the scores over the whole pool.
    """
    if len(candidates) <= WIDTH:
        return retrieved
    best = np.argsort(-retrieved, kind="stable")[:WIDTH].tolist()
    own = retrieved_scores([candidates[place] for place in best])
    found = np.where(retrieved == retrieved[best[-1]], own[-1], np.float32(0.0))
    found[best] = own
    return found


@dataclass(frozen=True, slots=True, eq=False)
class Signals:
    """Per-candidate signals from outside the text. None where the caller gave none."""

    retrieved: Floats  # in [0, 1]; 0 is the last of the units that take part by the retriever's word
    overall: Floats  # in [0, 1] over the whole pool
    similarity: Floats | None = None  # cosine of the question's vector and the unit's
    vectors: Floats | None = None  # the units' vectors, of length one
    support: Floats | None = None  # a support encoder's signals, one row per unit


def gather_signals(
    question: str,
    pool: tuple[Candidate, ...],
    vector: NDArray[np.floating[Any]] | Sequence[float] | None,
    retrieved: NDArray[np.float32],
    units: Sequence[int],
    encoder: SupportEncoder | None,
) -> Signals:
    """Return the signals of a pool; a support encoder is asked about the ``units`` that take part."""
    similarity = rows = None
    if vector is not None and all(candidate.vector is not None for candidate in pool):
        asked = as_vector(vector)
        if asked is None:
            raise InputError("the question's vector must be one row of finite numbers, none beyond ±1e12")
        rows = np.stack([np.asarray(c.vector, dtype=np.float32) for c in pool])
        if asked.shape != rows.shape[1:]:
            raise InputError(
                f"the question's vector has shape {asked.shape}, the candidates' {rows.shape[1:]}; "
                "both must come from one encoder"
            )
        rows = rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9)
        similarity = rows @ (asked / max(float(np.linalg.norm(asked)), 1e-9))
    support = None
    if encoder is not None:
        values = support_of(encoder, question, tuple([pool[place] for place in units]))
        support = np.zeros((len(pool), values.shape[1]), dtype=np.float32)
        support[list(units)] = values
    return Signals(anchored_scores(pool, retrieved), retrieved, similarity, rows, support)


def support_of(encoder: SupportEncoder, question: str, units: Sequence[Candidate]) -> Floats:
    """Return a support encoder's signals of the units, once they are finite and one row is there for each."""
    values = np.asarray(encoder.support(question, units), dtype=np.float32)
    if values.shape != (len(units), len(encoder.signals)) or not np.isfinite(values).all():
        raise InputError(
            f"support encoder {encoder.name!r} returned shape {values.shape} for "
            f"{len(units)} units and signals {encoder.signals}; it must be finite, one row per unit"
        )
    return values


def probabilities(pool: tuple[Candidate, ...]) -> NDArray[np.float32]:
    """Return the candidates' scores where they are probabilities; a candidate without one counts as 0."""
    for unit in pool:
        if unit.score is not None and not 0.0 <= unit.score <= 1.0:
            raise CandidateError(
                f"candidate {unit.id!r} has score {unit.score}, which is no probability; "
                "fill_by_score needs scores from 0 to 1, leave it out for a retriever's own scores"
            )
    return np.array([unit.score or 0.0 for unit in pool], dtype=np.float32)


def combined_worth(scores: Floats, found: Floats) -> Floats:
    """Return what promotion and the retriever together hold of each unit, as log-odds.

    ``scores`` are promotion's probabilities, ``found`` the retriever's. Promotion has two votes of three: on
    six train corpora full recall is then nowhere below that by the larger of the two (docs/retrieval.md).
    """
    sure = np.float32(1e-4)  # a probability of 0 or 1 must not outvote everything
    ours, theirs = (np.clip(one, sure, 1 - sure) for one in (scores, found))
    return np.asarray(2 * np.log(ours / (1 - ours)) + np.log(theirs / (1 - theirs)), dtype=np.float32)


def canonical_order(candidates: tuple[Candidate, ...]) -> list[int]:
    """Return the order the pool is read in.

    By score where there is one, so that shuffling it changes nothing; as given where there is none, because
    then the place is the retriever's only word.
    """
    scores = [candidate.score for candidate in candidates]
    known = [score for score in scores if score is not None]
    if not known or (len(known) == len(scores) and all(map(gt, known, known[1:]))):
        return list(range(len(candidates)))  # best first already, as most pools come

    def key(place: int) -> tuple[bool, float, str, str, str]:
        candidate = candidates[place]
        missing = candidate.score is None
        value = 0.0 if candidate.score is None else -float(candidate.score)
        return missing, value, candidate.text, candidate.title or "", candidate.id

    return sorted(range(len(candidates)), key=key)
