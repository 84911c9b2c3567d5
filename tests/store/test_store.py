"""The embedded store behind its protocol."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from pagerag.errors import CandidateError, InputError, StoreError, StoreMismatchError
from pagerag.retrieve.stored import StoreRetriever
from pagerag.store import FileRecord, LanceStore, Store, Unit, open_store, place_of, sentences_of
from pagerag.store import schema as schemas
from pagerag.testing import FakeEncoder, check_retriever
from pagerag.text import Analysis, Analyzer

QUESTION = "Which city was the composer of Interstellar born in?"


def test_it_is_a_store(store: LanceStore) -> None:
    assert isinstance(store, Store)
    assert len(store) == 7


@pytest.mark.parametrize("mode", ["hybrid", "dense", "lexical"])
def test_search_finds_and_ranks(store: LanceStore, mode: str) -> None:
    found = store.search(QUESTION, 3, mode)  # type: ignore[arg-type]
    assert {"Interstellar (film)", "Hans Zimmer"} <= {c.title for c in found}
    scores = [c.score for c in found if c.score is not None]
    assert len(scores) == len(found) <= 3
    assert scores == sorted(scores, reverse=True)
    assert all(c.vector is not None and c.vector.shape == (256,) for c in found)


def test_dense_search_is_exact(store: LanceStore, units: Sequence[Unit], encoder: FakeEncoder) -> None:
    texts = [f"{u.title}. {u.text}" for u in units]
    vectors = encoder.encode_passages(texts)
    for row in vectors:
        found = store.search_vector(row, 7)
        want = np.sort(vectors @ row)[::-1]
        np.testing.assert_allclose([c.score for c in found], want, atol=1e-5)


def test_many_vectors_at_once_are_the_single_searches(store: LanceStore, encoder: FakeEncoder) -> None:
    rows = encoder.encode_queries(["a film", "a city on a river", "composer"])
    together = store.search_vectors(rows, 4)
    assert [[c.id for c in found] for found in together] == [
        [c.id for c in store.search_vector(row, 4)] for row in rows
    ]


def test_text_of_other_scripts_is_found(store: LanceStore) -> None:
    assert [c.title for c in store.search_text("日本の首都はどこですか")] == ["東京"]
    assert [c.title for c in store.search_text("λευκος πυργος")] == ["Λευκός Πύργος"]


@pytest.mark.parametrize(
    ("asked", "title"),
    [
        ("interstellar", "Interstellar (film)"),
        ("HANS  ZIMMER", "Hans Zimmer"),
        ("Fred Sears", "Fred F. Sears"),
        ("Edward of the North", "Edward of the North, Duke of Kent"),
        ("東京", "東京"),
    ],
)
def test_titles_are_found_in_their_forms(store: LanceStore, asked: str, title: str) -> None:
    assert [c.title for c in store.lookup_title(asked)] == [title]


def test_titles_that_are_not_there(store: LanceStore) -> None:
    assert store.lookup_titles(["Zimmer's dog", "", "!!", "frankfurt"]) == [
        [],
        [],
        [],
        store.lookup_title("Frankfurt"),
    ]


def test_titles_follow_the_data(store: LanceStore, make_unit: Callable[..., Unit]) -> None:
    assert store.lookup_title("Solaris") == []
    store.upsert([make_unit(20, "Solaris", "Solaris is a novel.")])
    assert [c.id for c in store.lookup_title("solaris")] == ["doc20.txt#0"]
    store.delete(["doc20.txt"])
    assert store.lookup_title("Solaris") == []


def test_fetch_keeps_the_order_and_names_the_unknown(store: LanceStore) -> None:
    ids = ["doc2.txt#0", "doc0.txt#0"]
    assert [c.id for c in store.fetch(ids)] == ids
    with pytest.raises(InputError, match="no unit 'nowhere'"):
        store.fetch(["doc2.txt#0", "nowhere"])


def test_what_was_stored_comes_back(store: LanceStore, make_unit: Callable[..., Unit]) -> None:
    before = replace(
        make_unit(9, 'It\'s "quoted"', "One. Two."),
        pages=(3, 4),
        start=100,
        end=109,
        ordinal=7,
        section="S'1",
        record="r",
        names=("Other",),
        fields={"year": 1999, "tag": "ü"},
    )
    store.upsert([before])
    [found] = store.fetch([before.id])
    assert found == replace(before.candidate(), vector=None)
    assert dict(found.metadata) == {
        "path": "doc9.txt",
        "start": 100,
        "end": 109,
        "ordinal": 7,
        "sentences": [[0, 4], [5, 9]],
        "page": 3,
        "pages": [3, 4],
        "section": "S'1",
        "record": "r",
        "fields": {"year": 1999, "tag": "ü"},
    }
    json.dumps(dict(found.metadata))
    assert store.lookup_title("other")[0].id == before.id


def test_sentences_keep_their_place(store: LanceStore, make_unit: Callable[..., Unit]) -> None:
    text = "Alpha met Beta. They spoke of Gamma."
    store.upsert([replace(make_unit(9, "T", text), pages=(3, 4), start=100, end=136, ordinal=7)])
    [passage] = store.fetch(["doc9.txt#0"])
    first, second = sentences_of(passage)
    assert (second.text, second.position, second.metadata["page"]) == ("They spoke of Gamma.", 8, 4)
    assert second.metadata["start"] == 100 + text.index("They")
    assert second.metadata["passage"] == passage.id
    assert str(place_of(second)) == "doc9.txt, page 4"
    assert place_of(passage, 16, 20) == place_of(second, 0, 4)
    assert place_of(first).page == 3


def test_analyses_come_with_the_units(store: LanceStore) -> None:
    found = store.search(QUESTION, 5)
    read = store.analyses(found)
    assert read == [Analyzer().analyze(c.text) for c in found]
    sentences = [s for c in found for s in sentences_of(c)]
    for sentence, analysis in zip(sentences, store.analyses(sentences), strict=True):
        assert isinstance(analysis, Analysis)
        assert analysis.tokens == Analyzer().analyze(sentence.text).tokens
        assert analysis.spans == ((0, len(sentence.text)),)


def test_analyses_are_read_when_they_are_not_at_hand(store: LanceStore, encoder: FakeEncoder) -> None:
    found = store.search(QUESTION, 2)
    again = open_store(store.location, encoder)
    assert again.analyses(found) == store.analyses(found)
    stranger = replace(found[0], id="nowhere", text="x")
    other_text = replace(found[0], text="Something else.")
    assert again.analyses([stranger, other_text]) == [None, None]


def test_an_analysis_of_another_version_is_not_used(
    store: LanceStore, make_unit: Callable[..., Unit]
) -> None:
    store.upsert([replace(make_unit(30, "Old", "An old one."), analysis=b"[0]")])
    assert store.analyses(store.fetch(["doc30.txt#0"])) == [None]


def test_upsert_replaces_the_whole_source(store: LanceStore, make_unit: Callable[..., Unit]) -> None:
    parts = [
        replace(make_unit(0, "New", f"Part {n}."), id=f"doc0.txt#{n}", position=n, total=3) for n in range(3)
    ]
    store.upsert(parts)
    assert len(store) == 9
    assert store.documents()["doc0.txt"].units == 3
    store.upsert(parts[:1])
    assert len(store) == 7
    store.upsert([], sources=["doc0.txt"])
    assert len(store) == 6
    assert store.upsert([]) == 0


def test_delete_counts(store: LanceStore) -> None:
    assert store.delete(["doc0.txt", "doc1.txt", "not there", "it's not"]) == 2
    assert store.delete([]) == 0
    assert len(store) == 5


def test_the_ledger(store: LanceStore) -> None:
    assert store.ledger() == {}
    records = [FileRecord("b's.txt", "1", units=2), FileRecord("a.txt", "2", "duplicate", original="b's.txt")]
    store.acknowledge(records)
    store.acknowledge([FileRecord("a.txt", "3")])
    assert list(store.ledger().values()) == [FileRecord("a.txt", "3"), records[0]]
    store.forget(["b's.txt"])
    assert list(store.ledger()) == ["a.txt"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"text": "  "}, "has no text"),
        ({"text": "half \ud83d"}, "surrogate"),
        ({"vector": np.zeros(3, np.float32)}, r"shape \(3,\)"),
        ({"vector": np.full(256, np.nan, np.float32)}, "NaN"),
        ({"id": ""}, "needs an id"),
    ],
)
def test_unusable_units_are_named(
    store: LanceStore, make_unit: Callable[..., Unit], change: dict[str, object], message: str
) -> None:
    good = make_unit(50, "T", "Text.")
    vector = np.ones(256, np.float32)
    with pytest.raises(CandidateError, match=message):
        store.upsert([good, replace(good, **{"id": "doc51.txt#0", "vector": vector, **change})])  # type: ignore[arg-type]
    assert len(store) == 7


def test_two_units_of_one_id(store: LanceStore, make_unit: Callable[..., Unit]) -> None:
    with pytest.raises(CandidateError, match="two units have the id"):
        store.upsert([make_unit(50, "T", "Text."), make_unit(50, "T", "Other.")])


def test_odd_queries(store: LanceStore) -> None:
    for text in (
        "",
        "   ",
        "the of and",
        "'; DROP TABLE units; --",
        "half \ud83d",
        "\0",
        "?" * 5000,
        "a" * 9000,
    ):
        assert isinstance(store.search_text(text), list)
        assert isinstance(store.search(text, 3), list)
    assert store.search(QUESTION, 0) == []
    with pytest.raises(InputError, match="unknown search mode"):
        store.search(QUESTION, 3, "fuzzy")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="256 numbers"):
        store.search_vector(np.ones(3))
    with pytest.raises(InputError, match="NaN"):
        store.search_vector(np.full(256, np.nan))


def test_the_encoder_is_part_of_the_store(store: LanceStore) -> None:
    for other in (FakeEncoder(256, name="another"), FakeEncoder(dimension=32)):
        for create in (False, True):
            with pytest.raises(StoreMismatchError, match="was made with the encoder 'fake-hashing' \\(256"):
                open_store(store.location, other, create=create)


def test_without_an_encoder(store: LanceStore) -> None:
    bare = open_store(store.location)
    assert (bare.encoder_name, bare.dimension) == ("fake-hashing", 256)
    assert bare.search_text("composer")
    assert bare.search(QUESTION, 3, "lexical")
    with pytest.raises(StoreError, match="opened without one"):
        bare.search(QUESTION)
    with pytest.raises(InputError, match="a new store needs an encoder"):
        open_store(store.location + "-new", create=True)


def test_a_store_that_is_not_there(tmp_path: Path) -> None:
    for place in (tmp_path / "nowhere", tmp_path):
        with pytest.raises(StoreError, match=r"there is no store at .*pagerag index"):
            open_store(place)


@pytest.mark.parametrize(("version", "message"), [(1, "index the documents again"), (99, "newer pagerag")])
def test_another_schema_version_is_refused(
    tmp_path: Path, encoder: FakeEncoder, monkeypatch: pytest.MonkeyPatch, version: int, message: str
) -> None:
    with monkeypatch.context() as patch:
        # The class reads its default when it is made, so an old store is made by an old identity.
        old = schemas.Identity("fake-hashing", 256, 1, version)
        patch.setattr("pagerag.store.lance.Identity", _Always(old))
        open_store(tmp_path / "old", encoder, create=True)
    for create in (False, True):
        with pytest.raises(
            StoreMismatchError, match=f"schema version {version}; this pagerag reads version 3.*{message}"
        ):
            open_store(tmp_path / "old", encoder, create=create)


class _Always:
    """Stands for the class Identity of another version of pagerag."""

    def __init__(self, identity: schemas.Identity) -> None:
        self.identity = identity

    def __call__(self, *_: object) -> schemas.Identity:
        return self.identity

    def read(self, *_: object) -> schemas.Identity:
        return self.identity


def test_a_table_of_somebody_else_is_refused(tmp_path: Path, encoder: FakeEncoder) -> None:
    import lancedb

    lancedb.connect(tmp_path).create_table("units", [{"a": 1}])
    with pytest.raises(StoreMismatchError, match="pagerag did not write"):
        open_store(tmp_path, encoder, create=True)


def test_a_creation_that_was_cut_short_is_taken_up(tmp_path: Path, encoder: FakeEncoder) -> None:
    # Files of a table, but no version of it: what a kill between the first write and the commit leaves.
    data = tmp_path / "units.lance" / "data"
    data.mkdir(parents=True)
    (data / "half.lance").write_bytes(b"half")
    with pytest.raises(StoreError, match="there is no store"):
        open_store(tmp_path, encoder)
    assert len(open_store(tmp_path, encoder, create=True)) == 0


def test_optimise_keeps_everything(store: LanceStore, units: Sequence[Unit]) -> None:
    before = [c.id for c in store.search(QUESTION, 7)]
    assert store.stats().unindexed == 7
    store.optimize()
    assert [c.id for c in store.search(QUESTION, 7)] == before
    stats = store.stats()
    assert (stats.unindexed, stats.units, stats.documents, stats.search) == (0, 7, 7, "exact")
    json.dumps(stats.to_dict())


@pytest.mark.parametrize("memory", [0, 1 << 20])
def test_many_units_are_searched_approximately(
    tmp_path: Path, make_unit: Callable[..., Unit], memory: int
) -> None:
    """Above the limit signs or an index answer: nearly the exact neighbours, and newer units with them."""
    generator = np.random.default_rng(7)
    vectors = generator.normal(size=(1500, 32)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    blank = make_unit(0, None, "Text.")
    many = [
        replace(blank, id=f"{n}#0", source=f"{n}", text=f"Text {n}.", vector=vectors[n]) for n in range(1500)
    ]
    store = open_store(tmp_path / "s", FakeEncoder(32), create=True, exact_below=1000, vector_memory=memory)
    store.upsert(many[:1400])
    before = "approximate" if memory else "exact"  # until there is an index, LanceDB compares all of them
    assert (store.stats().search, store.pending()) == (before, 1400)
    assert store.search_vector(vectors[3], 1)[0].id == "3#0"
    store.optimize(final=False)
    assert (store.stats().search, store.pending()) == (before, 0 if memory else 1400)
    store.optimize()
    assert (store.stats().search, store.pending()) == ("approximate", 0)
    store.upsert(many[1400:])
    hits = 0
    for row in vectors[::50]:
        found = {c.id for c in store.search_vector(row, 10)}
        hits += len(found & {f"{n}#0" for n in np.argsort(-(vectors @ row))[:10]})
    assert hits >= 0.9 * 10 * len(vectors[::50])
    assert store.search_vector(vectors[1450], 1)[0].id == "1450#0"


def test_as_a_retriever(store: LanceStore) -> None:
    for mode in ("hybrid", "dense", "lexical"):
        retriever = StoreRetriever(store, mode)  # type: ignore[arg-type]
        check_retriever(
            retriever, questions=[QUESTION, "Where is Frankfurt?"], finds={QUESTION: "doc1.txt#0"}
        )
        pool = retriever.retrieve(QUESTION, 4)
        assert (pool.vector is None) == (mode == "lexical")
    with pytest.raises(InputError, match="needs the store's encoder"):
        StoreRetriever(open_store(store.location))
    with pytest.raises(InputError, match="unknown search mode"):
        StoreRetriever(store, "fuzzy")  # type: ignore[arg-type]


def test_one_writer_at_a_time(store: LanceStore, encoder: FakeEncoder) -> None:
    other = open_store(store.location, encoder)
    with store.writing():
        with pytest.raises(StoreError, match=r"another process .* is writing"), other.writing():
            pass
        assert other.search(QUESTION)
    with other.writing():
        pass
