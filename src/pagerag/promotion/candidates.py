"""What the caller passes in → Candidates that can be relied on. Every refusal names the item and the remedy."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from typing import Any

import numpy as np

from pagerag.errors import CandidateError, EmptyPoolError, InputError
from pagerag.units import Candidate, Mode, Pool, Relation

__all__ = ["MODES", "as_candidates", "check_budget", "check_question", "check_relations"]

MODES: tuple[Mode, ...] = ("sentence", "paragraph", "document")

_FIELDS = tuple(item.name for item in fields(Candidate))


def as_candidates(pool: Iterable[str | Mapping[str, Any] | Candidate] | Pool) -> tuple[Candidate, ...]:
    """The pool as checked Candidates, in its own order. Nothing of the caller's is changed."""
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
    found = tuple(_candidate(item, place) for place, item in enumerate(pool))
    if not found:
        raise EmptyPoolError("the pool is empty: there is nothing to promote; retrieve candidates first")
    seen: dict[str, int] = {}
    for place, candidate in enumerate(found):
        first = seen.setdefault(candidate.id, place)
        if first != place:
            raise CandidateError(
                f"candidates {first} and {place} have the same id {candidate.id!r}; give each its own, "
                "or leave ids out and they become the places in the pool",
                item=candidate.id,
            )
    _check_vectors(found)
    return found


def _candidate(item: object, place: int) -> Candidate:
    if isinstance(item, Candidate):
        candidate = item
        if not isinstance(candidate.id, str):
            raise CandidateError(f"candidate {place}: id must be a string, not {candidate.id!r}", item=place)
    elif isinstance(item, str):
        candidate = Candidate(id=str(place), text=item)
    elif isinstance(item, Mapping):
        candidate = _from_mapping(item, place)
    else:
        raise CandidateError(
            f"candidate {place} is a {type(item).__name__}; pass a text, a mapping with 'text', or a Candidate",
            item=place,
        )
    _check(candidate, place)
    return candidate


def _from_mapping(item: Mapping[str, Any], place: int) -> Candidate:
    unknown = [key for key in item if key not in _FIELDS]
    if unknown:
        raise CandidateError(
            f"candidate {place} has unknown fields: {', '.join(map(repr, unknown))}; put your own data under "
            "'metadata', which comes back untouched",
            item=place,
        )
    if item.get("text") is None:
        raise CandidateError(f"candidate {place} ({item.get('id', 'no id')!r}) has no 'text'", item=place)
    values = {key: value for key, value in item.items() if value is not None}
    values["id"] = str(values.get("id", place))
    if "entities" in values and not isinstance(values["entities"], str):
        values["entities"] = tuple(values["entities"])
    if "relations" in values:
        values["relations"] = tuple(_relation(value, place) for value in values["relations"])
    if "vector" in values:
        try:
            values["vector"] = np.asarray(values["vector"], dtype=np.float32)
        except (TypeError, ValueError) as broken:
            raise CandidateError(
                f"candidate {place}: vector must be a row of numbers", item=place
            ) from broken
    return Candidate(**values)


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
    except (TypeError, ValueError):
        pass
    raise CandidateError(
        f"candidate {place}: a relation is (head, relation, tail) or a Relation, not {value!r}", item=place
    )


def _check(candidate: Candidate, place: int) -> None:
    wrong = _wrong(candidate)
    if wrong:
        raise CandidateError(f"candidate {place} (id {candidate.id!r}){wrong}", item=candidate.id)
    for relation in candidate.relations or ():
        _check_relation(relation, f"candidate {place} (id {candidate.id!r})")


def _wrong(candidate: Candidate) -> str:
    """What is wrong with the candidate's own fields, if anything."""
    text: object = candidate.text
    if not isinstance(text, str):
        return f": text must be a string, not {type(text).__name__}"
    if not text or text.isspace():
        return " has no text; leave it out of the pool"
    title: object = candidate.title
    if title is not None and not isinstance(title, str):
        return f": title must be a string, not {title!r}"
    source: object = candidate.source
    if source is not None and not isinstance(source, str):
        return f": source must be a string, not {source!r}"
    position = candidate.position
    if position is not None and (isinstance(position, bool) or not isinstance(position, int | np.integer)):
        return f": position must be a whole number, not {position!r}"
    score = candidate.score
    if score is not None:
        try:
            finite = math.isfinite(score)
        except (TypeError, OverflowError):
            finite = False
        if not finite:
            return f": score is {score!r}; a score is a finite number, or None when there is none"
    entities: object = candidate.entities
    if entities is not None and (
        not isinstance(entities, tuple | list) or not all(isinstance(entity, str) for entity in entities)
    ):
        return f": entities must be a sequence of names, not {entities!r}"
    return ""


def _check_relation(relation: object, name: str) -> None:
    if not isinstance(relation, Relation):
        raise CandidateError(f"{name}: {relation!r} is not a Relation", item=name)
    if not all(isinstance(end, str) for end in (relation.head, relation.relation, relation.tail)):
        raise CandidateError(f"{name}: head, relation and tail of {relation!r} must be strings", item=name)
    confidence = relation.confidence
    if not isinstance(confidence, int | float) or not 0.0 <= confidence <= 1.0:
        raise CandidateError(
            f"{name}: relation {relation.head!r} -{relation.relation}-> {relation.tail!r} has confidence "
            f"{confidence!r}; it must lie in [0, 1]",
            item=name,
        )


def _check_vectors(candidates: tuple[Candidate, ...]) -> None:
    shape: tuple[int, ...] | None = None
    for candidate in candidates:
        if candidate.vector is None:
            continue
        vector = np.asarray(candidate.vector)
        if vector.ndim != 1 or not np.issubdtype(vector.dtype, np.number) or not np.isfinite(vector).all():
            raise CandidateError(
                f"candidate {candidate.id!r}: vector must be one row of finite numbers", item=candidate.id
            )
        if shape is not None and vector.shape != shape:
            raise CandidateError(
                f"candidate {candidate.id!r}: vector has {vector.shape[0]} numbers, others have {shape[0]}; "
                "all vectors of a pool come from one encoder",
                item=candidate.id,
            )
        shape = vector.shape


def check_question(question: object) -> str:
    """The question, if it is one."""
    if not isinstance(question, str):
        raise InputError(f"the question must be a string, not {type(question).__name__}")
    if not question.strip():
        raise InputError("the question is empty; promotion has nothing to align the pool with")
    return question


def check_budget(k: object, mode: object, max_tokens: object) -> None:
    """k, mode and max_tokens, if they can be used."""
    if isinstance(k, bool) or not isinstance(k, int | np.integer) or k < 1:
        raise InputError(f"k is {k!r}; the context holds at least one unit, so k must be a whole number ≥ 1")
    if mode not in MODES:
        raise InputError(f"mode is {mode!r}; it must be one of: {', '.join(MODES)}")
    if max_tokens is not None and (
        isinstance(max_tokens, bool) or not isinstance(max_tokens, int | np.integer) or max_tokens < 1
    ):
        raise InputError(f"max_tokens is {max_tokens!r}; it must be a whole number ≥ 1, or None for no bound")


def check_relations(relations: Iterable[Relation]) -> tuple[Relation, ...]:
    """The pool's relations, if they are Relations with a confidence in [0, 1]."""
    found = tuple(relations)
    for relation in found:
        _check_relation(relation, "relations")
    return found
