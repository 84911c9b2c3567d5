"""Request bodies: bounded in size and time, decoded strictly."""

from __future__ import annotations

import asyncio
from typing import Any, TypeVar

import orjson
from pydantic import BaseModel, ValidationError
from starlette.requests import ClientDisconnect, Request

from pagerag.serve.gate import ClientGoneError
from pagerag.serve.problems import Problem, Refused, Unusable

M = TypeVar("M", bound=BaseModel)


async def read_bytes(request: Request, most: int, seconds: float) -> bytes:
    """Return the whole body, at most ``most`` bytes that arrive within ``seconds``."""
    said = request.headers.get("content-length", "")
    if said.isdecimal() and int(said) > most:
        raise _too_large(most)
    parts: list[bytes] = []
    size = 0
    try:
        async with asyncio.timeout(seconds):
            async for chunk in request.stream():
                size += len(chunk)
                if size > most:
                    raise _too_large(most)
                parts.append(chunk)
    except TimeoutError:
        raise Problem(
            408,
            "slow_client",
            f"the request did not arrive within {seconds:g} s (setting serve.body_timeout)",
        ) from None
    except ClientDisconnect:
        raise ClientGoneError from None
    return b"".join(parts)


def _too_large(most: int) -> Refused:
    return Refused(f"the request is larger than {most:,} bytes (setting serve.max_body_mb)")


def decoded(data: bytes) -> Any:
    """Return a body as JSON: UTF-8, no NaN, not nested beyond the parser's bound."""
    if not data.strip():
        raise Problem(400, "invalid_json", "the body is empty; send a JSON object")
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError as problem:
        raise Problem(400, "invalid_json", f"the body is not valid JSON in UTF-8: {problem}") from None


def read_model(kind: type[M], data: object) -> M:
    """Return ``data`` as a checked model; the first thing that is wrong is named."""
    try:
        return kind.model_validate(data)
    except ValidationError as problem:
        first = problem.errors(include_url=False, include_input=False)[0]
        place = ".".join(str(part) for part in first["loc"])
        raise Unusable(f"{place}: {first['msg']}" if place else first["msg"], field=place or None) from None


def watch(request: Request) -> asyncio.Task[None]:
    """Return a task that ends when the client goes away. The body must have been read before."""

    async def wait() -> None:
        while (await request.receive())["type"] != "http.disconnect":
            pass

    return asyncio.create_task(wait())
