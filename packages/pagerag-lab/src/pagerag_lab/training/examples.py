"""Questions with labelled units: one shape for every data set that the models learn from.

Train files are read here, the reading sets, and the pools that ``pagerag_lab.tune.train_pools`` makes. Dev
files are opened by ``training.exclusion`` alone, to leave out what overlaps them.
"""

from __future__ import annotations

import gzip
import json
import re
import unicodedata
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from pagerag.text import split_sentences
from pagerag_lab.datasets.records import read_values
from pagerag_lab.pools.restated import RESTATED
from pagerag_lab.training.spans import Place, said, spots

__all__ = [
    "BEARING_UNKNOWN",
    "Example",
    "Unit",
    "load_multihop",
    "load_pools",
    "load_reading",
    "load_wide",
    "plain",
]

BEARING_UNKNOWN = -1
"""Nobody has said whether the unit holds the answer."""

VARIANTS = ("removed", "stranger")
"""Pools without the evidence, and pools of another question."""

SETS = {"2wiki": "2wikimultihopqa"}
"""Our short names and those of the pools files."""


@dataclass(frozen=True, slots=True)
class Unit:
    """One sentence or paragraph, with its document's title, its place in it, and whether it is gold.

    ``document`` groups the units of one document (the title where it is empty); ``bearing`` says whether the
    unit holds the answer, where the example has ``bearings``.
    """

    id: str
    title: str
    text: str
    position: int
    support: bool
    document: str = ""
    bearing: int = BEARING_UNKNOWN


@dataclass(frozen=True, slots=True)
class Example:
    """One question. ``kind`` is span, yes, no or none; ``answers`` holds the accepted spans.

    ``labelled`` says that ``Unit.support`` was annotated by people, not derived from the answer's place.
    ``base`` is the question that the example was made from: its fold is that question's. ``source`` is empty
    where the example is only predicted. ``complete`` says whether all evidence is among the units;
    ``bearings`` that ``Unit.bearing`` counts and not the answer's place.
    """

    id: str
    source: str
    question: str
    units: tuple[Unit, ...]
    answers: tuple[str, ...]
    kind: str
    labelled: bool = True
    weight: float = 1.0
    base: str = ""
    complete: bool = True
    bearings: bool = False
    spots: tuple[Place, ...] = ()
    """Where the answer stands, unit by unit, where that is known exactly."""
    extra: dict[str, Any] = field(default_factory=dict, compare=False)


def kind_of(answer: str) -> str:
    """Return the answer's kind: yes and no are classes of their own, everything else is a span."""
    lowered = answer.strip().lower()
    return lowered if lowered in {"yes", "no"} else "span"


def plain(text: str) -> str:
    """Return a question in the form in which two spellings of it meet: NFKC, lower case, no punctuation."""
    return " ".join(re.findall(r"[^\W_]+", unicodedata.normalize("NFKC", text).lower()))


def base_of(source: str, key: str) -> str:
    """Return the name of a question that all files agree on."""
    return f"{SETS.get(source, source)}:{key}"


def read_json(path: Path) -> Any:
    """Return a JSON file, or the same file gzipped."""
    if path.exists():
        return json.loads(path.read_text(encoding="utf-8"))
    with gzip.open(path.with_name(path.name + ".gz"), "rt", encoding="utf-8") as file:
        return json.load(file)


def read_lines(path: Path) -> Iterator[Any]:
    """Return the rows of a JSON-lines file, or of the same file gzipped."""
    return read_values(path if path.exists() else path.with_name(path.name + ".gz"))


def load_multihop(data: Path) -> list[Example]:
    """Return the three benchmarks' train questions; units are sentences, and paragraphs for MuSiQue."""
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
            base=base_of(source, row["_id"]),
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
            base=base_of("musique", row["id"]),
            extra={"steps": row["question_decomposition"]},
        )


def load_reading(data: Path, left_out: Collection[str]) -> list[Example]:
    """Read single-passage questions; a sentence that holds the answer counts as support (not annotated).

    An article of XQuAD goes whole when one of its questions is in ``left_out`` (in the form of ``plain``).
    """
    return [*_natural_questions(data), *_xquad(data, left_out), *_strategy(data)]


def passage_units(
    title: str, text: str, spans: list[tuple[int, int]] | None, answers: tuple[str, ...], *, key: str
) -> tuple[Unit, ...]:
    """Return a passage as sentence units; ``spans`` are the answer's places, else any occurrence counts."""
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
                yield Example(
                    f"nq{n}",
                    "nq",
                    row["question"],
                    units,
                    answers,
                    kind,
                    labelled=False,
                    base=base_of("nq", str(n)),
                )


def _xquad(data: Path, left_out: Collection[str]) -> Iterator[Example]:
    for article in read_json(data / "reading/xquad.en.json")["data"]:
        paragraphs = article["paragraphs"]
        if any(plain(row["question"]) in left_out for p in paragraphs for row in p["qas"]):
            continue
        for number, paragraph in enumerate(paragraphs):
            title = article.get("title", "")
            for row in paragraph["qas"]:
                key = f"{title}{number}"
                yield _squad(row["id"], "xquad", title, paragraph["context"], row, key)


