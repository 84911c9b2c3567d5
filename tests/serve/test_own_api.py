"""Our own API and its clients."""

from __future__ import annotations

import asyncio
import json

import pytest

from pagerag import Candidate, EmptyPoolError, EndpointError, InputError, Relation, Settings
from pagerag.pipeline import promoter_of
from pagerag.serve import AsyncClient, Client

from .conftest import BODIES, GOLD, KEY, QUESTION, TITLES

POOL = [
    Candidate(str(n), body, title=title) for n, (title, body) in enumerate(zip(TITLES, BODIES, strict=True))
]


@pytest.fixture
def client(server):
    with Client(server.url, api_key=KEY) as made:
        yield made


def test_promote_is_the_library_s_own_result(client):
    over_http = client.promote(QUESTION, POOL, k=2, mode="document")
    here = promoter_of(Settings()).promote(QUESTION, POOL, k=2, mode="document")
    assert over_http.trace == json.loads(json.dumps(here.to_dict()))
    assert {int(name) for name in over_http.core} == GOLD
    assert over_http.state == here.state
    assert over_http.scores["0"] == pytest.approx(float(here.scores[0]), abs=1e-6)


def test_candidates_with_everything(client):
    full = [
        Candidate(
            "a",
            BODIES[1],
            title=TITLES[1],
            source="s",
            position=0,
            score=0.9,
            entities=("Hans Zimmer",),
            relations=(Relation("Interstellar", "composer", "Hans Zimmer"),),
            vector=None,
            metadata={"mine": [1, 2]},
        ),
        {"id": "b", "text": BODIES[3], "title": TITLES[3], "score": 0.5},
        BODIES[0],
    ]
    found = client.promote(QUESTION, full, k=3, strategy="formula", weights={"c_unit": 0.1})
    assert found.trace["strategy"] == "formula"
    assert set(found.scores) == {"a", "b", "2"}


def test_errors_come_back_as_the_library_s_own(client, server):
    with pytest.raises(EmptyPoolError):
        client.promote(QUESTION, [])
    with pytest.raises(InputError, match="same id"):
        client.promote(QUESTION, [{"id": "x", "text": "a b"}, {"id": "x", "text": "c d"}])
    with pytest.raises(InputError, match="weight 'no_such'"):
        client.promote(QUESTION, POOL, weights={"no_such": 1.0})
    with pytest.raises(InputError, match="k"):
        client.promote(QUESTION, POOL, k=0)
    with pytest.raises(EndpointError, match="key"):
        Client(server.url, api_key="wrong").stores()
    with pytest.raises(EndpointError, match="cannot reach"):
        Client("http://127.0.0.1:9", api_key="x").ask("?")
    with pytest.raises(EndpointError, match="no store 'nowhere'"):
        client.ask(QUESTION, store="nowhere")


def test_ask_and_its_stream_agree(client):
    whole = client.ask(QUESTION, trace=True)
    assert "Frankfurt" in whole.text
    assert whole.state in {"enough", "ambiguous"}
    assert whole.raw["trace"]["promote"]["paths"]
    cited = whole.citations[0]
    assert cited.quote
    assert cited.path.endswith(".md")
    events = list(client.stream(QUESTION))
    assert [event.text for event in events if event.kind == "stage"] == ["retrieve", "promote"]
    assert "".join(event.text for event in events if event.kind == "words")
    assert events[-1].result.statement == whole.statement


def test_a_request_may_tune_a_store_s_answer(client):
    assert len(client.ask(QUESTION, k=2, units="context").context) == 2
    assert len(client.ask(QUESTION, k=4, units="context", mode="sentence").context) == 4


def test_the_async_client_does_the_same(server):
    async def calls():
        async with AsyncClient(server.url, api_key=KEY) as client:
            found = await asyncio.gather(
                client.promote(QUESTION, POOL, k=2),
                client.ask(QUESTION),
                client.rerank(QUESTION, BODIES, 2),
                client.stores(),
                client.explain(QUESTION, candidates=POOL, k=2),
            )
            events = [event async for event in client.stream(QUESTION)]
            with pytest.raises(InputError):
                await client.promote(QUESTION, POOL, k=0)
            return found, events

    (promoted, asked, ranked, stores, shown), events = asyncio.run(calls())
    with Client(server.url, api_key=KEY) as client:
        assert promoted == client.promote(QUESTION, POOL, k=2)
        assert asked.statement == client.ask(QUESTION).statement
        assert ranked == client.rerank(QUESTION, BODIES, 2)
        assert stores == client.stores()
        assert shown == client.explain(QUESTION, candidates=POOL, k=2)
    assert events[-1].result.statement == asked.statement


