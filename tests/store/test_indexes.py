"""What the store keeps of lengths, terms and vectors follows the data and agrees with plain computation."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pagerag._numbers import products, widened
from pagerag.store import MemoryCorpus, SqliteCorpus, Unit, open_store
from pagerag.store.bm25 import BM25, PostingList, idf, length_norms, rank_lists
from pagerag.store.vectors import BLOCK, VectorIndex, sign_bits
from pagerag.testing import FakeEncoder

WORDS = ["film", "river", "city", "banks", "composer", "star", "music", "journey", "rivers"]
QUERIES = ("a film about a city on a river", "composer composer of music", "nothing here")


def test_searches_follow_every_kind_of_change(
    store: SqliteCorpus, units: Sequence[Unit], encoder: FakeEncoder, make_unit: Callable[..., Unit]
) -> None:
    """However a reader came to a version, its rankings are those of the exact corpus of the same units."""
    generator = np.random.default_rng(5)
    exact = MemoryCorpus((), encoder)
    exact.upsert(units)

    def check() -> None:
        with open_store(store.location, encoder) as fresh:
            for query in QUERIES:
                want = {c.id: c.score for c in exact.search_text(query, 100)}
                for one in (store, fresh):
                    found = one.search_text(query, 100)
                    assert {c.id for c in found} == set(want)
                    np.testing.assert_allclose(
                        [c.score for c in found], [want[c.id] for c in found], rtol=1e-5
                    )
                    assert [c.score for c in one.search_text(query, 2)] == [c.score for c in found[:2]]
                point = encoder.encode_queries([query])[0]
                want = {c.id: c.score for c in exact.search_vector(point, 100)}
                found = store.search_vector(point, 100)
                assert {c.id: c.text for c in found}.keys() == want.keys()
                np.testing.assert_allclose([c.score for c in found], [want[c.id] for c in found], atol=2e-3)
            assert [c.id for c in store.lookup_title("Title")] == [c.id for c in exact.lookup_title("Title")]

    check()
    for step in range(30):
        number = int(generator.integers(0, 30))
        if step % 4 == 3:
            assert store.delete([f"doc{number}.txt"]) == exact.delete([f"doc{number}.txt"])
        else:
            new = make_unit(number, f"Title ({step})", " ".join(generator.choice(WORDS, 12)) + ".")
            for one in (store, exact):
                one.upsert([new])
        if step % 10 == 9:
            store.optimize()
        if step % 3 == 0:
            check()
    assert store.verify() == []


def test_rows_are_numbered_again_when_many_are_dead(
    store: SqliteCorpus, encoder: FakeEncoder, make_unit: Callable[..., Unit], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pagerag.store.sqlite._RENUMBER_FROM", 3)
    with open_store(store.location, encoder) as reader:
        for edition in range(4):
            store.upsert([make_unit(n, f"Title {n}", f"Edition {edition} of a river {n}.") for n in range(9)])
            assert len(reader.search_text("edition river", 50)) == 9
        before = [(c.id, c.score, c.text) for c in store.search_text("river edition", 50)]
        with reader.snapshot() as pinned:
            store.optimize()
            assert len(pinned.rank_text("edition river", 50)) == 9
        with store.snapshot() as now:
            assert max(hit.row for hit in now.rank_text("river edition", 50)) < 9
        for one in (store, reader):
            assert [(c.id, c.score, c.text) for c in one.search_text("river edition", 50)] == before
            assert [c.id for c in one.lookup_title("title 3")] == ["doc3.txt#0"]
            assert one.search_vector(encoder.encode_passages(["Title 3. Edition 3 of a river 3."])[0], 1)[
                0
            ].id == ("doc3.txt#0")
        assert store.verify() == []


def test_more_rows_than_a_block(tmp_path, make_unit: Callable[..., Unit]) -> None:  # type: ignore[no-untyped-def]
    """Blocks are filled, continued and searched by signs; nearly the exact neighbours come back."""
    generator = np.random.default_rng(7)
    count = BLOCK + 1500
    vectors = generator.normal(size=(count, 32)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    store = SqliteCorpus(tmp_path / "s", FakeEncoder(32), create=True, exact_below=1000)
    made = [
        Unit(id=f"{n}#0", text=f"Text {n}.", source=f"{n}", path=f"{n}", vector=vectors[n])
        for n in range(count)
    ]
    for start in range(0, count, 1700):
        store.upsert(made[start : start + 1700])
    store.delete([f"{n}" for n in range(0, count, 10)])
    left = np.array([n for n in range(count) if n % 10])
    assert (len(store), store.stats().search) == (len(left), "approximate")
    hits = 0
    for row in vectors[left[::250]]:
        found = {c.id for c in store.search_vector(row, 10)}
        assert not any(int(name.split("#")[0]) % 10 == 0 for name in found)
        hits += len(found & {f"{n}#0" for n in left[np.argsort(-(vectors[left] @ row))[:10]]})
    assert hits >= 0.9 * 10 * len(left[::250])
    (again,) = store.fetch([f"{BLOCK + 7}#0"])
    np.testing.assert_allclose(again.vector, vectors[BLOCK + 7], atol=1e-3)
    assert store.verify() == []


def test_signs_find_nearly_what_comparing_all_finds() -> None:
    generator = np.random.default_rng(1)
    for dimension in (16, 48, 100):
        vectors = generator.normal(size=(9000, dimension)).astype(np.float16)
        vectors /= np.linalg.norm(vectors.astype(np.float32), axis=1, keepdims=True).astype(np.float16)
        blocks = [vectors[:BLOCK], vectors[BLOCK : 2 * BLOCK], vectors[2 * BLOCK :]]
        signs = [sign_bits(block) for block in blocks]
        live = np.ones(9000, dtype=bool)
        exact = VectorIndex.build(dimension, blocks, signs, live, exact_below=1 << 30)
        quick = VectorIndex.build(dimension, blocks, signs, live, exact_below=0)
        points = (vectors[:40] + 0.3 * generator.normal(size=(40, dimension))).astype(np.float32)
        for k in (5, 20):
            want, got = exact.nearest(points, k), quick.nearest(points, k)
            shared = [len(dict(a).keys() & dict(b).keys()) for a, b in zip(want, got, strict=True)]
            assert np.mean(shared) > 0.9 * k
            assert all(hits == sorted(hits, key=lambda hit: -hit[1]) for hits in got)
        rows = np.array([0, BLOCK, 8999, 5])
        np.testing.assert_array_equal(quick.of(rows), exact.of(rows))


def test_bits_are_counted_without_numpy_2(monkeypatch: pytest.MonkeyPatch) -> None:
    from pagerag.store import vectors

    words = np.random.default_rng(2).integers(0, 1 << 63, 50, dtype=np.uint64)
    want = [int(word).bit_count() for word in words]
    assert vectors._ones(words).tolist() == want
    monkeypatch.delattr(np, "bitwise_count", raising=False)
    assert vectors._ones(words).tolist() == want


@settings(max_examples=60, deadline=None)
@given(
    texts=st.lists(st.lists(st.sampled_from("abcdefgh"), max_size=12), min_size=1, max_size=40),
    query=st.lists(st.sampled_from("abcdefghx"), max_size=6),
    k=st.integers(0, 10),
)
def test_ranking_posting_lists_is_ranking_all_texts(texts: list[list[str]], query: list[str], k: int) -> None:
    index = BM25([" ".join(words) for words in texts], tokenize=str.split)
    lengths = np.array([len(words) for words in texts], dtype=np.float64)
    norms = length_norms(lengths, float(lengths.mean()))
    lists = []
    for term in dict.fromkeys(query):
        places = np.array([n for n, words in enumerate(texts) if term in words], dtype=np.uint32)
        if len(places):
            counts = np.array([texts[n].count(term) for n in places], dtype=np.uint8)
            lists.append(PostingList(places, counts, query.count(term) * idf(len(texts), len(places))))
    got, want = rank_lists(lists, norms, k), index.rank(" ".join(query), k)
    np.testing.assert_allclose([hit.score for hit in got], [hit.score for hit in want], rtol=1e-5)
    scores = index.scores(" ".join(query))
    for hit in got:
        assert hit.score == pytest.approx(float(scores[hit.row]), rel=1e-5)


def test_every_half_is_widened_exactly() -> None:
    every = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
    finite = every[np.isfinite(every)]
    assert (widened(finite).view(np.uint32) == finite.astype(np.float32).view(np.uint32)).all()
    assert widened(finite.reshape(-1, 2).T).shape == (2, len(finite) // 2)


@pytest.mark.parametrize(("rows", "width"), [(0, 256), (3, 256), (1024, 256), (2500, 256), (5, 300_000)])
def test_products_in_parts_are_those_of_the_whole(rows: int, width: int) -> None:
    generator = np.random.default_rng(rows)
    vectors = generator.normal(size=(rows, width)).astype(np.float32)
    point = generator.normal(size=width).astype(np.float32)
    found = products(vectors, point)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, vectors @ point, rtol=1e-4, atol=1e-3)
