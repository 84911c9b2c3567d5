"""The chat reader against a server that breaks in every way: no question is lost, no deadline passed."""

from __future__ import annotations

import asyncio
import pickle
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

pytest.importorskip("httpx")

from faulty_chat_server import FaultyServer

from pagerag.endpoint import ResponseCache, RetryPolicy
from pagerag.errors import EndpointError, ReaderError, ReaderTimeoutError, SettingsError
from pagerag.read.chat import ChatReader
from pagerag.settings import ChatSettings

# ruff: noqa: SIM117
pytestmark = pytest.mark.integration

QUICK = RetryPolicy(attempts=4, first_wait=0.01, longest_wait=0.05)
FAULTS = [
    "status:500", "status:502", "status:503", "status:429", "limited:0", "truncated", "html", "short",
    "dropped", "schema", "no-content", "not-object", "in-band",
]  # fmt: skip


def chat(server: FaultyServer, **options) -> ChatReader:
    options = {"deadline": 20.0, "read_timeout": 5.0, "retry": QUICK, **options}
    return ChatReader(base_url=server.base_url, model="m", **options)


@pytest.mark.parametrize("fault", FAULTS)
def test_one_fault_costs_one_retry(fault, question, context):
    with FaultyServer([fault, "ok"]) as server, chat(server) as reader:
        answer = reader.read(question, context)
    assert answer.text == "Frankfurt"
    assert [c.candidate_id for c in answer.citations] == ["zimmer"]
    assert answer.usage["attempts"] == 2
    assert len(server.requests) == 2


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_that_stays_ends_in_a_named_error(fault, question, context):
    with (
        FaultyServer([fault]) as server,
        chat(server) as reader,
        pytest.raises(EndpointError, match="4 times"),
    ):
        reader.read(question, context)
    assert len(server.requests) == QUICK.attempts


def test_a_storm_of_faults_loses_no_question(question, context):
    storm = [fault for fault in FAULTS for _ in range(2)] + ["ok"]
    policy = RetryPolicy(attempts=40, first_wait=0.01, longest_wait=0.02)
    questions = [f"{question} ({n})" for n in range(12)]
    with FaultyServer(storm) as server, chat(server, retry=policy, concurrency=3) as reader:
        with ThreadPoolExecutor(12) as threads:
            answers = list(threads.map(lambda q: reader.read(q, context), questions))
    assert [a.text for a in answers] == ["Frankfurt"] * 12
    assert len(server.requests) == 12 + len(storm) - 1
    assert server.most_in_flight <= 3
    totals = reader.totals()
    assert totals["questions"] == 12
    assert totals["retries"] == len(storm) - 1


def test_retry_after_is_a_lower_bound(question, context):
    with FaultyServer(["limited:0.4", "ok"]) as server, chat(server) as reader:
        reader.read(question, context)
    first, second = server.times
    assert second - first >= 0.4


def test_a_wait_longer_than_the_deadline_is_not_waited(question, context):
    with FaultyServer(["limited:3600"]) as server, chat(server, deadline=5.0) as reader:
        with pytest.raises(ReaderTimeoutError, match="HTTP 429"):
            reader.read(question, context)
    assert len(server.requests) == 1


@pytest.mark.parametrize("fault", ["silent", "drip", "slow:30"])
def test_no_server_stretches_the_deadline(fault, question, context):
    # The read timeout is longer than the deadline on purpose: only the deadline can end this.
    with FaultyServer([fault]) as server, chat(server, deadline=0.7, read_timeout=30.0) as reader:
        started = time.monotonic()
        with pytest.raises(ReaderTimeoutError, match=r"0\.7 s"):
            reader.read(question, context)
        # Far under what the fault lasts; wide, because machines are busy.
        assert time.monotonic() - started < 15


def test_silence_is_a_fault_like_any_other(question, context):
    with FaultyServer(["silent", "ok"]) as server, chat(server, read_timeout=0.3) as reader:
        assert reader.read(question, context).text == "Frankfurt"


@pytest.mark.parametrize(
    ("status", "hint"), [(401, "PAGERAG_CHAT_API_KEY"), (404, "chat.model"), (400, "400")]
)
def test_errors_that_will_not_pass_are_not_retried(status, hint, question, context):
    with FaultyServer([f"status:{status}"]) as server, chat(server, api_key="sk-secret") as reader:
        with pytest.raises(EndpointError, match=hint) as problem:
            reader.read(question, context)
    assert len(server.requests) == 1
    assert "sk-secret" not in str(problem.value)


def test_a_redirect_does_not_carry_the_key_away(question, context):
    with FaultyServer(["redirect"]) as server, chat(server, api_key="sk-secret") as reader:
        with pytest.raises(EndpointError, match="307"):
            reader.read(question, context)
    assert server.headers[0]["Authorization"] == "Bearer sk-secret"
    assert "sk-secret" not in repr(reader.settings)


