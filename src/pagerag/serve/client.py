"""Typed clients for the server, sync and async. What goes wrong is raised as the library's own errors."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, is_dataclass
from typing import Any, ClassVar, Generic, Literal, NoReturn, Self, TypedDict, TypeVar, Unpack

from pagerag import errors
from pagerag._extras import need
from pagerag.errors import CandidateError, EndpointError, InputError, PageRAGError, ReaderTimeoutError
from pagerag.serve.dialects import Ranked
from pagerag.units import Candidate, Mode, State

Texts = Sequence[str | Mapping[str, Any] | Candidate]
Strategy = Literal["learned", "formula"]
T = TypeVar("T")


class PoolOptions(TypedDict, total=False):
    """How a pool is promoted, beside ``k`` and ``mode``."""

    strategy: Strategy
    max_tokens: int
    weights: Mapping[str, float]
    vector: Sequence[float]


class TuningOptions(TypedDict, total=False):
    """What a request may change of how the server is set."""

    k: int
    pool: int
    mode: Mode
    strategy: Strategy
    max_tokens: int
    weights: Mapping[str, float]
    units: Literal["auto", "core", "context"]


class AskOptions(TuningOptions, total=False):
    """How a question is answered, and whether with every step."""

    trace: bool


class ExplainOptions(TuningOptions, total=False):
    """What is explained: a question to a store, or a pool; with an answer unless told otherwise."""

    store: str
    candidates: Texts
    answer: bool


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
    """An answer from a store, or its nearest sentences where there is none; ``raw`` is the whole reply."""

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
    nearest: tuple[Cited, ...] = ()


@dataclass(frozen=True, slots=True)
class Streamed:
    """One event of a streamed answer: a ``stage`` that ended, ``words``, or the ``result``."""

    kind: Literal["stage", "words", "result"]
    text: str = ""
    result: Asked | None = None


@dataclass(frozen=True, slots=True)
class _Call(Generic[T]):
    """A request, and how its reply is read; a call without a body is a GET."""

    path: str
    body: Mapping[str, Any] | None
    read: Callable[[Any], T]


def _promote(
    question: str, candidates: Texts, k: int | None, mode: Mode | None, options: Mapping[str, Any]
) -> _Call[Promoted]:
    units = [_candidate(item) for item in candidates]
    body = _given({"question": question, "candidates": units, "k": k, "mode": mode, **options})
    return _Call("/v1/promote", body, _promoted)


def _ask(question: str, store: str | None, options: Mapping[str, Any], **more: bool) -> _Call[Asked]:
    return _Call("/v1/ask", _given({"question": question, "store": store, **options, **more}), _asked)


def _explain(question: str, options: Mapping[str, Any]) -> _Call[dict[str, Any]]:
    body = {"question": question, **options}
    if body.get("candidates") is not None:
        body["candidates"] = [_candidate(item) for item in body["candidates"]]
    return _Call("/v1/explain", body, dict)


def _rerank(query: str, documents: Sequence[str], top_n: int | None) -> _Call[list[Ranked]]:
    body = {"query": query, "documents": list(documents), "top_n": top_n}
    return _Call(
        "/v2/rerank", body, lambda reply: [Ranked(r["index"], r["relevance_score"]) for r in reply["results"]]
    )


_STORES: _Call[list[dict[str, Any]]] = _Call("/v1/stores", None, lambda reply: list(reply["stores"]))


def _given(body: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in body.items() if value is not None}


def _promoted(body: Mapping[str, Any]) -> Promoted:
    return Promoted(
        question=body["question"],
        state=body["state"],
        sufficiency=body["sufficiency"],
        core=tuple(body["core"]),
        context=tuple(body["context"]),
        scores={unit["id"]: unit["score"] for unit in body["candidates"]},
        trace=body,
    )


def _cited(rows: Iterable[Mapping[str, Any]]) -> tuple[Cited, ...]:
    names = Cited.__dataclass_fields__
    given: Iterator[dict[str, Any]] = ({name: row.get(name) for name in names} for row in rows)
    return tuple(Cited(**one) for one in given)


def _asked(body: Mapping[str, Any]) -> Asked:
    return Asked(
        question=body["question"],
        text=body["answer"]["text"],
        statement=body["statement"],
        state=body["state"],
        sufficiency=body["sufficiency"],
        citations=_cited(body["citations"]),
        context=tuple(body["context"]),
        core=tuple(body["core"]),
        verdict=body.get("verdict", ""),
        missing=tuple(body.get("missing", ())),
        raw=body,
        nearest=_cited(body.get("nearest", ())),
    )


def raised(kind: str, message: str, status: int) -> PageRAGError:
    """Return the library's error of this name; for others the nearest by status."""
    known = getattr(errors, str(kind), None)  # a server may send anything
    if isinstance(known, type) and issubclass(known, PageRAGError) and known is not errors.MissingExtraError:
        return known(message)
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
        names = ("head", "relation", "tail")
        values["relations"] = [
            [str(part) for part in (map(one.__getitem__, names) if isinstance(one, Mapping) else one)]
            for one in values["relations"]
        ]
    if not isinstance(values.get("text"), str):
        raise CandidateError(f"candidate {values.get('id', '')!r} has no text", item=values.get("id"))
    return {name: value for name, value in values.items() if value is not None and value != {}}


