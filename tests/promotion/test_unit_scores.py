from __future__ import annotations

import numpy as np

from pagerag import Candidate
from pagerag.promotion.unit_scores import best_of_unit, document_scores
from tests.promotion.evidence_of import POOL, evidence_of


def test_a_unit_has_the_best_of_its_sentences() -> None:
    best = best_of_unit(np.array([0.2, 0.9, 0.4]), np.array([0, 0, 2]), 3, empty=-1.0)
    assert best.tolist() == [np.float32(0.9), -1.0, np.float32(0.4)]


def test_in_sentence_mode_a_unit_is_its_sentence() -> None:
    evidence = evidence_of()
    nodes = np.linspace(0.1, 0.4, len(evidence.reading), dtype=np.float32)
    assert document_scores(evidence, nodes).tolist() == nodes.tolist()


def test_in_document_mode_more_than_the_best_sentence_counts() -> None:
    long = Candidate("long", "Hans Zimmer was born in Frankfurt. It rained. It snowed.", "Hans Zimmer")
    evidence = evidence_of((*POOL, long), mode="document")
    nodes = np.full(len(evidence.reading), 0.5, dtype=np.float32)
    scores = document_scores(evidence, nodes)
    assert ((scores >= 0.0) & (scores <= 1.0)).all()
    assert len(set(scores.tolist())) > 1
    assert document_scores(evidence, nodes, plain=True).tolist() == [0.5] * len(scores)
    higher = nodes.copy()
    higher[evidence.reading.unit == 1] = 0.9
    assert document_scores(evidence, higher)[1] > scores[1]
