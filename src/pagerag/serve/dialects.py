"""The wire formats of rerank clients: one request in, one answer out, told apart by the body alone.

Documents come as texts or objects, and some clients hide their titles in the text. They are ranked with
scores that every client can sort by and compare with a threshold.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from pagerag.serve.problems import Refused, Unusable
from pagerag.units import Candidate

if TYPE_CHECKING:  # the clients import this module and need no promotion
    from pagerag.promotion import Promoter, Promotion

Dialect = Literal["cohere", "infinity", "tei", "nim", "dashscope", "voyage"]
"""``cohere`` is also what Jina, vLLM, Xinference, LiteLLM and most others speak."""

_YES = frozenset(("true", "1", "yes", "on"))
_LONGEST_MODEL = 200
STEP = 1e-6  # the least distance between two scores: seen by clients that keep single precision
_TITLE_KEYS = ("title", "document_title", "doc_title", "page_title", "headline", "name")
_SOURCE_KEYS = ("source", "file_path", "file_name", "filename", "url", "path", "doc_id", "document_id")
_OTHER_KEYS = "page_label author section creation_date last_modified_date file_type section_summary".split()
_KNOWN = frozenset((*_TITLE_KEYS, *_SOURCE_KEYS, *_OTHER_KEYS))
_FIELD = re.compile(r"([A-Za-z][\w .\-/]{0,39}): ?(.*)")
_LONGEST_HEADER = 4_000
_LONGEST_TITLE = 120
_ENDS_A_SENTENCE = tuple(".!?;:,…。！？،؛")


@dataclass(frozen=True, slots=True)
class RequestLimits:
    """What one request may hold."""

    candidates: int
    characters: int

    def check(self, count: int, characters: int, *, field: str, what: str = "candidates") -> None:
        """Refuse more candidates or text than the limits allow; ``what`` the field calls its items."""
        for number, most, items, setting in (
            (count, self.candidates, what, "serve.max_candidates"),
            (characters, self.characters, "characters of text", "serve.max_characters"),
        ):
            if number > most:
                words = f"{number:,} {items} in one request; the limit is {most:,} (setting {setting})"
                raise Refused(words, field=field)


@dataclass(frozen=True, slots=True)
class RequestDocument:
    """One document of a request: what is ranked, what it is called, and what goes back to the client.

    ``text`` may be empty; such a document is ranked last. ``echo`` is the document as ``return_documents``
    shows it.
    """

    text: str
    title: str | None = None
    source: str | None = None
    whole: str = ""
    echo: Mapping[str, Any] = field(default_factory=dict)


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
    body: Mapping[str, Any], limits: RequestLimits, dialect: Dialect, documents: str, default_model: str,
    *, top: Sequence[str] = ("top_n",), echo: str = "return_documents",
) -> RerankRequest:  # fmt: skip
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


def read_document(value: object, place: int, rank_fields: Sequence[str] = ()) -> RequestDocument:
    """Return the document that a client sent at ``place``: a text, or an object in one of the known forms.

    ``rank_fields`` are Cohere's: of an object, only these fields are read.
    """
    if value is None:
        return RequestDocument("", echo={"text": ""})
    if isinstance(value, str):
        title, source, text = _hidden(value)
        return RequestDocument(text, title, source, value, {"text": value})
    if isinstance(value, Mapping):
        return _from_object(value, place, rank_fields)
    words = f"document {place} is a {_kind(value)}; send a text, or an object with 'text'"
    raise Unusable(words, field="documents")


def read_text(value: object, name: str) -> str:
    """Return a text that may come as a string, as ``{"text"}`` or as a list of content parts."""
    while isinstance(value, Mapping):
        if isinstance(value.get("text"), str):
            return str(value["text"])
        if "content" not in value:
            break
        value = value["content"]
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        parts = [part.get("text") if isinstance(part, Mapping) else part for part in value]
        return "\n".join(part for part in parts if isinstance(part, str))
    raise Unusable(f"{name} is {_kind(value)}; it must be a text", field=name)


def _from_object(value: Mapping[str, Any], place: int, rank_fields: Sequence[str]) -> RequestDocument:
    title = next((t for key in _TITLE_KEYS if isinstance(t := value.get(key), str) and t.strip()), None)
    source = next(
        (str(s) for key in _SOURCE_KEYS if isinstance(s := value.get(key), str | int) and str(s)), None
    )
    if rank_fields:
        named = [value[name] for name in rank_fields if name in value and name not in _TITLE_KEYS]
        text = "\n".join(str(item) for item in named if isinstance(item, str | int | float))
    elif value.get("text") is not None or "content" in value:
        inner = value.get("text")
        text = read_text(inner if inner is not None else value["content"], f"document {place}")
    else:  # an object without text: its own fields are what it says
        texts = {key: item for key, item in value.items() if isinstance(item, str)}
        said = [f"{key}: {item}" for key, item in texts.items() if key not in _TITLE_KEYS]
        nested = any(isinstance(item, Mapping | list) for item in value.values())
        if value and not said and title is None and not nested:
            words = f"document {place} has no 'text' and no other field with a text"
            raise Unusable(words, field="documents")
        text = "\n".join(said)
    if title is None and isinstance(value.get("text"), str) and not rank_fields:
        title, found, text = _hidden(text)
        source = source or found
    whole = f"{title}\n{text}" if title else text
    return RequestDocument(text, title, source, whole, {**value, "text": text})


def _hidden(text: str) -> tuple[str | None, str | None, str]:
    """Return (title, source, text) of a text whose head is metadata, or a title on a line of its own."""
    header, gap, body = text[:_LONGEST_HEADER].partition("\n\n")
    if gap and body.strip():
        fields = _fields(header)
        if fields is not None:
            title = next((fields[key] for key in _TITLE_KEYS if fields.get(key)), None)
            source = next((fields[key] for key in _SOURCE_KEYS if fields.get(key)), None)
            return title, source, text[len(header) + 2 :]
    first, newline, rest = text.partition("\n")
    if newline and _reads_as_title(first, rest):
        return first.strip().lstrip("#").strip(), None, rest.lstrip("\n")
    return None, None, text


def _fields(header: str) -> dict[str, str] | None:
    """Return the metadata lines ``key: value`` of a header, or None where it is prose."""
    found: dict[str, str] = {}
    for line in header.split("\n"):
        match = _FIELD.fullmatch(line)
        if match is None:
            return None
        found[match[1].strip().lower()] = match[2].strip()
    return found if not _KNOWN.isdisjoint(found) else None


def _reads_as_title(first: str, rest: str) -> bool:
    """Tell whether a first line is a title: short, no sentence, and not the first of many wrapped lines."""
    line = first.strip()
    if line.startswith("#") and line.lstrip("#").strip():
        return bool(rest.strip())
    following = [other for other in rest[:_LONGEST_HEADER].split("\n") if other.strip()]
    if not line or not following or len(line) > _LONGEST_TITLE or line.endswith(_ENDS_A_SENTENCE):
        return False
    opening = following[0].lstrip()[0]
    if opening.islower() or line[0] in "-*•>|{[<" or line.lower().startswith(("http://", "https://")):
        return False
    # Text wrapped at a column has lines of about one length; a title is shorter than what follows it.
    return len(line) < 0.6 * max(len(other) for other in following)


def _kind(value: object) -> str:
    names = {int: "number", float: "number", bool: "truth value", dict: "object", type(None): "null"}
    return names.get(type(value), type(value).__name__)


def rank(promoter: Promoter, request: RerankRequest, k: int) -> tuple[list[Ranked], Promotion | None]:
    """Return every document best first, the promoted set in front, and the promotion it comes from.

    Documents without text cannot be promoted: they come last. ``k`` is the size of the promoted set where the
    request does not say how many it wants.
    """
    told = [place for place, document in enumerate(request.documents) if document.text.strip()]
    silent = [place for place, document in enumerate(request.documents) if not document.text.strip()]
    promotion = None
    order: list[int] = []
    scores: list[float] = []
    if told:
        documents = [request.documents[place] for place in told]
        promotion = promote_documents(promoter, request.query, documents, request.top_n or k)
        order = [told[place] for place in promotion.ranking]
        scores = promotion.scores[list(promotion.ranking)].tolist()
    scores = falling([*scores, *[0.0] * len(silent)])
    return [Ranked(*pair) for pair in zip([*order, *silent], scores, strict=True)], promotion


def promote_documents(
    promoter: Promoter, question: str, documents: Sequence[RequestDocument], k: int
) -> Promotion:
    """Promote the documents of a request, each judged by its sentences; a document's id is its place."""
    pool = [
        Candidate(id=str(place), text=document.text, title=document.title, source=document.source)
        for place, document in enumerate(documents)
    ]
    return promoter.promote(question, pool, k=max(1, min(k, len(pool))), mode="document")


