"""The benchmark of answers takes a reader that finds nothing."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import pytest

from pagerag import Answer, Promoter
from pagerag_lab.benchmarks.answers import answer
from pagerag_lab.datasets.questions import Document, Question
from pagerag_lab.metrics.calibration import reliability_bins
from pagerag_lab.pools.rankers import Pools
from pagerag_lab.pools.retrievers import ranker

DOCUMENT = Document("d", "d", "Zimmer", ("Zimmer was born in Frankfurt.", "He lives elsewhere."))
QUESTION = Question("q", "Where was Zimmer born?", ("Frankfurt",), (DOCUMENT,), (("d", 0),))


class Silent:
    """A reader without an answer, and so without a confidence."""

    def read(self, question: str, context: object) -> Answer:
        return Answer("", abstained=True, reader="silent")


@pytest.mark.parametrize("wanted", [["gold"], ["plain", "core"]])
def test_silence_has_no_chance_to_be_right(wanted: list[str]) -> None:
    pools = Pools(ranker("bm25"), "sentence")
    rows = answer(QUESTION, pools, Promoter(), cast(Any, Silent()), wanted)
    assert [row["confidence"] for row in rows] == [0.0] * len(wanted)
    right = np.array([row["f1"] >= 0.5 for row in rows])
    assert reliability_bins(np.array([row["confidence"] for row in rows]), right)
