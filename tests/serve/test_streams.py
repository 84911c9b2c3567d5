"""A streamed answer that goes wrong ends with a problem that the client can show."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import pytest

from pagerag.errors import ReaderError
from pagerag.serve.problems import Problem
from pagerag.serve.streams import AnswerStream


def heard(stream, timeout=30.0):
    """What a client gets of a pipeline whose ``stream`` this is."""

    async def listen():
        with ThreadPoolExecutor(1) as pool:
            service = SimpleNamespace(
                settings=SimpleNamespace(serve=SimpleNamespace(ask_timeout=timeout)), asks=pool
            )
            answers = AnswerStream(service, lambda: SimpleNamespace(stream=stream), "Who?")
            return [item async for item in answers]

    return asyncio.run(listen())


def test_what_the_pipeline_yields_comes_in_order():
    assert heard(lambda question: iter(["Ada ", question])) == ["Ada ", "Who?"]


@pytest.mark.parametrize(
    ("error", "status", "said"),
    [
        (ReaderError("the reader is ill"), 502, "the reader is ill"),
        (ZeroDivisionError("secret"), 500, "unexpected"),
    ],
)
def test_a_failure_is_the_last_thing_that_is_heard(error, status, said):
    def stream(question):
        yield "half of "
        raise error

    words, problem = heard(stream)
    assert words == "half of "
    assert isinstance(problem, Problem)
    assert problem.status == status
    assert said in problem.message
    assert "secret" not in problem.message


def test_an_answer_that_takes_too_long_is_given_up():
    go = threading.Event()

    def stream(question):
        yield "words"
        go.wait(30)
        yield "too late"

    threading.Timer(0.5, go.set).start()
    words, problem = heard(stream, timeout=0.1)
    assert (words, problem.status) == ("words", 504)
    assert "serve.ask_timeout" in problem.message
