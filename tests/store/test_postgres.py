"""A corpus in PostgreSQL: roles, secrets, migrations, time-outs, the HNSW index, shards, damage."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from pagerag import PageRAG
from pagerag.cli import main
from pagerag.errors import InputError, StoreError, StoreMismatchError
from pagerag.serve.stores import places_of
from pagerag.settings import Settings
from pagerag.store import MemoryCorpus, Unit, open_store, postgres_database, store_exists, upgrade_store
from pagerag.store import postgres as engine
from pagerag.store.postgres_schema import MIGRATIONS, grants
from pagerag.testing import FakeEncoder
from pagerag_lab.servers.postgres import PostgresServer

pytestmark = pytest.mark.integration
DOCS = Path(__file__).parents[2] / "docs"
NAMES = iter(f"db{number}" for number in range(10_000))


@pytest.fixture
def name() -> str:
    return next(NAMES)


@pytest.fixture
def url(postgres: PostgresServer, name: str) -> str:
    return postgres.database(name)


@pytest.fixture
def store(url: str, units: Sequence[Unit], encoder: FakeEncoder) -> Iterator[engine.PostgresCorpus]:
    with engine.PostgresCorpus(url, encoder, create=True) as made:
        made.upsert(units)
        yield made


def random_units(count: int, dimension: int = 256) -> list[Unit]:
    rows = np.random.default_rng(7).normal(size=(count, dimension)).astype(np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return [
        Unit(
            id=f"u{n}",
            text=f"Unit {n} holds word{n % 50} and word{n % 7}.",
            source=f"s{n}",
            path="p",
            vector=row,
        )
        for n, row in enumerate(rows)
    ]


# -- who may do what, and what is printed


def test_a_reader_may_read_and_a_writer_write(
    postgres: PostgresServer,
    store: engine.PostgresCorpus,
    name: str,
    encoder: FakeEncoder,
    make_unit: Callable[..., Unit],
) -> None:
    for role in ("pagerag_reader", "pagerag_writer"):
        postgres.execute(
            f"DO $$ BEGIN CREATE ROLE {role} LOGIN PASSWORD 'pw of {role}'; EXCEPTION WHEN duplicate_object THEN END $$"
        )
    postgres.execute(grants(), name)
    new = make_unit(50, "Solaris", "Solaris is a novel about an ocean.")
    reading = postgres.url(name, user="pagerag_reader", password="pw%20of%20pagerag_reader")
    with open_store(reading, encoder) as mine:
        assert [u.title for u in mine.search_text("composer", 1)] == ["Hans Zimmer"]
        assert mine.lookup_title("frankfurt")
        assert mine.search_vector(encoder.encode_queries(["film"])[0], 3)
        assert mine.verify() == []
        for write in (
            lambda: mine.upsert([new]),
            lambda: mine.delete(["doc0.txt"]),
            mine.optimize,
            lambda: mine.writing().__enter__(),
        ):
            with pytest.raises(StoreError, match=r"GRANTs in docs/stores.md") as told:
                write()
            assert "pw of" not in str(told.value)
    writing = postgres.url(name, user="pagerag_writer", password="pw%20of%20pagerag_writer")
    with open_store(writing, encoder, create=True) as mine, mine.writing():
        mine.upsert([new])
        mine.optimize()
        assert mine.lookup_title("solaris")
        assert mine.delete([new.source]) == 1
    import psycopg

    for statement in (
        "DROP TABLE pagerag.units",
        "TRUNCATE pagerag.units",
        "ALTER TABLE pagerag.units ADD x int",
    ):
        with psycopg.connect(writing) as connection, pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute(statement)


def test_the_grants_are_documented() -> None:
    assert grants() in (DOCS / "stores.md").read_text("utf-8")


SECRET = "s3cr3t/p@ss"


@pytest.mark.parametrize(
    "address",
    [
        "postgresql://me:s3cr3t%2Fp%40ss@127.0.0.1:1/x",
        "postgresql://127.0.0.1:1/x?user=me&password=s3cr3t%2Fp%40ss",
        "postgresql://me:s3cr3t%2Fp%40ss@127.0.0.1:1/x?nonsense=1",
        "postgresql://me:s3cr3t%2Fp%40ss@127.0.0.1:port/x",
        "postgresql://me:s3cr3t%2Fp%40ss@127.0.0.1:1/x?pool=many",
        "postgresql://a:s3cr3t%2Fp%40ss@127.0.0.1:1/x,postgresql://b:s3cr3t%2Fp%40ss@127.0.0.1:2/x",
    ],
)
def test_passwords_are_never_printed(address: str, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("psycopg")
    with pytest.raises((StoreError, InputError)) as told:
        open_store(address)
    assert main(["stats", "--store", address]) == 1
    assert main(["doctor", "--store", address]) != 0
    assert main(["config", "--set", f"store.path={address}", "--json"]) == 0
    with pytest.raises(SystemExit):
        main(["stats", "--nowhere", address])
    said = f"{told.value!r} {told.value} {told.value.__cause__!r} {''.join(capsys.readouterr())}"
    for spelled in (SECRET, "s3cr3t", "p%40ss"):
        assert spelled not in said


def test_a_server_that_is_not_there_is_told_at_once(postgres: PostgresServer, name: str) -> None:
    with pytest.raises(StoreError, match="cannot be reached"):
        open_store("postgresql://me@127.0.0.1:1/x")
    with pytest.raises(StoreError, match="password authentication failed"):
        open_store(postgres.url(name, password="wrong"))
    with pytest.raises(StoreError, match=r"database .* does not exist"):
        open_store(postgres.url("nowhere"))


def test_a_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "psycopg", None)
    monkeypatch.setitem(sys.modules, "psycopg.conninfo", None)
    with pytest.raises(ImportError, match=r"pagerag\[postgres\]"):
        open_store("postgresql://me@127.0.0.1:1/x")


def test_addresses() -> None:
    several = "postgresql://a,b:1/x?schema=s1, postgresql://c/y postgres://d/z"
    assert engine.addresses(several) == [
        "postgresql://a,b:1/x?schema=s1",
        "postgresql://c/y",
        "postgres://d/z",
    ]
    pytest.importorskip("psycopg")
    address = postgres_database.Address(
        "postgresql://me:pass@h1:1,h2:2/db?schema=team&pool=3&timeout=2.5&sslmode=require"
    )
    assert (address.schema, address.pool, address.timeout) == ("team", 3, 2.5)
    assert address.shown == "postgresql://h1:1,h2:2/db?schema=team"
    assert address.words["sslmode"] == "require"
    assert "timeout" not in address.words
    with pytest.raises(InputError, match="cannot be the name of a schema"):
        postgres_database.Address('postgresql://h/db?schema=x";DROP')


# -- schema


def test_there_is_no_store_yet(url: str, encoder: FakeEncoder) -> None:
    assert not store_exists(url)
    with pytest.raises(StoreError, match="pagerag index PATH --store"):
        open_store(url)
    open_store(url, encoder, create=True).close()
    assert store_exists(url)


def test_an_older_store_is_migrated_by_its_owner(
    postgres: PostgresServer, store: engine.PostgresCorpus, url: str, name: str, encoder: FakeEncoder
) -> None:
    """A store of version 1 has the tables and not yet the functions."""
    for function in ("rank_text", "document_frequencies", "remove_units"):
        postgres.execute(f"DROP FUNCTION pagerag.{function}", name)
    postgres.execute("UPDATE pagerag.corpus SET schema = 1", name)
    with pytest.raises(
        StoreMismatchError, match="schema version 1; this pagerag reads version 2; migrate it"
    ):
        open_store(url)
    upgrade_store(url)
    upgrade_store(url)
    with open_store(url, encoder) as again:
        assert again.stats().schema_version == len(MIGRATIONS)
        assert [u.title for u in again.search_text("composer", 1)] == ["Hans Zimmer"]
        assert again.verify() == []


def test_several_corpora_in_one_database(url: str, encoder: FakeEncoder, units: Sequence[Unit]) -> None:
    with (
        open_store(url, encoder, create=True) as one,
        open_store(f"{url}?schema=other", FakeEncoder(32, name="small"), create=True) as other,
    ):
        one.upsert(units)
        assert (len(one), len(other)) == (len(units), 0)


def test_a_database_in_another_encoding_is_refused(
    postgres: PostgresServer, name: str, encoder: FakeEncoder
) -> None:
    postgres.execute(f"CREATE DATABASE {name} ENCODING 'LATIN1' TEMPLATE template0")
    with pytest.raises(StoreError, match="ENCODING 'UTF8'"):
        open_store(postgres.url(name), encoder, create=True)


def test_two_make_the_same_store_at_once(url: str, encoder: FakeEncoder, units: Sequence[Unit]) -> None:
    problems: list[BaseException] = []

    def make(some: Sequence[Unit]) -> None:
        try:
            with open_store(url, encoder, create=True) as mine:
                mine.upsert(some)
        except BaseException as problem:
            problems.append(problem)

    threads = [threading.Thread(target=make, args=([unit],)) for unit in units[:4]]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not problems
    with open_store(url) as store:
        assert len(store) == 4


# -- bounds


def test_a_statement_has_a_time_out(store: engine.PostgresCorpus, url: str) -> None:
    with (
        engine.PostgresCorpus(f"{url}?timeout=0.05") as hasty,
        hasty.snapshot() as now,
        pytest.raises(StoreError, match=r"longer than its time-out.*\?timeout=SECONDS"),
    ):
        now.rows("SELECT pg_sleep(5)")


def test_connections_are_bounded(store: engine.PostgresCorpus, url: str) -> None:
    with engine.PostgresCorpus(f"{url}?pool=2&timeout=0.2") as narrow, ExitStack() as stack:
        for _ in range(2):
            stack.enter_context(narrow.snapshot())
        with pytest.raises(StoreError, match=r"all 2 connections .* \?pool=NUMBER"):
            narrow.search_text("composer")
    with engine.PostgresCorpus(f"{url}?pool=2") as narrow:
        found = []
        threads = [
            threading.Thread(target=lambda: found.append(narrow.search_text("film", 1))) for _ in range(12)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(found) == 12
        assert len(narrow._databases[0]._idle[False]) <= 2


def test_an_idle_connection_that_broke_is_replaced(
    postgres: PostgresServer, store: engine.PostgresCorpus, name: str, units: Sequence[Unit]
) -> None:
    cut = f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}'"  # noqa: S608
    store.search_text("film")
    postgres.execute(cut)
    assert store.search_text("film")
    postgres.execute(cut)
    assert store.upsert(units[:1]) == 1
    with store.snapshot() as now:
        before = now.rank_text("film", 5)
        postgres.execute(cut)
        assert now.rank_text("film", 5) == before  # the same version, on a new connection
        postgres.execute(cut)
        store.upsert(units[:1])
        with pytest.raises(StoreError, match="holds another version; ask again"):
            now.rank_text("film", 5)
    store.close()
    with pytest.raises(StoreError, match="was closed"):
        store.search_text("film")


# -- search


def test_the_index_of_many_vectors_keeps_its_neighbours(
    url: str, encoder: FakeEncoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pagerag.store.postgres_write.EXACT_BELOW", 2000)
    units = random_units(2500)
    exact = MemoryCorpus((), encoder)
    exact.upsert(units)
    # So few vectors PostgreSQL would rather compare one by one, index or not.
    with engine.PostgresCorpus(f"{url}?options=-c%20enable_seqscan%3Doff", encoder, create=True) as store:
        store.upsert(units[:2400])
        assert store.stats().search == "exact"
        store.optimize(final=False)
        assert store.stats().search == "exact"
        store.optimize()
        assert store.stats().search == "approximate"
        store.upsert(units[2400:])  # enter the index one by one
        points = [replace(unit).vector for unit in random_units(2600)[2500:2530]]
        kept = []
        for point in points:
            assert point is not None
            found, want = store.search_vector(point, 20), exact.search_vector(point, 20)
            kept.append(len({u.id for u in found} & {u.id for u in want}) / 20)
        assert np.mean(kept) >= 0.95
        plan = "\n".join(
            row[0]
            for row in store._rows(
                "EXPLAIN SELECT unit FROM vectors ORDER BY vector <#> (SELECT vector FROM vectors LIMIT 1) LIMIT 20"
            )
        )
        assert "vectors_near" in plan
        for question in ("word3 word7", "unit 17 word1", "word2"):
            found, want = store.search_text(question, 20), exact.search_text(question, 20)
            assert [u.id for u in found] == [u.id for u in want]
            assert [u.score for u in found] == pytest.approx([u.score for u in want], abs=1e-5)
        # More than the index looks at in one go, and after most of it was deleted.
        assert len(store.search_vector(points[0], 1000)) == 1000
        store.delete([unit.source for unit in units[:2300]])
        assert len(store.search_vector(points[0], 150)) == 150
        assert store.verify() == []


def test_both_rankings_take_one_round_trip(
    store: engine.PostgresCorpus, encoder: FakeEncoder, tmp_path: Path
) -> None:
    with store.snapshot() as now, (tmp_path / "trace").open("w") as trace:
        server = now._states[0].connection.pgconn
        server.trace(trace.fileno())
        words, near = now.rank_both("film composer", encoder.encode_queries(["film composer"]), 20)
        server.untrace()
        assert words
        assert near[0]
    # A client waits for an answer after each Sync.
    said = (tmp_path / "trace").read_text()
    assert said.count("Sync") == 1, said


def test_runs_of_postings_are_joined(
    url: str, encoder: FakeEncoder, postgres: PostgresServer, name: str
) -> None:
    units = random_units(300)
    with engine.PostgresCorpus(url, encoder, create=True) as store:
        for start in range(0, 300, 10):
            store.upsert(units[start : start + 10])
        before = store.search_text("word3 word7", 50)
        (runs,) = postgres.execute("SELECT count(*) FROM pagerag.postings", name)[0]
        store.optimize(final=False)
        assert store.search_text("word3 word7", 50) == before
        (after,) = postgres.execute("SELECT count(*) FROM pagerag.postings", name)[0]
        assert after < runs / 2
        store.delete([unit.source for unit in units[::2]])
        assert store.verify() == []


def test_odd_names_of_documents(store: engine.PostgresCorpus, make_unit: Callable[..., Unit]) -> None:
    for source in ("a\0b", "\ufdd0", "\ufdd00", "x" * 10_000, "it's; DROP TABLE units"):
        unit = make_unit(1, "Odd", "An odd document.", source=source, digest=source)
        unit = replace(unit, id="odd#0", path=source)
        store.upsert([unit])
        (found,) = [one for one in store.units() if one.id == "odd#0"]
        assert (found.source, found.path, found.digest) == (source, source, source)
        assert store.documents()[source] == (source, source, 1)
        assert store.delete([source]) == 1


# -- shards


def test_shards_are_named_in_their_order(
    postgres: PostgresServer, encoder: FakeEncoder, units: Sequence[Unit]
) -> None:
    urls = [postgres.database(next(NAMES)) for _ in range(2)]
    with open_store(" ".join(urls), encoder, create=True) as store:
        store.upsert(units)
    for wrong in (f"{urls[1]},{urls[0]}", urls[0]):
        with pytest.raises(StoreMismatchError, match="name all of them, in their order"):
            open_store(wrong)
    counts = [
        postgres.execute("SELECT live FROM pagerag.corpus", one.rpartition("/")[2])[0][0] for one in urls
    ]
    assert sum(counts) == len(units)
    assert all(counts)


def test_an_id_moves_to_another_shard_with_its_document(
    postgres: PostgresServer, encoder: FakeEncoder, make_unit: Callable[..., Unit]
) -> None:
    location = " ".join(postgres.database(next(NAMES)) for _ in range(2))
    with open_store(location, encoder, create=True) as store:
        for source in ("a", "b", "c", "d"):
            store.upsert([replace(make_unit(1, "Same", f"Said by {source}."), id="same", source=source)])
            assert [unit.source for unit in store.units()] == [source]
            assert store.verify() == []


# -- damage


@pytest.mark.parametrize(
    ("harm", "said"),
    [
        ("UPDATE units SET body = 'x' WHERE unit = 1", "cannot be read"),
        ("DELETE FROM vectors WHERE unit = 1", "1 units lack a vector"),
        ("DELETE FROM names WHERE unit = 1", "cannot be found by its title"),
        ("DELETE FROM postings WHERE first = 0", "not in the index with all of their terms"),
        ("UPDATE corpus SET live = live + 1", "counters do not agree"),
        ("UPDATE documents SET units = 9", "do not count their units right"),
        ("DELETE FROM documents WHERE number = 1", "have no document"),
    ],
)
def test_damage_is_found(
    store: engine.PostgresCorpus, postgres: PostgresServer, name: str, harm: str, said: str
) -> None:
    assert store.verify() == []
    postgres.execute(f"SET search_path = pagerag, public; {harm}", name)
    assert any(said in problem for problem in store.verify())


def test_what_stops_the_check_is_told_with_its_remedy() -> None:
    psycopg = pytest.importorskip("psycopg")
    from pagerag.store.postgres_database import Database
    from pagerag.store.verify import postgres_problems

    class Gone:
        database = Database("postgresql://reader@db.internal.example.com:5432/knowledge")

        @property
        def connection(self) -> object:
            raise psycopg.errors.AdminShutdown("terminating connection\n" + "the server said much more " * 20)

    (problem,) = postgres_problems(Gone())  # type: ignore[arg-type]
    assert ": it cannot be read to its end: " in problem
    assert "promote a standby" in problem


# -- commands


def test_the_commands(
    url: str, postgres: PostgresServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("wordllama")
    (tmp_path / "a.md").write_text("# Zimmer\n\nHans Zimmer was born in Frankfurt.\n", encoding="utf-8")
    (tmp_path / "b.md").write_text("# Interstellar\n\nHans Zimmer composed Interstellar.\n", encoding="utf-8")
    assert main(["index", str(tmp_path), "--store", url]) == 0
    assert main(["index", str(tmp_path), "--store", url, "--json"]) == 0
    report = json.loads(capsys.readouterr().out.partition("\n{")[2].join(("{", "")))
    assert (report["unchanged"], report["store"]["units"]) == (2, 2)
    assert main(["stats", "--store", url, "--files"]) == 0
    assert main(["ask", "Where was Hans Zimmer born?", "--store", url, "--reader", "evidence"]) == 0
    said = "".join(capsys.readouterr())
    assert "Frankfurt" in said
    assert postgres.password not in said
    with PageRAG.open(url, reader="evidence") as rag:
        assert "Frankfurt" in rag.ask("Where was Hans Zimmer born?").answer.text


def test_what_a_served_store_is_called() -> None:
    url = "postgresql://me:pass@h/team?schema=x&password=pass"
    assert places_of(Settings(), [url]) == {"team": url}
    assert places_of(Settings(), [f"mine={url}"]) == {"mine": url}
