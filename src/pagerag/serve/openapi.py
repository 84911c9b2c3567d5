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

_OBJECT = {"type": "object"}
TEXT = {"type": "string"}
EVENTS = {"type": "object", "properties": {"event": TEXT, "data": TEXT}}
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
    models.PromoteRequest,
    models.PromoteResponse,
    models.AskRequest,
    models.AskResponse,
    models.ExplainRequest,
    models.StoresOut,
    models.SourceOut,
    models.ChatRequest,
    models.ErrorBody,
    models.OpenAIErrorBody,
)

_TEXTS = {"type": "array", "items": {"anyOf": [{"type": "string"}, {"type": "object"}]}, "minItems": 1}
_QUERY = {
    "anyOf": [
        {"type": "string", "minLength": 1},
        {"type": "object", "properties": {"text": {"type": "string"}}},
    ]
}
_COUNT = {"anyOf": [{"type": "integer", "minimum": 0}, {"type": "null"}]}
_RESULTS = {
    "type": "array",
    "items": {
        "type": "object",
        "required": ["index", "relevance_score"],
        "properties": {
            "index": {"type": "integer"},
            "relevance_score": {"type": "number"},
            "document": {"anyOf": [{"type": "object"}, {"type": "string"}]},
        },
    },
}
_SCHEMAS: dict[str, Any] = {
    "RerankBody": {
        "type": "object",
        "description": "One of five dialects, told by its fields.",
        "properties": {
            "model": {"type": "string"},
            "query": _QUERY,
            "documents": _TEXTS,
            "texts": _TEXTS,
            "passages": _TEXTS,
            "input": {"type": "object", "properties": {"query": _QUERY, "documents": _TEXTS}},
            "parameters": {
                "type": "object",
                "properties": {"top_n": _COUNT, "return_documents": {"type": "boolean"}},
            },
            "top_n": _COUNT,
            "top_k": _COUNT,
            "return_documents": {"anyOf": [{"type": "boolean"}, {"type": "string"}]},
            "return_text": {"type": "boolean"},
            "raw_scores": {"type": "boolean"},
            "rank_fields": {"type": "array", "items": {"type": "string"}},
        },
    },
    "RerankAnswer": {
        "anyOf": [
            {
                "type": "object",
                "required": ["results", "model", "usage"],
                "properties": {"results": _RESULTS},
            },
            {"type": "object", "required": ["data", "model", "usage"], "properties": {"data": _RESULTS}},
            {
                "type": "object",
                "required": ["rankings"],
                "properties": {"rankings": {"type": "array", "items": _OBJECT}},
            },
            {"type": "object", "required": ["output"], "properties": {"output": _OBJECT}},
            {"type": "array", "items": {"type": "object", "required": ["index", "score"]}},
        ]
    },
    "DashScopeError": {
        "type": "object",
        "required": ["code", "message", "request_id"],
        "properties": {name: {"type": "string"} for name in ("code", "message", "request_id")},
    },
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
        if app.openapi_schema is None:
            document = get_openapi(
                title="pagerag",
                version=__version__,
                summary="Evidence promotion for retrieval-augmented generation",
                routes=app.routes,
            )
            _, described = models_json_schema(
                [(model, "validation") for model in _MODELS], ref_template="#/components/schemas/{model}"
            )
            schemas = document.setdefault("components", {}).setdefault("schemas", {})
            schemas.clear()
            schemas.update({**described.get("$defs", {}), **_SCHEMAS})
            document["components"]["securitySchemes"] = {"key": {"type": "http", "scheme": "bearer"}}
            document["security"] = [{}, {"key": []}]
            for path in document["paths"].values():
                for operation in path.values():
                    operation["responses"] = {
                        code: told
                        for code, told in operation["responses"].items()
                        if code != "200" or "content" in told
                    }
            app.openapi_schema = document
        return app.openapi_schema

    app.openapi = made  # type: ignore[method-assign]
