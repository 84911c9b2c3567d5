"""A language model on loopback that says what a test tells it to, over the OpenAI-compatible protocol.

It lets a test run a real client, framework or backend against known replies, and see what really reached
the model::

    with ScriptedChat(["Poland"]) as chat:
        reader = ChatReader(base_url=chat.url, model="any")
        ...
    assert "Warsaw" in chat.prompts[0]
"""

from __future__ import annotations

import base64
import json
import re
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from pagerag.protocols import Encoder
from pagerag.testing.fakes import FakeEncoder


@dataclass(frozen=True, slots=True)
class Reply:
    """One reply of the scripted model, good or bad.

    ``status`` other than 200 is an error with ``text`` as its message; ``body`` replaces the whole body,
    for replies that are no JSON; ``delay`` is how many seconds the server waits first.
    """

    text: str = ""
    status: int = 200
    delay: float = 0.0
    headers: Mapping[str, str] = field(default_factory=dict)
    body: str | None = None
    logprobs: Any = None
    finish_reason: str = "stop"


Script = Sequence[str | Reply] | Callable[[dict[str, Any]], str | Reply]


class ScriptedChat:
    """Serves ``/v1/chat/completions`` (plain and streamed), ``/v1/embeddings`` and ``/v1/models``.

    ``replies`` are given in turn, the last one for ever after; or they are a function of the request.
    ``requests`` records every chat request as it came, ``prompts`` its messages as one text, ``headers``
    its headers. Embeddings come from ``encoder``, a FakeEncoder unless one is given.
    """

    def __init__(self, replies: Script = ("",), *, encoder: Encoder | None = None) -> None:
        if not callable(replies) and not replies:
            raise ValueError("a script needs at least one reply")
        self._replies = replies
        self._encoder = encoder or FakeEncoder()
        self._lock = threading.Lock()
        self.requests: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self._server: ThreadingHTTPServer | None = None

    @property
    def url(self) -> str:
        """The base URL, as clients want it: it ends in ``/v1``."""
        if self._server is None:
            raise RuntimeError("the server is not running; use it in a with statement")
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    @property
    def prompts(self) -> list[str]:
        """What reached the model, one text a request."""
        with self._lock:
            return [prompt_of(request) for request in self.requests]

    def __enter__(self) -> ScriptedChat:
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True
        threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True
        ).start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
            self._server = None

    def reply_to(self, request: dict[str, Any], headers: Mapping[str, str] | None = None) -> Reply:
        """Record a request and give the reply that the script has for it."""
        with self._lock:
            number = len(self.requests)
            self.requests.append(request)
            self.headers.append(dict(headers or {}))
        if callable(self._replies):
            said = self._replies(request)
        else:
            said = self._replies[min(number, len(self._replies) - 1)]
        return said if isinstance(said, Reply) else Reply(said)

    def embed(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Return the reply to an embedding request, as floats or, when asked, as base64."""
        texts = request.get("input") or []
        rows = self._encoder.encode_passages([texts] if isinstance(texts, str) else [str(t) for t in texts])
        packed = request.get("encoding_format") == "base64"
        values = [
            base64.b64encode(row.astype("<f4").tobytes()).decode() if packed else row.tolist() for row in rows
        ]
        data = [{"object": "embedding", "index": n, "embedding": value} for n, value in enumerate(values)]
        usage = {"prompt_tokens": len(data), "total_tokens": len(data)}
        return {"object": "list", "data": data, "model": request.get("model", ""), "usage": usage}


def prompt_of(request: Mapping[str, Any]) -> str:
    """Return the messages of a chat request as one text."""
    parts = []
    for message in request.get("messages") or ():
        content = message.get("content")
        if isinstance(content, list):
            content = "\n".join(str(part.get("text", "")) for part in content if isinstance(part, Mapping))
        parts.append(str(content or ""))
    return "\n\n".join(parts)


def _completion(request: Mapping[str, Any], reply: Reply, kind: str) -> dict[str, Any]:
    read, said = len(prompt_of(request).split()), len(reply.text.split())
    choice: dict[str, Any] = {"index": 0, "finish_reason": reply.finish_reason, "logprobs": reply.logprobs}
    return {
        "id": "chatcmpl-scripted",
        "object": kind,
        "created": 0,
        "model": request.get("model", "scripted"),
        "choices": [choice],
        "usage": {"prompt_tokens": read, "completion_tokens": said, "total_tokens": read + said},
    }


def _handler(chat: ScriptedChat) -> type[BaseHTTPRequestHandler]:  # noqa: C901 - counts all methods as one
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        # Head and body in one packet: sent apart, each reply would wait for the client's acknowledgement.
        wbufsize = 1 << 16
        disable_nagle_algorithm = True

        def do_GET(self) -> None:
            self._send(200, json.dumps({"object": "list", "data": [{"id": "scripted", "object": "model"}]}))

        def do_POST(self) -> None:
            size, path = int(self.headers.get("Content-Length") or 0), self.path.rstrip("/")
            try:
                request = json.loads(self.rfile.read(size) or b"{}")
            except ValueError:
                self._send(400, _problem("the request is not JSON"))
                return
            if path.endswith("/embeddings"):
                self._send(200, json.dumps(chat.embed(request)))
            elif path.endswith("/chat/completions"):
                self._answer(request, chat.reply_to(request, dict(self.headers.items())))
            else:
                self._send(404, _problem(f"there is no {self.path} here"))

        def _answer(self, request: Mapping[str, Any], reply: Reply) -> None:
            time.sleep(reply.delay)
            if reply.body is not None:
                self._send(reply.status, reply.body, reply.headers)
            elif reply.status != 200:
                self._send(reply.status, _problem(reply.text), reply.headers)
            elif request.get("stream"):
                self._send(200, _stream(request, reply), reply.headers, "text/event-stream")
            else:
                whole = _completion(request, reply, "chat.completion")
                whole["choices"][0]["message"] = {"role": "assistant", "content": reply.text}
                self._send(200, json.dumps(whole), reply.headers)

        def _send(
            self,
            status: int,
            body: str,
            headers: Mapping[str, str] | None = None,
            kind: str = "application/json",
        ) -> None:
            data = body.encode("utf-8", "backslashreplace")
            try:
                self.send_response(status)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(data)))
                for name, value in (headers or {}).items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(data)
                self.wfile.flush()
            except (BrokenPipeError, ConnectionResetError):
                self.close_connection = True  # the client hung up: its deadline is its own affair

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class's name
            """Say nothing: a test's output is its own."""

    return Handler


def _problem(message: str) -> str:
    return json.dumps({"error": {"message": message}})


def _stream(request: Mapping[str, Any], reply: Reply) -> str:
    events = []
    for n, piece in enumerate([*re.findall(r"^[^ ]*| [^ ]*", reply.text), None]):
        event = _completion(request, reply, "chat.completion.chunk")
        delta = {} if piece is None else {"content": piece}
        event["choices"][0]["delta"] = {"role": "assistant", **delta} if n == 0 else delta
        if piece is not None:
            event["choices"][0]["finish_reason"] = None
            del event["usage"]
        events.append(f"data: {json.dumps(event)}\n\n")
    return "".join([*events, "data: [DONE]\n\n"])
