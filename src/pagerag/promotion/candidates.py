"""Check what the caller passes to ``promote``, and make Candidates of it.

Every refusal is an InputError that names the item and the remedy: no input may raise anything else. Bounds
that hold for every pool are constants here (``MAX_RELATIONS``, ``MAX_STATEMENTS``, ``MAX_ENTITIES``).
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pagerag.errors import CandidateError, EmptyPoolError, InputError
from pagerag.promotion.foreign import FARTHEST_POSITION, document_fields, unique_ids
from pagerag.text.analysis import Analysis
from pagerag.units import Candidate, Mode, Pool, Relation

__all__ = [
    "MAX_ENTITIES",
    "MAX_RELATIONS",
    "MAX_STATEMENTS",
    "MODES",
    "as_candidates",
    "as_vector",
    "budget_of",
    "check_analyses",
    "check_budget",
    "check_callable",
    "check_flag",
    "check_question",
    "check_relations",
    "most_confident",
    "shown",
]

MODES: tuple[Mode, ...] = ("sentence", "paragraph", "document")

MAX_RELATIONS = 1_000
"""How many relations of a pool are read: the most confident ones. 1,000 on one candidate take 0.1 s on one
core, 10,000 took 4 to 8 s; real pools of 20 chunks have some 200 to 800."""

MAX_STATEMENTS = 4_000
"""How many pairs of a relation and a unit that states it are read; a relation may name every unit."""

MAX_ENTITIES = 300
"""How many of the entity names given with one candidate are read, from the first on."""

_LARGEST_COMPONENT = 1e12  # of a vector: its square, summed over a row, still fits single precision
_LARGEST_BUDGET = sys.maxsize
_DEFAULT_K = 5

_FIELDS = tuple(item.name for item in fields(Candidate))

_WANTED = "pass a text, a mapping with 'text', a Candidate, or a LangChain, LlamaIndex or Haystack document"


def shown(value: object, most: int = 200) -> str:
    """Return ``repr(value)`` for a message, cut to ``most`` characters; numbers may be too long to print."""
    try:
        text = repr(value)
    except (ValueError, TypeError, AttributeError, RecursionError):
        text = f"<{type(value).__name__}>"
    return text if len(text) <= most else f"{text[: most - 1]}…"


def as_candidates(pool: object) -> tuple[Candidate, ...]:
    """Return the pool as checked Candidates, in its own order. Nothing of the caller's is changed.

    ``pool`` is a Pool, or an iterable of texts, mappings, Candidates and documents of LangChain, LlamaIndex
    and Haystack, which may be mixed. What has no id gets its place in the pool as its id.
    """
    if isinstance(pool, Pool):
        pool = pool.candidates
    if isinstance(pool, str | bytes | Mapping):
        raise InputError(
            f"candidates must be a sequence of texts, mappings or Candidates, not one {type(pool).__name__}; "
            "wrap it in a list"
        )
    if not isinstance(pool, Iterable):
        raise InputError(
            f"candidates must be a sequence of texts, mappings or Candidates, not {type(pool).__name__}"
        )
    given = [(item, _fields_of(item, place)) for place, item in enumerate(pool)]
    if not given:
        raise EmptyPoolError("the pool is empty: there is nothing to promote; retrieve candidates first")
    names = _names([found.get("id") for _, found in given])
    candidates = []
    for place, (item, found) in enumerate(given):
        # A Candidate is kept as it is, so that the caller gets back the same object.
        candidate = item if isinstance(item, Candidate) else Candidate(**{**found, "id": names[place]})
        _check(candidate, place)
        candidates.append(candidate)
    _check_vectors(candidates)
    return tuple(candidates)


def _fields_of(item: object, place: int) -> dict[str, Any]:
    """Return the fields of one item; ``id`` is missing where it has none."""
    if isinstance(item, Candidate):
        if not isinstance(item.id, str):
            raise CandidateError(f"candidate {place}: id must be a string, not {shown(item.id)}", item=place)
        return {"id": item.id}
    if isinstance(item, str):
        return {"text": item}
    document = document_fields(item)
    if document is not None:
        return _from_mapping(document, place)
    if isinstance(item, Mapping):
        return _from_mapping(item, place)
    raise CandidateError(f"candidate {place} is a {type(item).__name__}; {_WANTED}", item=place)


def _names(ids: Sequence[str | None]) -> list[str]:
    """Return an id for each candidate: its own, else its place, made different from all others."""
    first: dict[str, int] = {}
    for place, name in enumerate(ids):
        if name is not None and first.setdefault(name, place) != place:
            raise CandidateError(
                f"candidates {first[name]} and {place} have the same id {shown(name)}; give each its own, "
                "or leave ids out and they become the places in the pool",
                item=name,
            )
    if len(first) == len(ids):
        return list(first)
    if not first:
        return [str(place) for place in range(len(ids))]
    # Ids that were given come first, so that they stay as they are.
    order = sorted(range(len(ids)), key=lambda place: ids[place] is None)
    names = unique_ids([_or_place(ids, place) for place in order])
    return [name for _, name in sorted(zip(order, names, strict=True))]


def _or_place(ids: Sequence[str | None], place: int) -> str:
    name = ids[place]
    return str(place) if name is None else name


def _from_mapping(item: Mapping[Any, Any], place: int) -> dict[str, Any]:
    unknown = [key for key in item if key not in _FIELDS]
    if unknown:
        raise CandidateError(
            f"candidate {place} has unknown fields: {', '.join(map(shown, unknown[:12]))}; put your own data "
            "under 'metadata', which comes back untouched",
            item=place,
        )
    if item.get("text") is None:
        raise CandidateError(
            f"candidate {place} ({shown(item.get('id', 'no id'))}) has no 'text'", item=place
        )
    values = {key: value for key, value in item.items() if value is not None}
    if "id" in values:
        values["id"] = _id(values["id"], place)
    for name in ("entities", "relations"):
        if name in values and not _listed(values[name]):
            what = "names" if name == "entities" else "(head, relation, tail)"
            raise CandidateError(
                f"candidate {place}: {name} must be a sequence of {what}, not {shown(values[name])}",
                item=place,
            )
    if "entities" in values:
        values["entities"] = tuple(values["entities"])
    if "relations" in values:
        values["relations"] = tuple(_relation(value, place) for value in values["relations"])
    if "vector" in values:
        vector = as_vector(values["vector"])
        if vector is None:
            raise CandidateError(f"candidate {place}: vector must be a row of finite numbers", item=place)
        values["vector"] = vector
    return values


def _id(value: object, place: int) -> str:
    try:
        return str(value)
    except (ValueError, TypeError, AttributeError, RecursionError) as broken:
        raise CandidateError(f"candidate {place}: id must be a string or a number", item=place) from broken


def _listed(value: object) -> bool:
    return isinstance(value, Iterable) and not isinstance(value, str | bytes | Mapping)


def _relation(value: object, place: int) -> Relation:
    if isinstance(value, Relation):
        return value
    try:
        if isinstance(value, Mapping):
            fields_ = dict(value)
            fields_["units"] = tuple(fields_.get("units", ()))
            return Relation(**fields_)
        if isinstance(value, Sequence) and not isinstance(value, str):
            head, relation, tail = value
            return Relation(str(head), str(relation), str(tail))
    except (TypeError, ValueError, RecursionError):
        pass
    raise CandidateError(
        f"candidate {place}: a relation is (head, relation, tail) or a Relation, not {shown(value)}",
        item=place,
    )


def _check(candidate: Candidate, place: int) -> None:
    wrong = _wrong(candidate)
    if wrong or candidate.relations:
        name = f"candidate {place} (id {shown(candidate.id)})"
        if wrong:
            raise CandidateError(f"{name}{wrong}", item=candidate.id)
        for relation in candidate.relations or ():
            _check_relation(relation, name)


def _wrong(candidate: Candidate) -> str:
    """Say what is wrong with the candidate's own fields; empty when nothing is."""
    text: object = candidate.text
    if not isinstance(text, str):
        return f": text must be a string, not {type(text).__name__}"
    if not text or text.isspace():
        return " has no text; leave it out of the pool"
    names: tuple[tuple[str, object], ...] = (("title", candidate.title), ("source", candidate.source))
    for name, value in names:
        if value is not None and not isinstance(value, str):
            return f": {name} must be a string, not {shown(value)}"
    return _wrong_number(candidate) or _wrong_lists(candidate)


