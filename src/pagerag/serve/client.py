"""Typed clients for the server, sync and async. What goes wrong is raised as the library's own errors."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, is_dataclass
from types import TracebackType
from typing import Any, Literal, Self

from pagerag import errors
from pagerag._extras import need
from pagerag.errors import CandidateError, EndpointError, InputError, PageRAGError, ReaderTimeoutError
from pagerag.units import Candidate, Mode, State

__all__ = ["Asked", "AsyncClient", "Cited", "Client", "Promoted", "Ranked", "Streamed"]

Texts = Sequence[str | Mapping[str, Any] | Candidate]


@dataclass(frozen=True, slots=True)
class Promoted:
    """A promoted pool: ids of the core and the context, the verdict, and the whole trace."""

    question: str
    state: State
    sufficiency: float
    core: tuple[str, ...]
    context: tuple[str, ...]
    scores: Mapping[str, float]
    trace: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Cited:
    """A place that an answer rests on."""

    number: int
    id: str
    title: str | None
    quote: str | None
    place: str | None
    path: str | None
    line: int | None
    section: Sequence[str] | None
    page: int | None
    start: int | None
    end: int | None


@dataclass(frozen=True, slots=True)
class Asked:
    """An answer from a store; ``raw`` is the whole reply."""

    question: str
    text: str
    statement: str
    state: State
    sufficiency: float
    citations: tuple[Cited, ...]
    context: tuple[Mapping[str, Any], ...]
    core: tuple[str, ...]
    verdict: str
    missing: tuple[str, ...]
    raw: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Ranked:
    """A document's place in the request, and its score."""

    index: int
    score: float


@dataclass(frozen=True, slots=True)
class Streamed:
    """One event of a streamed answer: a ``stage`` that ended, ``words``, or the ``result``."""

    kind: Literal["stage", "words", "result"]
    text: str = ""
    result: Asked | None = None


class _Calls:
    """Requests and replies, the same for both clients."""

    def __init__(self, base_url: str, api_key: str | None) -> None:
        self.base_url = base_url.rstrip("/")
        self.headers = {"Authorization": f"Bearer {api_key}"} if api_key else {}

    def promote(
        self, question: str, candidates: Texts, k: int | None, mode: Mode | None, options: Mapping[str, Any]
    ) -> dict[str, Any]:
        body = {
            "question": question,
            "candidates": [_candidate(item) for item in candidates],
            "k": k,
            "mode": mode,
        }
        return {name: value for name, value in {**body, **options}.items() if value is not None}

    def ask(self, question: str, store: str | None, options: Mapping[str, Any]) -> dict[str, Any]:
        body = {"question": question, "store": store, **options}
        return {name: value for name, value in body.items() if value is not None}

    def promoted(self, body: Mapping[str, Any]) -> Promoted:
        return Promoted(
            question=body["question"],
            state=body["state"],
            sufficiency=body["sufficiency"],
            core=tuple(body["core"]),
            context=tuple(body["context"]),
            scores={unit["id"]: unit["score"] for unit in body["candidates"]},
            trace=body,
        )

    def asked(self, body: Mapping[str, Any]) -> Asked:
        names = Cited.__dataclass_fields__
        return Asked(
            question=body["question"],
            text=body["answer"]["text"],
            statement=body["statement"],
            state=body["state"],
            sufficiency=body["sufficiency"],
            citations=tuple(
                Cited(**{name: cited.get(name) for name in names}) for cited in body["citations"]
            ),
            context=tuple(body["context"]),
            core=tuple(body["core"]),
            verdict=body.get("verdict", ""),
            missing=tuple(body.get("missing", ())),
            raw=body,
        )

    def event(self, kind: str, body: Mapping[str, Any]) -> Streamed:
        if kind == "error":
            raise raised(body["error_type"], body["message"], 502)
        if kind == "result":
            return Streamed("result", result=self.asked(body))
        return Streamed("words", body["text"]) if kind == "words" else Streamed("stage", body["name"])

    def ranked(self, body: Mapping[str, Any]) -> list[Ranked]:
        return [Ranked(result["index"], result["relevance_score"]) for result in body["results"]]

    def checked(self, status: int, text: str) -> Any:
        try:
            body = json.loads(text)
        except ValueError:
            body = {}
        if status == 200:
            return body
        message = body.get("message") if isinstance(body, dict) else None
        kind = body.get("error_type", "") if isinstance(body, dict) else ""
        raise raised(kind, message or f"{self.base_url} answered {status}", status)


