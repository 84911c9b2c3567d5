"""What a request can be refused for, and how each protocol writes a refusal."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pagerag.errors import (
    BackendError,
    EndpointError,
    FormatError,
    InputError,
    MissingExtraError,
    PageRAGError,
    ReaderError,
    ReaderTimeoutError,
    SettingsError,
    StoreError,
)


@dataclass(slots=True)
class Problem(Exception):  # noqa: N818 - "problem" is what RFC 9457 calls it
    """A request that ends in an error status. ``kind`` is stable and meant for programs."""

    status: int
    kind: str
    message: str
    field: str | None = None
    retry_after: float | None = None

    def __str__(self) -> str:
        return self.message

    @property
    def headers(self) -> dict[str, str]:
        """Headers that belong to the status."""
        if self.retry_after is None:
            return {}
        return {"Retry-After": str(max(1, math.ceil(self.retry_after)))}


class Unusable(Problem):
    """The request's content cannot be used: 422."""

    def __init__(self, message: str, *, field: str | None = None, kind: str = "InputError") -> None:
        super().__init__(422, kind, message, field)


class Refused(Problem):
    """The request is larger than the server's limits: 413."""

    def __init__(self, message: str, *, field: str | None = None) -> None:
        super().__init__(413, "too_large", message, field)


# The first class that fits wins; what is not listed is a fault of ours.
_STATUS: tuple[tuple[type[PageRAGError], int], ...] = (
    (ReaderTimeoutError, 504),
    (EndpointError, 502),
    (ReaderError, 502),
    (BackendError, 502),
    (InputError, 422),
    (FormatError, 422),
    (SettingsError, 422),
    (MissingExtraError, 501),
    (StoreError, 503),
)


FAULT = Problem(500, "internal", "an unexpected error; the server's log has it under the request id")


def problem_of(error: PageRAGError) -> Problem:
    """Return the status and the words for one of the library's own errors."""
    status = next((code for kind, code in _STATUS if isinstance(error, kind)), None)
    return FAULT if status is None else Problem(status, type(error).__name__, str(error))


def shape(path: str, problem: Problem, request_id: str) -> Mapping[str, Any]:
    """Return the error body that clients of ``path`` read.

    Rerank clients read ``detail`` (Jina, Voyage), ``message`` (Cohere) or ``error`` and ``error_type`` (TEI);
    OpenAI's read an object ``error``; DashScope's read ``code``.
    """
    if path.startswith(("/v1/chat/", "/v1/models")):
        kind = "invalid_request_error" if problem.status < 500 else "server_error"
        if problem.status == 401:
            kind = "authentication_error"
        elif problem.status == 429:
            kind = "rate_limit_error"
        return {
            "error": {
                "message": problem.message, "type": kind, "code": problem.kind, "param": problem.field,
                "request_id": request_id,
            }
        }  # fmt: skip
    if path.startswith("/api/v1/services/"):
        return {"code": problem.kind, "message": problem.message, "request_id": request_id}
    return {
        "detail": problem.message,
        "message": problem.message,
        "error": problem.message,
        "error_type": problem.kind,
        "field": problem.field,
        "request_id": request_id,
    }
