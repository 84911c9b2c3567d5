"""The MCP tools, by the SDK's own client, over stdio and streamable HTTP."""

from __future__ import annotations

import asyncio
import subprocess
import sys

import pytest

from .conftest import BODIES, GOLD, KEY, QUESTION, TEXTS, TITLES

pytest.importorskip("mcp", reason="mcp is not installed (extra mcp)")
pytestmark = pytest.mark.integration


async def use(client):
    tools = {tool.name: tool for tool in (await client.list_tools()).tools}
    assert set(tools) == {"select_evidence", "ask", "search"}
    assert tools["select_evidence"].description
    picked = await client.call_tool("select_evidence", {"question": QUESTION, "passages": TEXTS, "k": 2})
    assert not picked.is_error
    told = picked.structured_content
    assert {passage["index"] for passage in told["passages"]} == GOLD
    assert told["state"] in {"enough", "ambiguous"}
    objects = [{"title": title, "text": body} for title, body in zip(TITLES, BODIES, strict=True)]
    again = await client.call_tool(
        "select_evidence", {"question": QUESTION, "passages": ["", *objects], "k": 2}
    )
    assert {passage["index"] - 1 for passage in again.structured_content["passages"]} == GOLD
    asked = (await client.call_tool("ask", {"question": QUESTION})).structured_content
    assert "Frankfurt" in asked["statement"]
    assert asked["sources"][0]["path"].endswith(".md")
    found = (await client.call_tool("search", {"question": QUESTION, "k": 3})).structured_content
    assert {"Hans Zimmer"} <= {passage["title"] for passage in found["passages"]}
    for name, arguments in (
        ("ask", {"question": QUESTION, "store": "nowhere"}),
        ("select_evidence", {"question": QUESTION, "passages": []}),
        ("select_evidence", {"question": QUESTION, "passages": ["x"] * 2000}),
    ):
        failed = await client.call_tool(name, arguments)
        assert failed.is_error
        assert failed.content[0].text


def test_the_tools_over_http_need_no_fastapi():
    """The extra ``mcp`` does not bring it."""
    code = "import sys; sys.modules['fastapi'] = None; import pagerag.serve.tools, pagerag.serve.process"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_over_stdio(demo_store):
    from mcp.client.client import Client
    from mcp.client.stdio import StdioServerParameters, stdio_client

    command = StdioServerParameters(
        command=sys.executable,
        args=["-m", "pagerag", "mcp", "--store", f"demo={demo_store}", "--reader", "evidence"],
    )

    async def scene():
        async with Client(stdio_client(command)) as client:
            await use(client)

    asyncio.run(asyncio.wait_for(scene(), 90))


def test_over_http_with_a_key(demo_store, settings):
    import threading

    import httpx2
    import uvicorn
    from mcp.client.client import Client
    from mcp.client.streamable_http import streamable_http_client

    from pagerag.serve.process import bind
    from pagerag.serve.tools import http_app

    listening = bind("127.0.0.1", 0)
    url = f"http://127.0.0.1:{listening.getsockname()[1]}/mcp"
    server = uvicorn.Server(
        uvicorn.Config(http_app(settings, {"demo": str(demo_store)}), log_config=None, lifespan="on")
    )
    thread = threading.Thread(target=lambda: asyncio.run(server.serve(sockets=[listening])), daemon=True)
    thread.start()

    async def scene():
        while not server.started:
            await asyncio.sleep(0.02)
        async with httpx2.AsyncClient() as bare:
            assert (await bare.post(url, json={})).status_code == 401
        async with (
            httpx2.AsyncClient(headers={"Authorization": f"Bearer {KEY}"}, timeout=60) as http,
            Client(streamable_http_client(url, http_client=http)) as client,
        ):
            await use(client)

    try:
        asyncio.run(asyncio.wait_for(scene(), 90))
    finally:
        server.should_exit = True
        thread.join(20)


def test_a_store_that_cannot_be_opened_is_told_and_stops_no_other(demo_store, settings, tmp_path):
    from mcp.client.client import Client

    from pagerag.serve.tools import mcp_server

    (tmp_path / "corpus.sqlite").write_bytes(b"no database" * 1000)
    server, service = mcp_server(settings, {"broken": str(tmp_path), "whole": str(demo_store)})

    async def scene():
        async with Client(server) as client:
            tools = [("ask", "broken"), ("search", "broken"), ("ask", "whole"), ("search", "whole")]
            return [await client.call_tool(tool, {"question": QUESTION, "store": at}) for tool, at in tools]

    try:
        *failed, answered, found = asyncio.run(asyncio.wait_for(scene(), 90))
    finally:
        service.close()
    for one in failed:
        assert one.is_error
        assert str(tmp_path) in one.content[0].text
    assert "Frankfurt" in answered.structured_content["statement"]
    assert not found.is_error
