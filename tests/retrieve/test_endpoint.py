from __future__ import annotations

import json
import pickle
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np
import pytest

from pagerag.endpoint import RetryPolicy
from pagerag.errors import EndpointError, EndpointTimeoutError, InputError, ReaderError
from pagerag.protocols import Encoder
from pagerag.retrieve import encoder
from pagerag.retrieve.encoders.endpoint import EndpointEncoder

pytest.importorskip("httpx", reason="needs pagerag[chat]")

QUICK = RetryPolicy(attempts=3, first_wait=0.01, longest_wait=0.02)


class Server:
    """An embedding endpoint on loopback: a vector tells the text's length; faults come when asked for."""

    def __init__(self) -> None:
        self.requests: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.times: list[float] = []
        self.faults: list[str] = []
        self.retry_after = "0.3"
        self.asked, self.goes_on = threading.Event(), threading.Event()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                outer.requests.append(body)
                outer.headers.append(dict(self.headers))
                outer.times.append(time.monotonic())
                outer.answer(self, body, outer.faults.pop(0) if outer.faults else "")

            def log_message(self, *args: Any) -> None:
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_address[1]}/v1"
        threading.Thread(target=self.http.serve_forever, daemon=True).start()

    def answer(self, handler: BaseHTTPRequestHandler, body: dict[str, Any], fault: str) -> None:
        status = int(fault) if fault.isdigit() else 200
        data = [
            {"index": i, "embedding": [float(len(text)), 1.0, 0.0]} for i, text in enumerate(body["input"])
        ]
        content = json.dumps({"data": data[::-1]})  # the order of the list is not promised, the index is
        if fault == "wait":
            self.asked.set()
            self.goes_on.wait(30)
        if fault == "truncated":
            content = content[: len(content) // 2]
        if fault == "schema":
            content = json.dumps({"vectors": []})
        if fault == "fewer":
            content = json.dumps({"data": data[1:]})
        if fault == "drop":
            handler.connection.close()
            return
        handler.send_response(status)
        if status == 429:
            handler.send_header("Retry-After", self.retry_after)
        handler.send_header("Content-Length", str(len(content)))
        handler.end_headers()
        handler.wfile.write(content.encode())


@pytest.fixture
def server() -> Iterator[Server]:
    made = Server()
    yield made
    made.http.shutdown()
    made.http.server_close()


def test_batches_prefixes_and_order(server: Server) -> None:
    made = EndpointEncoder("m", server.url, query_prefix="Query: ", batch=2, api_key="secret")
    assert isinstance(made, Encoder)
    rows = made.encode_queries(["a", "bbb", "", "cc", "d"])
    assert made.dimension == 3
    sent = [request["input"] for request in server.requests[1:]]  # the first asks for the dimension
    assert sent == [["Query: a", "Query: bbb"], ["Query: ", "Query: cc"], ["Query: d"]]
    assert np.allclose(np.linalg.norm(rows, axis=1), 1)
    assert rows[1, 0] > rows[0, 0]
    assert server.requests[0]["model"] == "m"
    assert server.headers[0]["Authorization"] == "Bearer secret"
    assert "secret" not in made.name
    made.encode_passages(["plain"])
    assert server.requests[-1]["input"] == ["plain"]


def test_an_empty_text_is_not_sent(server: Server) -> None:
    made = EndpointEncoder("m", server.url, dimension=3)
    rows = made.encode_passages(["", "ab"])
    assert not rows[0].any()
    assert server.requests[0]["input"] == ["ab"]
    assert made.encode_passages([]).shape == (0, 3)


@pytest.mark.parametrize("fault", ["429", "500", "503", "truncated", "schema", "fewer", "drop"])
def test_faults_that_pass_are_waited_out(server: Server, fault: str) -> None:
    made = EndpointEncoder("m", server.url, dimension=3, retry=QUICK)
    server.faults = [fault, fault]
    assert made.encode_passages(["abc"]).shape == (1, 3)
    assert len(server.requests) == 3
    if fault == "429":  # as the server asked
        assert min(np.diff(server.times)) >= 0.3


def test_tries_are_bounded(server: Server) -> None:
    made = EndpointEncoder("m", server.url, dimension=3, retry=QUICK)
    server.faults = ["500"] * 10
    with pytest.raises(EndpointError, match="failed 3 times"):
        made.encode_passages(["abc"])
    assert len(server.requests) == 3


def test_a_wait_past_the_deadline_is_not_begun(server: Server) -> None:
    made = EndpointEncoder("m", server.url, dimension=3, deadline=2.0)
    server.faults, server.retry_after = ["429"] * 3, "7"
    with pytest.raises(EndpointTimeoutError, match="HTTP 429") as problem:
        made.encode_passages(["abc"])
    assert not isinstance(problem.value, ReaderError)  # nobody was reading
    assert len(server.requests) == 1


def test_what_will_not_pass_is_not_tried_again(server: Server) -> None:
    made = EndpointEncoder("m", server.url, dimension=3, retry=QUICK)
    server.faults = ["401"]
    with pytest.raises(EndpointError, match="API_KEY"):
        made.encode_passages(["abc"])
    assert len(server.requests) == 1


def test_another_model_behind_the_endpoint_is_noticed(server: Server) -> None:
    made = EndpointEncoder("m", server.url, dimension=5)
    with pytest.raises(EndpointError, match="another model"):
        made.encode_passages(["abc"])


def test_a_silent_endpoint_holds_up_no_other_encoder(server: Server) -> None:
    server.faults = ["wait"]
    waiting = threading.Thread(target=lambda: EndpointEncoder("slow", server.url).dimension, daemon=True)
    waiting.start()
    server.asked.wait(30)
    other: list[int] = []
    quick = threading.Thread(
        target=lambda: other.append(EndpointEncoder("m", server.url).dimension), daemon=True
    )
    quick.start()
    quick.join(10)
    told = list(other)
    server.goes_on.set()
    waiting.join(30)
    quick.join(30)
    assert told == [3]


def test_by_name(server: Server) -> None:
    made = encoder(f"openai:nv-embed-v2@{server.url}")
    assert made.dimension == 3
    assert made.name == f"openai:nv-embed-v2@{server.url}"
    again = pickle.loads(pickle.dumps(made))  # noqa: S301
    assert np.array_equal(again.encode_queries(["q"]), made.encode_queries(["q"]))
    with pytest.raises(InputError, match="openai:MODEL@URL"):
        encoder("openai:nv-embed-v2")
    with pytest.raises(InputError, match="at least 1"):
        EndpointEncoder("m", server.url, batch=0)


def test_nobody_listens() -> None:
    made = EndpointEncoder("m", "http://127.0.0.1:9", dimension=3, retry=QUICK)
    with pytest.raises(EndpointError, match="ConnectError"):
        made.encode_passages(["abc"])


def test_a_password_in_the_address_is_in_no_name_and_no_message(server: Server) -> None:
    address = server.url.replace("http://", "http://me:hunter2@")
    made = EndpointEncoder("m", address, dimension=3, retry=QUICK)
    made.encode_passages(["abc"])
    assert server.headers[0]["Authorization"].startswith("Basic ")
    server.faults = ["404"]
    with pytest.raises(EndpointError) as problem:
        made.encode_passages(["abc"])
    assert "hunter2" not in f"{made.name} {problem.value}"
