"""Formats of retrievers and readers whose units carry no graph: DPR's ``ctxs`` and its kin."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pagerag.errors import FormatError
from pagerag.systems._common import unique_ids
from pagerag.systems.formats._base import JsonFormat
from pagerag.systems.formats._records import (
    Beside,
    Companion,
    Cursor,
    Record,
    layout_of,
    read_json,
    records,
)
from pagerag.units import Candidate, Mode, Pool

__all__ = ["Ctxs", "EfficientRAG", "Ircot", "Recomp", "SelfRAG"]


def candidate(unit: Cursor, name: str, score: float | None, text: str | None = None) -> Candidate:
    """Return a candidate from an object with ``text`` and maybe ``title``."""
    title = unit.maybe("title")
    return Candidate(
        id=name,
        text=unit.need("text", "paragraph_text", "content").text() if text is None else text,
        title=(title.text().strip() or None) if title is not None else None,
        score=score,
    )


def named(units: Sequence[Cursor], *fields: str) -> list[str]:
    """Return each unit's own identifier, or its place in the list, made unique."""
    found = [unit.maybe(*fields) for unit in units]
    return unique_ids([one.label() if one is not None else str(i) for i, one in enumerate(found)])


def best_first(candidates: Sequence[Candidate]) -> tuple[Candidate, ...]:
    """Sort by descending score when every unit has one; leave them as they stand otherwise."""
    if any(c.score is None for c in candidates):
        return tuple(candidates)
    return tuple(sorted(candidates, key=lambda c: -(c.score or 0.0)))


class Ctxs(JsonFormat):
    """DPR, FiD, Atlas, Contriever, Self-RAG input: scores may be strings, ids may be missing."""

    name = "ctxs"
    signs = ("question", "ctxs")
    lists = ("ctxs", "top_contexts")
    summary = "question + ctxs [{id, title, text, score}]: DPR, FiD, Contriever, Self-RAG input"

    def holds(self, first: Mapping[str, Any]) -> bool:
        """Return whether a record has what this format's records have."""
        return "ctxs" in first or "top_contexts" in first

    def pool(self, record: Record, beside: Beside, unit: Mode) -> Pool:  # noqa: ARG002
        """Return the record's pool, best first."""
        row = record.cursor
        units = row.need("ctxs", "top_contexts").items()
        candidates = []
        for one, name in zip(units, named(units, "id", "docid", "passage_id"), strict=True):
            score = one.maybe("score")
            candidates.append(candidate(one, name, None if score is None else score.number()))
        question = row.need("question", "query").text()
        return record.placed(Pool(question, tuple(candidates), origin=self.name))


class Recomp(JsonFormat):
    """RECOMP's compressor output: each unit is a sentence, its score in a list beside."""

    name = "recomp"
    signs = ("query", "retrieved_docs", "compressor_scores")
    summary = "query + retrieved_docs [{text}] + compressor_scores: RECOMP"
    unit = "sentence"
    scores = ("compressor_scores", "contriever_scores", "dpr_scores", "bm25_scores")
    lists = ("retrieved_docs", *scores)

    def holds(self, first: Mapping[str, Any]) -> bool:
        """Return whether a record has what this format's records have."""
        return isinstance(first.get("retrieved_docs"), list)

    def pool(self, record: Record, beside: Beside, unit: Mode) -> Pool:  # noqa: ARG002
        """Return the record's pool, best first."""
        row = record.cursor
        units = row.need("retrieved_docs").items()
        listed = row.maybe(*self.scores)
        scores = [None] * len(units) if listed is None else [one.number() for one in listed.items()]
        if listed is not None and len(scores) != len(units):
            raise listed.error(f"{len(scores)} scores for {len(units)} units; there must be one for each")
        candidates = []
        for place, (one, name) in enumerate(zip(units, named(units, "id"), strict=True)):
            candidates.append(candidate(one, name, scores[place]))
            record.places[name] = place
        return Pool(row.need("query", "question").text(), best_first(candidates), origin=self.name)