def _wrong_number(candidate: Candidate) -> str:
    position, score = candidate.position, candidate.score
    if position is not None:
        if isinstance(position, bool) or not isinstance(position, int | np.integer):
            return f": position must be a whole number, not {shown(position)}"
        if not -FARTHEST_POSITION <= position <= FARTHEST_POSITION:
            return f": position is {shown(position)}; it must lie within ±2**40"
    if score is not None:
        try:
            finite = math.isfinite(score)
        except (TypeError, ValueError, OverflowError):
            finite = False
        if not finite:
            return f": score is {shown(score)}; a score is a finite number, or None when there is none"
    return ""


def _wrong_lists(candidate: Candidate) -> str:
    entities: object = candidate.entities
    if entities is not None and (
        not isinstance(entities, tuple | list) or not all(isinstance(entity, str) for entity in entities)
    ):
        return f": entities must be a sequence of names, not {shown(entities)}"
    relations: object = candidate.relations
    if relations is not None and not isinstance(relations, tuple | list):
        return f": relations must be a sequence of Relations, not {shown(relations)}"
    metadata: object = candidate.metadata
    if type(metadata) is not dict and not isinstance(metadata, Mapping):  # the first is ten times as quick
        return f": metadata must be a mapping, not {shown(metadata)}"
    return ""


