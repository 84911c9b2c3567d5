"""The HTTP client: one pool of connections, bounded retries, a real deadline, a key that never shows.

A request ends in what the caller's function made of the reply, or in an error of ``pagerag.errors``:
EndpointTimeoutError when the deadline has passed, EndpointError when the server refuses or every try failed,
SettingsError when the address or the key cannot be used. Redirects are not followed, because they would carry
the key to another host.
"""

from __future__ import annotations

import asyncio
import json
import math
import random
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError
from contextlib import AbstractContextManager, asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, TypeVar
from urllib.parse import urlsplit

from pagerag._extras import need
from pagerag._secrets import Secret, redact, shown_url, url_secrets
from pagerag.endpoint.loop import LoopThread
from pagerag.endpoint.replies import LARGEST_REPLY, HttpReply, TransientError, decode_json, excerpt
from pagerag.errors import EndpointError, EndpointTimeoutError, SettingsError
from pagerag.settings import ChatSettings

T = TypeVar("T")

_HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_NO_KEY = Secret()
RETRIED_STATUS = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 520, 522, 524, 529})
"""HTTP states that may pass by themselves. Everything else of 400 and above will not."""


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """Try at most ``attempts`` times; waits double from ``first_wait`` to ``longest_wait``, with full jitter.

    Jitter spreads the clients of an endpoint that just came back. A server's own Retry-After is a lower
    bound that jitter never undercuts.
    """

    attempts: int = 6
    first_wait: float = 0.5
    longest_wait: float = 20.0

    def __post_init__(self) -> None:
        if self.attempts < 1 or self.first_wait < 0 or self.longest_wait < self.first_wait:
            raise SettingsError(
                f"impossible retry policy {self}: attempts must be at least 1 and "
                "0 <= first_wait <= longest_wait"
            )

    def wait(self, attempt: int, asked: float | None, chance: random.Random) -> float:
        """Return the seconds to wait after the failed try number ``attempt`` (from 1).

        ``asked`` is what the server asked for, ``chance`` makes the jitter.
        """
        ceiling = min(self.longest_wait, self.first_wait * 2 ** (attempt - 1))
        jitter = chance.uniform(0, ceiling)
        return jitter if asked is None else asked + min(jitter, 0.25 * self.first_wait)


def retry_after(headers: Mapping[str, str], now: datetime | None = None) -> float | None:
    """Return the seconds that Retry-After (seconds or a date) asks to wait; None if unreadable."""
    value = headers.get("retry-after", "").strip()
    with suppress(ValueError):
        seconds = float(value)
        return seconds if 0 <= seconds < math.inf else None
    try:
        moment = parsedate_to_datetime(value)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return max(0.0, (moment - (now or datetime.now(UTC))).total_seconds())


@dataclass(slots=True)
class Attempts:
    """How often one question has been sent, what went wrong, and when the loop's clock says it must end."""

    until: float = math.inf
    count: int = 0
    problems: list[str] = field(default_factory=list)


Take = Callable[[HttpReply], Awaitable[T]]
"""What makes something of a reply; it raises TransientError for what may pass."""


