"""Embeddings from an OpenAI-compatible endpoint (``POST URL/embeddings``): NV-Embed-v2 and friends."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pagerag._secrets import Secret, shown_url
from pagerag.endpoint import Endpoint, RetryPolicy
from pagerag.errors import EndpointError, InputError
from pagerag.retrieve.encoders._shared import encodable, unit_rows

_LARGEST = 64 * 1024 * 1024
"""Bytes of one reply: 64 vectors of 16,384 numbers take some 20 MB."""


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
        retry: RetryPolicy | None = None,
    ) -> None:
        if batch < 1 or attempts < 1:
            raise InputError(f"batch and attempts must be at least 1; got {batch} and {attempts}")
        self.model, self.url = model, url.rstrip("/")
        # Prefixes change the vectors: they are part of the name by which a cache or a store knows them.
        marks = f"#{query_prefix}|{passage_prefix}" if query_prefix or passage_prefix else ""
        self.name = f"openai:{model}@{shown_url(self.url)}{marks}"
        self.query_prefix, self.passage_prefix = query_prefix, passage_prefix
        self.batch, self.timeout, self.deadline, self.attempts = batch, timeout, deadline, attempts
        self._key = api_key or os.environ.get("PAGERAG_EMBEDDING_API_KEY") or os.environ.get("OPENAI_API_KEY")
        self._dimension = dimension
        self.retry = retry or RetryPolicy(attempts=attempts)
        self._endpoint = Endpoint(
            self.url,
            key=Secret(self._key or ""),
            connect_timeout=timeout,
            read_timeout=timeout,
            write_timeout=timeout,
            deadline=deadline,
            retry=self.retry,
            what="the embedding endpoint",
            setting="the encoder's address",
            key_hint="set PAGERAG_EMBEDDING_API_KEY",
            remarks={404: f"check the address ({shown_url(self.url)}) and the model's name ({model})"},
        )

    @classmethod
    def parse(cls, text: str, **options: Any) -> EndpointEncoder:
        """Make an encoder from ``MODEL@URL``."""
        model, at, rest = text.partition("@http")
        if not at or not model:
            raise InputError(f"encoder 'openai:{text}' is not of the form openai:MODEL@URL")
        return cls(model, f"http{rest}", **options)

    def __reduce__(self) -> tuple[Any, ...]:
        kept = "query_prefix passage_prefix batch timeout deadline attempts retry".split()
        options = {name: getattr(self, name) for name in kept} | {"dimension": self._dimension}
        return partial(EndpointEncoder, self.model, self.url, api_key=self._key, **options), ()

    @property
    def dimension(self) -> int:
        """How many numbers a vector has; asked of the endpoint the first time."""
        # No cached_property: until Python 3.12 one silent endpoint would hold its lock for all encoders.
        if self._dimension is None:
            self._dimension = int(self._request(["dimension"]).shape[1])
        return self._dimension

    def encode_queries(self, texts: Sequence[str], /) -> NDArray[np.float32]:
        """Return unit-length rows, one per text."""
        return self._encode([self.query_prefix + text for text in encodable(texts)])

    def encode_passages(self, texts: Sequence[str], /) -> NDArray[np.float32]:
        """Return unit-length rows, one per text."""
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
                    f"{self._endpoint.place}: model {self.model!r} gave vectors of {found.shape[1]} numbers, "
                    f"not {self.dimension} as before; is another model behind the endpoint now?"
                )
            rows[places] = found
        return unit_rows(rows)

    def close(self) -> None:
        """Close the connections; the next request opens them again."""
        self._endpoint.close()

    def _request(self, texts: list[str]) -> NDArray[np.float32]:
        body = {"model": self.model, "input": texts, "encoding_format": "float"}
        return self._endpoint.ask(
            "embeddings", body, lambda reply: _vectors(reply, len(texts)), most=_LARGEST
        )


def _vectors(body: Any, count: int) -> NDArray[np.float32]:
    data = sorted(body["data"], key=lambda item: int(item["index"]))
    rows = np.array([item["embedding"] for item in data], dtype=np.float32)
    if rows.ndim != 2 or len(rows) != count or not rows.shape[1]:
        raise ValueError(f"got shape {rows.shape}")
    if not np.isfinite(rows).all():
        raise ValueError("numbers that are not finite")
    return rows
