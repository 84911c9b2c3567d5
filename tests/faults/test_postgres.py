"""Faults of PostgreSQL: a primary, a shard and a writer are killed; nothing that was acknowledged is lost."""

from __future__ import annotations

import multiprocessing
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from typing import Any

import pytest

from pagerag.errors import StoreError
from pagerag.protocols import Corpus
from pagerag.store import MemoryCorpus, open_store
from pagerag.store.postgres import PostgresCorpus
from pagerag.testing import FakeEncoder
from pagerag_lab.servers.postgres import PostgresServer, missing_server

from .conftest import FULL, Fault
from .work import QUESTIONS, document, lost

pytestmark = [pytest.mark.integration, pytest.mark.skipif(bool(missing_server()), reason=missing_server())]

DOCUMENTS = 60


def assert_undisturbed(corpus: Corpus, documents: Sequence[int]) -> None:
    """Expect what an undisturbed run of the same documents holds and finds."""
    encoder = FakeEncoder(64)
    calm = MemoryCorpus((), encoder)
    for number in documents:
        calm.upsert(document(number))
    assert {unit.id for unit in corpus.units()} == {unit.id for unit in calm.units()}
    for question in QUESTIONS:
        found, want = corpus.search_text(question, 20), calm.search_text(question, 20)
        assert [unit.score for unit in found] == pytest.approx([unit.score for unit in want], abs=1e-4)
        point = encoder.encode_queries([question])[0]
        found, want = corpus.search_vector(point, 20), calm.search_vector(point, 20)
        assert [unit.score for unit in found] == pytest.approx([unit.score for unit in want], abs=0.01)
    assert list(corpus.verify()) == []


@pytest.fixture
def servers() -> Iterator[Callable[[], PostgresServer]]:
    with ExitStack() as stack:
        yield lambda: stack.enter_context(PostgresServer())


def wait_for(condition: Callable[[], object], patience: float = 120.0) -> None:
    deadline = time.monotonic() + patience
    while not condition():
        assert time.monotonic() < deadline, "it took too long"
        time.sleep(0.01)


@pytest.mark.parametrize("moment", [8, 3, 20, 37] if FULL else [8])
def test_a_primary_is_killed_and_its_standby_promoted(
    servers: Callable[[], PostgresServer], fault_log: list[Fault], moment: int
) -> None:
    """One thread writes and three ask, all through both addresses, while the primary dies."""
    primary = servers()
    url = primary.database("team")
    with primary.standby() as standby:
        primary.synchronous()
        both = url.replace(primary.host, f"{primary.host},{standby.host}")
        ingest = Fault(
            "kill −9 of the PostgreSQL primary, standby promoted", f"ingest, after {moment} documents"
        )
        queries = Fault("the same", "three askers beside it")
        fault_log += [ingest, queries]
        done: list[int] = []
        answers: list[int] = []
        refused: list[str] = []
        problems: list[BaseException] = []
        stop = threading.Event()

        def write() -> None:
            for number in range(DOCUMENTS):
                corpus.upsert(document(number))
                done.append(number)
                ingest.works_again()

        def ask() -> None:
            while not stop.is_set():
                try:
                    answers.append(len(corpus.search_text(QUESTIONS[0], 20)))
                    queries.works_again()
                except StoreError as told:
                    refused.append(str(told))

        def watched(work: Callable[[], None]) -> threading.Thread:
            def run() -> None:
                try:
                    work()
                except BaseException as problem:
                    problems.append(problem)

            thread = threading.Thread(target=run)
            thread.start()
            return thread

        with open_store(both, FakeEncoder(64), create=True) as corpus:
            assert_replica_reads_what_was_written(both, standby)
            writer, askers = watched(write), [watched(ask) for _ in range(3)]
            wait_for(lambda: len(done) >= moment)
            primary.kill()
            before, asked = len(done), len(answers)
            ingest.strikes(), queries.strikes()
            standby.promote()
            writer.join()
            wait_for(lambda: len(answers) > asked or problems)
            stop.set()
            for asker in askers:
                asker.join()
            assert not problems
            assert before < DOCUMENTS, "the primary was killed too late to matter"
            ingest.acknowledged = 3 * len(done)
            ingest.lost = lost(corpus, done)
            queries.acknowledged = len(answers)
            queries.refused = f"{len(refused)} of the questions" if refused else "–"
            assert all("ask again" in told or "try again" in told for told in refused)
            assert not any(primary.password in told for told in refused)
            assert_undisturbed(corpus, range(DOCUMENTS))


