"""Tools for assistants that speak the Model Context Protocol: select evidence, ask, search."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Annotated

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.transport_security import TransportSecuritySettings
from pydantic import BaseModel, Field

from pagerag import __version__
from pagerag.errors import PageRAGError
from pagerag.explain.verdict import verdict
from pagerag.promotion import Promotion
from pagerag.serve.dialects import promote_documents, read_document
from pagerag.serve.models import Tuning
from pagerag.serve.operation import Operation
from pagerag.serve.problems import Problem
from pagerag.serve.service import Service
from pagerag.settings import Settings

_INSTRUCTIONS = (
    "Use select_evidence before answering from passages that you already have: it keeps the few that "
    "together support an answer and says whether they are enough. Use ask or search for the user's own "
    "documents. When state is 'insufficient', say that the documents do not tell."
)

Question = Annotated[str, Field(min_length=1, max_length=4000, description="The question, in full words.")]
StoreName = Annotated[str | None, Field(description="Which store; leave out for the first one.")]
Count = Annotated[int, Field(ge=1, le=50, description="How many passages at most.")]


class Passage(BaseModel):
    """A passage with its title."""

    text: str
    title: str | None = None


class Selected(BaseModel):
    """One passage that was chosen."""

    number: int
    index: int | None = Field(description="Its place in the list that was given, from 0.")
    id: str
    title: str | None
    text: str
    role: str = Field(description="core: needed; fill: only because there was room.")
    score: float
    why: list[str]


class SelectedEvidence(BaseModel):
    """What supports an answer, and whether it is enough."""

    state: str = Field(description="enough, ambiguous or insufficient.")
    sufficiency: float
    verdict: str
    missing: list[str]
    passages: list[Selected]


class Source(BaseModel):
    """A place that an answer cites."""

    number: int
    title: str | None
    quote: str | None
    place: str = Field(description="File, line or page, and section, to be shown to the user.")
    path: str | None
    page: int | None


class Answered(BaseModel):
    """An answer from a store."""

    answer: str
    statement: str = Field(description="The answer with its doubts, to be shown as it is.")
    state: str
    sufficiency: float
    verdict: str = Field(description="What the evidence speaks of and what is missing, in one line.")
    missing: list[str]
    sources: list[Source]
    passages: list[Selected]


def mcp_server(settings: Settings, places: Mapping[str, str]) -> tuple[MCPServer, Service]:
    """Return a server with the three tools over the stores, and the service behind it."""
    service = Service(settings, places)
    server = MCPServer(
        "pagerag", version=__version__, instructions=_INSTRUCTIONS, log_level="WARNING",
        title="Evidence promotion",
    )  # fmt: skip
    opened = asyncio.Lock()

    async def ready() -> None:
        async with opened:
            if not service.ready:
                with suppress(PageRAGError):  # told by the call that needs the store
                    await asyncio.to_thread(service.open)

    @server.tool(title="Select the passages that together support an answer")
    async def select_evidence(
        question: Question, passages: list[str | Passage], k: Count = 5
    ) -> SelectedEvidence:
        """Keep the few of given passages that together support an answer, and say if they suffice."""
        with _told():
            given = [
                read_document(p if isinstance(p, str) else p.model_dump(), n) for n, p in enumerate(passages)
            ]
            service.limits.check(len(given), sum(len(one.whole) for one in given), field="passages")
            places = [n for n, document in enumerate(given) if document.text.strip()]
            if not places:
                raise ToolError("passages holds no text; give the passages to choose from")
            documents = [given[n] for n in places]
            promotion = await service.run(
                service.promotions, None, promote_documents, service.promoter, question, documents, k
            )
        return _selection(promotion, {str(place): n for place, n in enumerate(places)})

    @server.tool(title="Ask the user's documents")
    async def ask(question: Question, store: StoreName = None) -> Answered:
        """Answer a question from the user's documents, with citations and a verdict on the evidence."""
        await ready()
        with _told():
            held = service.stores.get(store)
            result = await service.run(service.asks, None, lambda: held.pipeline().ask(question))
        told = result.to_dict()
        passages = _selection(result.promotion, {}).passages
        more = {"answer": result.text, "sources": told["citations"], "passages": passages}
        return Answered.model_validate({**told, **more})

    @server.tool(title="Search the user's documents for evidence")
    async def search(question: Question, store: StoreName = None, k: Count = 5) -> SelectedEvidence:
        """Search the user's documents, following up names, and keep the passages that support an answer."""
        await ready()
        with _told():
            held = service.stores.get(store)
            _, promotion = await service.run(
                service.asks, None, lambda: held.pipeline(Tuning(k=k)).gather(question)
            )
        return _selection(promotion, {})

    return server, service


@contextmanager
def _told() -> Iterator[None]:
    """Tell the assistant in words what goes wrong."""
    try:
        yield
    except (PageRAGError, Problem) as problem:
        raise ToolError(str(problem)) from problem


def _selection(promotion: Promotion, places: Mapping[str, int]) -> SelectedEvidence:
    told = verdict(promotion)
    core = set(promotion.core_places)
    shown = [(place, promotion.pool[place]) for place in promotion.context_places]
    return SelectedEvidence(
        state=promotion.state,
        sufficiency=round(float(promotion.sufficiency), 4),
        verdict=told.words,
        missing=list(told.missing),
        passages=[
            Selected(
                number=number, index=places.get(unit.id), id=unit.id, title=unit.title, text=unit.text,
                role="core" if place in core else "fill", score=round(float(promotion.scores[place]), 4),
                why=list(promotion.why(place)),
            )
            for number, (place, unit) in enumerate(shown, 1)
        ],
    )  # fmt: skip


def http_app(settings: Settings, places: Mapping[str, str]) -> Operation:
    """Return the tools over streamable HTTP at ``/mcp``, behind the server's keys, logs and metrics."""
    server, service = mcp_server(settings, places)
    named = [name.strip() for name in settings.serve.hosts.split(",") if name.strip()]
    local = ["127.0.0.1:*", "localhost:*", "[::1]:*", "127.0.0.1", "localhost"]
    guarded = not settings.serve.api_key_file and "*" not in named
    security = TransportSecuritySettings(
        enable_dns_rebinding_protection=guarded,
        allowed_hosts=[*local, *named, *(f"{name}:*" for name in named)],
        allowed_origins=[f"http://{host}" for host in local],
    )
    most = int(settings.serve.max_body_mb * 2**20)
    inner = server.streamable_http_app(
        stateless_http=True, json_response=True, max_request_body_size=most, transport_security=security
    )
    return Operation(inner, service)