@contextmanager
def _ours() -> Iterator[None]:
    """Refuse a reply that is none of this server's: another one may stand at the address."""
    try:
        yield
    except PageRAGError:
        raise
    except (ValueError, TypeError, LookupError, AttributeError) as problem:
        raise EndpointError(
            f"the reply is none of pagerag serve ({type(problem).__name__}); check the address"
        ) from problem


class _Events:
    """Server-sent events, put together from their lines."""

    def __init__(self) -> None:
        self._kind, self._data = "message", ""

    def take(self, line: str) -> Streamed | None:
        """Take one line; return the event that it ends, if any."""
        name, _, value = line.partition(": ")
        if name == "event":
            self._kind = value
        elif name == "data":
            self._data += value
        if line or not self._data:
            return None
        kind, data = self._kind, self._data
        self._kind, self._data = "message", ""
        with _ours():
            body = json.loads(data)
            if kind == "error":
                raise raised(body["error_type"], body["message"], 502)
            if kind == "result":
                return Streamed("result", result=_asked(body))
            return Streamed("words", body["text"]) if kind == "words" else Streamed("stage", body["name"])


class _Connection:
    """What both clients know of the server, and what its replies mean."""

    _kind: ClassVar[str]  # ours are named like httpx's

    def __init__(
        self, base_url: str = "http://127.0.0.1:8484", *, api_key: str | None = None, timeout: float = 150.0
    ) -> None:
        self._httpx = need("httpx", "httpx", "serve", f"pagerag.serve.{self._kind}")
        self.base_url = base_url.rstrip("/")
        if api_key and (not (api_key.isascii() and api_key.isprintable()) or api_key != api_key.strip()):
            raise InputError(
                "api_key holds a line break, a space at an end or a character outside ASCII; no key has "
                "these, it is a placeholder or was copied with something else"
            )
        headers = {"Authorization": f"Bearer {api_key}"} if api_key else {}
        client = getattr(self._httpx, self._kind)
        self._http = client(base_url=self.base_url, headers=headers, timeout=timeout)

    def _read(self, call: _Call[T], reply: Any) -> T:
        """Return what a reply says, or raise what it tells."""
        if reply.status_code != 200:
            self._refuse(reply)
        with _ours():
            return call.read(json.loads(reply.text))

    def _refuse(self, reply: Any) -> NoReturn:
        told: Any = None
        with suppress(ValueError):
            told = json.loads(reply.text)
        told = told if isinstance(told, dict) else {}
        message = told.get("message") or f"{self.base_url} answered {reply.status_code}"
        raise raised(told.get("error_type", ""), message, reply.status_code)

    def _request(self, call: _Call[Any]) -> Any:
        return self._http.request("GET" if call.body is None else "POST", call.path, json=call.body)

    @contextmanager
    def _reached(self) -> Iterator[None]:
        try:
            yield
        except self._httpx.TimeoutException as problem:
            raise ReaderTimeoutError(f"{self.base_url} did not answer in time") from problem
        except self._httpx.HTTPError as problem:
            raise EndpointError(f"cannot reach {self.base_url}: {problem}") from problem


