"""Settings of all tests, the shipped models and a PostgreSQL server, opened once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pagerag_lab.servers.postgres import PostgresServer

try:
    import hypothesis
except ImportError:  # the environments of other systems (make test-backends) have none
    pass
else:
    # No test fails because the machine is busy; bounds of work are tested by how it grows.
    hypothesis.settings.register_profile("pagerag", deadline=None)
    hypothesis.settings.load_profile("pagerag")


@pytest.fixture(scope="session")
def reader():
    for module in ("onnxruntime", "tokenizers", "pagerag_models"):
        pytest.importorskip(module, reason=f"{module} is not installed")
    from pagerag.read.extractive import extractive_reader

    return extractive_reader(threads=1)


@pytest.fixture(scope="session")
def support():
    for module in ("onnxruntime", "tokenizers", "pagerag_models"):
        pytest.importorskip(module, reason=f"{module} is not installed")
    from pagerag.models import support_encoder

    return support_encoder(threads=1, larger=False)


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    from pagerag_lab.servers.postgres import PostgresServer, missing_server

    why = missing_server()
    if why:
        pytest.skip(why)
    with PostgresServer() as server:
        yield server


@pytest.fixture(scope="session")
def demo_store(tmp_path_factory):
    """The demo's corpus, really indexed with the default encoder."""
    pytest.importorskip("wordllama")
    from pagerag.cli.demo import CORPUS
    from pagerag.ingest import index_paths
    from pagerag.retrieve import encoder
    from pagerag.store import open_store

    folder = tmp_path_factory.mktemp("demo") / "store"
    report = index_paths([CORPUS], open_store(folder, encoder("wordllama"), create=True))
    assert not report.failed
    return folder
