"""Replies of a server that may be broken or hostile: bounded, decoded, and quoted without secrets."""

from __future__ import annotations

import json
import zlib
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

from pagerag._secrets import Secret, redact
from pagerag._visible import visible, well_formed
from pagerag.errors import EndpointError

LARGEST_REPLY = 16 * 1024 * 1024
"""Bytes of a reply after decompression, unless a caller allows more."""
_LONGEST_NUMBER = 18
_QUOTED = 64 * 1024
"""Bytes of a reply that are looked at to quote it in a message."""


class TransientError(Exception):
    """One try failed in a way that may pass; ``retry_after`` is the wait in seconds the server asked for."""

    def __init__(self, message: str, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class HttpReply:
    """One HTTP reply, read in bounded pieces.

    httpx would unpack a whole chunk at once, and several codings one over the other: 1 MB of nested gzip
    becomes gigabytes. Here one coding at most is unpacked, a piece at a time.
    """

    def __init__(self, response: Any) -> None:
        self._response = response
        self.status = int(response.status_code)
        self.headers = response.headers
        self.kind = str(response.headers.get("content-type", "")).lower()

    async def body(self, most: int = LARGEST_REPLY) -> bytes:
        """Return the whole body, or raise EndpointError when it is larger than ``most`` bytes."""
        data = bytearray()  # a list of pieces would take many times the bound, were each of two bytes
        async for piece in self._pieces(most):
            data += piece
        return bytes(data)

    async def lines(self, most: int = LARGEST_REPLY) -> AsyncIterator[str]:
        """Yield the lines of the body as they come, ``most`` bytes in all."""
        held = bytearray()
        async for piece in self._pieces(most):
            held += piece
            if b"\n" in piece:
                *whole, rest = bytes(held).split(b"\n")
                held = bytearray(rest)
                for line in whole:
                    yield line.decode("utf-8", "replace").rstrip("\r")
        if held:
            yield bytes(held).decode("utf-8", "replace")

    async def _pieces(self, most: int) -> AsyncIterator[bytes]:
        coding = str(self.headers.get("content-encoding", "")).strip().lower()
        if coding not in ("", "identity", "gzip", "x-gzip", "deflate"):
            raise TransientError(
                f"the reply is packed as {excerpt(coding.encode())!r}, which was not asked for"
            )
        # 32 + 15: zlib and gzip headers are told apart
        unpack = None if coding in ("", "identity") else zlib.decompressobj(wbits=47)
        left = most
        async for chunk in self._response.aiter_raw():
            try:
                # What is longer than allowed by one byte is too long: no more of it is unpacked.
                piece = chunk if unpack is None else unpack.decompress(chunk, left + 1)
            except zlib.error as problem:
                raise TransientError(f"the compressed reply is damaged ({problem})") from problem
            left -= len(piece)
            if left < 0:
                raise EndpointError(f"the reply is larger than {most:,} bytes; this is no model endpoint")
            yield piece
        if unpack is not None and not unpack.eof:
            raise TransientError("the compressed reply ended too early")


def decode_json(data: bytes, secrets: Sequence[Secret] = ()) -> Any:
    """Return the JSON value in ``data``; raise TransientError for anything else, a proxy may have said it.

    What the endpoint itself reports as an error may pass as well.
    """
    try:
        value = json.loads(data, parse_int=_whole)
    except (ValueError, RecursionError) as problem:
        deep = "is nested too deeply" if isinstance(problem, RecursionError) else "is not JSON"
        raise TransientError(f"the reply {deep} ({len(data):,} bytes: {excerpt(data, secrets)})") from None
    if isinstance(value, Mapping) and value.get("error"):
        raise TransientError(f"the endpoint reports an error: {excerpt(data, secrets)}")
    return value


def _whole(digits: str) -> int | float:
    # Python refuses 4,301 digits with a ValueError and takes 4,300: what no counter holds becomes a float.
    return int(digits) if len(digits) <= _LONGEST_NUMBER else float(digits)


def count_of(value: Any) -> int | None:
    """Return ``value`` when it can be a count of tokens, else None."""
    whole = isinstance(value, int) and not isinstance(value, bool)
    return value if whole and 0 <= value < 2**53 else None


def text_of(value: Any, most: int = 200) -> str:
    """Return a short text of the reply, such as a model's name, made fit to be stored and printed."""
    return well_formed(visible(value[:most])) if isinstance(value, str) else ""


def excerpt(data: bytes, secrets: Sequence[Secret] = (), most: int = 160) -> str:
    """Return the beginning of a reply for a message: visible characters on one line, secrets starred."""
    text = " ".join(visible(data[:_QUOTED].decode("utf-8", "replace")).split())
    if len(data) > _QUOTED:  # a secret may have been cut in two
        text = text[: max(0, len(text) - max((len(s.reveal()) for s in secrets), default=0))]
    text = redact(text, secrets)
    return text[:most] + ("…" if len(text) > most else "")
