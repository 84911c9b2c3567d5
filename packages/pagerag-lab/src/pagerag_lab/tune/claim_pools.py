"""Make pools of sentences for claims: statements, true and false, that a sentence bears out or denies.

The train files have questions, and few claims; whoever checks a draft, a post or a summary has claims alone.
They are made in two ways. A question whose answer is known is stated, with its own answer or with that of
another question of the kind. A sentence of a passage is told in other words: a pronoun by its title, common
words by near ones, cut to a clause, at times with another name or number, denied, or joined with up to three
more. Whether a claim is true does not matter here: the evidence is what decides it. The pool holds the
other sentences of its passage, and those of the nearest passages.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from itertools import islice
from pathlib import Path
from random import Random

import numpy as np
from numpy.typing import NDArray

from pagerag.promotion.whole_units import listed_words
from pagerag.retrieve.encoders import encoder
from pagerag.units import Candidate
from pagerag_lab.datasets.records import read_values
from pagerag_lab.datasets.registry import read_questions
from pagerag_lab.tune.pool_rows import Row, chance, plain
from pagerag_lab.tune.pools import TRAIN_FILES
from pagerag_lab.tune.sentence_pools import (
    Beside,
    SentenceQuestion,
    drawn,
    natural_questions,
    question_rows,
    sentences_of,
    texts_of,
    xquad_questions,
)
from pagerag_lab.tune.word_vectors import ENCODER, encoded

__all__ = ["claim_rows", "stated"]

ALTERED = 1500
"""Claims made of sentences."""
WEIGHTS = (35, 30, 20, 15)
"""How often such a claim is made of one sentence, of two, three, four: a claim says more than one asks."""
FALSE = 0.5
"""Share of the stated questions that get another question's answer."""
_NEAR = 0.57
"""Least cosine of a word that stands for another."""
_AUXILIARY = r"(?:did|do|does)"
_BE = r"(?:is|was|are|were|has|have|had|can|could|will|would|should|may|must)"
_WH = r"(?:what|which)"
_BEFORE = r"(?:(in|on|at|from|by|for|to|with|of|under|during)\s+)?"
_RULES: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern, re.IGNORECASE), form)
    for pattern, form in (
        (rf"(?:who|what)\s+({_BE}\s+.+)", "{a} {1}"),
        (rf"(?:when|where)\s+(?:{_AUXILIARY}|{_BE})\s+(.+)", "{1} in {a}"),
        (rf"how\s+(?:many|much)\s+(\S+)\s+{_AUXILIARY}\s+(.+)", "{2} {a} {1}"),
        (r"how\s+(?:many|much)\s+(.+)", "{a} {1}"),
        (rf"{_BEFORE}(?:who|whom)\s+{_AUXILIARY}\s+(.+)", "{2} {1} {a}"),
        (r"who\s+(.+)", "{a} {1}"),
        (rf"{_BEFORE}{_WH}\s+(?:\S+\s+){{0,4}}?{_AUXILIARY}\s+(.+)", "{2} {1} {a}"),
        (rf"{_WH}\s+(?:\S+\s+){{0,4}}?({_BE}\s+.+)", "{a} {1}"),
        (rf"{_WH}\s+\S+\s+(.+)", "{a} {1}"),
    )
)
_INNER = re.compile(rf"(?<=\s)(?:{_WH}\s+\S+|who|whom|when|where)\b", re.IGNORECASE)
"""What is asked for inside a question ("the mill was built by whom")."""
_ASIDE = re.compile(r"\([^()]*\)")
_PRONOUN = re.compile(r"(He|She|It|They|This|These)\b|(His|Her|Its|Their)\b")
_NUMBER = re.compile(r"\d+")
_NAME = re.compile(r"(?<=[a-z,] )[A-Z][a-z]+(?: [A-Z][a-z]+)*")
_DENIED = re.compile(r"\b(is|was|are|were|has|had|can|could|would)\b")
_CLAUSE = re.compile(r"[,;:] ")
_WORD = re.compile(r"\b[a-z]{3,}\b")


