"""The object store: the contract, several writers, compaction, and what is refused."""

from __future__ import annotations

import os
import socket
import threading
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest

from pagerag.errors import InputError, StoreError, StoreMismatchError
from pagerag.store import open_store, store_exists
from pagerag.testing import FakeEncoder, check_corpus
from pagerag.units import Unit
from pagerag_lab.servers.object_store import ObjectServer, missing_object_server

pytestmark = [
    pytest.mark.integration,
    pytest.mark.skipif(bool(missing_object_server()), reason=missing_object_server()),
]


@pytest.fixture(scope="module")
def server():
    with ObjectServer() as running:
        yield running


@pytest.fixture
def url(server, request, monkeypatch, tmp_path):
    monkeypatch.setenv("PAGERAG_CACHE", str(tmp_path / "cache"))
    return server.bucket(f"bucket-{abs(hash(request.node.name))}")


def opened(url: str, encoder=None, *, cache: Path | None = None, create: bool = True):
    from pagerag.store.s3 import S3Corpus

    return S3Corpus(url, encoder or FakeEncoder(64), create=create, cache=cache, fresh_seconds=0)


def unit(source: str, part: int = 0) -> Unit:
    return Unit(
        id=f"{source}#{part}",
        text=f"Part {part} of {source}.",
        source=source,
        path=source,
        title=source,
        position=part,
    )


def set_schema(url: str, version: int) -> None:
    import json

    from pagerag.store.s3_bucket import Bucket
    from pagerag.store.s3_manifest import MANIFEST

    bucket = Bucket(url)
    values = json.loads(bucket.get(MANIFEST).body)
    bucket.put(MANIFEST, json.dumps({**values, "schema": version}).encode())


def test_it_keeps_the_contract_of_a_corpus(url):
    check_corpus(partial(opened, url), several_writers=True, kills=1, set_schema=partial(set_schema, url))


def test_readers_of_other_machines_follow_writes_and_new_bases(url, tmp_path):
    with opened(url, cache=tmp_path / "a") as writer, opened(url, cache=tmp_path / "b") as reader:
        for number in range(5):
            writer.upsert([unit(f"d{number}", part) for part in range(3)])
        assert len(reader) == 15
        with reader.snapshot() as before:
            writer.delete(["d0"])
            writer.optimize()
            writer.upsert([unit("d9")])
            assert len(before) == 15
        assert len(reader) == 13
        assert reader.stats().version == writer.stats().version
        assert [one.id for one in reader.units()] == [one.id for one in writer.units()]
        assert reader.pending() == 1
    with opened(url, cache=tmp_path / "c") as third:  # it starts from the base
        assert len(third) == 13
        assert list(third.verify()) == []


def test_two_machines_write_at_once_and_nothing_is_lost(url, tmp_path):
    corpora = [opened(url, cache=tmp_path / str(n)) for n in range(3)]

    def write(number: int) -> None:
        for place in range(8):
            corpora[number].upsert([unit(f"w{number}-{place}")])
            if place % 4 == 3:
                corpora[number].optimize()

    threads = [threading.Thread(target=write, args=(n,)) for n in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    want = {f"w{number}-{place}" for number in range(3) for place in range(8)}
    for corpus in corpora:
        assert set(corpus.documents()) == want
        assert list(corpus.verify()) == []
        corpus.close()


def test_a_reply_that_was_lost_is_no_second_write(url, tmp_path, monkeypatch):
    with opened(url, cache=tmp_path / "a") as corpus:
        swap = corpus._bucket.swap
        lost = []

        def once(key, body, tag):
            done = swap(key, body, tag)
            if not lost:
                from pagerag.store.s3_bucket import Lost

                lost.append(done)
                raise Lost
            return done

        monkeypatch.setattr(corpus._bucket, "swap", once)
        corpus.upsert([unit("d")])
        assert lost
        assert len(corpus._manifest.log) == 1
        assert len(corpus) == 1


def test_a_damaged_object_is_named(url, tmp_path):
    with opened(url, cache=tmp_path / "a") as corpus:
        corpus.upsert([unit("d")])
        (entry,) = corpus._manifest.log
        corpus._bucket.put(entry.key, b"something else")
    with opened(url, cache=tmp_path / "b") as other, pytest.raises(StoreError, match=entry.key):
        len(other)


@pytest.mark.parametrize(
    "changes",
    [
        {"id": "../../precious"},
        {"id": "/precious"},
        {"id": 7},
        {"dimension": "many"},
        {"encoder": ["a"]},
        {"base": {"key": "base/x", "sha256": "../../precious", "size": 1}},
        {"base": {"key": "base/x", "sha256": "A" * 64, "size": 1}},
    ],
)
def test_a_hostile_manifest_reaches_no_folder_but_the_cache(url, tmp_path, changes):
    import json

    from pagerag.store.s3_bucket import Bucket
    from pagerag.store.s3_manifest import MANIFEST

    opened(url, cache=tmp_path / "cache").close()
    bucket = Bucket(url)
    values = json.loads(bucket.get(MANIFEST).body)
    bucket.put(MANIFEST, json.dumps({**values, **changes}).encode())
    held = tmp_path / "precious" / "old"
    held.mkdir(parents=True)
    os.utime(held, (0, 0))  # old enough to be taken for a replica that nobody reads
    with pytest.raises(StoreError, match="manifest"), opened(url, cache=tmp_path / "cache") as store:
        len(store)
    assert held.is_dir()


def test_stores_that_cannot_be_are_refused(server, url, monkeypatch):
    with pytest.raises(InputError) as refused:
        open_store("s3://AKIAKEY:secretword@bucket/prefix")
    assert "secretword" not in str(refused.value)
    with pytest.raises(InputError, match="nothing else"):
        open_store("s3://bucket/prefix?endpoint_url=http://elsewhere")
    with pytest.raises(StoreError, match="pagerag index"):
        open_store(url)
    assert not store_exists(url)
    with pytest.raises(StoreError, match="make it first"):
        open_store("s3://no-such-bucket/x", FakeEncoder(64), create=True)
    with opened(url):
        assert store_exists(url)
    with pytest.raises(StoreMismatchError):
        open_store(url, FakeEncoder(32))
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", "http://127.0.0.1:9")
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    with pytest.raises(StoreError, match="cannot be reached"):
        open_store(url)


def test_a_server_that_never_answers_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pagerag.store.s3_bucket._SILENT_SECONDS", 0.2)
    taken: list[socket.socket] = []
    with socket.create_server(("127.0.0.1", 0)) as server:
        monkeypatch.setenv("AWS_ENDPOINT_URL_S3", f"http://127.0.0.1:{server.getsockname()[1]}")
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", "key")
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")

        def accept() -> None:
            with suppress(OSError):
                while True:
                    taken.append(server.accept()[0])

        threading.Thread(target=accept, daemon=True).start()
        with pytest.raises(StoreError, match=r"s3://bucket/a failed: .* said nothing for 0.2 s, 3 times"):
            open_store("s3://bucket/a")
        server.shutdown(socket.SHUT_RDWR)
    assert len(taken) == 3
    for connection in taken:
        connection.close()


def test_a_file_that_cannot_be_sent_is_told(server, url, tmp_path):
    from pagerag.store.s3_bucket import Bucket

    (tmp_path / "file").write_bytes(b"base")
    with pytest.raises(
        StoreError, match=r"writing to the store s3://no-such-bucket/x failed: .*NoSuchBucket"
    ):
        Bucket("s3://no-such-bucket/x").upload("base/1", str(tmp_path / "file"))