def raised(kind: str, message: str, status: int) -> PageRAGError:
    """Return the library's error of this name; for others the nearest by status."""
    known = getattr(errors, kind, None) if kind in errors.__all__ else None
    if known is not None and issubclass(known, PageRAGError) and known is not errors.MissingExtraError:
        error: PageRAGError = known(message)
        return error
    if status in {408, 504}:
        return ReaderTimeoutError(message)
    if status in {400, 413, 422}:
        return InputError(message)
    return EndpointError(f"{message} (status {status})")


def _candidate(item: str | Mapping[str, Any] | Candidate) -> Any:
    if isinstance(item, str):
        return item
    values = asdict(item) if is_dataclass(item) else dict(item)
    if values.get("vector") is not None:
        values["vector"] = [float(number) for number in values["vector"]]
    if values.get("relations"):
        values["relations"] = [_relation(one) for one in values["relations"]]
    if not isinstance(values.get("text"), str):
        raise CandidateError(f"candidate {values.get('id', '')!r} has no text", item=values.get("id"))
    return {name: value for name, value in values.items() if value is not None and value != {}}


def _relation(value: Any) -> list[str]:
    if isinstance(value, Mapping):
        return [str(value["head"]), str(value["relation"]), str(value["tail"])]
    return [str(part) for part in value]


def _parsed(block: list[str]) -> tuple[str, Any] | None:
    kind, data = "message", ""
    for line in block:
        name, _, value = line.partition(": ")
        if name == "event":
            kind = value
        elif name == "data":
            data += value
    return (kind, json.loads(data)) if data else None


class Client:
    """A client that waits.

    >>> client = Client("http://127.0.0.1:8484", api_key="…")          # doctest: +SKIP
    >>> client.promote("Who wrote Faust?", ["Faust is a play by Goethe."]).state   # doctest: +SKIP
    'enough'
    """

    def __init__(
        self, base_url: str = "http://127.0.0.1:8484", *, api_key: str | None = None, timeout: float = 150.0
    ) -> None:
        self._httpx = need("httpx", "httpx", "serve", "pagerag.serve.Client")
        self._calls = _Calls(base_url, api_key)
        self._http = self._httpx.Client(
            base_url=self._calls.base_url, headers=self._calls.headers, timeout=timeout
        )

    def promote(
        self,
        question: str,
        candidates: Texts,
        k: int | None = None,
        mode: Mode | None = None,
        **options: Any,
    ) -> Promoted:
        """Promote a pool; ``options`` are strategy, max_tokens, weights and vector."""
        body = self._calls.promote(question, candidates, k, mode, options)
        return self._calls.promoted(self._post("/v1/promote", body))

    def ask(self, question: str, store: str | None = None, **options: Any) -> Asked:
        """Ask a store; ``options`` are k, pool, mode, strategy, max_tokens, weights, units and trace."""
        return self._calls.asked(self._post("/v1/ask", self._calls.ask(question, store, options)))

    def stream(self, question: str, store: str | None = None, **options: Any) -> Iterator[Streamed]:
        """Ask a store and yield stages, words, then the result."""
        body = {**self._calls.ask(question, store, options), "stream": True}
        try:
            with self._http.stream("POST", "/v1/ask", json=body) as reply:
                if reply.status_code != 200:
                    self._calls.checked(reply.status_code, reply.read().decode())
                block: list[str] = []
                for line in reply.iter_lines():
                    if line:
                        block.append(line)
                        continue
                    event, block = _parsed(block), []
                    if event is not None:
                        yield self._calls.event(*event)
        except self._httpx.HTTPError as problem:
            raise self._lost(problem) from problem

    def explain(self, question: str, **options: Any) -> dict[str, Any]:
        """Return what the page draws; ``options`` are store or candidates, and what ``ask`` takes."""
        given = options.pop("candidates", None)
        if given is not None:
            options["candidates"] = [_candidate(item) for item in given]
        found: dict[str, Any] = self._post("/v1/explain", {"question": question, **options})
        return found

    def rerank(self, query: str, documents: Sequence[str], top_n: int | None = None) -> list[Ranked]:
        """Rank documents, best first."""
        body = {"query": query, "documents": list(documents), "top_n": top_n}
        return self._calls.ranked(self._post("/v2/rerank", body))

    def stores(self) -> list[dict[str, Any]]:
        """Return the stores that are served."""
        try:
            reply = self._http.get("/v1/stores")
        except self._httpx.HTTPError as problem:
            raise self._lost(problem) from problem
        found: list[dict[str, Any]] = self._calls.checked(reply.status_code, reply.text)["stores"]
        return found

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _post(self, path: str, body: Mapping[str, Any]) -> Any:
        try:
            reply = self._http.post(path, json=body)
        except self._httpx.HTTPError as problem:
            raise self._lost(problem) from problem
        return self._calls.checked(reply.status_code, reply.text)

    def _lost(self, problem: Exception) -> PageRAGError:
        if isinstance(problem, self._httpx.TimeoutException):
            return ReaderTimeoutError(f"{self._calls.base_url} did not answer in time")
        return EndpointError(f"cannot reach {self._calls.base_url}: {problem}")