class Endpoint(LoopThread, AbstractContextManager["Endpoint"]):
    """An OpenAI-compatible server at ``url`` (up to and including ``/v1``). Thread-safe, also after a fork.

    ``deadline`` bounds one question in seconds, everything included. ``what`` names the endpoint in messages,
    ``key_hint`` says there where the key is set; ``remarks`` are added to messages about an HTTP status.
    ``secrets`` are more values that a server might repeat and that must not be printed; the attribute of that
    name holds them with the key and what the address holds.
    """

    def __init__(
        self,
        url: str,
        *,
        key: Secret = _NO_KEY,
        auth_header: str = "Authorization",
        connect_timeout: float = 10.0,
        read_timeout: float = 60.0,
        write_timeout: float = 10.0,
        deadline: float = 120.0,
        concurrency: int = 8,
        retry: RetryPolicy | None = None,
        what: str = "the endpoint",
        setting: str = "the address",
        key_hint: str = "set one",
        deadline_hint: str = "allow more time if the model is merely slow",
        remarks: Mapping[int, str] | None = None,
        secrets: Sequence[Secret] = (),
    ) -> None:
        super().__init__()
        self.url, self.deadline, self.concurrency = url.rstrip("/"), deadline, concurrency
        self.retry = retry or RetryPolicy()
        self._key, self._auth_header = key, auth_header
        self.secrets = (key, *url_secrets(url), *secrets)
        self._timeouts = {"connect": connect_timeout, "read": read_timeout, "write": write_timeout}
        self._what, self._setting = what, setting
        self._key_hint, self._deadline_hint = key_hint, deadline_hint
        self._remarks = {
            401: f"the key is missing or wrong: {key_hint}",
            403: "the key may not use this model",
            404: f"check the address ({shown_url(url)}) and the model's name",
            413: "the request is too long: send less text",
            422: "the endpoint does not take this request",
            **(remarks or {}),
        }
        self._chance = random.Random()
        self._client: Any = None
        self._gate: asyncio.Semaphore | None = None
        self._client_loop: asyncio.AbstractEventLoop | None = None

    @classmethod
    def of(cls, settings: ChatSettings, retry: RetryPolicy | None = None) -> Endpoint:
        """Return the endpoint that the chat settings describe."""
        shown = shown_url(settings.base_url)
        same = "auth_header connect_timeout read_timeout write_timeout deadline concurrency".split()
        return cls(
            settings.base_url,
            key=settings.key(),
            **{name: getattr(settings, name) for name in same},
            retry=retry or RetryPolicy(attempts=settings.attempts),
            what="the chat endpoint",
            setting="chat.base_url",
            key_hint="set PAGERAG_CHAT_API_KEY",
            deadline_hint="raise chat.deadline if the model is merely slow",
            remarks={
                404: f"check chat.base_url ({shown}) and chat.model ({settings.model})",
                413: "the context is too long: lower promote.k or promote.max_tokens",
                422: "the endpoint does not take this request: check chat.token_field and chat.extra",
            },
            secrets=[Secret(text) for text in _texts(settings.extra) if len(text) >= 8],
        )

    @property
    def place(self) -> str:
        """The endpoint as messages name it, without anything secret."""
        return f"{self._what} {urlsplit(shown_url(self.url)).netloc or shown_url(self.url)!r}"

    def ask(
        self, path: str, body: Mapping[str, Any], parse: Callable[[Any], T], *, most: int = LARGEST_REPLY
    ) -> T:
        """Post ``body`` as JSON to ``path`` and return what ``parse`` makes of the reply's JSON; blocks.

        ``parse`` raises ValueError, KeyError, IndexError or TypeError for a reply of another shape, which
        counts as one failed try. ``most`` bounds the reply in bytes.
        """
        return self.run(self._ask(path, body, parse, most))

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Wait for ``work``, a coroutine that uses this endpoint."""
        try:
            return super().run(work)
        except CancelledError:
            raise EndpointError(f"{self.place} was closed while a request was under way") from None

    @asynccontextmanager
    async def within_deadline(self) -> AsyncIterator[Attempts]:
        """Bound what happens inside to ``deadline`` seconds; EndpointTimeoutError tells what was tried."""
        attempts = Attempts()
        try:
            async with asyncio.timeout(self.deadline) as limit:
                attempts.until = limit.when() or math.inf
                yield attempts
        except TimeoutError as problem:
            last = f"; last problem: {attempts.problems[-1]}" if attempts.problems else ""
            raise EndpointTimeoutError(
                f"{self.place} gave no answer within {self.deadline:g} s "
                f"({attempts.count} tries{last}); {self._deadline_hint}"
            ) from problem

    async def post(self, path: str, body: Mapping[str, Any], take: Take[T], attempts: Attempts) -> T:
        """Post ``body`` until ``take`` has made something of a reply with status 200, or tries are used up.

        Call it inside ``within_deadline``.
        """
        url, headers = self._address(path), self._headers()
        content = (await asyncio.to_thread(json.dumps, body)).encode()
        async with self._client_and_gate() as client:
            for attempt in range(1, self.retry.attempts + 1):
                attempts.count = attempt
                try:
                    sent = client.stream("POST", url, content=content, headers=headers)
                    return await self._once(sent, take)
                except TransientError as problem:
                    said = redact(str(problem), self.secrets)
                    attempts.problems.append(said)
                    if attempt == self.retry.attempts:
                        raise EndpointError(
                            f"{self.place} failed {attempt} times; the last time: {said}"
                        ) from None  # the cause may quote the server, and the server may quote the key
                    wait = self.retry.wait(attempt, problem.retry_after, self._chance)
                    if asyncio.get_running_loop().time() + wait >= attempts.until:
                        raise TimeoutError from problem  # waiting would end at the deadline: say so now
                    await asyncio.sleep(wait)
        raise AssertionError  # pragma: no cover - a policy has one attempt at least

    def close(self) -> None:
        """Close the connections; the next request opens them again."""
        client, self._client = self._client, None
        if client is not None:
            super().run(client.aclose())
        super().close()

    def __exit__(self, *exc: object) -> None:
        self.close()

    async def _ask(self, path: str, body: Mapping[str, Any], parse: Callable[[Any], T], most: int) -> T:
        async def take(reply: HttpReply) -> T:
            data = await reply.body(most)
            return await asyncio.to_thread(_parsed, data, parse, self.secrets)

        async with self.within_deadline() as attempts:
            return await self.post(path, body, take, attempts)

    async def _once(self, sent: Any, take: Take[T]) -> T:
        httpx = need("httpx", "httpx", "chat", "model endpoints")
        try:
            async with sent as response:
                reply = HttpReply(response)
                if reply.status != 200:
                    await self._refuse(reply)
                return await take(reply)
        except (httpx.UnsupportedProtocol, httpx.InvalidURL) as problem:
            raise self._bad_address(str(problem)) from None
        except httpx.RequestError as problem:
            raise TransientError(f"{type(problem).__name__}: {problem}".rstrip(": ")) from None
        except EndpointError as problem:
            # What a server said is quoted in few places; none of them may repeat a secret.
            problem.args = (redact(str(problem), self.secrets),)
            raise

    async def _refuse(self, reply: HttpReply) -> None:
        said = excerpt(await reply.body(), self.secrets)
        remark = f"; {self._remarks[reply.status]}" if reply.status in self._remarks else ""
        message = f"HTTP {reply.status}{remark}{f' (it says: {said})' if said else ''}"
        if reply.status in RETRIED_STATUS:
            raise TransientError(message, retry_after(reply.headers))
        raise EndpointError(f"{self.place} answered {message}", status=reply.status)

    def _address(self, path: str) -> str:
        try:
            parts = urlsplit(self.url)
            usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
        except ValueError:
            usable = False
        if not usable:
            raise self._bad_address("http:// or https:// and a host are needed")
        return f"{self.url}/{path.lstrip('/')}"

    def _bad_address(self, reason: str) -> SettingsError:
        return SettingsError(
            f"{self._setting} {shown_url(self.url)!r} is no usable address ({redact(reason, self.secrets)}); "
            "it should look like https://host/v1"
        )

    def _headers(self) -> dict[str, str]:
        sent = {"Content-Type": "application/json", "Accept-Encoding": "gzip", "User-Agent": "pagerag"}
        if not _HEADER_NAME.fullmatch(self._auth_header):
            raise SettingsError(
                f"the name of the header for the key of {self._what} holds characters that no header may have"
            )
        if self._key:
            value = self._key.reveal()
            if not (value.isascii() and value.isprintable()) or value != value.strip():
                raise SettingsError(
                    f"the key of {self._what} holds a line break, a space at an end or a character outside "
                    f"ASCII; no key has these, it was probably copied with something else: {self._key_hint}"
                )
            bearer = self._auth_header.lower() == "authorization"
            sent[self._auth_header] = f"Bearer {value}" if bearer else value
        return sent

    @asynccontextmanager
    async def _client_and_gate(self) -> AsyncIterator[Any]:
        loop = asyncio.get_running_loop()
        if self._client is None or self._gate is None or self._client_loop is not loop:
            httpx = need("httpx", "httpx", "chat", "model endpoints")
            self._client = httpx.AsyncClient(
                timeout=httpx.Timeout(**self._timeouts, pool=None),
                limits=httpx.Limits(
                    max_connections=self.concurrency, max_keepalive_connections=self.concurrency
                ),
                follow_redirects=False,
            )
            self._gate, self._client_loop = asyncio.Semaphore(self.concurrency), loop
        async with self._gate:
            yield self._client


def _parsed(data: bytes, parse: Callable[[Any], T], secrets: Sequence[Secret]) -> T:
    value = decode_json(data, secrets)
    try:
        return parse(value)
    except (ValueError, KeyError, IndexError, TypeError, OverflowError) as problem:
        raise TransientError(
            f"the reply is not what was asked for ({type(problem).__name__}): {excerpt(data, secrets)}"
        ) from None


def _texts(value: Any) -> Iterator[str]:
    """Yield every text inside nested tables and lists."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping | list | tuple):
        for item in value.values() if isinstance(value, Mapping) else value:
            yield from _texts(item)
