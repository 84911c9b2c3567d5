"""A chat server that misbehaves on purpose: each request takes the next fault of its script."""

from __future__ import annotations

import json
import socket
import struct
import threading
import time
from collections.abc import Callable, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


def reply(content: str) -> dict[str, Any]:
    return {
        "id": "1",
        "object": "chat.completion",
        "model": "faulty",
        "choices": [
            {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": content}}
        ],
        "usage": {"prompt_tokens": 100, "completion_tokens": 7, "total_tokens": 107},
    }


class FaultyServer:
    """Faults by name: see ``_FAULTS``; anything else is answered well. ``script`` repeats its last entry."""

    def __init__(
        self, script: Sequence[str] = ("ok",), answer: Callable[[dict[str, Any]], str] | None = None
    ):
        self.script, self.requests, self.times, self.headers = list(script), [], [], []
        self.answer = answer or (lambda body: "Frankfurt [2]")
        self.in_flight = self.most_in_flight = 0
        self._lock = threading.Lock()
        self.closing = threading.Event()
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                with server._lock:
                    number = len(server.requests)
                    server.requests.append(body)
                    server.times.append(time.monotonic())
                    server.headers.append(dict(self.headers))
                    server.in_flight += 1
                    server.most_in_flight = max(server.most_in_flight, server.in_flight)
                fault = server.script[min(number, len(server.script) - 1)]
                try:
                    server._act(self, fault, body)
                except (BrokenPipeError, ConnectionResetError):
                    self.close_connection = True
                finally:
                    with server._lock:
                        server.in_flight -= 1

            def log_message(self, *args: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.base_url = f"http://127.0.0.1:{self._server.server_port}/v1"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def __enter__(self) -> FaultyServer:
        return self

    def __exit__(self, *exc: object) -> None:
        self.closing.set()
        self._server.shutdown()
        self._server.server_close()

    def _act(self, handler: BaseHTTPRequestHandler, fault: str, body: dict[str, Any]) -> None:
        name, _, value = fault.partition(":")
        if name == "status":
            return self._send(handler, int(value), {"error": {"message": f"fault {value}"}})
        if name == "limited":
            return self._send(handler, 429, {"error": "slow down"}, {"Retry-After": value})
        if name == "slow":
            self.closing.wait(float(value))
        elif name == "silent":
            self.closing.wait(60)
            return self._drop(handler)
        elif name == "drip":
            return self._drip(handler)
        elif name == "truncated":
            data = json.dumps(reply("Frankfurt [2]")).encode()
            return self._raw(handler, data[: len(data) // 2])
        elif name == "html":
            return self._raw(handler, b"<html>gateway</html>", "text/html")
        elif name == "short":  # promises more bytes than it sends
            handler.send_response(200)
            handler.send_header("Content-Length", "9999")
            handler.end_headers()
            handler.wfile.write(b'{"choices": [')
            return self._drop(handler)
        elif name == "dropped":
            return self._drop(handler)
        elif name == "schema":
            return self._send(handler, 200, {"result": "Frankfurt"})
        elif name == "no-content":
            return self._send(handler, 200, {"choices": [{"message": {"content": {"odd": 1}}}]})
        elif name == "not-object":
            return self._send(handler, 200, ["Frankfurt"])
        elif name == "in-band":
            return self._send(handler, 200, {"error": {"message": "overloaded"}})
        elif name == "redirect":
            return self._send(handler, 307, {}, {"Location": "http://127.0.0.1:1/"})
        if body.get("stream"):
            return self._stream(handler, body, cut=name == "cut")
        return self._send(handler, 200, reply(self.answer(body)))

    def _stream(self, handler: BaseHTTPRequestHandler, body: dict[str, Any], cut: bool) -> None:
        handler.send_response(200)
        handler.send_header("Content-Type", "text/event-stream")
        handler.send_header("Connection", "close")
        handler.end_headers()
        words = self.answer(body).split(" ")
        for number, word in enumerate(words):
            if cut and number == len(words) - 1:
                return self._drop(handler)
            piece = word if number == 0 else f" {word}"
            self._event(handler, {"choices": [{"index": 0, "delta": {"content": piece}}]})
        self._event(handler, {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
        self._event(handler, {"choices": [], "usage": reply("")["usage"]})
        handler.wfile.write(b"data: [DONE]\n\n")
        handler.close_connection = True
        return None

    def _event(self, handler: BaseHTTPRequestHandler, body: dict[str, Any]) -> None:
        handler.wfile.write(f"data: {json.dumps(body)}\n\n".encode())
        handler.wfile.flush()

    def _drip(self, handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.send_header("Content-Length", "100000")
        handler.end_headers()
        while not self.closing.wait(0.1):  # never silent for long, never done
            handler.wfile.write(b" ")
            handler.wfile.flush()

    def _send(
        self, handler: BaseHTTPRequestHandler, status: int, body: Any, headers: dict[str, str] | None = None
    ) -> None:
        self._raw(handler, json.dumps(body).encode(), "application/json", status, headers)

    def _raw(
        self,
        handler: BaseHTTPRequestHandler,
        data: bytes,
        kind: str = "application/json",
        status: int = 200,
        headers: dict[str, str] | None = None,
    ) -> None:
        handler.send_response(status)
        handler.send_header("Content-Type", kind)
        handler.send_header("Content-Length", str(len(data)))
        for name, value in (headers or {}).items():
            handler.send_header(name, value)
        handler.end_headers()
        handler.wfile.write(data)

    def _drop(self, handler: BaseHTTPRequestHandler) -> None:
        handler.close_connection = True
        # A reset, not a polite close: what a dying proxy does.
        handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        handler.connection.close()
