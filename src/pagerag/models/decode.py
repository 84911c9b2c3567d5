"""From the network's logits to units and spans. NumPy alone, the same in training and at run time."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

__all__ = ["KINDS", "SPAN_CHANNELS", "UNIT_CHANNELS", "best_spans", "log_softmax", "sigmoid", "unit_logits"]

KINDS = ("span", "yes", "no", "none")
"""The answer's kinds, in the order of the [CLS] head."""

SPAN_CHANNELS = {"start": 0, "end": 1}
"""The token head's channels of a span."""

UNIT_CHANNELS = {"support": (2, 3), "bearing": (4, 5)}
"""The token head's channels of a unit: (at its marker, mean over its tokens)."""

Floats = NDArray[np.floating]


def unit_logits(
    tokens: Floats, channels: tuple[int, int], markers: Sequence[int], spans: Sequence[tuple[int, int]]
) -> NDArray[np.float32]:
    """Return one logit per unit: its marker's channel plus the mean of its tokens' channel."""
    mark, token = channels
    total = np.concatenate(([0.0], np.cumsum(tokens[:, token], dtype=np.float64)))
    bounds = np.asarray(spans, dtype=np.int64).reshape(-1, 2)
    length = np.maximum(bounds[:, 1] - bounds[:, 0], 1)
    mean = (total[bounds[:, 1]] - total[bounds[:, 0]]) / length
    return np.asarray(tokens[np.asarray(markers, dtype=np.int64), mark] + mean, dtype=np.float32)


def log_softmax(x: Floats) -> NDArray[np.float64]:
    """Return log softmax over the last axis, in double precision."""
    shifted = np.asarray(x, dtype=np.float64) - np.max(x, axis=-1, keepdims=True)
    return np.asarray(shifted - np.log(np.sum(np.exp(shifted), axis=-1, keepdims=True)), dtype=np.float64)


def sigmoid(x: Floats) -> NDArray[np.float64]:
    """Return the logistic function, safe for large values."""
    return np.asarray(0.5 * (1.0 + np.tanh(0.5 * np.asarray(x, dtype=np.float64))), dtype=np.float64)


def best_spans(
    start: Floats, end: Floats, segments: Sequence[tuple[int, int]], *, longest: int = 30, count: int = 8
) -> list[tuple[float, int, int, int]]:
    """Return the best spans inside the segments, as (log probability, first, last, segment), best first.

    ``start`` and ``end`` are log probabilities over all tokens; a span never leaves its segment.
    """
    found: list[tuple[float, int, int, int]] = []
    for number, (low, high) in enumerate(segments):
        left, right = start[low:high], end[low:high]
        for first in np.argsort(-left, kind="stable")[: 2 * count].tolist():
            reach = right[first : first + longest]
            last = int(np.argmax(reach))
            found.append((float(left[first] + reach[last]), low + first, low + first + last, number))
    found.sort(key=lambda item: (-item[0], item[1], item[2]))
    return found[:count]