def _check_relation(relation: object, name: str) -> None:
    if not isinstance(relation, Relation):
        raise CandidateError(f"{name}: {shown(relation)} is not a Relation", item=name)
    if not all(isinstance(end, str) for end in (relation.head, relation.relation, relation.tail)):
        raise CandidateError(
            f"{name}: head, relation and tail of {shown(relation)} must be strings", item=name
        )
    units: object = relation.units
    if not isinstance(units, tuple | list) or not all(isinstance(unit, str) for unit in units):
        raise CandidateError(
            f"{name}: units of {shown(relation)} must be a sequence of candidate ids", item=name
        )
    confidence = relation.confidence
    if not isinstance(confidence, int | float | np.floating) or not 0.0 <= confidence <= 1.0:
        raise CandidateError(
            f"{name}: relation {shown(relation.head)} -{relation.relation[:80]}-> {shown(relation.tail)} has "
            f"confidence {shown(confidence)}; it must lie in [0, 1]",
            item=name,
        )


def as_vector(value: object) -> NDArray[np.float32] | None:
    """Return one row of finite real numbers in single precision, or None when ``value`` is not one."""
    try:
        given = np.asarray(value)
        if given.ndim != 1 or np.iscomplexobj(given):
            return None
        with np.errstate(over="ignore"):
            vector = given.astype(np.float32)
    except (TypeError, ValueError, OverflowError, RecursionError):
        return None
    bounded = np.isfinite(vector).all() and np.abs(vector).max(initial=0.0) <= _LARGEST_COMPONENT
    return vector if bounded else None


def _check_vectors(candidates: Sequence[Candidate]) -> None:
    size: int | None = None
    for candidate in candidates:
        if candidate.vector is None:
            continue
        vector = as_vector(candidate.vector)
        if vector is None:
            raise CandidateError(
                f"candidate {shown(candidate.id)}: "
                "vector must be one row of finite numbers, none beyond ±1e12",
                item=candidate.id,
            )
        if size is not None and len(vector) != size:
            raise CandidateError(
                f"candidate {shown(candidate.id)}: vector has {len(vector)} numbers, others have {size}; "
                "all vectors of a pool come from one encoder",
                item=candidate.id,
            )
        size = len(vector)


def check_question(question: object) -> str:
    """Return the question, if it is one."""
    if not isinstance(question, str):
        raise InputError(f"the question must be a string, not {type(question).__name__}")
    if not question.strip():
        raise InputError("the question is empty; promotion has nothing to align the pool with")
    return question


