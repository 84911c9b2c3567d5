"""The scripted model speaks the protocol that real clients expect."""

from __future__ import annotations

import json
import urllib.error
import urllib.request

import numpy as np
import pytest

from pagerag.testing import FakeEncoder, Reply, ScriptedChat


def post(url: str, body: object) -> tuple[int, str]:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as problem:
        return problem.code, problem.read().decode()


def ask(chat: ScriptedChat, text: str, **more: object) -> tuple[int, str]:
    message = {"role": "user", "content": text}
    return post(f"{chat.url}/chat/completions", {"model": "m", "messages": [message], **more})


def said(answer: tuple[int, str]) -> str:
    return json.loads(answer[1])["choices"][0]["message"]["content"]


def test_replies_come_in_turn_and_the_last_one_stays():
    with ScriptedChat(["one", Reply("two")]) as chat:
        assert [said(ask(chat, f"question {n}")) for n in range(3)] == ["one", "two", "two"]
        assert chat.prompts == ["question 0", "question 1", "question 2"]
        assert chat.requests[0]["model"] == "m"


def test_a_function_sees_the_request():
    with ScriptedChat(lambda request: request["messages"][0]["content"].upper()) as chat:
        assert said(ask(chat, "loud")) == "LOUD"


def test_a_streamed_reply_is_whole():
    with ScriptedChat(["three small words"]) as chat:
        _, body = ask(chat, "q", stream=True)
    lines = [line.removeprefix("data: ") for line in body.splitlines() if line]
    assert lines[-1] == "[DONE]"
    deltas = [json.loads(line)["choices"][0]["delta"].get("content", "") for line in lines[:-1]]
    assert "".join(deltas) == "three small words"


def test_bad_replies_are_bad():
    with ScriptedChat([Reply("slow down", status=429), Reply(body="<html>")]) as chat:
        assert ask(chat, "q")[0] == 429
        assert ask(chat, "q") == (200, "<html>")
        assert post(f"{chat.url}/chat/completions", b"{")[0] == 400
        assert post(f"{chat.url}/unknown", {})[0] == 404


def test_embeddings_come_as_floats_and_as_base64():
    import base64

    expected = FakeEncoder().encode_passages(["Warsaw"])[0]
    with ScriptedChat() as chat:
        _, plain = post(f"{chat.url}/embeddings", {"input": ["Warsaw"], "model": "m"})
        _, packed = post(f"{chat.url}/embeddings", {"input": "Warsaw", "encoding_format": "base64"})
    assert np.allclose(json.loads(plain)["data"][0]["embedding"], expected)
    raw = base64.b64decode(json.loads(packed)["data"][0]["embedding"])
    assert np.array_equal(np.frombuffer(raw, "<f4"), expected)


def test_models_are_listed():
    with ScriptedChat() as chat, urllib.request.urlopen(f"{chat.url}/models", timeout=10) as answer:
        assert json.load(answer)["data"]


def test_it_says_how_it_wants_to_be_used():
    with pytest.raises(RuntimeError, match="with statement"):
        _ = ScriptedChat().url
    with pytest.raises(ValueError, match="at least one reply"):
        ScriptedChat([])


def test_messages_of_parts_become_one_prompt():
    parts = [{"type": "text", "text": "first"}, {"type": "text", "text": "second"}]
    with ScriptedChat() as chat:
        body = {"messages": [{"role": "system", "content": "be brief"}, {"role": "user", "content": parts}]}
        post(f"{chat.url}/chat/completions", body)
        assert chat.prompts == ["be brief\n\nfirst\nsecond"]
