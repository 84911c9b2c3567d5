"""The indexes in memory follow the store and agree with plain computation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pytest

from pagerag.retrieve import BM25
from pagerag.store import LanceStore, Unit, open_store
from pagerag.store.hashing import name_hash, run_hashes, word_hash, word_hashes
from pagerag.store.titles import TitleIndex, first_key, key_hash, name_hashes, title_keys
from pagerag.store.vectors import VectorIndex, _rotations, _signs
from pagerag.testing import FakeEncoder

HANS, ZIMMER = 12172359176196661222, -3999501074720805888


@pytest.mark.parametrize(
    ("title", "keys"),
    [
        ("Alien (film)", ("alien film", "alien")),
        ("Fred F. Sears", ("fred f sears", "fred sears")),
        ("Edward, Duke of Kent", ("edward duke of kent",)),
        ("Edward of the North, Duke of Kent", ("edward of the north duke of kent", "edward of the north")),
        ("The Who", ("the who",)),
        ("A.I.", ("a i",)),
        ("(500) Days of Summer", ("500 days of summer",)),
        ("Beyoncé", ("beyonce",)),
        ("東京（曖昧さ回避）", ("東京 曖昧 昧さ さ回 回避", "東京")),
        ("!!", ()),
        ("", ()),
    ],
)
def test_the_keys_of_a_title(title: str, keys: tuple[str, ...]) -> None:
    assert title_keys(title) == keys
    assert first_key(title) == next(iter(keys), "")


def test_hashes_are_the_same_everywhere() -> None:
    assert word_hash("hans") == HANS
    assert key_hash("hans") == np.array([HANS], np.uint64).view(np.int64)[0]
    assert key_hash("hans zimmer") == ZIMMER
    assert key_hash("zimmer hans") != ZIMMER
    assert name_hashes("Alien (film)") == [key_hash("alien film"), key_hash("alien")]
    assert name_hashes(None) == []
    assert name_hashes(None, ["Alien"]) == [key_hash("alien")]


def test_exact_titles_come_before_shorter_forms() -> None:
    keys = [name_hashes("Alien (film)"), name_hashes("Alien"), name_hashes("Alien")]
    index = TitleIndex.build(
        1,
        np.array([h for row in keys for h in row], dtype=np.int64),
        np.array([len(row) for row in keys], dtype=np.int64),
        np.array([10, 11, 12], dtype=np.uint64),
        np.array([0, 1, 0], dtype=np.int32),
    )
    found = index.find(["alien", "ALIEN (film)", "Predator", "", "!!"], 5)
    assert found == {0: [12, 11, 10], 1: [10]}
    assert index.find(["alien"], 2) == {0: [12, 11]}


def test_dense_search_follows_every_kind_of_change(
    store: LanceStore, units: Sequence[Unit], encoder: FakeEncoder, make_unit: Callable[..., Unit]
) -> None:
    generator = np.random.default_rng(3)
    held = {unit.id: unit for unit in units}

    def check() -> None:
        rows = {name: encoder.encode_passages([f"{u.title}. {u.text}"])[0] for name, u in held.items()}
        point = encoder.encode_queries(["a film about a city on a river"])[0]
        want = sorted((float(row @ point) for row in rows.values()), reverse=True)
        found = store.search_vector(point, 100)
        assert {c.id for c in found} == set(rows)
        np.testing.assert_allclose([c.score for c in found], want, atol=1e-5)
        assert {c.id: c.text for c in found} == {name: u.text for name, u in held.items()}

    check()
    for step in range(12):
        number = int(generator.integers(0, 12))
        if step % 3 == 2:
            store.delete([f"doc{number}.txt"])
            held.pop(f"doc{number}.txt#0", None)
        else:
            new = replace(make_unit(number, f"Title {step}", f"Text {step} of a film or river."))
            store.upsert([new])
            held[new.id] = new
        if step % 4 == 3:
            store.optimize()
        check()


def test_the_numbers_of_runs_are_those_of_names() -> None:
    words = [f"word{n % 17}" for n in range(300)]
    first = np.array([0, 3, 250, 299, 7], dtype=np.intp)
    end = np.array([1, 9, 260, 300, 7], dtype=np.intp)
    want = [name_hash(words[a:b]) for a, b in zip(first, end, strict=True)]
    assert run_hashes(word_hashes(words), first, end).tolist() == want
    assert run_hashes(word_hashes([]), np.empty(0, np.intp), np.empty(0, np.intp)).tolist() == []


def test_lexical_search_follows_every_kind_of_change_and_is_bm25(
    store: LanceStore, units: Sequence[Unit], encoder: FakeEncoder, make_unit: Callable[..., Unit]
) -> None:
    """However a reader came to a version, its scores are those of BM25 over what that version holds."""
    generator = np.random.default_rng(5)
    held = {unit.id: unit for unit in units}
    words = ["film", "river", "city", "banks", "composer", "star", "music", "journey", "rivers"]

    def check() -> None:
        names = list(held)
        index = BM25([f"{held[name].title}. {held[name].text}" for name in names])
        fresh = open_store(store.location, encoder)
        for query in ("a film about a city on a river", "composer composer of music", "nothing here"):
            scores = {name: float(s) for name, s in zip(names, index.scores(query), strict=True) if s > 0}
            found = store.search_text(query, 100)
            assert {c.id for c in found} == set(scores)
            np.testing.assert_allclose([c.score for c in found], [scores[c.id] for c in found], rtol=1e-5)
            assert [(c.id, c.score) for c in fresh.search_text(query, 100)] == [
                (c.id, c.score) for c in found
            ]
            assert [c.id for c in store.search_text(query, 2)] == [c.id for c in found[:2]]
            lexical = store.snapshot().lexical
            for k in (1, 2, 50):
                one, two, none = lexical.best_of_each([(query, "city"), ("banks", query), ("", "")], k)
                for got, text in ((one, f"{query} city"), (two, f"banks {query}")):
                    want = [score for _, score in lexical.best(text, k)]
                    np.testing.assert_allclose([score for _, score in got], want, rtol=1e-5)
                assert none == []

    check()
    for step in range(40):
        number = int(generator.integers(0, 30))
        if step % 4 == 3:
            store.delete([f"doc{number}.txt"])
            held.pop(f"doc{number}.txt#0", None)
        else:
            new = make_unit(number, f"Title {step}", " ".join(generator.choice(words, 12)) + ".")
            store.upsert([new])
            held[new.id] = new
        if step % 15 == 14:
            store.optimize()
        check()
    assert len(store.snapshot().lexical.segments) < 8


def test_a_snapshot_stays_as_it_was(
    store: LanceStore, encoder: FakeEncoder, make_unit: Callable[..., Unit]
) -> None:
    before = store.snapshot()
    store.upsert([make_unit(0, "Solaris", "Solaris is a novel."), make_unit(40, "Ijon", "A traveller.")])
    store.optimize()
    assert before.rank_text("solaris traveller", 5) == []
    assert before.units([before.rank_text("interstellar", 1)[0][0]])[0].title == "Interstellar (film)"
    assert before.rank_titles(["solaris"], 5) == {}
    assert len(before) == 7
    after = store.snapshot()
    assert len(after) == 8
    assert [u.title for u in after.units([row for row, _ in after.rank_text("solaris", 5)])] == ["Solaris"]
    rows = [row for row, _ in after.rank_vectors(encoder.encode_queries(["a novel"]), 8)[0]]
    assert {u.title for u in after.units(rows)} >= {"Solaris", "Ijon"}


def test_signs_find_nearly_what_comparing_all_finds() -> None:
    generator = np.random.default_rng(1)
    for dimension in (16, 48, 100):
        vectors = generator.normal(size=(9000, dimension)).astype(np.float32)
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        rows = np.arange(0, 18000, 2, dtype=np.uint64)
        exact = VectorIndex(rows, vectors, None)
        quick = VectorIndex(rows, vectors, _signs(vectors, _rotations(dimension)))
        points = vectors[:40] + 0.3 * generator.normal(size=(40, dimension)).astype(np.float32)
        for k in (5, 20):
            want, got = exact.nearest(points, k), quick.nearest(points, k)
            shared = [len(dict(a).keys() & dict(b).keys()) for a, b in zip(want, got, strict=True)]
            assert np.mean(shared) > 0.9 * k
            assert all(hits == sorted(hits, key=lambda hit: -hit[1]) for hits in got)