class SelfRAG(JsonFormat):
    """Self-RAG's result file: one object, its lists run parallel over the questions."""

    name = "selfrag"
    signs = ("prompts", "all_results")
    whole = True
    summary = "prompts + all_results [{retrieval_0: {pred, score, ctx}}]: Self-RAG output"
    _question = re.compile(r"### Instruction:\n(?P<q>.*?)(?:\n\n### Input:.*)?\n\n### Response:", re.DOTALL)

    def holds(self, first: Mapping[str, Any]) -> bool:
        """Return whether a record has what this format's records have."""
        return "all_results" in first

    def split(self, whole: Any, path: Path) -> Iterator[Any]:
        """Return the records of the one object that the file is."""
        top = Cursor(whole, path, None)
        results, prompts = top.need("all_results").items(), top.need("prompts").items()
        if len(results) != len(prompts):
            raise top.error(f"{len(results)} all_results for {len(prompts)} prompts; they must run parallel")
        for result, prompt in zip(results, prompts, strict=True):
            yield {"prompt": prompt.text(), "result": result.value}

    def join(self, whole: Any, parts: Sequence[tuple[int, Any]]) -> Any:
        """Return the one object again, with the records that were kept."""
        count = len(whole["all_results"])
        joined = dict(whole)
        for key, value in whole.items():
            if isinstance(value, list) and len(value) == count:
                joined[key] = [value[number] for number, _ in parts]
        joined["all_results"] = [raw["result"] for _, raw in parts]
        accounts = [raw["pagerag"] for _, raw in parts if "pagerag" in raw]
        return {**joined, "pagerag": accounts} if accounts else joined

    def pool(self, record: Record, beside: Beside, unit: Mode) -> Pool:  # noqa: ARG002
        """Return the record's pool, best first."""
        row = record.cursor
        found = self._question.search(row.need("prompt").text())
        question = (found["q"] if found else row.need("prompt").text()).strip()
        result = row.need("result")
        keys = sorted(
            (k for k in result.value if re.fullmatch(r"retrieval_\d+", k)), key=lambda k: int(k[10:])
        )
        units = [result.need(key) for key in keys]
        texts = [one.need("ctx") for one in units]
        names = unique_ids(
            [
                ctx.value["id"]
                if isinstance(ctx.value, Mapping) and isinstance(ctx.value.get("id"), str)
                else key
                for ctx, key in zip(texts, keys, strict=True)
            ]
        )
        candidates = []
        for key, name, one, ctx in zip(keys, names, units, texts, strict=True):
            score = one.maybe("score")
            number = None if score is None else score.number()
            candidates.append(
                Candidate(name, ctx.text(), score=number)
                if isinstance(ctx.value, str)
                else candidate(ctx, name, number)
            )
            record.places[name] = key
        return Pool(question, best_first(candidates), origin=self.name)

    def rewrite(self, record: Record, ids: Sequence[str]) -> Any:
        """Return a copy of the record that holds only these units, in this order."""
        result = record.raw["result"]
        kept = {k: v for k, v in result.items() if not re.fullmatch(r"retrieval_\d+", k)}
        kept |= {f"retrieval_{i}": result[record.places[name]] for i, name in enumerate(ids)}
        return {"result": kept}


class EfficientRAG(JsonFormat):
    """EfficientRAG's retrieval file: chunks by iteration, tagged, without scores.

    Its reader skips chunks tagged ``<TERMINATE>``: they stand last in the pool, and a promoted one is
    written back as ``<CONTINUE>`` so that the reader sees it.
    """

    name = "efficientrag"
    signs = ("query", "0")
    summary = 'query + "0".."3" {query, docs [{id, title, text, label, info}]}: EfficientRAG'

    def holds(self, first: Mapping[str, Any]) -> bool:
        """Return whether a record has what this format's records have."""
        return isinstance(first.get("0"), Mapping) and "docs" in first["0"]

    def pool(self, record: Record, beside: Beside, unit: Mode) -> Pool:  # noqa: ARG002
        """Return the record's pool, best first."""
        row = record.cursor
        useful, useless = list[Candidate](), list[Candidate]()
        for step in _steps(record.raw):
            units = row.need(step).need("docs").items()
            for place, one in enumerate(units):
                found = one.maybe("id")
                name = found.label() if found is not None else f"{step}-{place}"
                if name in record.places:
                    continue  # the loop does not remove what an earlier iteration found
                record.places[name] = (step, place)
                text, title = one.need("text").text(), one.maybe("title")
                if title is not None and text.startswith(f"{title.text()}: "):
                    text = text[len(title.text()) + 2 :]
                label = one.maybe("label")
                wanted = label is None or label.text() != "<TERMINATE>"
                (useful if wanted else useless).append(candidate(one, name, None, text))
        return Pool(row.need("query", "question").text(), (*useful, *useless), origin=self.name)

    def rewrite(self, record: Record, ids: Sequence[str]) -> Any:
        """Return a copy of the record that holds only these units, in this order."""
        raw = dict(record.raw)
        order = {record.places[name]: rank for rank, name in enumerate(ids)}
        for step in _steps(raw):
            docs = raw[step]["docs"]
            kept = sorted((order[step, i], i) for i in range(len(docs)) if (step, i) in order)
            rows = [
                {**docs[i], "label": "<CONTINUE>"} if docs[i].get("label") == "<TERMINATE>" else docs[i]
                for _, i in kept
            ]
            raw[step] = {**raw[step], "docs": rows}
        return raw


