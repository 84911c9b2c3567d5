"""Servers that echo the key, send bombs or send what no JSON library should be given unasked."""

from __future__ import annotations

import asyncio
import gc
import gzip
import json
import threading
import time
import traceback

import pytest

pytest.importorskip("httpx")

from faulty_chat_server import FaultyServer, reply

from pagerag._secrets import Secret, redact, shown_url
from pagerag.endpoint import RetryPolicy
from pagerag.endpoint.loop import LoopThread
from pagerag.endpoint.replies import excerpt
from pagerag.errors import EndpointError, ReaderError, ReaderTimeoutError, SettingsError
from pagerag.read.chat import ChatReader
from pagerag.settings import Settings
from pagerag.units import Candidate

KEY = "sk-very/secret-0123456789"
QUICK = RetryPolicy(attempts=2, first_wait=0.01, longest_wait=0.02)
QUESTION = "Which city was the composer of Interstellar born in?"
CONTEXT = (Candidate("zimmer", "Zimmer was born in Frankfurt.", title="Hans Zimmer"),)


class RawServer(FaultyServer):
    """Answers every request with the same bytes."""

    def __init__(self, data: bytes, status: int = 200, **headers: str) -> None:
        super().__init__()
        self.data, self.status = data, status
        self.more = {name.replace("_", "-"): value for name, value in headers.items()}

    def _act(self, handler, fault, body):
        self._raw(
            handler, self.data, self.more.pop("content-type", "application/json"), self.status, self.more
        )


def read(server, **options):
    options = {"api_key": KEY, "deadline": 20.0, "retry": QUICK, **options}
    with ChatReader(base_url=server.base_url, model="m", **options) as reader:
        return reader.read(QUESTION, CONTEXT)


ECHOES = {
    "error in a good reply": json.dumps({"error": {"message": f"bad key {KEY}"}}),
    "no JSON": f"<html>{KEY}</html>",
    "no choices": json.dumps({"echo": KEY}),
    "no message": json.dumps({"choices": [{"echo": KEY}]}),
    "refusal": json.dumps({"choices": [{"message": {"refusal": f"I saw {KEY}", "content": None}}]}),
    "escaped slash": json.dumps({"echo": KEY}).replace("/", "\\/"),
    "at the cut": "x" * 150 + KEY,
    "between invisible characters": "\u200b".join(KEY),
    "behind much white space": " " * 70_000 + KEY,
}


@pytest.mark.parametrize("status", [200, 400, 500])
@pytest.mark.parametrize("echo", ECHOES, ids=lambda name: name.replace(" ", "-"))
def test_a_key_that_the_server_repeats_is_never_printed(echo, status):
    with RawServer(ECHOES[echo].encode(), status) as server, pytest.raises(EndpointError) as problem:
        read(server)
    told = "".join(traceback.format_exception(problem.value))
    assert KEY not in told
    assert KEY[:12] not in told


def test_texts_of_extra_and_passwords_are_not_repeated_either():
    with RawServer(b"you sent hunter22 and extra-secret", 400) as server:
        server.base_url = server.base_url.replace("http://", "http://me:hunter22@")
        with pytest.raises(EndpointError) as problem:
            read(server, api_key="", extra={"nested": {"token": "extra-secret"}})
    assert "hunter22" not in str(problem.value)
    assert "extra-secret" not in str(problem.value)
    assert "you sent *** and ***" in str(problem.value)


@pytest.mark.parametrize("key", ["sk-1\n", "sk-1\r\nX-Evil: 1", "sk-é", "sk-1 ", "sk\x00x"])
def test_a_key_that_no_header_can_carry_is_refused_without_being_shown(key):
    with FaultyServer() as server, pytest.raises(SettingsError, match="PAGERAG_CHAT_API_KEY") as problem:
        read(server, api_key=key)
    assert key not in "".join(traceback.format_exception(problem.value))
    assert not server.requests


def test_a_header_name_that_is_none_is_refused():
    with FaultyServer() as server, pytest.raises(SettingsError, match="header"):
        read(server, auth_header="X: y\r\nZ")


def test_settings_print_no_secret():
    values = {
        "chat.base_url": "https://me:hunter2@host/v1?code=77777",
        "chat.extra": {"api-key": "extra-secret", "top_p": 0.5, "deep": [{"token": "extra-secret"}]},
    }
    made = Settings().updated(values)
    told = f"{made!r} {made.chat} {json.dumps(made.to_dict())}"
    assert not [secret for secret in ("hunter2", "77777", "extra-secret") if secret in told]
    assert made.to_dict()["chat"]["extra"]["top_p"] == 0.5
    assert made.to_dict()["chat"]["base_url"] == "https://***@host/v1?***"


def bomb(times: int) -> bytes:
    data = gzip.compress(b" " * 40_000_000, 1)
    for _ in range(times - 1):
        data = gzip.compress(data)
    return data


HOSTILE = {
    "deep JSON": (b'{"choices": ' + b"[" * 100_000, {}),
    "deep error": (b'{"error": ' + b"[" * 900 + b"1" + b"]" * 900 + b"}", {}),
    "bad gzip": (b"\x1f\x8b\x08nonsense", {"content_encoding": "gzip"}),
    "half a gzip": (gzip.compress(json.dumps(reply("x")).encode())[:-12], {"content_encoding": "gzip"}),
    "gzip bomb": (bomb(1), {"content_encoding": "gzip"}),
    "triple gzip": (bomb(3), {"content_encoding": "gzip, gzip, gzip"}),
    "unasked coding": (b"x", {"content_encoding": "br"}),
    "bytes that are no text": (b"\xff\xfe\x00\xd8", {}),
    "content of numbers": (b'{"choices": [{"message": {"content": 5}}]}', {}),
    "endless reply": (b" " * 17_000_000, {}),
    "endless words": (json.dumps(reply("word " * 300_000)).encode(), {}),
}