def assert_replica_reads_what_was_written(both: str, standby: PostgresServer) -> None:
    """Reads go to the standby, and see at once what the same object wrote to the primary."""
    with open_store(f"{both}?target_session_attrs=prefer-standby", FakeEncoder(64)) as corpus:
        assert isinstance(corpus, PostgresCorpus)
        for number in range(5):
            corpus.upsert(document(number))
            assert {unit.source for unit in corpus.units()} >= {f"d{number}"}
        wait_for(lambda: standby.execute("SELECT live FROM pagerag.corpus", "team") == [(15,)])
        with corpus.snapshot() as now:
            assert now.rows("SELECT inet_server_port()") == [(standby.port,)]
        corpus.delete([f"d{number}" for number in range(5)])


def test_a_primary_without_a_standby_comes_back(
    servers: Callable[[], PostgresServer], fault_log: list[Fault]
) -> None:
    server = servers()
    row = Fault("kill −9 of a single PostgreSQL server, restarted", "between two documents of an ingest")
    fault_log.append(row)
    with open_store(server.database("alone"), FakeEncoder(64), create=True) as corpus:
        for number in range(5):
            corpus.upsert(document(number))
        server.kill()
        row.strikes()
        again = threading.Thread(target=server.start)
        again.start()
        corpus.upsert(document(5))  # waits for the server
        row.works_again()
        again.join()
        row.acknowledged, row.lost = 18, lost(corpus, range(6))
        assert_undisturbed(corpus, range(6))


def test_a_shard_is_killed(servers: Callable[[], PostgresServer], fault_log: list[Fault]) -> None:
    """Questions are refused, since an answer from the other shards would not be the answer."""
    first, second = servers(), servers()
    location = f"{first.database('shard')} {second.database('shard')}"
    row = Fault("kill −9 of one of two shards, restarted", "between questions and upserts")
    fault_log.append(row)
    with open_store(location, FakeEncoder(64), create=True) as corpus:
        for number in range(20):
            corpus.upsert(document(number))
        second.kill()
        row.strikes()
        with pytest.raises(StoreError, match=second.host) as told:
            corpus.search_text(QUESTIONS[0], 20)
        assert first.host not in str(told.value)
        assert second.password not in str(told.value)
        row.refused = "1 question, naming the shard"
        again = threading.Thread(target=second.start)
        again.start()
        for number in range(20, 30):
            corpus.upsert(document(number))
            row.works_again()
        again.join()
        row.acknowledged, row.lost = 90, lost(corpus, range(30))
        assert_undisturbed(corpus, range(30))


@pytest.mark.parametrize("kills", [12 if FULL else 3])
def test_a_writer_is_killed_in_the_middle_of_an_upsert(
    servers: Callable[[], PostgresServer], fault_log: list[Fault], kills: int
) -> None:
    """Each writer is killed while the server works on its upsert; the next one goes on."""
    server = servers()
    url = server.database("killed")
    encoder = FakeEncoder(64)
    context = multiprocessing.get_context("spawn")
    done: list[int] = []
    row = Fault(f"kill −9 of a writer, {kills} times", "in the middle of its upsert")
    fault_log.append(row)
    with open_store(url, encoder, create=True) as corpus:
        for kill in range(kills):
            ours, theirs = context.Pipe()
            writer = context.Process(target=write_from, args=(url, len(done), theirs), daemon=True)
            writer.start()
            theirs.close()
            while len(done) < 5 * (kill + 1):
                done.append(ours.recv())
            wait_for(lambda: writes_now(server))
            writer.kill()
            row.strikes()
            writer.join()
            try:
                while ours.poll():
                    done.append(ours.recv())
            except (EOFError, OSError):
                pass  # the last message was cut short
            row.acknowledged, row.lost = 3 * len(done), lost(corpus, done)
            assert row.lost == 0
            # The document that was being written is there whole or not at all.
            counts = {held.units for held in corpus.documents().values()}
            assert counts == {3}
            done = sorted({int(source[1:]) for source in corpus.documents()})
        row.recovered = None
        row.strikes()
        corpus.upsert(document(len(done)))
        row.works_again()
        assert_undisturbed(corpus, [*done, len(done)])


def writes_now(server: PostgresServer) -> list[Any]:
    return server.execute(
        "SELECT 1 FROM pg_stat_activity WHERE datname = 'killed' AND state IN ('active', 'idle in transaction') "
        "AND backend_xid IS NOT NULL"
    )


def write_from(url: str, first: int, say: Any) -> None:
    with open_store(url, FakeEncoder(64)) as corpus:
        for number in range(first, first + 100_000):
            corpus.upsert(document(number))
            say.send(number)