def _steps(raw: Mapping[str, Any]) -> list[str]:
    return sorted((key for key in raw if key.isdigit() and isinstance(raw[key], Mapping)), key=int)


class Ircot(JsonFormat):
    """IRCoT's predictions: one object, question id to paragraph ids in the order they were found."""

    name = "ircot"
    whole = True
    summary = "{question id: [paragraph id]} + the questions and the retriever's responses: IRCoT"
    companions = (
        Companion(
            "questions",
            ("questions.jsonl", "*questions*.jsonl"),
            "lines with question_id and question_text",
            True,
        ),
        Companion(
            "responses",
            ("responses.jsonl", "*retriev*.jsonl"),
            "lines with retrieval [{id, title, paragraph_text, score}]",
            True,
        ),
    )

    def holds(self, first: Mapping[str, Any]) -> bool:
        """Return whether a record has what this format's records have."""
        lists = (isinstance(v, list) and all(isinstance(x, str) for x in v) for v in first.values())
        return bool(first) and all(lists)

    def split(self, whole: Any, path: Path) -> Iterator[Any]:  # noqa: ARG002
        """Return the records of the one object that the file is."""
        for question, found in whole.items():
            yield {"question": question, "found": found}

    def join(self, whole: Any, parts: Sequence[tuple[int, Any]]) -> Any:  # noqa: ARG002
        """Return the one object again, with the records that were kept."""
        return {raw["question"]: raw["found"] for _, raw in parts}

    def pool(self, record: Record, beside: Beside, unit: Mode) -> Pool:  # noqa: ARG002
        """Return the record's pool, best first."""
        questions = beside.load(self.companions[0], _questions) or {}
        paragraphs = beside.load(self.companions[1], _paragraphs) or {}
        name = record.raw["question"]
        if name not in questions:
            where = beside.path(self.companions[0])
            raise FormatError(
                f"question {name!r} is not in {where}; name the file that holds it", file=record.file
            )
        candidates = []
        for one in dict.fromkeys(record.raw["found"]):
            if one not in paragraphs:
                where = beside.path(self.companions[1])
                raise FormatError(
                    f"paragraph {one!r} of question {name!r} is not in {where}; log every response",
                    file=record.file,
                )
            candidates.append(paragraphs[one])
            record.places[one] = one
        return Pool(questions[name], tuple(candidates), origin=self.name, metadata={"id": name})

    def rewrite(self, record: Record, ids: Sequence[str]) -> Any:
        """Return a copy of the record that holds only these units, in this order."""
        return {"question": record.raw["question"], "found": [record.places[name] for name in ids]}


def _questions(path: Path) -> dict[str, str]:
    layout, _ = layout_of(path)
    rows = [Cursor(raw, path, line) for line, raw in records(path, layout)]
    return {
        row.need("question_id", "qid", "_id", "id").label(): row.need("question_text", "question").text()
        for row in rows
    }


def _paragraphs(path: Path) -> dict[str, Candidate]:
    found: dict[str, Candidate] = {}
    layout, _ = layout_of(path)
    rows = records(path, layout) if layout != "object" else iter([(1, read_json(path))])
    for line, raw in rows:
        for one in Cursor(raw, path, line).need("retrieval").items():
            name, score = one.need("id").label(), one.maybe("score")
            # A paragraph found twice keeps the score of the query that found it first.
            found.setdefault(name, candidate(one, name, None if score is None else score.number()))
    return found
