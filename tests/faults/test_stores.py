"""Faults of the embedded store and the object store: killed writers, a full disk, a cut network, a clock."""

from __future__ import annotations

import itertools
import os
import shutil
import subprocess
import time
from functools import partial
from pathlib import Path

import pytest

from pagerag.errors import StoreError
from pagerag.store import SqliteCorpus
from pagerag.testing import FakeEncoder
from pagerag_lab.servers.object_store import ObjectServer, missing_object_server

from .conftest import FULL, Fault
from .work import assert_undisturbed, document, killed_writer, lost

needs_server = pytest.mark.skipif(bool(missing_object_server()), reason=missing_object_server())
ROOT = hasattr(os, "geteuid") and os.geteuid() == 0


def embedded(folder: Path, encoder=None):
    return SqliteCorpus(folder, encoder or FakeEncoder(64), create=True)


def in_bucket(url: str, cache: Path, encoder=None):
    from pagerag.store.s3 import S3Corpus

    return S3Corpus(url, encoder or FakeEncoder(64), create=True, cache=cache, fresh_seconds=0)


def check_killed_writers(open_corpus, name: str, fault_log: list[Fault]) -> None:
    kills = 8 if FULL else 2
    row = Fault(f"kill −9 of a writer to {name}, {kills} times", "in the middle of its upsert")
    fault_log.append(row)
    acknowledged: list[int] = []
    for kill in range(kills):
        acknowledged += killed_writer(open_corpus, 1000 * kill, 2 + 3 * (kill % 4), 0.007 * kill)
        row.strikes()
        row.recovered = None
        with open_corpus(FakeEncoder(64)) as corpus:
            corpus.upsert(document(1000 * kill + 999))  # the next writer goes on
            row.works_again()
            acknowledged.append(1000 * kill + 999)
            there = sorted({int(source[1:]) for source in corpus.documents()})
            # What was not acknowledged is there as a whole or not at all.
            assert set(acknowledged) <= set(there)
            assert_undisturbed(corpus, there)
            row.acknowledged, row.lost = 3 * len(acknowledged), lost(corpus, acknowledged)


def test_writers_of_the_embedded_store_are_killed(tmp_path, fault_log):
    check_killed_writers(partial(embedded, tmp_path / "store"), "the embedded store", fault_log)


@needs_server
@pytest.mark.integration
def test_writers_of_the_object_store_are_killed(tmp_path, fault_log):
    with ObjectServer() as server:
        opened = partial(in_bucket, server.bucket("bucket-kill"), tmp_path)
        check_killed_writers(opened, "an object store", fault_log)


@pytest.mark.skipif(not ROOT, reason="mounting a small file system needs root")
def test_the_disk_fills_up(tmp_path, fault_log):
    row = Fault("full disk (a file system of 3 MB)", "ingest into the embedded store")
    fault_log.append(row)
    small = tmp_path / "small"
    small.mkdir()
    if subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=3m", "none", str(small)], check=False, capture_output=True
    ).returncode:
        pytest.skip("this container may not mount a file system")
    try:
        done: list[int] = []
        with embedded(small / "store") as corpus:

            def fill() -> None:
                for number in itertools.count():
                    corpus.upsert(document(number))
                    done.append(number)

            with pytest.raises(StoreError, match=r"disk is full.*acknowledged before is safe") as refused:
                fill()
            row.refused = f"1 upsert: “{str(refused.value).split(': ', 1)[1][:44]}…”"
            assert len(corpus.search_text("river", 5)) == 5  # readers go on
        row.strikes()
        subprocess.run(["mount", "-o", "remount,size=40m", str(small)], check=True)
        with embedded(small / "store") as corpus:
            corpus.upsert(document(len(done)))
            row.works_again()
            done.append(len(done))
            row.acknowledged, row.lost = 3 * len(done), lost(corpus, done)
            assert_undisturbed(corpus, done)
    finally:
        subprocess.run(["umount", "-l", str(small)], check=True)


@needs_server
@pytest.mark.integration
@pytest.mark.skipif(not ROOT or shutil.which("ip") is None, reason="a network namespace needs root and ip")
def test_the_network_is_cut(tmp_path, fault_log, monkeypatch):
    """The server is in a network namespace; its link goes down in the middle of an ingest and comes back."""
    row = Fault("network cut (link of a namespace taken down)", "between two upserts to an object store")
    fault_log.append(row)
    name = f"pr{os.getpid() % 100000}"

    def ip(*words: str, check: bool = True) -> int:
        return subprocess.run(["ip", *words], check=check, capture_output=True).returncode

    if ip("netns", "add", name, check=False):
        pytest.skip("this container may not make network namespaces")
    try:
        ip("link", "add", f"{name}a", "type", "veth", "peer", "name", f"{name}b")
        ip("link", "set", f"{name}b", "netns", name)
        ip("addr", "add", "10.213.77.1/30", "dev", f"{name}a")
        ip("link", "set", f"{name}a", "up")
        for words in (
            ("addr", "add", "10.213.77.2/30", "dev", f"{name}b"),
            ("link", "set", f"{name}b", "up"),
            ("link", "set", "lo", "up"),
        ):
            ip("netns", "exec", name, "ip", *words)
        with ObjectServer("10.213.77.2", ["ip", "netns", "exec", name]) as server:
            done: list[int] = []
            with in_bucket(server.bucket("bucket-cut"), tmp_path) as corpus:
                for number in range(5):
                    corpus.upsert(document(number))
                    done.append(number)
                ip("link", "set", f"{name}a", "down")
                row.strikes()
                with pytest.raises(StoreError, match=r"cannot be reached.*acknowledged before is safe"):
                    corpus.upsert(document(5))
                with pytest.raises(StoreError, match="cannot be reached"):
                    corpus.search_text("river")
                row.refused = "1 upsert and 1 question: “the server cannot be reached …”"
                ip("link", "set", f"{name}a", "up")
                row.strikes()
                for number in range(5, 9):
                    corpus.upsert(document(number))
                    row.works_again()
                    done.append(number)
            with in_bucket("s3://bucket-cut/store", tmp_path / "another") as corpus:
                row.acknowledged, row.lost = 3 * len(done), lost(corpus, done)
                assert_undisturbed(corpus, done)
    finally:
        ip("link", "del", f"{name}a", check=False)
        ip("netns", "del", name, check=False)


def test_the_clock_jumps(tmp_path, fault_log, monkeypatch):
    """``time.time`` is moved by years between batches of an ingest, forward and back."""
    from pagerag.ingest import IngestSettings, index_paths

    row = Fault("clock jump of ±10 years (an injected clock)", "between batches of an ingest")
    fault_log.append(row)
    folder = tmp_path / "documents"
    folder.mkdir()
    for number in range(12):
        (folder / f"{number}.txt").write_text(" ".join(unit.text for unit in document(number)))
    real, jumps = time.time, itertools.cycle((0.0, 3.2e8, -3.2e8))
    settings = IngestSettings(batch_units=2, base=str(folder))

    def indexed(name: str):
        with embedded(tmp_path / name) as store:
            report = index_paths([folder], store, settings)
            assert report.indexed == 12
            assert index_paths([folder], store, settings).unchanged == 12
            assert list(store.verify()) == []
            return list(store.units()), store.ledger()

    calm = indexed("calm")
    monkeypatch.setattr(time, "time", lambda: real() + next(jumps))
    row.strikes()
    assert indexed("jumped") == calm
    row.works_again()
    row.acknowledged = len(calm[0])
