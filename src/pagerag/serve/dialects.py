"""The wire formats of rerank clients: one request in, one answer out, told apart by the body alone."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from pagerag.serve.documents import RequestDocument, read_document, read_text
from pagerag.serve.problems import Refused, Unusable

Dialect = Literal["cohere", "infinity", "tei", "nim", "dashscope", "voyage"]
"""``cohere`` is also what Jina, vLLM, Xinference, LiteLLM and most others speak."""

_YES = frozenset(("true", "1", "yes", "on"))
_LONGEST_MODEL = 200


@dataclass(frozen=True, slots=True)
class RequestLimits:
    """What one request may hold."""

    candidates: int
    characters: int

    def check(self, count: int, characters: int, *, field: str, what: str = "candidates") -> None:
        """Refuse more candidates or text than the limits allow; ``what`` the field calls its items."""
        if count > self.candidates:
            raise Refused(
                f"{count:,} {what} in one request; the limit is {self.candidates:,} "
                "(setting serve.max_candidates)",
                field=field,
            )
        if characters > self.characters:
            raise Refused(
                f"{characters:,} characters of text in one request; the limit is {self.characters:,} "
                "(setting serve.max_characters)",
                field=field,
            )


@dataclass(frozen=True, slots=True)
class RerankRequest:
    """A request with its dialect's names taken off. ``top_n`` None means every document."""

    dialect: Dialect
    query: str
    documents: tuple[RequestDocument, ...]
    top_n: int | None
    return_documents: bool
    raw_scores: bool
    model: str

    @property
    def characters(self) -> int:
        """All text that was sent."""
        return len(self.query) + sum(len(document.whole) for document in self.documents)


@dataclass(frozen=True, slots=True)
class Ranked:
    """A document's place in the request and its score; a list of these is best first."""

    index: int
    score: float


def read_request(
    body: object,
    limits: RequestLimits,
    *,
    default_model: str,
    model: str | None = None,
    strings: bool = False,
) -> RerankRequest:
    """Return what a body asks for; the fields it has tell the dialect.

    ``model`` is the one in the path, where a protocol puts it there; ``strings`` asks for documents as plain
    texts in the answer, which is what Infinity's own clients read.
    """
    if not isinstance(body, Mapping):
        raise Unusable("the body must be a JSON object with a query and documents")
    if "texts" in body:
        return _read(body, limits, "tei", "texts", default_model, top=("top_n",), echo="return_text")
    if "passages" in body:
        return _read(body, limits, "nim", "passages", model or default_model, top=("top_k", "top_n"))
    if isinstance(body.get("input"), Mapping):
        parameters = body.get("parameters")
        flat = {**body["input"], **(parameters if isinstance(parameters, Mapping) else {})}
        flat["model"] = body.get("model")
        return _read(flat, limits, "dashscope", "documents", default_model)
    if "documents" not in body:
        raise Unusable(
            "there are no documents; send 'documents' (Cohere, Jina, vLLM, Voyage), 'texts' (TEI), "
            "'passages' (NIM) or 'input' (DashScope)",
            field="documents",
        )
    if "top_k" in body and "top_n" not in body:
        return _read(body, limits, "voyage", "documents", default_model, top=("top_k",))
    return _read(body, limits, "infinity" if strings else "cohere", "documents", default_model)


def _read(
    body: Mapping[str, Any],
    limits: RequestLimits,
    dialect: Dialect,
    documents: str,
    default_model: str,
    *,
    top: Sequence[str] = ("top_n",),
    echo: str = "return_documents",
) -> RerankRequest:
    if "query" not in body:
        raise Unusable("there is no query; send the question as 'query'", field="query")
    query = read_text(body["query"], "query")
    if not query.strip():
        raise Unusable("the query is empty; there is nothing to rank by", field="query")
    given = body.get(documents)
    if isinstance(given, str):
        given = [given]
    if isinstance(given, Mapping) and isinstance(given.get("content"), list):  # vLLM's list of contents
        given = given["content"]
    if not isinstance(given, list):
        raise Unusable(f"{documents!r} must be a list of texts or objects", field=documents)
    if not given:
        raise Unusable(f"{documents!r} is empty; there is nothing to rank", field=documents)
    limits.check(len(given), 0, field=documents, what="documents")
    fields = body.get("rank_fields")
    names = [name for name in fields if isinstance(name, str)] if isinstance(fields, list) else []
    read = tuple(read_document(value, place, names) for place, value in enumerate(given))
    model = body.get("model")
    request = RerankRequest(
        dialect=dialect,
        query=query,
        documents=read,
        top_n=_top(body, top, len(read)),
        return_documents=_flag(body.get(echo)),
        raw_scores=_flag(body.get("raw_scores")),
        model=model[:_LONGEST_MODEL] if isinstance(model, str) and model else default_model,
    )
    limits.check(len(given), request.characters, field=documents, what="documents")
    return request


