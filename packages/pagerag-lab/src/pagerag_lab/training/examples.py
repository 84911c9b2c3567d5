"""Questions with labelled units: one shape for every data set that the models learn from.

Only train files of the benchmarks are read here, and the reading sets. The MuSiQue dev file is opened by
``training.exclusion`` alone, to leave out what overlaps it.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pagerag.text import split_sentences

__all__ = ["Example", "Unit", "load_multihop", "load_reading"]


@dataclass(frozen=True, slots=True)
class Unit:
    """One sentence or paragraph, with its document's title, its place in it, and whether it is gold."""

    id: str
    title: str
    text: str
    position: int
    support: bool


@dataclass(frozen=True, slots=True)
class Example:
    """One question. ``kind`` is span, yes, no or none; ``answers`` holds the accepted spans.

    ``labelled`` says that ``Unit.support`` was annotated by people, not derived from the answer's place.
    """

    id: str
    source: str
    question: str
    units: tuple[Unit, ...]
    answers: tuple[str, ...]
    kind: str
    labelled: bool = True
    weight: float = 1.0
    extra: dict[str, Any] = field(default_factory=dict, compare=False)


def kind_of(answer: str) -> str:
    """The answer's kind: yes and no are classes of their own, everything else is a span."""
    lowered = answer.strip().lower()
    return lowered if lowered in {"yes", "no"} else "span"


def read_json(path: Path) -> Any:
    """A JSON file, or the same file gzipped."""
    if path.exists():
        return json.loads(path.read_text(encoding="utf-8"))
    with gzip.open(path.with_name(path.name + ".gz"), "rt", encoding="utf-8") as file:
        return json.load(file)


def read_lines(path: Path) -> Iterator[Any]:
    """The rows of a JSON-lines file, or of the same file gzipped."""
    if path.exists():
        with path.open(encoding="utf-8") as file:
            yield from map(json.loads, file)
        return
    with gzip.open(path.with_name(path.name + ".gz"), "rt", encoding="utf-8") as file:
        yield from map(json.loads, file)


def load_multihop(data: Path) -> list[Example]:
    """The three benchmarks' train questions; units are sentences, and paragraphs for MuSiQue."""
    found = [*_wiki_format(data / "hotpotqa/train.json", "hotpotqa")]
    found += _wiki_format(data / "2wikimultihopqa/train.json", "2wiki")
    found += _musique(data / "musique/train.jsonl")
    return found


def _wiki_format(path: Path, source: str) -> Iterator[Example]:
    for row in read_json(path):
        gold = {(title, number) for title, number in row["supporting_facts"]}
        units = tuple(
            Unit(f"{title}#{i}", title, text.strip(), i, (title, i) in gold)
            for title, sentences in row["context"]
            for i, text in enumerate(sentences)
            if text.strip()
        )
        yield Example(
            row["_id"],
            source,
            row["question"],
            units,
            (row["answer"],),
            kind_of(row["answer"]),
            extra={"type": row["type"], "evidences": row.get("evidences", [])},
        )


def _musique(path: Path) -> Iterator[Example]:
    for row in read_lines(path):
        units = tuple(
            Unit(f"p{p['idx']}", p["title"], p["paragraph_text"], 0, p["is_supporting"])
            for p in row["paragraphs"]
        )
        answers = (row["answer"], *row["answer_aliases"])
        yield Example(
            row["id"],
            "musique",
            row["question"],
            units,
            answers,
            kind_of(row["answer"]),
            extra={"steps": row["question_decomposition"]},
        )


def load_reading(data: Path) -> list[Example]:
    """Single-passage questions; a sentence that holds the answer counts as support (not annotated)."""
    return [*_natural_questions(data), *_squad_files(data), *_strategy(data)]


def passage_units(
    title: str, text: str, spans: list[tuple[int, int]] | None, answers: tuple[str, ...], *, key: str
) -> tuple[Unit, ...]:
    """A passage as sentence units; ``spans`` are the answer's places, else any occurrence counts."""
    units = []
    for i, (start, end) in enumerate(split_sentences(text)):
        sentence = text[start:end].strip()
        if not sentence:
            continue
        if spans is None:
            hit = any(a and a.lower() in sentence.lower() for a in answers)
        else:
            hit = any(start <= s and e <= end for s, e in spans)
        units.append(Unit(f"{key}#{i}", title, sentence, i, hit))
    return tuple(units)


def _natural_questions(data: Path) -> Iterator[Example]:
    for n, row in enumerate(read_lines(data / "reading/nq_open_oracle.jsonl")):
        answers = tuple(row["answers"])
        for passage in row["ctxs"][:1]:
            units = passage_units(passage["title"], passage["text"], None, answers, key=f"nq{n}")
            if any(unit.support for unit in units):
                kind = kind_of(answers[0])
                yield Example(f"nq{n}", "nq", row["question"], units, answers, kind, labelled=False)


def _squad_files(data: Path) -> Iterator[Example]:
    for article in read_json(data / "reading/xquad.en.json")["data"]:
        for number, paragraph in enumerate(article["paragraphs"]):
            title = article.get("title", "")
            for row in paragraph["qas"]:
                key = f"{title}{number}"
                yield _squad(row["id"], "xquad", title, paragraph["context"], row, key)
    for row in read_lines(data / "reading/squad2_dev_500.jsonl"):
        yield _squad(row["id"], "squad2", row["title"], row["context"], row, row["context"][:40])


def _squad(key: str, source: str, title: str, context: str, row: Any, passage: str) -> Example:
    answers = tuple(dict.fromkeys(a["text"] for a in row["answers"]))
    spans = [(a["answer_start"], a["answer_start"] + len(a["text"])) for a in row["answers"]]
    units = passage_units(title.replace("_", " "), context, spans, answers, key=passage)
    kind = "span" if answers else "none"
    return Example(key, source, row["question"], units, answers, kind, labelled=False)


def _strategy(data: Path) -> Iterator[Example]:
    """Yes/no questions whose units are the annotators' facts, each a document of its own."""
    for row in read_json(data / "reading/strategyqa_train.json"):
        units = tuple(
            Unit(
                f"{row['qid']}#{i}", row["term"] if row["term"] and row["term"] in fact else "", fact, 0, True
            )
            for i, fact in enumerate(row["facts"])
            if fact.strip()
        )
        if units:
            answer = "yes" if row["answer"] else "no"
            yield Example(row["qid"], "strategyqa", row["question"], units, (answer,), answer, weight=0.5)
