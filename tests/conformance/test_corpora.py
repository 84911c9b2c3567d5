"""Every engine keeps the contract of a corpus; one that breaks it is told so."""

from __future__ import annotations

import sqlite3
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from pagerag.protocols import Encoder
from pagerag.store import MemoryCorpus, open_store
from pagerag.testing import check_corpus
from pagerag_lab.servers.postgres import PostgresServer, open_postgres


def test_the_embedded_store(tmp_path: Path) -> None:
    def set_schema(version: int) -> None:
        with sqlite3.connect(tmp_path / "store" / "corpus.sqlite") as connection:
            connection.execute("UPDATE meta SET value = ? WHERE key = 'schema'", (version,))
        connection.close()

    check_corpus(partial(open_store, tmp_path / "store", create=True), set_schema=set_schema)


def test_postgresql(postgres: PostgresServer) -> None:
    url = postgres.database("conforms")

    def set_schema(version: int) -> None:
        postgres.execute(f"UPDATE pagerag.corpus SET schema = {version}", "conforms")  # noqa: S608

    check_corpus(partial(open_postgres, url), several_writers=True, set_schema=set_schema)


def test_postgresql_in_shards(postgres: PostgresServer) -> None:
    urls = " ".join(postgres.database(f"shard{number}") for number in range(3))
    check_corpus(partial(open_postgres, urls), several_writers=True, kills=1)


def test_the_corpus_in_memory() -> None:
    check_corpus(partial(MemoryCorpus, ()), durable=False)


class Forgetful(MemoryCorpus):
    """Loses the last unit of each upsert."""

    def upsert(self, units: Any, *, sources: Any = ()) -> int:
        return super().upsert(list(units)[:-1], sources=sources) + bool(units)


class Unordered(MemoryCorpus):
    """Returns the best units last."""

    def search_text(self, text: str, k: int = 20) -> Any:
        return super().search_text(text, k)[::-1]


class Careless(MemoryCorpus):
    """Lets everybody write."""

    def writing(self) -> Any:
        return nullcontext()


@pytest.mark.parametrize(
    ("kind", "said"),
    [(Forgetful, "exact search"), (Unordered, "best first"), (Careless, "a second writer is refused")],
)
def test_a_broken_corpus_is_told(kind: type[MemoryCorpus], said: str) -> None:
    def opened(encoder: Encoder) -> MemoryCorpus:
        return kind((), encoder)

    with pytest.raises(AssertionError, match=said):
        check_corpus(opened, durable=False)