class Client(_Connection):
    """A client that waits.

    >>> client = Client("http://127.0.0.1:8484", api_key="KEY")        # doctest: +SKIP
    >>> client.promote("Who wrote Faust?", ["Faust is a play by Goethe."]).state   # doctest: +SKIP
    'enough'
    """

    _kind = "Client"

    def promote(
        self,
        question: str,
        candidates: Texts,
        k: int | None = None,
        mode: Mode | None = None,
        **options: Unpack[PoolOptions],
    ) -> Promoted:
        """Promote a pool."""
        return self._send(_promote(question, candidates, k, mode, options))

    def ask(self, question: str, store: str | None = None, **options: Unpack[AskOptions]) -> Asked:
        """Ask a store."""
        return self._send(_ask(question, store, options))

    def stream(
        self, question: str, store: str | None = None, **options: Unpack[AskOptions]
    ) -> Iterator[Streamed]:
        """Ask a store and yield stages, words, then the result."""
        call, events = _ask(question, store, options, stream=True), _Events()
        with self._reached(), self._http.stream("POST", call.path, json=call.body) as reply:
            if reply.status_code != 200:
                reply.read()
                self._refuse(reply)
            for line in reply.iter_lines():
                if (event := events.take(line)) is not None:
                    yield event

    def explain(self, question: str, **options: Unpack[ExplainOptions]) -> dict[str, Any]:
        """Return what the page draws."""
        return self._send(_explain(question, options))

    def rerank(self, query: str, documents: Sequence[str], top_n: int | None = None) -> list[Ranked]:
        """Rank documents, best first."""
        return self._send(_rerank(query, documents, top_n))

    def stores(self) -> list[dict[str, Any]]:
        """Return the stores that are served."""
        return self._send(_STORES)

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _send(self, call: _Call[T]) -> T:
        with self._reached():
            reply = self._request(call)
        return self._read(call, reply)


class AsyncClient(_Connection):
    """The same for an event loop."""

    _kind = "AsyncClient"

    async def promote(
        self,
        question: str,
        candidates: Texts,
        k: int | None = None,
        mode: Mode | None = None,
        **options: Unpack[PoolOptions],
    ) -> Promoted:
        """Promote a pool."""
        return await self._send(_promote(question, candidates, k, mode, options))

    async def ask(self, question: str, store: str | None = None, **options: Unpack[AskOptions]) -> Asked:
        """Ask a store."""
        return await self._send(_ask(question, store, options))

    async def stream(
        self, question: str, store: str | None = None, **options: Unpack[AskOptions]
    ) -> AsyncIterator[Streamed]:
        """Ask a store and yield stages, words, then the result."""
        call, events = _ask(question, store, options, stream=True), _Events()
        with self._reached():
            async with self._http.stream("POST", call.path, json=call.body) as reply:
                if reply.status_code != 200:
                    await reply.aread()
                    self._refuse(reply)
                async for line in reply.aiter_lines():
                    if (event := events.take(line)) is not None:
                        yield event

    async def explain(self, question: str, **options: Unpack[ExplainOptions]) -> dict[str, Any]:
        """Return what the page draws."""
        return await self._send(_explain(question, options))

    async def rerank(self, query: str, documents: Sequence[str], top_n: int | None = None) -> list[Ranked]:
        """Rank documents, best first."""
        return await self._send(_rerank(query, documents, top_n))

    async def stores(self) -> list[dict[str, Any]]:
        """Return the stores that are served."""
        return await self._send(_STORES)

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def _send(self, call: _Call[T]) -> T:
        with self._reached():
            reply = await self._request(call)
        return self._read(call, reply)