def stated(question: str, answer: str) -> str | None:
    """Return a question as a statement with this answer, roughly; nothing where no rule fits.

    >>> stated("Who wrote Hamlet?", "Marlowe")
    'Marlowe wrote Hamlet'
    """
    asked = question.strip().rstrip("?").strip()
    for pattern, form in _RULES:
        match = pattern.fullmatch(asked)
        if match is not None:
            parts = {str(number): part or "" for number, part in enumerate(match.groups(), 1)}
            return " ".join(_filled(form, parts, answer).split())
    inner = list(_INNER.finditer(asked))
    if not inner:
        return None
    return " ".join(f"{asked[: inner[-1].start()]}{answer}{asked[inner[-1].end() :]}".split())


def _filled(form: str, parts: Mapping[str, str], answer: str) -> str:
    """Put the parts of a question and the answer where a form has them."""
    return re.sub(r"\{(\w)\}", lambda place: parts.get(place[1], answer), form)


def claim_rows(data: Path, left_out: set[str], shown: set[str]) -> Iterator[Row]:
    """Make the rows, without what is ``left_out`` and ``shown`` (as in ``sentence_pools``)."""
    questions = [*natural_questions(data, left_out, shown), *xquad_questions(data, left_out, shown)]
    for made in (_stated(questions), _stated(list(_multihop(data))), _altered(data, left_out, shown)):
        yield from question_rows(list(made))


def _shape(answer: str) -> str:
    """Return what kind of thing an answer looks like: a number, a name, words."""
    return "number" if any(c.isdigit() for c in answer) else "name" if answer[:1].isupper() else "words"


def _found(shape: str, units: Sequence[Candidate]) -> list[str]:
    """Return the names or numbers that stand in some units."""
    pattern = {"name": _NAME, "number": _NUMBER}.get(shape)
    return [] if pattern is None else [found for unit in units for found in pattern.findall(unit.text)]


def _multihop(data: Path) -> Iterator[SentenceQuestion]:
    """Read the questions of HotpotQA and 2Wiki that have an answer in words."""
    for name, file, unit in TRAIN_FILES:
        if unit != "sentence":
            continue
        for row in read_questions(name, data / file):
            key, answer = f"{name}:{row.id}", row.answers[0]
            if answer.strip().lower() not in {"yes", "no"}:
                yield SentenceQuestion(
                    key, key, "multihop", row.question, "multi", list(row.units("sentence")),
                    set(row.gold_ids("sentence")), answer,
                )  # fmt: skip


def _stated(questions: Sequence[SentenceQuestion]) -> Iterator[SentenceQuestion]:
    """State each question, half of them with something else in place of the answer.

    That is a name or number of its pool, or the answer of another question.
    """
    by_shape: defaultdict[str, list[str]] = defaultdict(list)
    for question in questions:
        by_shape[_shape(question.answer)].append(question.answer)
    for question in questions:
        rng = chance("stated", question.key)
        answer = question.answer
        if rng.random() < FALSE:
            near = _found(_shape(answer), question.units) if rng.random() < FALSE else []
            answer = rng.choice(near or by_shape[_shape(answer)])
        claim = stated(question.text, answer)
        if claim is not None:
            yield question._replace(key=f"{question.key}:stated", name="claims_stated", text=claim)


