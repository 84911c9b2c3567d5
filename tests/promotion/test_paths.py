from __future__ import annotations

from itertools import pairwise

import numpy as np

from pagerag.promotion.paths import MAX_UNITS, expand_paths
from tests.promotion.evidence_of import evidence_of


def test_a_path_runs_along_links_and_no_sentence_twice() -> None:
    evidence = evidence_of()
    for path in evidence.paths:
        assert 1 <= len(path.nodes) <= MAX_UNITS
        assert len(set(path.nodes)) == len(path.nodes)
        assert all(np.isfinite(evidence.links.score[a, b]) for a, b in pairwise(path.nodes))


def test_paths_come_best_first_and_each_set_once() -> None:
    paths = evidence_of().paths
    assert np.all(np.diff(paths.score) <= 0.0)
    sets = [frozenset(path.nodes) for path in paths]
    assert len(set(sets)) == len(sets)


def test_the_bridge_is_the_best_path_of_two() -> None:
    paths = [path for path in evidence_of().paths if len(path.nodes) == 2]
    assert set(paths[0].nodes) == {0, 1}
    assert paths[0].bridge > 0.0


def test_the_best_through_each_sentence() -> None:
    evidence = evidence_of()
    best, rank = evidence.paths.best_through(len(evidence.reading))
    assert best.shape == (MAX_UNITS, 4)
    for node in range(4):
        through = [path.score for path in evidence.paths if node in path.nodes]
        assert best[:, node].max() == np.float32(max(through))
        assert node in evidence.paths[int(rank[node])].nodes


def test_length_and_beam_bound_the_work() -> None:
    e = evidence_of()
    given = (e.reading, e.links, e.seeds, e.seeds, e.signalled, e.weights)
    short = expand_paths(*given, paragraph=False, max_units=1)
    assert {len(path.nodes) for path in short} == {1}
    narrow = expand_paths(*given, paragraph=False, beam=1)
    assert len(narrow) <= MAX_UNITS