class AsyncClient:
    """The same for an event loop."""

    def __init__(
        self, base_url: str = "http://127.0.0.1:8484", *, api_key: str | None = None, timeout: float = 150.0
    ) -> None:
        self._httpx = need("httpx", "httpx", "serve", "pagerag.serve.AsyncClient")
        self._calls = _Calls(base_url, api_key)
        self._http = self._httpx.AsyncClient(
            base_url=self._calls.base_url, headers=self._calls.headers, timeout=timeout
        )

    async def promote(
        self,
        question: str,
        candidates: Texts,
        k: int | None = None,
        mode: Mode | None = None,
        **options: Any,
    ) -> Promoted:
        """Promote a pool; ``options`` are strategy, max_tokens, weights and vector."""
        body = self._calls.promote(question, candidates, k, mode, options)
        return self._calls.promoted(await self._post("/v1/promote", body))

    async def ask(self, question: str, store: str | None = None, **options: Any) -> Asked:
        """Ask a store; ``options`` are k, pool, mode, strategy, max_tokens, weights, units and trace."""
        return self._calls.asked(await self._post("/v1/ask", self._calls.ask(question, store, options)))

    async def stream(
        self, question: str, store: str | None = None, **options: Any
    ) -> AsyncIterator[Streamed]:
        """Ask a store and yield stages, words, then the result."""
        body = {**self._calls.ask(question, store, options), "stream": True}
        try:
            async with self._http.stream("POST", "/v1/ask", json=body) as reply:
                if reply.status_code != 200:
                    self._calls.checked(reply.status_code, (await reply.aread()).decode())
                block: list[str] = []
                async for line in reply.aiter_lines():
                    if line:
                        block.append(line)
                        continue
                    event, block = _parsed(block), []
                    if event is not None:
                        yield self._calls.event(*event)
        except self._httpx.HTTPError as problem:
            raise self._lost(problem) from problem

    async def explain(self, question: str, **options: Any) -> dict[str, Any]:
        """Return what the page draws; ``options`` are store or candidates, and what ``ask`` takes."""
        given = options.pop("candidates", None)
        if given is not None:
            options["candidates"] = [_candidate(item) for item in given]
        found: dict[str, Any] = await self._post("/v1/explain", {"question": question, **options})
        return found

    async def rerank(self, query: str, documents: Sequence[str], top_n: int | None = None) -> list[Ranked]:
        """Rank documents, best first."""
        body = {"query": query, "documents": list(documents), "top_n": top_n}
        return self._calls.ranked(await self._post("/v2/rerank", body))

    async def stores(self) -> list[dict[str, Any]]:
        """Return the stores that are served."""
        try:
            reply = await self._http.get("/v1/stores")
        except self._httpx.HTTPError as problem:
            raise self._lost(problem) from problem
        found: list[dict[str, Any]] = self._calls.checked(reply.status_code, reply.text)["stores"]
        return found

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def _post(self, path: str, body: Mapping[str, Any]) -> Any:
        try:
            reply = await self._http.post(path, json=body)
        except self._httpx.HTTPError as problem:
            raise self._lost(problem) from problem
        return self._calls.checked(reply.status_code, reply.text)

    def _lost(self, problem: Exception) -> PageRAGError:
        if isinstance(problem, self._httpx.TimeoutException):
            return ReaderTimeoutError(f"{self._calls.base_url} did not answer in time")
        return EndpointError(f"cannot reach {self._calls.base_url}: {problem}")
