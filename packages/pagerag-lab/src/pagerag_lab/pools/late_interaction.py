"""Late interaction over given units: each token of the question finds its nearest token in the unit."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pagerag.retrieve.late import max_sim, token_encoder
from pagerag.units import Candidate
from pagerag_lab.pools.rankers import Ranking, unit_text

__all__ = ["LateRanker"]


class LateRanker:
    """MaxSim by any token encoder of ``pagerag.retrieve.late``: minilm, colbertv2, pylate:MODEL, ..."""

    def __init__(self, model: str) -> None:
        self.encoder = token_encoder(model)
        self.name = f"late:{model}"

    def rank(self, question: str, units: Sequence[Candidate]) -> Ranking:
        """Rank by sums over the question's tokens."""
        (asked,) = self.encoder.query_tokens([question])
        rows = self.encoder.passage_tokens([unit_text(unit) for unit in units])
        starts = np.concatenate([[0], np.cumsum([len(row) for row in rows])]).astype(np.int64)
        return Ranking(scores=max_sim(asked, np.concatenate(rows), starts).astype(np.float64))
