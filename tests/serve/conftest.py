"""A real server on loopback, over the demo's corpus, with a key; one for all tests of this room."""

from __future__ import annotations

import asyncio
import shutil
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

for needed in ("fastapi", "uvicorn", "orjson", "prometheus_client", "httpx"):
    pytest.importorskip(needed, reason=f"{needed} is not installed (extra serve)")

KEY = "test-key-0123456789abcdef"
QUESTION = "Which city was the composer of Interstellar born in?"
TITLES = ["Christopher Nolan", "Interstellar", "Seine", "Hans Zimmer", "Gravity"]
BODIES = [
    "Nolan is a director of films. He directed Interstellar and grew up in London.",
    "Interstellar is a film of 2014. Its score was composed by Hans Zimmer.",
    "The Seine is a river in France. It flows through the city of Paris.",
    "Hans Zimmer is a German composer. He was born in the city of Frankfurt.",
    "Gravity is a film of 2013 that is set in space. It was made in England.",
]
TEXTS = [f"{title}\n{body}" for title, body in zip(TITLES, BODIES, strict=True)]
GOLD = {1, 3}


@dataclass
class Running:
    """A server that runs."""

    url: str
    app: object
    key: str = KEY

    @property
    def headers(self):
        return {"Authorization": f"Bearer {self.key}"}


@contextmanager
def running(settings, stores=None, **keywords):
    """Serve in a thread until the block ends."""
    import uvicorn

    from pagerag.serve import create_app
    from pagerag.serve.process import bind, server_config

    app = create_app(settings, stores or {}, **keywords)
    listening = bind("127.0.0.1", 0)
    server = uvicorn.Server(server_config(app, settings))
    thread = threading.Thread(target=lambda: asyncio.run(server.serve(sockets=[listening])), daemon=True)
    thread.start()
    deadline = time.monotonic() + 60
    while not (server.started and app.service.ready):
        assert thread.is_alive(), "the server ended while it started"
        assert time.monotonic() < deadline, "the server did not become ready"
        time.sleep(0.02)
    try:
        yield Running(f"http://127.0.0.1:{listening.getsockname()[1]}", app)
    finally:
        server.should_exit = True
        thread.join(20)
        listening.close()


@pytest.fixture(scope="session")
def demo_store(demo_store, tmp_path_factory):
    """A store of the demo's corpus that these tests may write to."""
    return shutil.copytree(demo_store, tmp_path_factory.mktemp("served") / "store")


@pytest.fixture(scope="session")
def key_file(tmp_path_factory):
    file: Path = tmp_path_factory.mktemp("keys") / "keys.txt"
    file.write_text(f"# the old one and the new one\nanother-key-0123456789\n{KEY}\n", encoding="utf-8")
    return file


@pytest.fixture(scope="session")
def settings(key_file):
    from pagerag import Settings

    return Settings().updated({"serve.api_key_file": str(key_file), "read.reader": "evidence"})


@pytest.fixture(scope="session")
def server(settings, demo_store):
    with running(settings, {"demo": str(demo_store)}) as made:
        yield made


@pytest.fixture(scope="session")
def http(server):
    import httpx

    with httpx.Client(base_url=server.url, headers=server.headers, timeout=60) as client:
        yield client


@pytest.fixture
def no_encoder(monkeypatch):
    """The default encoder is not installed, nor what else the extra ``app`` brings; returns what is told."""
    monkeypatch.setattr("pagerag._extras.find_spec", lambda name: None)
    monkeypatch.setattr("pagerag.retrieve.encoders.wordllama.find_spec", lambda name: None)
    return (
        "wordllama and markdown-it-py are not installed ({}). Install them with: pip install 'pagerag[app]'"
    )
