"""The OpenAPI description: bodies are read and checked by our own code, so they are described here."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from pydantic import BaseModel
from pydantic.json_schema import models_json_schema
from starlette.responses import Response

from pagerag import __version__
from pagerag.serve import models

STREAM = "text/event-stream"
TEXT = {"type": "string"}
_OBJECT: dict[str, Any] = {"type": "object"}
_FLAG = {"type": "boolean"}


def an_object(*required: str, **properties: Any) -> dict[str, Any]:
    """Return the schema of an object by what it must have and what is known of its properties."""
    told = {"required": list(required), "properties": properties}
    return {**_OBJECT, **{key: value for key, value in told.items() if value}}


def a_list(items: dict[str, Any], **more: Any) -> dict[str, Any]:
    """Return the schema of a list."""
    return {"type": "array", "items": items, **more}


def _any(*schemas: dict[str, Any]) -> dict[str, Any]:
    return {"anyOf": list(schemas)}


EVENTS = an_object(event=TEXT, data=TEXT)
"""One server-sent event, as OpenAPI describes a stream of them."""

_STATUSES = {
    400: "The body is not JSON in UTF-8.",
    401: "A key is needed.",
    403: "A page of another origin called.",
    404: "There is no such thing.",
    405: "The path has other methods.",
    408: "The client was too slow.",
    413: "The request is larger than the limits.",
    421: "The server is not known by this name.",
    422: "The request cannot be used as it is; the reason is told.",
    429: "Too many requests are under way; see Retry-After.",
    500: "A fault of the server; its log has it under the request id.",
    501: "An optional package is not installed.",
    502: "The model behind a reader refused or broke.",
    503: "The store cannot be used now.",
    504: "No result within the time limit.",
}
_MODELS: tuple[type[BaseModel], ...] = (
    models.PromoteRequest, models.PromoteResponse, models.AskRequest, models.AskResponse,
    models.ExplainRequest, models.StoresOut, models.SourceOut, models.ChatRequest, models.ErrorBody,
    models.OpenAIErrorBody,
)  # fmt: skip

_TEXTS = a_list(_any(TEXT, _OBJECT), minItems=1)
_QUERY = _any({**TEXT, "minLength": 1}, an_object(text=TEXT))
_COUNT = _any({"type": "integer", "minimum": 0}, {"type": "null"})
_RESULTS = a_list(
    an_object(
        "index",
        "relevance_score",
        index={"type": "integer"},
        relevance_score={"type": "number"},
        document=_any(_OBJECT, TEXT),
    )
)
_SCHEMAS: dict[str, Any] = {
    "RerankBody": {
        **_OBJECT,
        "description": "One of five dialects, told by its fields.",
        "properties": {
            "model": TEXT,
            "query": _QUERY,
            **dict.fromkeys(("documents", "texts", "passages"), _TEXTS),
            "input": an_object(query=_QUERY, documents=_TEXTS),
            "parameters": an_object(top_n=_COUNT, return_documents=_FLAG),
            "top_n": _COUNT,
            "top_k": _COUNT,
            "return_documents": _any(_FLAG, TEXT),
            "return_text": _FLAG,
            "raw_scores": _FLAG,
            "rank_fields": a_list(TEXT),
        },
    },
    "RerankAnswer": _any(
        an_object("results", "model", "usage", results=_RESULTS),
        an_object("data", "model", "usage", data=_RESULTS),
        an_object("rankings", rankings=a_list(_OBJECT)),
        an_object("output", output=_OBJECT),
        a_list(an_object("index", "score")),
    ),
    "DashScopeError": an_object("code", "message", "request_id", code=TEXT, message=TEXT, request_id=TEXT),
}


def _schema(told: str | dict[str, Any]) -> dict[str, Any]:
    return {"schema": {"$ref": f"#/components/schemas/{told}"} if isinstance(told, str) else told}


def documented(
    name: str,
    summary: str,
    *,
    request: str | dict[str, Any] | None = None,
    examples: dict[str, Any] | None = None,
    response: str | dict[str, Any] = _OBJECT,
    kind: str = "application/json",
    also: dict[str, dict[str, Any]] | None = None,
    errors: str = "ErrorBody",
    request_kind: str = "application/json",
) -> dict[str, Any]:
    """Return the keywords for a route: its summary, its bodies, every status it can answer with.

    Bodies are schemas, or names of those in the document; ``also`` are other kinds that it answers with.
    """
    refusal = {"application/json": _schema(errors)}
    content = {media: _schema(schema) for media, schema in {kind: response, **(also or {})}.items()}
    extra: dict[str, Any] = {
        "operationId": name,
        "responses": {
            "200": {"description": "Done.", "content": content},
            **{str(code): {"description": words, "content": refusal} for code, words in _STATUSES.items()},
        },
    }
    if request is not None:
        shown = {label: {"value": value} for label, value in (examples or {}).items()}
        body = {**_schema(request), **({"examples": shown} if shown else {})}
        extra["requestBody"] = {"required": True, "content": {request_kind: body}}
    return {"summary": summary, "openapi_extra": extra, "response_class": Response, "name": name}


def describe(app: FastAPI) -> None:
    """Give the app an OpenAPI document with our schemas in it."""

    def made() -> dict[str, Any]:
        if app.openapi_schema is not None:
            return app.openapi_schema
        summary = "Evidence promotion for retrieval-augmented generation"
        document = get_openapi(title="pagerag", version=__version__, summary=summary, routes=app.routes)
        _, described = models_json_schema(
            [(model, "validation") for model in _MODELS], ref_template="#/components/schemas/{model}"
        )
        components = document.setdefault("components", {})
        components["schemas"] = {**described.get("$defs", {}), **_SCHEMAS}
        components["securitySchemes"] = {"key": {"type": "http", "scheme": "bearer"}}
        document["security"] = [{}, {"key": []}]
        for operation in (one for path in document["paths"].values() for one in path.values()):
            replies = operation["responses"]
            if "content" not in replies.get("200", {"content": ""}):
                del replies["200"]
        app.openapi_schema = document
        return document

    app.openapi = made  # type: ignore[method-assign]