def test_explain_holds_what_the_page_draws(client, http):
    shown = client.explain(QUESTION, store="demo")
    assert shown["verdict"]["tone"] in {"good", "unsure"}
    assert shown["answer"]["citations"]
    assert shown["graph"]["nodes"]
    assert shown["paths"][0]["edges"] is not None
    assert shown["steps"][0]["verdict"] == "kept"
    assert shown["picture"].startswith("<svg")
    body = {"question": QUESTION, "store": "demo", "format": "html"}
    page = http.post("/v1/explain", json=body)
    assert page.headers["content-type"].startswith("text/html")
    assert "attachment" in page.headers["content-disposition"]
    assert "http://" not in page.text.replace("http://www.w3.org/2000/svg", "")
    assert "picture_alone" not in page.text
    picture = http.post("/v1/explain", json={**body, "format": "svg"})
    assert picture.text.startswith("<svg")
    assert "picture_alone" not in shown


def test_stores_and_weights(http):
    (store,) = http.get("/v1/stores").json()["stores"]
    assert store["name"] == "demo"
    assert store["units"] >= store["documents"] > 30
    weights = http.get("/v1/weights").json()["weights"]
    assert all(w["low"] <= w["values"][mode] <= w["high"] for w in weights for mode in w["values"])


def test_openapi_describes_every_route_with_examples(http, server):
    document = http.get("/openapi.json").json()
    paths = {route.path for route in server.app.app.routes if hasattr(route, "methods")}
    assert set(document["paths"]) >= {p.replace(":path", "") for p in paths if not p.startswith("/openapi")}
    rerank = document["paths"]["/v2/rerank"]["post"]
    assert len(rerank["requestBody"]["content"]["application/json"]["examples"]) == 5
    assert document["components"]["schemas"]["PromoteRequest"]["examples"]
    for example in rerank["requestBody"]["content"]["application/json"]["examples"].values():
        assert http.post("/v2/rerank", json=example["value"]).status_code == 200


def test_uploads_make_a_store_and_answers_follow_it(tmp_path):
    import httpx

    from .conftest import running

    settings = Settings().updated({"read.reader": "evidence"})
    with (
        running(settings, {"new": str(tmp_path / "new")}) as server,
        httpx.Client(base_url=server.url, timeout=60) as http,
    ):
        assert http.get("/v1/stores").json()["stores"][0]["ready"] is False
        assert http.post("/v1/ask", json={"question": "Who?"}).status_code == 503
        files = [
            (
                "files",
                ("../../zimmer.md", b"# Hans Zimmer\n\nHans Zimmer was born in Frankfurt.", "text/markdown"),
            )
        ]
        reply = http.post("/v1/stores/new/files", files=files)
        assert reply.headers["content-type"].startswith("text/event-stream")
        assert "event: report" in reply.text
        assert (tmp_path / "new.files" / "zimmer.md").is_file()  # the name stays inside its folder
        answer = http.post("/v1/ask", json={"question": "Where was Hans Zimmer born?"}).json()
        assert "Frankfurt" in json.dumps(answer["context"])
        files = [
            ("files", ("zimmer.md", b"# Hans Zimmer\n\nHans Zimmer was born in Toronto.", "text/markdown"))
        ]
        assert "event: report" in http.post("/v1/stores/new/files", files=files).text
        for _ in range(50):
            answer = http.post("/v1/ask", json={"question": "Where was Hans Zimmer born?"}).json()
            if "Toronto" in json.dumps(answer["context"]):
                break
        assert "Toronto" in json.dumps(answer["context"])
        assert "Frankfurt" not in json.dumps(answer["context"])
        bad = http.post("/v1/stores/new/files", files=[("files", ("run.exe", b"MZ", "x/y"))])
        assert bad.status_code == 422
        assert ".md" in bad.json()["message"]
        twice = [("files", (f"{folder}/a.md", b"# A", "text/markdown")) for folder in ("x", "y")]
        assert "same name" in http.post("/v1/stores/new/files", files=twice).json()["detail"]
        assert http.post("/v1/stores/new/files", content=b"x").status_code == 422