def falling(scores: Sequence[float]) -> list[float]:
    """Return scores in [0, 1] that fall strictly in the given order and stay as near to ``scores`` as can be.

    The promoted set comes in the order of its argument, which is not always that of its scores. Where a later
    score is higher, both become their mean (the least-squares monotone fit), so that a threshold keeps its
    meaning; then equal scores are set ``STEP`` apart.
    """
    blocks: list[list[float]] = []  # [sum, count]
    for score in scores:
        blocks.append([min(max(score, 0.0), 1.0), 1.0])
        while len(blocks) > 1 and blocks[-2][0] / blocks[-2][1] < blocks[-1][0] / blocks[-1][1]:
            total, count = blocks.pop()
            blocks[-1][0] += total
            blocks[-1][1] += count
    fitted = [total / count for total, count in blocks for _ in range(int(count))]
    step = min(STEP, 1.0 / max(len(fitted), 1))
    last = len(fitted) - 1
    result: list[float] = []
    bound = 1.0
    for place, value in enumerate(fitted):
        score = max(min(value, bound), (last - place) * step)
        result.append(score)
        bound = score - step
    return result


def answer(request: RerankRequest, ranked: Sequence[Ranked], request_id: str) -> object:
    """Return the body of the answer in the dialect of the request."""
    ranked = ranked[: request.top_n]
    tokens = max(1, math.ceil(request.characters / 4))  # about as many were read, as in the library
    dialect, model, usage = request.dialect, {"model": request.model}, {"total_tokens": tokens}
    both = {"prompt_tokens": tokens, "total_tokens": tokens}
    if dialect == "tei":
        return [
            {"index": item.index, "score": _logit(item.score) if request.raw_scores else item.score}
            | ({"text": _echo(request, item).get("text", "")} if request.return_documents else {})
            for item in ranked
        ]
    if dialect == "nim":
        rankings = [{"index": item.index, "logit": _logit(item.score)} for item in ranked]
        return {"rankings": rankings, **model, "usage": both}
    plain = dialect in {"infinity", "voyage"}
    results: list[dict[str, Any]] = []
    for item in ranked:
        results.append({"index": item.index, "relevance_score": item.score})
        if request.return_documents:
            echo = _echo(request, item)
            results[-1]["document"] = echo.get("text", "") if plain else echo
    if dialect == "voyage":
        return {"object": "list", "data": results, **model, "usage": usage}
    if dialect == "dashscope":
        return {"output": {"results": results}, "usage": usage, **model, "request_id": request_id}
    return {
        "id": request_id,
        "object": "rerank",
        **model,
        "results": results,
        "usage": both,
        "meta": {
            "api_version": {"version": "2"},
            "billed_units": {"search_units": max(1, math.ceil(len(request.documents) / 100))},
            "tokens": {"input_tokens": tokens, "output_tokens": 0},
        },
    }


def _echo(request: RerankRequest, item: Ranked) -> Mapping[str, Any]:
    return request.documents[item.index].echo


def _logit(probability: float) -> float:
    """Return the log-odds, finite for 0 and 1; it falls where the probability falls."""
    inside = 1e-7 + probability * (1.0 - 2e-7)
    return math.log(inside / (1.0 - inside))
