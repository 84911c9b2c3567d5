from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "read"))  # the faulty chat server lives there


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
