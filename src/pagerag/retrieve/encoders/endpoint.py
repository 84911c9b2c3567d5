"""Embeddings from an OpenAI-compatible endpoint (``POST URL/embeddings``): NV-Embed-v2 and friends."""

from __future__ import annotations

import os
import random
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pagerag._extras import need
from pagerag.errors import EndpointError, InputError, ReaderTimeoutError
from pagerag.retrieve.encoders._text import encodable

__all__ = ["EndpointEncoder"]

_PASSING = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 520, 522, 524, 529})
_FIRST_WAIT, _LONGEST_WAIT = 0.5, 20.0


class EndpointEncoder:
    """Model ``model`` behind ``url`` (``http://host/v1``).

    Texts go out ``batch`` at a time, each with its prefix. A request that may succeed later (no
    connection, 429, 5xx, a broken answer) is tried ``attempts`` times with jittered, doubling waits; the
    server's Retry-After is waited for; nothing goes on past ``deadline`` seconds for one batch. The key
    is ``api_key`` or the environment's ``PAGERAG_EMBEDDING_API_KEY`` or ``OPENAI_API_KEY``; it is never
    part of a message or of the encoder's name. ``dimension`` is asked of the endpoint when it is not given.
    """

    def __init__(
        self,
        model: str,
        url: str,
        *,
        api_key: str | None = None,
        query_prefix: str = "",
        passage_prefix: str = "",
        batch: int = 64,
        timeout: float = 60.0,
        deadline: float = 300.0,
        attempts: int = 6,
        dimension: int | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        if batch < 1 or attempts < 1:
            raise InputError(f"batch and attempts must be at least 1; got {batch} and {attempts}")
        self.model, self.url = model, url.rstrip("/")
        # Prefixes change the vectors: they are part of the name by which a cache or a store knows them.
        marks = f"#{query_prefix}|{passage_prefix}" if query_prefix or passage_prefix else ""
        self.name = f"openai:{model}@{self.url}{marks}"
        self.query_prefix, self.passage_prefix = query_prefix, passage_prefix
        self.batch, self.timeout, self.deadline, self.attempts = batch, timeout, deadline, attempts
        self._key = api_key or os.environ.get("PAGERAG_EMBEDDING_API_KEY") or os.environ.get("OPENAI_API_KEY")
        self._dimension = dimension
        self._sleep = sleep
        self._chance = random.Random()
        self._httpx = need("httpx", "httpx", "chat", "to call an embedding endpoint")
        self._local = threading.local()

    @classmethod
    def parse(cls, text: str, **options: Any) -> EndpointEncoder:
        """From ``MODEL@URL``."""
        model, at, rest = text.partition("@http")
        if not at or not model:
            raise InputError(f"encoder 'openai:{text}' is not of the form openai:MODEL@URL")
        return cls(model, f"http{rest}", **options)

    def __reduce__(self) -> tuple[Any, ...]:
        options = {
            "query_prefix": self.query_prefix,
            "passage_prefix": self.passage_prefix,
            "batch": self.batch,
            "timeout": self.timeout,
            "deadline": self.deadline,
            "attempts": self.attempts,
            "dimension": self._dimension,
            "api_key": self._key,
        }
        return _restore, (self.model, self.url, options)

    @property
    def dimension(self) -> int:
        """How many numbers a vector has; asked of the endpoint the first time."""
        if self._dimension is None:
            self._dimension = int(self._request(["dimension"]).shape[1])
        return self._dimension

    @dimension.setter
    def dimension(self, value: int) -> None:
        self._dimension = value

    def encode_queries(self, texts: Sequence[str], /) -> NDArray[np.float32]:
        """Unit-length rows, one per text."""
        return self._encode([self.query_prefix + text for text in encodable(texts)])

    def encode_passages(self, texts: Sequence[str], /) -> NDArray[np.float32]:
        """Unit-length rows, one per text."""
        return self._encode([self.passage_prefix + text for text in encodable(texts)])

    def _encode(self, texts: list[str]) -> NDArray[np.float32]:
        rows = np.zeros((len(texts), self.dimension), dtype=np.float32)
        for start in range(0, len(texts), self.batch):
            # Endpoints refuse empty input; an empty text is similar to nothing.
            places = [i for i in range(start, min(start + self.batch, len(texts))) if texts[i].strip()]
            if not places:
                continue
            found = self._request([texts[i] for i in places])
            if found.shape[1] != self.dimension:
                raise EndpointError(
                    f"{self.url}: model {self.model!r} gave vectors of {found.shape[1]} numbers, not "
                    f"{self.dimension} as before; is another model behind the endpoint now?"
                )
            rows[places] = found
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        rows /= np.where(lengths > 0, lengths, 1)
        return rows

    def _request(self, texts: list[str]) -> NDArray[np.float32]:
        end = time.monotonic() + self.deadline
        trouble = ""
        for attempt in range(1, self.attempts + 1):
            left = end - time.monotonic()
            if left <= 0:
                break
            asked: float | None = None
            try:
                answer = self._client().post(
                    f"{self.url}/embeddings",
                    json={"model": self.model, "input": texts, "encoding_format": "float"},
                    headers={"Authorization": f"Bearer {self._key}"} if self._key else {},
                    timeout=min(self.timeout, left),
                )
            except self._httpx.TransportError as problem:
                trouble = f"{type(problem).__name__}: {problem}"
            else:
                if answer.status_code == 200:
                    try:
                        return _vectors(answer.json(), len(texts))
                    except (ValueError, KeyError, TypeError) as problem:
                        trouble = f"an answer that is not a list of {len(texts)} embeddings ({problem})"
                elif answer.status_code in _PASSING:
                    trouble = f"status {answer.status_code}"
                    asked = _retry_after(answer.headers)
                else:
                    raise EndpointError(
                        f"{self.url}/embeddings refused {self.model!r} with status {answer.status_code}: "
                        f"{answer.text[:200]!r}; check the address, the model's name and the API key"
                    )
            if attempt < self.attempts:
                ceiling = min(_LONGEST_WAIT, _FIRST_WAIT * 2 ** (attempt - 1))
                wait = self._chance.uniform(0, ceiling) + (asked or 0.0)
                if time.monotonic() + wait >= end:
                    break
                self._sleep(wait)
        if time.monotonic() >= end:
            raise ReaderTimeoutError(
                f"{self.url}/embeddings gave nothing in {self.deadline:g} s; last: {trouble or 'no answer'}"
            )
        raise EndpointError(
            f"{self.url}/embeddings gave no embeddings in {attempt} tries; last: {trouble or 'no answer'}"
        )

    def _client(self) -> Any:
        mine = getattr(self._local, "mine", None)
        if mine is None or mine[0] != os.getpid():
            mine = (os.getpid(), self._httpx.Client())
            self._local.mine = mine
        return mine[1]


def _restore(model: str, url: str, options: dict[str, Any]) -> EndpointEncoder:
    return EndpointEncoder(model, url, **options)


def _vectors(body: Any, count: int) -> NDArray[np.float32]:
    data = sorted(body["data"], key=lambda item: int(item["index"]))
    rows = np.array([item["embedding"] for item in data], dtype=np.float32)
    if rows.ndim != 2 or len(rows) != count or not rows.shape[1]:
        raise ValueError(f"got shape {rows.shape}")
    if not np.isfinite(rows).all():
        raise ValueError("numbers that are not finite")
    return rows


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds the server asks to wait, given as seconds or as a date; None when it does not say."""
    value = headers.get("retry-after", "").strip()
    try:
        return min(max(0.0, float(value)), 3600.0)
    except ValueError:
        pass
    try:
        moment = parsedate_to_datetime(value)
    except (ValueError, TypeError):
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return max(0.0, (moment - datetime.now(UTC)).total_seconds())
