from __future__ import annotations

import sys
from pathlib import Path

import pytest

from pagerag.units import Candidate

sys.path.insert(0, str(Path(__file__).parent))  # for the faulty server, shared with other folders


@pytest.fixture
def question() -> str:
    return "Which city was the composer of Interstellar born in?"


@pytest.fixture
def context() -> tuple[Candidate, ...]:
    return (
        Candidate("score", "The score of Interstellar was composed by Hans Zimmer.", title="Interstellar"),
        Candidate("zimmer", "Zimmer was born in Frankfurt and grew up near it.", title="Hans Zimmer"),
        Candidate("nolan", "Christopher Nolan was born in London.", title="Christopher Nolan"),
    )


@pytest.fixture(scope="session")
def smollm2():
    """SmolLM2 loaded once; one thread, because test machines are busy."""
    pytest.importorskip("xllamacpp")
    from pagerag.errors import MissingExtraError
    from pagerag.read.gguf import SmolLM2Reader

    try:
        reader = SmolLM2Reader(threads=1, max_tokens=12, context=2048)
    except MissingExtraError as missing:
        pytest.skip(str(missing))
    yield reader
    reader.close()


@pytest.fixture(scope="session")
def chat_server():
    """xllamacpp's own OpenAI-compatible server with SmolLM2, on loopback; the address without /v1."""
    xllamacpp = pytest.importorskip("xllamacpp")
    from pagerag.errors import MissingExtraError
    from pagerag.read.gguf import smollm2_path

    params = xllamacpp.CommonParams()
    try:
        params.model.path = str(smollm2_path())
    except MissingExtraError as missing:
        pytest.skip(str(missing))
    params.n_ctx, params.n_parallel, params.verbosity, params.warmup = 2048, 1, -1, False
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
    params.hostnames, params.port = ["127.0.0.1"], 0
    server = xllamacpp.Server(params)
    yield server.listening_address
    del server