def test_re_indexing_changes_no_answer_halfway(tmp_path):
    """While a store is written over, every answer is wholly of the old version or wholly of the new one."""
    import threading

    import httpx

    from pagerag.ingest import index_paths
    from pagerag.retrieve import encoder
    from pagerag.store import open_store

    from .conftest import running

    documents = tmp_path / "documents"
    documents.mkdir()

    def write(version):
        (documents / "film.md").write_text(
            f"# Orion {version}\n\nOrion is a film. Its score was composed by Ada Moss{version}.",
            encoding="utf-8",
        )
        (documents / "moss.md").write_text(
            f"# Ada Moss{version}\n\nAda Moss{version} is a composer. She was born in Town{version}.",
            encoding="utf-8",
        )

    write("A")
    place = tmp_path / "store"
    made = encoder("wordllama")
    index_paths([documents], open_store(place, made, create=True))
    settings = Settings().updated({"read.reader": "evidence"})
    with running(settings, {"s": str(place)}) as server:
        seen, stop, problems = set(), threading.Event(), []

        def asking():
            with httpx.Client(base_url=server.url, timeout=60) as http:
                while not stop.is_set():
                    body = {"question": "Where was the composer of Orion born?", "units": "context"}
                    reply = http.post("/v1/ask", json=body)
                    if reply.status_code != 200:
                        problems.append(reply.text)
                        continue
                    text = json.dumps(reply.json()["context"])
                    versions = frozenset(v for v in "ABCD" if f"Moss{v}" in text)
                    seen.add(versions)

        thread = threading.Thread(target=asking)
        thread.start()
        for version in "BCD":
            write(version)
            index_paths([documents], open_store(place, made))
        stop.wait(1.5)
        stop.set()
        thread.join()
    assert not problems
    assert all(len(versions) == 1 for versions in seen), seen
    assert frozenset("D") in seen


def test_the_document_around_a_passage(http):
    cited = http.post("/v1/ask", json={"question": QUESTION}).json()["citations"][0]
    found = http.get("/v1/stores/demo/source", params={"unit": cited["id"]}).json()
    assert found["path"] == cited["path"]
    assert cited["quote"] in found["text"][found["at"] : found["at"] + found["length"]]
    assert not found["cut_before"]
    assert not found["cut_after"]
    for unit in ("", "nowhere#0", "../../etc/passwd"):
        assert http.get("/v1/stores/demo/source", params={"unit": unit}).status_code == 404
    assert http.get("/v1/stores/none/source", params={"unit": cited["id"]}).status_code == 404


def test_chat_annotations_say_line_and_section(http):
    reply = http.post(
        "/v1/chat/completions", json={"messages": [{"role": "user", "content": QUESTION}]}
    ).json()
    message = reply["choices"][0]["message"]
    place = message["annotations"][0]["pagerag"]
    assert place["line"] >= 1
    assert place["section"] == [] or all(isinstance(part, str) for part in place["section"])
    assert f".md:{place['line']}" in message["content"]


def test_chat_without_an_answer_quotes_the_nearest_passages(http):
    question = "Who invented the transistor radio?"
    asked = {"messages": [{"role": "user", "content": question}]}
    message = http.post("/v1/chat/completions", json=asked).json()["choices"][0]["message"]
    told = http.post("/v1/ask", json={"question": question}).json()
    head, _, passages = message["content"].partition("\n\nNearest passages:\n")
    assert head.startswith("Not enough evidence")
    assert told["nearest"]
    for near in told["nearest"]:
        source = passages[passages.index(f"[{near['number']}]") :].split("\n\n")[0]
        assert " ".join(near["quote"].split()) in source
        assert source.split("\n")[1].startswith("> ")
    for note in message["annotations"]:
        place = note["url_citation"]
        mark = message["content"][place["start_index"] : place["end_index"]]
        assert mark == f"[{note['pagerag']['number']}]"


def test_a_store_without_its_encoder_is_told_the_remedy_of_ask(demo_store, tmp_path, no_encoder, caplog):
    import httpx

    from pagerag.serve import create_app

    stores = {"demo": str(demo_store), "new": str(tmp_path / "new")}
    app = create_app(Settings().updated({"read.reader": "evidence"}), stores)

    async def scene():
        told = asyncio.Queue()
        told.put_nowait({"type": "lifespan.startup"})
        life = asyncio.create_task(app({"type": "lifespan", "state": {}}, told.get, asyncio.Queue().put))
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost", timeout=60) as http:
            asked = await http.post("/v1/ask", json={"question": QUESTION})
            files = [("files", ("b.md", b"# B\n\nText.", "text/markdown"))]
            uploaded = await http.post("/v1/stores/new/files", files=files)
        for _ in range(200):
            if any("not ready" in one.getMessage() for one in caplog.records):
                break
            await asyncio.sleep(0.05)
        told.put_nowait({"type": "lifespan.shutdown"})
        await life
        return asked, uploaded

    asked, uploaded = asyncio.run(scene())
    assert (asked.status_code, asked.json()["message"]) == (501, no_encoder.format("to ask a store"))
    assert no_encoder.format("to index documents") in uploaded.text
    (logged,) = [one for one in caplog.records if "not ready" in one.getMessage()]
    assert logged.fields == {"problem": no_encoder.format("to ask a store")}
    assert not logged.exc_info