def budget_of(k: int | None, top_n: int | None = None, top_k: int | None = None) -> int:
    """Return how many units may come out: ``k``, which other libraries call ``top_n`` or ``top_k``.

    5 when none is given; two that differ are refused.
    """
    if k is None and top_n is None and top_k is None:
        return _DEFAULT_K
    given = {
        name: value for name, value in (("k", k), ("top_n", top_n), ("top_k", top_k)) if value is not None
    }
    values = list(given.values())
    for name, value in given.items():
        if isinstance(value, bool) or not isinstance(value, int | np.integer):
            raise InputError(f"{name} is {shown(value)}; it must be a whole number ≥ 1")
    if any(value != values[0] for value in values[1:]):
        said = ", ".join(f"{name}={shown(value)}" for name, value in given.items())
        raise InputError(f"{said} are the same setting with different values; give one of them")
    return values[0]


def check_budget(k: object, mode: object, max_tokens: object) -> None:
    """Refuse a k, mode or max_tokens that cannot be used."""
    if isinstance(k, bool) or not isinstance(k, int | np.integer) or not 1 <= k <= _LARGEST_BUDGET:
        raise InputError(
            f"k is {shown(k)}; the context holds at least one unit, so k must be a whole number ≥ 1"
        )
    if not isinstance(mode, str) or mode not in MODES:
        auto = " (auto belongs to files and stores, which know what a unit is)" if mode == "auto" else ""
        raise InputError(f"mode is {shown(mode)}; it must be one of: {', '.join(MODES)}{auto}")
    if max_tokens is not None and (
        isinstance(max_tokens, bool)
        or not isinstance(max_tokens, int | np.integer)
        or not 1 <= max_tokens <= _LARGEST_BUDGET
    ):
        raise InputError(
            f"max_tokens is {shown(max_tokens)}; it must be a whole number ≥ 1, or None for no bound"
        )


def check_flag(value: object, name: str) -> bool:
    """Return a setting that is on or off, if it is one of the two."""
    if not isinstance(value, bool | np.bool_):
        raise InputError(f"{name} is {shown(value)}; it must be True or False")
    return bool(value)


def check_callable(value: object, name: str) -> None:
    """Refuse a ``value`` that is neither None nor a function."""
    if value is not None and not callable(value):
        raise InputError(f"{name} is {shown(value)}; it must be a function, or None for the default")


def check_analyses(analyses: object, size: int) -> list[Analysis | None]:
    """Return earlier analyses as a list, if there is one, or None, for each of ``size`` candidates."""
    if not isinstance(analyses, Iterable) or isinstance(analyses, str | bytes | Mapping):
        raise InputError(f"analyses must be a sequence with one for each candidate, not {shown(analyses)}")
    found = list(analyses)
    if len(found) != size:
        raise InputError(f"{len(found)} analyses for {size} candidates; they go in pairs")
    for place, analysis in enumerate(found):
        if analysis is not None and not isinstance(analysis, Analysis):
            raise InputError(
                f"analyses[{place}] is {shown(analysis)}; it must come from Promoter.analyze, or be None"
            )
    return found


def check_relations(relations: object) -> tuple[Relation, ...]:
    """Return the pool's relations, if they are Relations with a confidence in [0, 1]; None means none."""
    if relations is None:
        return ()
    if not isinstance(relations, Iterable) or isinstance(relations, str | bytes | Mapping):
        raise InputError(f"relations must be a sequence of Relations, not {shown(relations)}")
    found = tuple(relations)
    for relation in found:
        _check_relation(relation, "relations")
    return found


def most_confident(stated: list[tuple[Relation, tuple[int, ...]]]) -> list[tuple[Relation, tuple[int, ...]]]:
    """Return the relations that are read, in their own order: the most confident within the bounds.

    ``stated`` pairs each relation with the candidates that state it. At most ``MAX_RELATIONS`` relations
    with at most ``MAX_STATEMENTS`` (relation, candidate) pairs are kept; among equals the earlier ones are.
    """
    if len(stated) <= MAX_RELATIONS and sum(len(units) for _, units in stated) <= MAX_STATEMENTS:
        return stated
    kept: list[int] = []
    left = MAX_STATEMENTS
    for place in sorted(range(len(stated)), key=lambda place: -float(stated[place][0].confidence)):
        units = len(stated[place][1])
        if units <= left:
            kept.append(place)
            left -= units
        if len(kept) == MAX_RELATIONS or left == 0:
            break
    return [stated[place] for place in sorted(kept)]