def _top(body: Mapping[str, Any], names: Sequence[str], count: int) -> int | None:
    """Return how many are wanted; missing, null, 0 and more than there are all mean every one."""
    value = next((body[name] for name in names if body.get(name) is not None), None)
    if value is None:
        return None
    if isinstance(value, str) and value.strip().removeprefix("-").isdecimal() and len(value) < 12:
        value = int(value)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        raise Unusable(f"{names[0]} must be a whole number", field=names[0])
    if value < 0:
        raise Unusable(f"{names[0]} is {value}; it must be 0 (all) or more", field=names[0])
    return value if 0 < value < count else None


def _flag(value: object) -> bool:
    """Read a switch; some clients send it as a text."""
    return value.strip().lower() in _YES if isinstance(value, str) else bool(value)


def answer(request: RerankRequest, ranked: Sequence[Ranked], request_id: str) -> object:
    """Return the body of the answer in the dialect of the request."""
    return _ANSWERS[request.dialect](request, ranked[: request.top_n], request_id)


def _tokens(request: RerankRequest) -> int:
    """Return about how many tokens were read: a quarter of the characters, as in the library."""
    return max(1, math.ceil(request.characters / 4))


def _results(
    request: RerankRequest, ranked: Sequence[Ranked], *, plain: bool = False
) -> list[dict[str, Any]]:
    results: list[dict[str, Any]] = []
    for item in ranked:
        result: dict[str, Any] = {"index": item.index, "relevance_score": item.score}
        if request.return_documents:
            document = request.documents[item.index]
            result["document"] = document.echo.get("text", "") if plain else document.echo
        results.append(result)
    return results


def _cohere(request: RerankRequest, ranked: Sequence[Ranked], request_id: str) -> object:
    tokens = _tokens(request)
    return {
        "id": request_id,
        "object": "rerank",
        "model": request.model,
        "results": _results(request, ranked, plain=request.dialect == "infinity"),
        "usage": {"prompt_tokens": tokens, "total_tokens": tokens},
        "meta": {
            "api_version": {"version": "2"},
            "billed_units": {"search_units": max(1, math.ceil(len(request.documents) / 100))},
            "tokens": {"input_tokens": tokens, "output_tokens": 0},
        },
    }


def _voyage(request: RerankRequest, ranked: Sequence[Ranked], request_id: str) -> object:  # noqa: ARG001
    return {
        "object": "list",
        "data": _results(request, ranked, plain=True),
        "model": request.model,
        "usage": {"total_tokens": _tokens(request)},
    }


def _tei(request: RerankRequest, ranked: Sequence[Ranked], request_id: str) -> object:  # noqa: ARG001
    results: list[dict[str, Any]] = []
    for item in ranked:
        result: dict[str, Any] = {
            "index": item.index,
            "score": _logit(item.score) if request.raw_scores else item.score,
        }
        if request.return_documents:
            result["text"] = request.documents[item.index].echo.get("text", "")
        results.append(result)
    return results


def _nim(request: RerankRequest, ranked: Sequence[Ranked], request_id: str) -> object:  # noqa: ARG001
    return {
        "rankings": [{"index": item.index, "logit": _logit(item.score)} for item in ranked],
        "model": request.model,
        "usage": {"prompt_tokens": _tokens(request), "total_tokens": _tokens(request)},
    }


def _dashscope(request: RerankRequest, ranked: Sequence[Ranked], request_id: str) -> object:
    return {
        "output": {"results": _results(request, ranked)},
        "usage": {"total_tokens": _tokens(request)},
        "model": request.model,
        "request_id": request_id,
    }


def _logit(probability: float) -> float:
    """Return the log-odds, finite for 0 and 1; it falls where the probability falls."""
    inside = 1e-7 + probability * (1.0 - 2e-7)
    return math.log(inside / (1.0 - inside))


_ANSWERS: Mapping[Dialect, Callable[[RerankRequest, Sequence[Ranked], str], object]] = {
    "cohere": _cohere,
    "infinity": _cohere,
    "voyage": _voyage,
    "tei": _tei,
    "nim": _nim,
    "dashscope": _dashscope,
}
