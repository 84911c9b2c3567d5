"""The embedded store behind its protocol."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from pagerag.errors import CandidateError, InputError, StoreError, StoreMismatchError
from pagerag.protocols import Corpus
from pagerag.retrieve import CorpusRetriever
from pagerag.store import FileRecord, SqliteCorpus, Unit, open_store, place_of, sentences_of
from pagerag.testing import FakeEncoder, check_retriever
from pagerag.text import Analysis, Analyzer
from pagerag.units import Candidate

QUESTION = "Which city was the composer of Interstellar born in?"


def test_metadata_of_the_callers_own_under_our_names() -> None:
    own = {
        "origin": "web",
        "start": "top",
        "within": None,
        "sentences": ["One.", 2],
        "pages": "4-5",
        "ordinal": "a",
    }
    unit = Candidate("a", "One fact. Another fact.", metadata=own)
    assert (place_of(unit, 4, 9).start, place_of(unit, 4, 9).end) == (4, 9)
    assert [one.text for one in sentences_of(unit)] == ["One fact.", "Another fact."]
    for origin in (
        "[" * 100_000,
        "[1]",
        '[[1,1,"a",1],1,[],[]]',
        '[[0,1,0,1],1,[],[["a","b"]]]',
        "[[1e999],1,[],[]]",
    ):
        hostile = Candidate("b", "One fact.", metadata={"origin": origin, "path": "b.txt"})
        assert str(place_of(hostile)) == "b.txt, characters 0-9"


def test_it_is_a_store(store: SqliteCorpus) -> None:
    assert isinstance(store, Corpus)
    assert len(store) == 7


def test_dense_search_is_exact(store: SqliteCorpus, units: Sequence[Unit], encoder: FakeEncoder) -> None:
    texts = [f"{u.title}. {u.text}" for u in units]
    vectors = encoder.encode_passages(texts)
    for row in vectors:
        found = store.search_vector(row, 7)
        want = np.sort(vectors @ row)[::-1]
        np.testing.assert_allclose([c.score for c in found], want, atol=2e-3)


def test_text_of_other_scripts_is_found(store: SqliteCorpus) -> None:
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
def test_titles_are_found_in_their_forms(store: SqliteCorpus, asked: str, title: str) -> None:
    assert [c.title for c in store.lookup_title(asked)] == [title]


def test_titles_that_are_not_there(store: SqliteCorpus) -> None:
    assert store.lookup_titles(["Zimmer's dog", "", "!!", "frankfurt"]) == [
        [],
        [],
        [],
        store.lookup_title("Frankfurt"),
    ]


def test_titles_follow_the_data(store: SqliteCorpus, make_unit: Callable[..., Unit]) -> None:
    assert store.lookup_title("Solaris") == []
    store.upsert([make_unit(20, "Solaris", "Solaris is a novel.")])
    assert [c.id for c in store.lookup_title("solaris")] == ["doc20.txt#0"]
    store.delete(["doc20.txt"])
    assert store.lookup_title("Solaris") == []


def test_fetch_keeps_the_order_and_names_the_unknown(store: SqliteCorpus) -> None:
    ids = ["doc2.txt#0", "doc0.txt#0"]
    assert [c.id for c in store.fetch(ids)] == ids
    with pytest.raises(InputError, match="no unit 'nowhere'"):
        store.fetch(["doc2.txt#0", "nowhere"])


def test_what_was_stored_comes_back(store: SqliteCorpus, make_unit: Callable[..., Unit]) -> None:
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


def test_sentences_keep_their_place(store: SqliteCorpus, make_unit: Callable[..., Unit]) -> None:
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


def test_analyses_come_with_the_units(store: SqliteCorpus) -> None:
    found = store.search_text(QUESTION, 5)
    read = store.analyses(found)
    assert read == [Analyzer().analyze(c.text) for c in found]
    sentences = [s for c in found for s in sentences_of(c)]
    for sentence, analysis in zip(sentences, store.analyses(sentences), strict=True):
        assert isinstance(analysis, Analysis)
        assert analysis.tokens == Analyzer().analyze(sentence.text).tokens
        assert analysis.spans == ((0, len(sentence.text)),)


def test_analyses_are_read_when_they_are_not_at_hand(store: SqliteCorpus, encoder: FakeEncoder) -> None:
    found = store.search_text(QUESTION, 2)
    again = open_store(store.location, encoder)
    assert again.analyses(found) == store.analyses(found)
    stranger = replace(found[0], id="nowhere", text="x")
    other_text = replace(found[0], text="Something else.")
    assert again.analyses([stranger, other_text]) == [None, None]


def test_an_analysis_of_another_version_is_not_used(
    store: SqliteCorpus, make_unit: Callable[..., Unit]
) -> None:
    store.upsert([replace(make_unit(30, "Old", "An old one."), analysis=b"[0]")])
    assert store.analyses(store.fetch(["doc30.txt#0"])) == [None]


def test_upsert_replaces_the_whole_source(store: SqliteCorpus, make_unit: Callable[..., Unit]) -> None:
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


def test_delete_counts(store: SqliteCorpus) -> None:
    assert store.delete(["doc0.txt", "doc1.txt", "not there", "it's not"]) == 2
    assert store.delete([]) == 0
    assert len(store) == 5


def test_the_ledger(store: SqliteCorpus) -> None:
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
    store: SqliteCorpus, make_unit: Callable[..., Unit], change: dict[str, object], message: str
) -> None:
    good = make_unit(50, "T", "Text.")
    vector = np.ones(256, np.float32)
    with pytest.raises(CandidateError, match=message):
        store.upsert([good, replace(good, **{"id": "doc51.txt#0", "vector": vector, **change})])  # type: ignore[arg-type]
    assert len(store) == 7


def test_two_units_of_one_id(store: SqliteCorpus, make_unit: Callable[..., Unit]) -> None:
    with pytest.raises(CandidateError, match="two units have the id"):
        store.upsert([make_unit(50, "T", "Text."), make_unit(50, "T", "Other.")])


def test_odd_queries(store: SqliteCorpus) -> None:
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
    assert store.search_text(QUESTION, 0) == []
    with pytest.raises(InputError, match="256 numbers"):
        store.search_vector(np.ones(3))
    with pytest.raises(InputError, match="NaN"):
        store.search_vector(np.full(256, np.nan))


def test_the_encoder_is_part_of_the_store(store: SqliteCorpus) -> None:
    for other in (FakeEncoder(256, name="another"), FakeEncoder(dimension=32)):
        for create in (False, True):
            with pytest.raises(StoreMismatchError, match="was made with the encoder 'fake-hashing' \\(256"):
                open_store(store.location, other, create=create)


def test_without_an_encoder(store: SqliteCorpus) -> None:
    bare = open_store(store.location)
    assert (bare.encoder_name, bare.dimension) == ("fake-hashing", 256)
    assert bare.search_text("composer")
    with pytest.raises(StoreError, match="opened without one"):
        bare.upsert([Unit("x#0", "Text.", "x", "x")])
    with pytest.raises(InputError, match="a new store needs an encoder"):
        open_store(store.location + "-new", create=True)


def test_a_store_that_is_not_there(tmp_path: Path) -> None:
    for place in (tmp_path / "nowhere", tmp_path):
        with pytest.raises(StoreError, match=r"there is no store at .*pagerag index"):
            open_store(place)


def test_optimise_keeps_everything(store: SqliteCorpus, units: Sequence[Unit]) -> None:
    before = [c.id for c in store.search_text(QUESTION, 7)]
    assert store.stats().unindexed == 7
    store.optimize()
    assert [c.id for c in store.search_text(QUESTION, 7)] == before
    stats = store.stats()
    assert (stats.unindexed, stats.units, stats.documents, stats.search) == (0, 7, 7, "exact")
    json.dumps(stats.to_dict())


def test_as_a_retriever(store: SqliteCorpus) -> None:
    for mode in ("hybrid", "dense", "lexical"):
        retriever = CorpusRetriever(store, mode)  # type: ignore[arg-type]
        check_retriever(
            retriever, questions=[QUESTION, "Where is Frankfurt?"], finds={QUESTION: "doc1.txt#0"}
        )
        pool = retriever.retrieve(QUESTION, 4)
        assert (pool.vector is None) == (mode == "lexical")
    with pytest.raises(InputError, match="needs the encoder of the corpus"):
        CorpusRetriever(open_store(store.location))
    with pytest.raises(InputError, match="unknown search mode"):
        CorpusRetriever(store, "fuzzy")  # type: ignore[arg-type]


def test_one_writer_at_a_time(store: SqliteCorpus, encoder: FakeEncoder) -> None:
    other = open_store(store.location, encoder)
    with store.writing():
        with pytest.raises(StoreError, match=r"another process .* is writing"), other.writing():
            pass
        assert other.search_text(QUESTION)
    with other.writing():
        pass


def test_an_id_that_only_looks_like_a_sentence_has_no_analysis(store: SqliteCorpus) -> None:
    (unit,) = store.search_text("composer", 1)
    sentence = sentences_of(unit)[0]
    for number in ("²", "٣", "-1", "99", ""):
        assert store.analyses([replace(sentence, id=f"{unit.id}@{number}")]) == [None]
