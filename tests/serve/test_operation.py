"""Keys, limits, gates, ids, logs, metrics, spans, stopping."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import re
import signal
import subprocess
import sys
import threading
import time

import httpx
import pytest

from pagerag import Settings, SettingsError
from pagerag.serve.keys import Keys, check_exposure
from pagerag.serve.problems import Problem
from pagerag.serve.service import Gate
from pagerag.serve.stores import places_of

from .conftest import KEY, QUESTION, TEXTS, running

BODY = {"query": QUESTION, "documents": TEXTS}


# -- keys


def test_every_route_but_health_refuses_without_a_key(server):
    document = httpx.get(f"{server.url}/openapi.json", headers=server.headers).json()
    paths = [(path, method) for path, methods in document["paths"].items() for method in methods]
    assert len(paths) > 15
    client = httpx.Client(base_url=server.url)
    for path, method in [*paths, ("/openapi.json", "get"), ("/nowhere", "get")]:
        url = re.sub(r"{.*?}", "demo", path)
        for headers in (
            {},
            {"Authorization": ""},
            {"Authorization": "Bearer wrong"},
            {"Authorization": "Basic !"},
        ):
            reply = client.request(method.upper(), url, headers=headers)
            assert reply.status_code == (200 if path == "/health" else 401), (path, headers)


@pytest.mark.parametrize("header", [f"Bearer {KEY}", f"bearer {KEY}", KEY, "Bearer another-key-0123456789"])
def test_the_forms_in_which_clients_send_a_key(server, header):
    assert httpx.get(f"{server.url}/ready", headers={"authorization": header}).status_code == 200


def test_a_browser_is_asked_for_the_key(server):
    reply = httpx.get(server.url, headers={"Accept": "text/html"})
    assert reply.status_code == 401
    assert reply.headers["www-authenticate"].startswith("Basic")
    assert httpx.get(server.url, auth=("anyone", KEY)).status_code == 200


def test_keys_rotate_without_a_restart(tmp_path, monkeypatch):
    monkeypatch.setattr("pagerag.serve.keys._LOOK_AGAIN", 0.0)
    file = tmp_path / "keys"
    file.write_text("first-key-0123456789\n")
    keys = Keys(str(file))
    assert keys.allows("Bearer first-key-0123456789")
    file.write_text("second-key-0123456789\nthird-key-0123456789 \n")
    os.utime(file, (1, 1))
    assert not keys.allows("Bearer first-key-0123456789")
    assert keys.allows("third-key-0123456789")
    file.write_text("")  # a broken file changes nothing
    assert keys.allows("Bearer second-key-0123456789")


def test_bad_key_files_and_public_addresses_are_refused(tmp_path):
    with pytest.raises(SettingsError, match="cannot read"):
        Keys(str(tmp_path / "none"))
    (tmp_path / "short").write_text("abc\n")
    with pytest.raises(SettingsError, match="shorter"):
        Keys(str(tmp_path / "short"))
    for host in ("0.0.0.0", "::", "192.168.1.2", "example.org"):
        with pytest.raises(SettingsError, match="--api-key-file"):
            check_exposure(host, Keys(), insecure=False)
        check_exposure(host, Keys(), insecure=True)
    for host in ("127.0.0.1", "localhost", "::1"):
        check_exposure(host, Keys(), insecure=False)


def test_pages_of_other_origins_and_foreign_names_are_refused():
    with running(Settings()) as server, httpx.Client(base_url=server.url) as http:
        assert http.post("/rerank", json=BODY, headers={"Origin": "https://evil.example"}).status_code == 403
        assert http.post("/rerank", json=BODY, headers={"Origin": "null"}).status_code == 403
        assert http.post("/rerank", json=BODY, headers={"Sec-Fetch-Site": "cross-site"}).status_code == 403
        assert http.post("/rerank", json=BODY, headers={"Origin": server.url}).status_code == 200
        assert http.get("/v1/stores", headers={"Host": "rebound.example"}).status_code == 421
    allowed = Settings().updated({"serve.origins": "https://chat.example", "serve.hosts": "box.lan"})
    with running(allowed) as server, httpx.Client(base_url=server.url) as http:
        reply = http.post("/rerank", json=BODY, headers={"Origin": "https://chat.example"})
        assert reply.status_code == 200
        assert reply.headers["access-control-allow-origin"] == "https://chat.example"
        assert http.get("/v1/stores", headers={"Host": "box.lan:80"}).status_code == 200


# -- ids, timing, logs, metrics, spans


def test_ids_and_timing(http):
    reply = http.post("/rerank", json=BODY, headers={"X-Request-Id": "mine-1"})
    assert reply.headers["x-request-id"] == "mine-1"
    assert reply.json()["id"] == "mine-1"
    assert {"read", "queue", "promote", "total"} <= set(
        re.findall(r"(\w+);dur=", reply.headers["server-timing"])
    )
    odd = http.post("/rerank", json=BODY, headers={"X-Request-Id": "a b\tc"})
    assert re.fullmatch(r"[0-9a-f]{32}", odd.headers["x-request-id"])


def test_logs_hold_no_text_unless_asked(http, caplog):
    from pagerag.serve.telemetry import _Lines

    secret = "Zanzibarium"
    with caplog.at_level(logging.INFO, logger="pagerag.serve"):
        http.post("/rerank", json={"query": f"{secret}?", "documents": [f"{secret} is here."]})
        http.post("/v1/promote", json={"question": secret, "candidates": [secret]})
        http.post("/v1/ask", json={"question": secret})
        http.post("/rerank", json={"query": "", "documents": [secret]})
        http.get(f"/{secret}")
        time.sleep(0.3)
    lines = [_Lines().format(record) for record in caplog.records if record.name == "pagerag.serve"]
    assert len(lines) >= 5
    assert secret not in "\n".join(lines)
    told = json.loads(lines[0])
    assert told["event"] == "request"
    assert {"id", "route", "status", "ms", "dialect", "documents", "state"} <= set(told)
    with (
        running(Settings().updated({"serve.log_text": True})) as server,
        caplog.at_level(logging.INFO, logger="pagerag.serve"),
    ):
        httpx.post(f"{server.url}/rerank", json={"query": secret, "documents": [secret]})
        time.sleep(0.3)  # a request is logged after its answer has gone
    assert secret in "\n".join(_Lines().format(record) for record in caplog.records)


def test_metrics(http):
    http.post("/rerank", json=BODY)
    text = http.get("/metrics").text
    assert re.search(r'pagerag_requests_total{method="POST",route="/rerank",status="200"} [1-9]', text)
    assert "pagerag_request_seconds_bucket" in text
    assert 'pagerag_stage_seconds_count{stage="promote"}' in text
    assert "pagerag_verdicts_total" in text


@pytest.mark.parametrize("texts", [False, True])
def test_spans_carry_openinference_attributes(texts):
    pytest.importorskip("opentelemetry.sdk")
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    from pagerag.serve.telemetry import Telemetry

    spans = InMemorySpanExporter()
    trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    with running(Settings(), telemetry=Telemetry(on=True, texts=texts, exporter=spans)) as server:
        httpx.post(f"{server.url}/rerank", json={**BODY, "top_n": 2}, headers={"traceparent": trace})
    (span,) = spans.get_finished_spans()
    assert span.attributes["openinference.span.kind"] == "RERANKER"
    assert span.attributes["reranker.top_k"] == 2
    assert f"{span.context.trace_id:x}" == "af7651916cd43dd8448eb211c80319c"
    assert "reranker.output_documents.1.document.score" in span.attributes
    assert "reranker.output_documents.2.document.score" not in span.attributes
    assert ("reranker.query" in span.attributes) == texts
    assert ("reranker.output_documents.0.document.content" in span.attributes) == texts


# -- gates and deadlines


def test_the_gate_refuses_at_once_and_gives_places_back():
    async def scene():
        gate = Gate("test", most=2, threads=1, setting="serve.in_flight")
        hold = threading.Event()
        first = asyncio.create_task(gate.run(hold.wait, seconds=5, setting="s"))
        second = asyncio.create_task(gate.run(hold.wait, seconds=0.05, setting="s"))
        await asyncio.sleep(0.01)
        started = time.perf_counter()
        with pytest.raises(Problem) as refused:
            await gate.run(hold.wait, seconds=5, setting="s")
        assert time.perf_counter() - started < 0.05
        assert refused.value.status == 429
        assert int(refused.value.headers["Retry-After"]) >= 1
        with pytest.raises(Problem) as late:  # it waited behind the first and had not begun
            await second
        assert late.value.status == 504
        assert gate.inside == 1
        hold.set()
        assert (await first)[0] is True
        await asyncio.sleep(0.01)
        assert gate.inside == 0
        gate.close()
        with pytest.raises(Problem, match="stopping"):
            await gate.run(hold.wait, seconds=1, setting="s")

    asyncio.run(scene())


def test_busy_and_late_are_told_in_the_protocol_s_shape(monkeypatch):
    import pagerag.serve.routes_rerank as routes

    hold, real = threading.Event(), routes.rank

    def slow(*arguments):
        hold.wait(10)
        return real(*arguments)

    monkeypatch.setattr(routes, "rank", slow)
    small = Settings().updated({"serve.in_flight": 1, "serve.threads": 1, "serve.timeout": 0.4})
    with running(small) as server:
        replies = []
        first = threading.Thread(target=lambda: replies.append(httpx.post(f"{server.url}/rerank", json=BODY)))
        first.start()
        time.sleep(0.15)
        busy = httpx.post(f"{server.url}/v1/rerank", json=BODY)
        first.join()
        assert busy.status_code == 429
        assert busy.headers["retry-after"]
        assert busy.json()["error_type"] == "busy"
        assert replies[0].status_code == 504
        assert "0.4 s" in replies[0].json()["detail"]
        hold.set()
        for _ in range(100):
            if httpx.post(f"{server.url}/rerank", json=BODY).status_code == 200:
                break
            time.sleep(0.02)
        else:
            pytest.fail("the place was not given back")


# -- stores by name


def test_places_of_stores(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert places_of(Settings()) == {}
    assert places_of(Settings(), ["a/b/films", "law=x/y"]) == {"films": "a/b/films", "law": "x/y"}
    assert places_of(Settings().updated({"serve.stores": {"one": "p"}})) == {"one": "p"}
    (tmp_path / "pagerag-store").mkdir()
    assert places_of(Settings()) == {"pagerag-store": "pagerag-store"}
    with pytest.raises(ValueError, match="two stores"):
        places_of(Settings(), ["a/x", "b/x"])
    with pytest.raises(ValueError, match="name of a store"):
        places_of(Settings(), ["bad name=x"])


# -- the process


def _start(*flags):
    command = [sys.executable, "-m", "pagerag", "serve", "--json", "--port", "0", *flags]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    told = json.loads(process.stdout.readline())
    assert told["pid"] == process.pid
    return process, told["url"]


@pytest.mark.parametrize("workers", ["1", "2"])
def test_sigterm_under_load_loses_no_accepted_request(workers):
    """Whatever the server took on, it answered: the ids in its log are the ids that clients have answers for.

    A connection that the kernel completed and nobody accepted is reset when the socket closes; the server never
    saw such a request, and its id is not in the log.
    """
    process, url = _start("--workers", workers)
    lines: list[str] = []
    reader = threading.Thread(target=lambda: lines.extend(process.stderr))
    reader.start()
    answered, unanswered, stop = {}, set(), threading.Event()

    def load(name):
        with httpx.Client(base_url=url, timeout=30) as http:
            for number in range(100_000):
                if stop.is_set():
                    return
                identity = f"{name}-{number}"
                try:
                    answered[identity] = http.post(
                        "/rerank", json=BODY, headers={"X-Request-Id": identity}
                    ).status_code
                except httpx.HTTPError:
                    unanswered.add(identity)
                    if process.poll() is not None:
                        return

    try:
        with httpx.Client(base_url=url, timeout=60) as http:
            deadline = time.monotonic() + 60
            while http.get("/ready").status_code != 200:
                assert time.monotonic() < deadline
                time.sleep(0.1)
        threads = [threading.Thread(target=load, args=(f"t{n}",)) for n in range(4)]
        for thread in threads:
            thread.start()
        time.sleep(1.0)
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0
    finally:
        stop.set()
        process.kill()
    for thread in threads:
        thread.join()
    reader.join(10)
    told = [json.loads(line) for line in lines]
    taken = {
        line["id"]: line["status"]
        for line in told
        if line["event"] == "request" and line["route"] == "/rerank"
    }
    assert len(taken) > 8
    assert taken == answered
    assert not unanswered & set(taken)
    assert set(answered.values()) <= {200, 429}


def test_a_public_address_without_keys_does_not_start():
    command = [sys.executable, "-m", "pagerag", "serve", "--host", "0.0.0.0", "--port", "0"]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode == 1
    assert "--api-key-file" in ended.stderr
