"""The bodies of our own API, as models: they check requests and describe both sides in OpenAPI."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from pagerag.units import Mode, State

_QUESTION = "Which city was the composer of Interstellar born in?"
_POOL: list[Any] = [
    {"title": "Interstellar", "text": "Interstellar has a score composed by Hans Zimmer."},
    {"title": "Christopher Nolan", "text": "Nolan, who directed Interstellar, was born in London."},
    {"title": "Hans Zimmer", "text": "Zimmer was born in Frankfurt."},
]

Number = Annotated[float, Field(ge=-1e30, le=1e30)]  # single precision can hold it
Question = Annotated[str, Field(min_length=1, max_length=20_000, description="The question, in words.")]


def _example(extra: Literal["forbid", "allow"] = "forbid", **body: Any) -> ConfigDict:
    """Return how a request is read, with a body that shows one."""
    return ConfigDict(extra=extra, json_schema_extra={"examples": [body]})


def _option(description: str, **bounds: Any) -> Any:
    """Return a field that may be left out."""
    return Field(default=None, description=description, **bounds)


class Tuning(BaseModel):
    """What a request may change of how promotion works; what it leaves out is as the server is set."""

    model_config = ConfigDict(extra="forbid")

    k: int | None = _option("Units in the context.", ge=1, le=1000)
    mode: Mode | None = _option("What a unit is.")
    strategy: Literal["learned", "formula"] | None = _option("How support is scored.")
    max_tokens: int | None = _option("Token budget of the context.", ge=1, le=10_000_000)
    weights: dict[str, float] | None = _option("Weights of the formula that differ from the shipped.")
    pool: int | None = _option("Units to retrieve (stores only).", ge=1, le=1000)
    units: Literal["auto", "core", "context"] | None = _option("What the reader sees (stores only).")


class CandidateIn(BaseModel):
    """One unit of the pool, as ``pagerag.Candidate``; only ``text`` is needed."""

    model_config = ConfigDict(extra="forbid")

    text: str
    id: str | int | None = None
    title: str | None = None
    source: str | None = None
    position: int | None = None
    score: Number | None = None
    entities: list[str] | None = None
    relations: list[list[str]] | None = _option("Facts as [head, relation, tail].")
    vector: list[Number] | None = None
    metadata: dict[str, Any] | None = None


class PromoteRequest(Tuning):
    """A question with its pool."""

    model_config = _example(question=_QUESTION, candidates=_POOL, k=2)

    question: Question
    candidates: list[str | CandidateIn] = Field(
        description="Texts or objects, best first unless they have scores."
    )
    vector: list[Number] | None = _option("The question's embedding, where candidates have theirs.")


class PromoteResponse(BaseModel):
    """The whole promotion with its trace."""

    model_config = ConfigDict(extra="allow")

    question: str
    state: State
    sufficiency: float
    k: int
    mode: Mode
    strategy: str
    core: list[str]
    context: list[str]
    candidates: list[dict[str, Any]]
    paths: list[dict[str, Any]]


class AskRequest(Tuning):
    """A question to a store."""

    model_config = _example(question=_QUESTION)

    question: Question
    store: str | None = _option("The store's name; without it, the first.")
    trace: bool = Field(default=False, description="Every step of retrieval and promotion.")
    stream: bool = Field(default=False, description="Answer as server-sent events: stage, words, result.")


class AskResponse(BaseModel):
    """The answer, what it rests on, and the verdict on the evidence."""

    model_config = ConfigDict(extra="allow")

    question: str
    answer: dict[str, Any]
    statement: str
    state: State
    sufficiency: float
    verdict: str = Field(description="What the evidence speaks of and what is missing, in one line.")
    missing: list[str] = Field(description="Phrases of the question that the evidence does not speak of.")
    citations: list[dict[str, Any]]
    nearest: list[dict[str, Any]] = Field(
        description="Without an answer: the sentences nearest to the question, like citations; else empty."
    )
    context: list[dict[str, Any]]
    core: list[str]


class ExplainRequest(Tuning):
    """A question to a store, or with candidates of its own; the answer is what the page draws."""

    model_config = _example(question=_QUESTION, candidates=_POOL, k=2)

    question: Question
    store: str | None = None
    candidates: list[str | CandidateIn] | None = None
    answer: bool = Field(default=True, description="Let the reader answer, too.")
    format: Literal["json", "html", "svg"] = Field(
        default="json", description="html: one self-contained file."
    )


class StoreOut(BaseModel):
    """One store that is served."""

    model_config = ConfigDict(extra="allow")

    name: str
    ready: bool
    units: int
    documents: int
    files: int
    encoder: str | None


class StoresOut(BaseModel):
    """The stores that are served."""

    stores: list[StoreOut]


class SourceOut(BaseModel):
    """The document around a passage: its text, and where in it the passage begins."""

    unit: str
    title: str | None
    place: str
    path: str | None
    line: int | None
    section: list[str]
    page: int | None
    part: str | None
    start: int
    end: int
    text: str
    at: int
    length: int
    cut_before: bool
    cut_after: bool


class ChatRequest(BaseModel):
    """OpenAI's chat completion; the model names a store. Fields that mean nothing here are ignored."""

    model_config = _example("allow", model="my-store", messages=[{"role": "user", "content": _QUESTION}])

    model: str | None = None
    messages: list[dict[str, Any]] = Field(min_length=1, max_length=1000)
    stream: bool | None = False
    stream_options: dict[str, Any] | None = None


class ErrorBody(BaseModel):
    """Why a request was refused, under every name that clients look for it."""

    detail: str
    message: str
    error: str
    error_type: str
    field: str | None = None
    request_id: str


class OpenAIErrorBody(BaseModel):
    """Why a chat request was refused, as OpenAI's clients read it."""

    error: dict[str, Any]
