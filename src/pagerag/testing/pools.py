"""The contracts of a retriever and of a backend: a question in, a pool out."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from pagerag.errors import InputError
from pagerag.protocols import Backend, Retriever
from pagerag.testing._check import BLANK_TEXTS, ODD_TEXTS, Checker, in_threads, names_of
from pagerag.units import Candidate, Pool

QUESTIONS = ("Where was Marie Curie born?", "Which tower was built for the World's Fair of 1889?")

Ask = Callable[[str, int], Pool]


def check_retriever(
    retriever: Retriever,
    *,
    questions: Sequence[str] = QUESTIONS,
    finds: Mapping[str, str] | None = None,
    odd: bool = True,
    threads: bool = True,
) -> None:
    """Check that ``retriever.retrieve(question, k)`` gives a pool of at most ``k`` candidates, best first.

    - ``name`` is a text; the pool carries the question; ids are unique texts, texts are not blank;
    - scores are finite where they are given, and where all are given they do not rise;
    - vectors are one-dimensional, finite and all as long as the pool's own;
    - relations name candidates of the pool and have a confidence in [0, 1];
    - ``k`` of 1 gives at most one candidate; ``k`` below 1 gives none, or raises InputError;
    - the same question gives the same pool, from any thread;
    - odd questions give a pool, an empty one if need be; a blank one may raise InputError instead.

    ``finds`` maps questions to the id of a candidate that must be in the pool. ``odd=False`` and
    ``threads=False`` leave out what a costly or single-threaded system cannot be asked for.
    """
    _check_pools(Checker("check_retriever", retriever), "retrieve", questions, finds, odd, threads)


def check_backend(
    backend: Backend,
    *,
    questions: Sequence[str] = QUESTIONS,
    finds: Mapping[str, str] | None = None,
    odd: bool = True,
    threads: bool = True,
) -> None:
    """Check that ``backend.pool(question, k)`` gives a pool as ``check_retriever`` wants one."""
    _check_pools(Checker("check_backend", backend), "pool", questions, finds, odd, threads)


def _check_pools(
    check: Checker,
    method: str,
    questions: Sequence[str],
    finds: Mapping[str, str] | None,
    odd: bool,
    threads: bool,
) -> None:
    ask: Ask = check.method(method, f"{method}(question, k) is a method")
    check.name()
    for question in questions:
        pool = _ask(check, ask, question, 20)
        check.expect(len(pool), f"the pool for {question!r} has candidates", "none")
        again = _shape(_ask(check, ask, question, 20))
        check.expect(_shape(pool) == again, f"{question!r} gives the same pool again", names_of(again))
        _ask(check, ask, question, 1)
    for k in (0, -1):
        _ask(check, ask, questions[0], k, f"k = {k}", InputError)
    for question, wanted in (finds or {}).items():
        ids = [candidate.id for candidate in _ask(check, ask, question, 20).candidates]
        check.expect(wanted in ids, f"the pool for {question!r} has candidate {wanted!r}", names_of(ids))
    if odd:
        for label, text in ODD_TEXTS.items():
            _ask(check, ask, text, 5, f"an odd question ({label})")
        for label, text in BLANK_TEXTS.items():
            _ask(check, ask, text, 5, f"a blank question ({label})", InputError)
    if threads:
        alone = _shape(_ask(check, ask, questions[0], 20))
        for other in in_threads(lambda: _shape(ask(questions[0], 20))):
            check.expect(other == alone, "threads get the same pool", names_of(other))


def _ask(check: Checker, ask: Ask, question: str, k: int, label: str = "", *allowed: type[Exception]) -> Pool:
    label = label or repr(question)
    pool = check.call(f"asking for {label} with k = {k}", lambda: ask(question, k), allowed)
    if pool is None and allowed:
        return Pool(question, ())
    check.expect(isinstance(pool, Pool), f"{label} gives a Pool", type(pool).__name__)
    assert isinstance(pool, Pool)  # noqa: S101 - for the type checker; reported above
    check.equal(pool.question, question, f"the pool for {label} carries the question")
    most = max(k, 0)
    check.expect(len(pool) <= most, f"the pool for {label} has at most {most} candidates", len(pool))
    check.expect(isinstance(pool.candidates, tuple), "candidates are a tuple", type(pool.candidates).__name__)
    for candidate in pool.candidates:
        _check_candidate(check, pool, candidate)
    ids = [candidate.id for candidate in pool.candidates]
    repeated = sorted({name for name in ids if ids.count(name) > 1})
    check.expect(not repeated, "ids are unique within a pool", names_of(repeated))
    scores = [candidate.score for candidate in pool.candidates if candidate.score is not None]
    if len(scores) == len(ids):
        rises = [ids[n] for n, (a, b) in enumerate(itertools.pairwise(scores)) if b > a]
        check.expect(not rises, "candidates come best first", f"the score rises after {names_of(rises)}")
    own = (relation for candidate in pool.candidates for relation in candidate.relations or ())
    for relation in (*pool.relations, *own):
        sure = relation.confidence
        check.expect(0 <= sure <= 1, f"the confidence of {relation!r} is in [0, 1]", sure)
        unknown = [unit for unit in relation.units if unit not in ids]
        what = f"the relation {relation.head!r}-{relation.tail!r} names units of the pool"
        check.expect(not unknown, what, unknown)
    return pool


def _check_candidate(check: Checker, pool: Pool, candidate: Candidate) -> None:
    check.expect(isinstance(candidate, Candidate), "the pool holds Candidates", type(candidate).__name__)
    name, text, score = candidate.id, candidate.text, candidate.score
    check.expect(isinstance(name, str) and name, "an id is a text, not empty", name)
    check.expect(isinstance(text, str) and text.strip(), f"candidate {name!r} has text", text)
    finite = score is None or (isinstance(score, int | float) and math.isfinite(score))
    check.expect(finite, f"the score of {name!r} is a finite number or None", score)
    if candidate.vector is not None:
        vector, what = np.asarray(candidate.vector), f"the vector of {name!r}"
        row = vector.ndim == 1 and np.isfinite(vector).all()
        check.expect(row, f"{what} is one finite row", f"shape {vector.shape}")
        own = vector.shape if pool.vector is None else np.asarray(pool.vector).shape
        sizes = f"{vector.shape} and {own}"
        check.expect(vector.shape == own, f"{what} is as long as the question's", sizes)


def _shape(pool: Pool) -> list[Any]:
    return [(candidate.id, candidate.text) for candidate in pool.candidates]