@pytest.mark.parametrize("name", HOSTILE, ids=lambda name: name.replace(" ", "-"))
def test_a_hostile_reply_is_an_error_of_ours(name):
    data, headers = HOSTILE[name]
    with RawServer(data, **headers) as server, pytest.raises(ReaderError) as problem:
        read(server)
    assert isinstance(problem.value, EndpointError)


def test_numbers_and_characters_that_break_others_are_taken():
    body = reply("Frankfurt \ud83d [1]")
    body["model"], body["usage"] = "m\ud83d\x1b[2J", {"prompt_tokens": 0, "completion_tokens": -1}
    data = json.dumps(body).replace('"prompt_tokens": 0', f'"prompt_tokens": {"9" * 4_000}').encode()
    with RawServer(data) as server:
        answer = read(server, price_in=2.0)
    json.dumps(answer.to_dict(), ensure_ascii=False).encode("utf-8")
    assert answer.text.startswith("Frankfurt")
    assert answer.usage["prompt_tokens"] is None
    assert "\x1b" not in answer.usage["model"]


def test_the_deadline_covers_what_comes_after_the_reply():
    words = " ".join(f"w{n}" for n in range(130_000))  # just under what a model may say
    with RawServer(json.dumps(reply(words)).encode()) as server:
        started = time.monotonic()
        try:
            read(server, deadline=4.0)
        except ReaderTimeoutError:
            pass
        assert time.monotonic() - started < 8


def test_a_streamed_flood_of_tiny_pieces_is_linear():
    event = b'data: {"choices": [{"index": 0, "delta": {"content": "ab"}}]}\n\n'
    end = b'data: {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}\n\ndata: [DONE]\n\n'
    data = event * 60_000 + end
    with (
        RawServer(data, content_type="text/event-stream") as server,
        ChatReader(base_url=server.base_url, model="m", retry=QUICK, deadline=60) as reader,
    ):
        *pieces, answer = reader.stream(QUESTION, CONTEXT)
    assert "".join(pieces) == "ab" * 60_000 == answer.text


def test_one_large_document_does_not_hold_up_the_others():
    large = Candidate("large", "<<< " * 400_000 + "\u0301\u0315" * 20_000)
    with FaultyServer() as server, ChatReader(base_url=server.base_url, model="m", deadline=30) as reader:
        reader.read(QUESTION, CONTEXT)
        slow = threading.Thread(target=lambda: reader.read(QUESTION, (large,)))
        slow.start()
        waits = []
        while slow.is_alive() or len(waits) < 5:
            started = time.monotonic()
            reader.read(QUESTION, CONTEXT)
            waits.append(time.monotonic() - started)
        slow.join()
    assert max(waits) < 3  # it was 12 s on the loop itself


def test_closing_ends_what_is_under_way():
    with FaultyServer(["silent"]) as server:
        reader = ChatReader(base_url=server.base_url, model="m", deadline=60, read_timeout=60)
        problems = []

        def ask():
            with pytest.raises(ReaderError, match="closed") as problem:
                reader.read(QUESTION, CONTEXT)
            problems.append(problem.value)

        asking = threading.Thread(target=ask, daemon=True)
        asking.start()
        while not server.requests:
            time.sleep(0.01)
        reader.close()
        asking.join(5)
        assert problems


def test_a_forgotten_reader_leaves_no_thread_behind():
    def threads():
        return [thread for thread in threading.enumerate() if thread.name == "pagerag-endpoint"]

    before = len(threads())
    loops = []
    for _ in range(5):
        loop = LoopThread()

        async def nothing() -> int:
            return 1

        assert loop.run(nothing()) == 1
        loops.append(loop._loop)
    del loop
    gc.collect()
    until = time.monotonic() + 5
    while len(threads()) > before and time.monotonic() < until:
        time.sleep(0.01)
    assert len(threads()) <= before
    assert all(one.is_closed() for one in loops)


@pytest.mark.parametrize("forgotten", [True, False])
def test_a_half_read_reply_is_closed_with_the_loop(forgotten):
    held, closed = [], []

    async def pieces(layers):
        try:
            if layers:
                async for piece in pieces(layers - 1):
                    yield piece
            yield b"one"
            yield b"two"
        finally:
            await asyncio.sleep(0.01)
            closed.append(layers)

    async def read_one():
        reply = pieces(3)
        held.append(reply)
        await anext(reply)
        if forgotten:
            held.clear()

    loop = LoopThread()
    loop.run(read_one())
    loop.close()
    assert sorted(closed) == [0, 1, 2, 3]


def test_redaction_by_itself():
    assert redact('a "k\\"ey" b', [Secret('k"ey')]) == 'a "***" b'
    assert (
        redact("the of", [Secret("the")]) == "the of"
    )  # too short to be a secret that can be told from words
    assert shown_url("ftp://a:b@h:1/p?q=1#f") == "ftp://***@h:1/p?***"
    assert shown_url("me:pw@host/v1") == "***@host/v1"
    assert shown_url("http://[::1") == "***"
    assert excerpt(b"x" * 66_000 + b"SECRET", [Secret("SECRET")]).endswith("…")
