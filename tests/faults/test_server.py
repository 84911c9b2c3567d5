"""The server is killed under load and started again: what it answered is what a calm one answers."""

from __future__ import annotations

import socket
import subprocess
import sys
import threading
import time

import httpx
import pytest

from .conftest import Fault

pytestmark = [pytest.mark.integration, pytest.mark.slow]
QUESTIONS = (
    "Who wrote the report?",
    "Which city is on the river?",
    "What was built first?",
    "Who directed it?",
)


@pytest.fixture
def store(tmp_path):
    pytest.importorskip("wordllama")
    from pagerag.cli.demo import CORPUS
    from pagerag.ingest import index_paths
    from pagerag.retrieve import encoder
    from pagerag.store import open_store

    with open_store(tmp_path / "store", encoder("wordllama"), create=True) as made:
        assert not index_paths([CORPUS], made).failed
    return tmp_path / "store"


def test_a_server_is_killed_under_load(store, fault_log):
    pytest.importorskip("fastapi")
    row = Fault("kill −9 of the server, restarted", "four clients asking")
    fault_log.append(row)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    url = f"http://127.0.0.1:{port}"
    command = [
        sys.executable,
        "-m",
        "pagerag",
        "serve",
        "--store",
        str(store),
        "--port",
        str(port),
        "--reader",
        "evidence",
    ]

    def start() -> subprocess.Popen[bytes]:
        server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + 240
        while time.monotonic() < deadline:
            assert server.poll() is None, "the server ended"
            try:
                if httpx.get(f"{url}/ready", timeout=2).status_code == 200:
                    return server
            except httpx.HTTPError:
                time.sleep(0.1)
        raise AssertionError("the server did not start")

    def ask(question: str):
        reply = httpx.post(f"{url}/v1/ask", json={"question": question}, timeout=60)
        reply.raise_for_status()
        body = reply.json()
        return body["answer"], [unit["id"] for unit in body.get("context", body.get("evidence", []))]

    server = start()
    calm = {question: ask(question) for question in QUESTIONS}
    answers, refused, struck, stop = [], [], threading.Event(), threading.Event()

    def load() -> None:
        while not stop.is_set():
            for question in QUESTIONS:
                try:
                    answers.append((question, ask(question)))
                    if struck.is_set():
                        row.works_again()
                except httpx.HTTPError as problem:
                    refused.append(problem)
                    time.sleep(0.05)

    threads = [threading.Thread(target=load) for _ in range(4)]
    for thread in threads:
        thread.start()
    while len(answers) < 12:
        time.sleep(0.01)
    row.strikes()
    server.kill()
    server.wait()
    struck.set()
    try:
        server = start()
        seen = len(answers)
        while len(answers) < seen + 12:
            time.sleep(0.01)
    finally:
        stop.set()
        for thread in threads:
            thread.join()
        server.kill()
        server.wait()
    assert refused  # a client sees a broken connection, never half an answer
    row.refused = f"{len(refused)} requests: connection refused or broken"
    row.acknowledged = len(answers)
    row.lost = sum(calm[question] != answer for question, answer in answers)