def _altered(data: Path, left_out: set[str], shown: set[str]) -> Iterator[SentenceQuestion]:
    """Tell sentences of encyclopedic passages in other words."""
    passages: dict[str, tuple[str, Candidate]] = {}
    for number, row in enumerate(read_values(data / "reading/nq_open_oracle.jsonl")):
        context = row["ctxs"][0]
        own = Candidate(f"n{len(passages)}", context["text"], context["title"])
        if plain(row["question"]) not in left_out and shown.isdisjoint(texts_of(own)):
            passages.setdefault(context["text"], (f"nq:{number}", own))
    beside = Beside([own for _, own in passages.values()])
    names = sorted({name for _, own in passages.values() for name in _NAME.findall(own.text)})
    made = drawn((base, {"own": own}) for base, own in passages.values())
    for base, row in islice(made, ALTERED):
        own = row["own"]
        rng = chance("altered", base)
        units = sentences_of(own)
        long = [unit for unit in units if len(unit.text.split()) > 7]
        if len(units) < 3 or not long:
            continue
        chosen = _drawn(long, min(rng.choices(range(1, len(WEIGHTS) + 1), WEIGHTS)[0], len(long)), rng)
        claim = " and ".join(_told(unit.text, own.title or "", names, rng) for unit in chosen)
        gold = {unit.id for unit in chosen}
        kind = "single" if len(gold) == 1 else "multi"
        yield SentenceQuestion(
            f"{base}:altered", base, "claims_altered", f"{claim}.", kind, units + beside(claim, own), gold
        )


def _drawn(units: Sequence[Candidate], count: int, rng: Random) -> Sequence[Candidate]:
    """Draw some sentences: mostly one after the other, as an argument runs."""
    if rng.random() < 0.4:
        return rng.sample(units, count)
    start = rng.randrange(len(units) - count + 1)
    return units[start : start + count]


def _told(sentence: str, title: str, names: Sequence[str], rng: Random) -> str:
    """Return a sentence in other words, at times changed in what it says."""
    text = " ".join(_ASIDE.sub("", sentence).split()).rstrip(". ")
    clauses = _CLAUSE.split(text)
    if len(clauses) > 1 and rng.random() < 0.7:
        kept = next((n for n in range(1, len(clauses)) if len(" ".join(clauses[:n]).split()) > 6), None)
        text = ", ".join(clauses[: kept or len(clauses)])
    opening = _PRONOUN.match(text)
    if opening is not None and title:
        text = (title if opening[1] else f"{title}'s") + text[opening.end() :]
    draw = rng.random()
    if draw < 0.25:
        text = _changed(_NUMBER, text, rng, lambda found: str(max(1, int(found[:6]) + rng.randint(-9, 9))))
    elif draw < 0.5:
        text = _changed(_NAME, text, rng, lambda _: rng.choice(names))
    elif draw < 0.6:
        text = _DENIED.sub(lambda found: f"{found[0]} not", text, count=1)
    share = rng.choice((0.2, 0.5, 0.8))
    return _WORD.sub(lambda found: _another(found[0], rng) if rng.random() < share else found[0], text)


def _changed(pattern: re.Pattern[str], text: str, rng: Random, other: Callable[[str], str]) -> str:
    """Exchange one place of a text, if there is any."""
    places = list(pattern.finditer(text))
    if not places:
        return text
    place = rng.choice(places)
    return text[: place.start()] + other(place[0]) + text[place.end() :]


def _another(word: str, rng: Random) -> str:
    """Return a near word of another stem, or the word itself."""
    found = _near_words(word)
    return rng.choice(found) if found else word


@cache
def _near_words(word: str) -> tuple[str, ...]:
    """Return the common words nearest to a word that do not begin like it."""
    vectors, words = _vectors(), list(listed_words())
    place = _places().get(word)
    if place is None:
        return ()
    cosine = vectors @ vectors[place]
    near = [words[n] for n in np.argsort(-cosine, kind="stable")[1:9].tolist() if cosine[n] >= _NEAR]
    return tuple(other for other in near if other[:3] != word[:3] and word[:4] not in other)[:2]


@cache
def _vectors() -> NDArray[np.float32]:
    """Return the vectors of the common words, of length one and around nought."""
    found = encoded(list(listed_words()), encoder(ENCODER))
    found = found - found.mean(axis=0)
    return np.asarray(found / np.maximum(np.linalg.norm(found, axis=1, keepdims=True), 1e-9))


@cache
def _places() -> dict[str, int]:
    return {word: place for place, word in enumerate(listed_words())}
