"""What hostile or broken clients send: a clear status within bounds, and the worker goes on."""

from __future__ import annotations

import json
import socket
import time
from urllib.parse import urlsplit

import httpx
import pytest

from pagerag import Settings

from .conftest import QUESTION, TEXTS, running

BODY = {"query": QUESTION, "documents": TEXTS}


@pytest.fixture(scope="module")
def small():
    """A server that waits half a second for a body."""
    with running(Settings().updated({"serve.body_timeout": 0.5})) as made:
        yield made


@pytest.fixture(autouse=True)
def alive(small):
    yield
    reply = httpx.post(f"{small.url}/rerank", json=BODY)
    assert reply.status_code == 200
    assert len(reply.json()["results"]) == len(TEXTS)


@pytest.fixture
def wire(small):
    place = urlsplit(small.url)
    with socket.create_connection((place.hostname, place.port), timeout=10) as made:
        yield made


@pytest.mark.parametrize("path", ["/rerank", "/v1/promote", "/v1/ask", "/v1/chat/completions", "/v1/explain"])
def test_ten_megabytes(small, path):
    started = time.perf_counter()
    reply = httpx.post(small.url + path, content=b'{"query": "' + b"x" * 10_000_000 + b'"}')
    assert reply.status_code == 413
    assert "serve.max_body_mb" in reply.text
    assert time.perf_counter() - started < 5


def test_ten_megabytes_without_a_length(small):
    def chunks():
        for _ in range(100):
            yield b"x" * 100_000

    try:
        reply = httpx.post(f"{small.url}/rerank", content=chunks())
    except httpx.TransportError:
        return  # the server answered and closed while we were still sending
    assert reply.status_code == 413


def test_a_hundred_thousand_documents(small):
    reply = httpx.post(f"{small.url}/rerank", json={"query": "q", "documents": ["x"] * 100_000})
    assert reply.status_code == 413
    assert "100,000 documents" in reply.json()["detail"]
    reply = httpx.post(f"{small.url}/v1/promote", json={"question": "q", "candidates": ["x"] * 100_000})
    assert reply.status_code == 413


def test_many_documents_of_little_text_are_ranked_in_time(small):
    documents = [f"Document {n} speaks of town {n % 7} and river {n % 11}." for n in range(1000)]
    started = time.perf_counter()
    reply = httpx.post(
        f"{small.url}/rerank", json={"query": "Which river?", "documents": documents}, timeout=30
    )
    assert reply.status_code == 200
    assert len(reply.json()["results"]) == 1000
    assert time.perf_counter() - started < 20


def test_too_much_text(small):
    reply = httpx.post(f"{small.url}/rerank", json={"query": "q", "documents": ["x" * 4_100_000]})
    assert reply.status_code == 413
    assert "serve.max_characters" in reply.json()["detail"]


@pytest.mark.parametrize(
    "body",
    [
        b'{"query": "\xff\xfe", "documents": ["a"]}',
        b"[" * 100_000,
        b'{"a":' * 100_000 + b"1" + b"}" * 100_000,
        b'{"query": "q", "documents": ["a"], "top_n": NaN}',
        b'{"query": "q", "documents": ["\\ud800"]}',
        b"",
        b"null",
        b"[]",
        b'"text"',
        b"{",
        b"\x00\x01\x02",
    ],
    ids=["utf8", "open", "nested", "nan", "surrogate", "empty", "null", "list", "text", "cut", "binary"],
)
def test_bodies_that_are_no_requests(small, body):
    for path in ("/rerank", "/v1/promote", "/v1/ask", "/v1/explain", "/v1/chat/completions"):
        reply = httpx.post(small.url + path, content=body)
        assert reply.status_code in {400, 422}, reply.text
        assert reply.headers["content-type"] == "application/json"


def test_deep_nesting_inside_a_document(small):
    deep: object = "x"
    for _ in range(200):
        deep = {"content": [deep]}
    reply = httpx.post(f"{small.url}/rerank", json={"query": "q", "documents": [deep, "b"]})
    assert reply.status_code in {200, 422}


def test_a_query_nested_as_deep_as_json_allows(small):
    deep = b'{"content":' * 1000 + b'"q"' + b"}" * 1000
    reply = httpx.post(f"{small.url}/rerank", content=b'{"documents": ["a"], "query": ' + deep + b"}")
    assert reply.status_code == 200, reply.text


@pytest.mark.parametrize("top", ["--5", "- 5", "-", "5-", "five"])
def test_a_number_that_is_none(small, top):
    reply = httpx.post(f"{small.url}/rerank", json={"query": "q", "documents": ["a", "b"], "top_n": top})
    assert reply.status_code == 422
    assert "top_n must be a whole number" in reply.json()["detail"]


def test_a_slow_client_is_told_and_left(wire):
    wire.sendall(b"POST /rerank HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n")
    started = time.perf_counter()
    while time.perf_counter() - started < 0.4:
        wire.sendall(b"x")
        time.sleep(0.1)
    head = wire.recv(4096)
    assert head.startswith(b"HTTP/1.1 408")
    assert time.perf_counter() - started < 3


def test_a_client_that_goes_away_before_the_answer(small, wire):
    data = json.dumps(BODY).encode()
    wire.sendall(b"POST /rerank HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % len(data) + data)
    wire.close()
    deadline = time.monotonic() + 5
    while small.app.service.promotions.inside and time.monotonic() < deadline:
        time.sleep(0.01)
    assert small.app.service.promotions.inside == 0


def test_a_client_that_goes_away_in_the_middle_of_its_request(wire):
    wire.sendall(b'POST /rerank HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n{"query"')


def test_no_http_at_all(wire):
    wire.sendall(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\x00" * 100)
    assert wire.recv(100).startswith((b"HTTP/1.1 400", b""))


def test_a_huge_header(small):
    try:
        reply = httpx.get(f"{small.url}/health", headers={"X-Large": "x" * 200_000})
    except httpx.TransportError:
        return
    assert reply.status_code in {400, 431}