def _squad(key: str, source: str, title: str, context: str, row: Any, passage: str) -> Example:
    answers = tuple(dict.fromkeys(a["text"] for a in row["answers"]))
    spans = [(a["answer_start"], a["answer_start"] + len(a["text"])) for a in row["answers"]]
    units = passage_units(title.replace("_", " "), context, spans, answers, key=passage)
    kind = "span" if answers else "none"
    base = base_of(source, key)
    return Example(key, source, row["question"], units, answers, kind, labelled=False, base=base)


def _strategy(data: Path) -> Iterator[Example]:
    """Read yes/no questions whose units are the annotators' facts, each a document of its own."""
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


def load_wide(data: Path) -> Iterator[Example]:
    """Read ``wide/train``: questions and claims of many kinds over pools of sentences and paragraphs.

    Answers are not told. Where one unit is the whole evidence, it holds the answer; else that is unknown.
    """
    for path in sorted((data / "wide/train").glob("*.jsonl.gz")):
        source = path.name.partition(".")[0]
        for row in read_lines(path.with_suffix("")):
            gold = {key for one in row["gold"] for key in one}
            known = row["kind"] == "single" and len(gold) == 1
            units = tuple(_pool_unit(c, gold, known) for c in row["candidates"])
            yield Example(
                f"{source}-{row['id']}",
                source,
                row["question"],
                units,
                (),
                "span" if gold else "none",
                base=f"{source}:{row['id']}",
                bearings=True,
            )


def _pool_unit(row: Any, gold: Collection[str], known: bool) -> Unit:
    title, support = row.get("title") or "", row["id"] in gold
    return Unit(
        row["id"],
        title,
        row["text"],
        row.get("position") or 0,
        support,
        row.get("source") or title or row["id"],
        int(support) if known or not gold else BEARING_UNKNOWN,
    )


def load_pools(folder: Path) -> Iterator[Example]:
    """Read the pools that ``train_pools`` made (``*-train.jsonl.gz``).

    Every row is predicted, some are learned from.

    Learned from are the pools of documents (passages and sentences), of the reading sets and of claims, and
    of the others those without evidence or with a unit that only repeats the question: the questions of the
    benchmarks and of ``wide/train`` are learned from their own files, where contexts are drawn anew.
    """
    for path in sorted(folder.glob("*-train.jsonl.gz")):
        for row in read_lines(path.with_suffix("")):
            yield _pool_example(row, path.name.partition("-")[0])


def _pool_example(row: Any, file: str) -> Example:
    variant = row["id"].rpartition("~")[2]
    own = {"documents": "documents", "reading": f"{row['set']}_pool", "claims": "claims"}.get(file, "")
    if row["set"] == "document_sentences":
        own = "sentences"
    source = f"{own or 'other'}_{variant}" if variant in VARIANTS else own
    if not source and any(c["id"] == RESTATED for c in row["candidates"]):
        source = RESTATED
    gold, answers = set(row["gold"]), tuple(row.get("answer") or ())
    pattern = _pattern(row.get("answer_re"), answers)
    units = []
    for c in row["candidates"]:
        unit = _pool_unit(c, gold, False)
        if unit.support and pattern is not None:
            unit = replace(unit, bearing=int(bool(pattern.search(unit.text))))
        elif not unit.support:
            unit = replace(unit, bearing=0)
        units.append(unit)
    kind = "span" if row["complete"] else "none"
    places: tuple[Place, ...] = ()
    if answers and file == "documents":
        kind, places = _document_answer(row, answers, gold, kind)
    elif answers and row["complete"]:
        kind = kind_of(answers[0])
    return Example(
        row["id"],
        source,
        row["question"],
        tuple(units),
        answers,
        kind,
        base=row["base"],
        complete=row["complete"],
        bearings=True,
        spots=places,
        extra={"file": file, "answer_re": row.get("answer_re")},
    )


def _document_answer(
    row: Any, answers: tuple[str, ...], gold: Collection[str], kind: str
) -> tuple[str, tuple[Place, ...]]:
    """Return the kind of an answer over documents, and its places in those gold units that are there."""
    word = said(answers, row.get("answer_re"))
    if word is not None:
        return (word if row["complete"] else "none"), ()
    members = [i for i, c in enumerate(row["candidates"]) if c["id"] in gold]
    texts = [row["candidates"][i]["text"] for i in members]
    quotes = [fact["quote"] for fact in row.get("facts") or ()]
    found, whole = spots(texts, answers, row.get("answer_re"), quotes)
    kind = kind if whole or kind == "none" else "unknown"
    return kind, tuple(replace(place, text=members[place.text]) for place in found)


def _pattern(given: str | None, answers: Collection[str]) -> re.Pattern[str] | None:
    """Return the pattern that an answer is known by.

    The one given, unless it wants several things in any order.
    """
    if given and "(?=" not in given:
        return re.compile(given, re.IGNORECASE)
    found = [re.escape(a) for a in answers if a and a.lower() not in {"yes", "no"}]
    return re.compile("|".join(found), re.IGNORECASE) if found else None