def test_nobody_listens(question, context):
    reader = ChatReader(base_url="http://127.0.0.1:9/v1", model="m", retry=QUICK, deadline=10.0)
    with pytest.raises(EndpointError, match="ConnectError"):
        reader.read(question, context)


def test_unusable_address_and_missing_settings(question, context):
    with pytest.raises(SettingsError, match=r"chat\.base_url"):
        ChatReader(base_url="ftp://x", model="m").read(question, context)
    with pytest.raises(SettingsError, match=r"PAGERAG_CHAT_MODEL"):
        ChatReader(base_url="http://x/v1").read(question, context)
    with pytest.raises(SettingsError, match="unknown option"):
        ChatReader(bas_url="http://x/v1")


def test_a_stream_that_breaks_is_tried_again_without_repeating(question, context):
    with FaultyServer(["cut", "ok"]) as server, chat(server) as reader:
        *pieces, answer = reader.stream(question, context)
    assert "".join(pieces) == "Frankfurt [2]"
    assert answer.text == "Frankfurt"
    assert answer.usage["attempts"] == 2
    assert answer.usage["completion_tokens"] == 7


def test_sync_and_async_agree(question, context):
    async def both(reader):
        streamed = [item async for item in reader.astream(question, context)]
        return await reader.aread(question, context), streamed

    with FaultyServer(["dropped", "ok"]) as server, chat(server) as reader:
        sync = reader.read(question, context)
        pieces = list(reader.stream(question, context))
        asynchronous, streamed = asyncio.run(both(reader))
    assert asynchronous == sync
    assert streamed[:-1] == pieces[:-1]
    assert streamed[-1].text == pieces[-1].text == sync.text


def test_a_cancelled_question_leaves_its_place(question, context):
    async def give_up(reader, server):
        asking = asyncio.create_task(reader.aread(question, context))
        while not server.requests:  # on a busy machine it takes its time
            await asyncio.sleep(0.01)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking

    with FaultyServer(["silent", "ok"]) as server, chat(server, concurrency=1, read_timeout=30.0) as reader:
        asyncio.run(give_up(reader, server))
        assert reader.read(question, context).text == "Frankfurt"


def test_the_cache_pays_once_and_knows_what_matters(tmp_path, question, context):
    cache = ResponseCache(tmp_path / "deep" / "cache.sqlite")
    with FaultyServer() as server:
        with chat(server, response_cache=cache, price_in=2.0, price_out=10.0) as reader:
            fresh = reader.read(question, context)
            again = reader.read(question, context)
            assert (fresh.usage["cached"], again.usage["cached"]) == (False, True)
            assert again.text == fresh.text
            assert fresh.usage["cost"] == pytest.approx((100 * 2 + 7 * 10) / 1e6)
            assert again.usage["cost"] == 0.0
            assert next(reader.stream(question, context)) == "Frankfurt [2]"
            assert len(server.requests) == 1
        # Whatever can change the reply is another question to the endpoint.
        others = [
            {"model": "n"}, {"temperature": 0.5}, {"seed": 3}, {"max_tokens": 9}, {"extra": {"top_p": 0.1}},
        ]  # fmt: skip
        for number, other in enumerate(others, 1):
            options = {"base_url": server.base_url, "model": "m", **other}
            with ChatReader(**options, response_cache=cache, retry=QUICK) as reader:
                reader.read(question, context)
            assert len(server.requests) == 1 + number
        with chat(server, response_cache=cache, api_key="sk-secret") as reader:
            reader.read(question, context[:2])
            reader.read(question, context, state="insufficient")
            reader.read(question + "!", context)
            assert len(server.requests) == 1 + len(others) + 3
            reader.read(question, context)  # another payer, the same reply
            assert len(server.requests) == 1 + len(others) + 3
    assert b"sk-secret" not in b"".join(file.read_bytes() for file in (tmp_path / "deep").iterdir())


def test_a_broken_reply_is_never_cached(tmp_path, question, context):
    with FaultyServer(["truncated", "ok"]) as server:
        settings = ChatSettings(base_url=server.base_url, model="m", cache=str(tmp_path / "c.sqlite"))
        reader = ChatReader(settings, retry=QUICK)
        assert reader.read(question, context).text == "Frankfurt"
        assert len(reader.cache) == 1
        assert reader.read(question, context).usage["cached"]


def test_a_cache_that_is_no_cache_says_so(tmp_path, question, context):
    (tmp_path / "c.sqlite").write_bytes(b"not a database" * 100)
    with FaultyServer() as server:
        reader = ChatReader(
            base_url=server.base_url, model="m", response_cache=ResponseCache(tmp_path / "c.sqlite")
        )
        with pytest.raises(ReaderError, match=r"c\.sqlite cannot be used.*delete it"):
            reader.read(question, context)


def test_readers_travel_to_other_processes(question, context):
    with FaultyServer() as server, chat(server) as reader:
        reader.read(question, context)
        copy = pickle.loads(pickle.dumps(reader))  # noqa: S301
        assert copy.read(question, context) == reader.read(question, context)
