"""What a request can be refused for, and how each protocol writes a refusal."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pagerag import errors


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


class ClientGoneError(Problem):
    """Nobody waits for the answer any more: 499, which nobody reads; it stands in the log."""

    def __init__(self) -> None:
        super().__init__(499, "client_gone", "the client has gone away")


# The first class that fits wins; what is not listed is a fault of ours.
_STATUS = (
    (504, errors.ReaderTimeoutError),
    (502, (errors.EndpointError, errors.ReaderError, errors.BackendError)),
    (422, (errors.InputError, errors.FormatError, errors.SettingsError)),
    (501, errors.MissingExtraError),
    (503, errors.StoreError),
)

FAULT = Problem(500, "internal", "an unexpected error; the server's log has it under the request id")


def problem_of(error: Exception) -> Problem:
    """Return the status and the words for one of the library's own errors; others are faults of ours."""
    if isinstance(error, Problem):
        return error
    status = next((code for code, kinds in _STATUS if isinstance(error, kinds)), None)
    return FAULT if status is None else Problem(status, type(error).__name__, str(error))


def shape(path: str, problem: Problem, request_id: str) -> Mapping[str, Any]:
    """Return the error body that clients of ``path`` read.

    Rerank clients read ``detail`` (Jina, Voyage), ``message`` (Cohere) or ``error`` and ``error_type`` (TEI);
    OpenAI's read an object ``error``; DashScope's read ``code``.
    """
    kind, message, told = problem.kind, problem.message, {"request_id": request_id}
    if path.startswith(("/v1/chat/", "/v1/models")):
        usual = "invalid_request_error" if problem.status < 500 else "server_error"
        sort = {401: "authentication_error", 429: "rate_limit_error"}.get(problem.status, usual)
        return {"error": {"message": message, "type": sort, "code": kind, "param": problem.field, **told}}
    if path.startswith("/api/v1/services/"):
        return {"code": kind, "message": message, **told}
    words = dict.fromkeys(("detail", "message", "error"), message)
    return {**words, "error_type": kind, "field": problem.field, **told}
