"""Formats of retrievers and readers whose units carry no graph: DPR's ``ctxs`` and its kin."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from pagerag.promotion.foreign import unique_ids
from pagerag.systems.formats._base import JsonFormat
from pagerag.systems.formats._records import Companion, Cursor, Record, layout_of, records
from pagerag.units import Candidate, Pool


def candidate(unit: Cursor, name: str, score: float | None, text: str | None = None) -> Candidate:
    """Return a candidate from an object with ``text`` and maybe ``title``."""
    title = (unit.maybe_text("title") or "").strip() or None
    body = unit.need("text", "paragraph_text", "content").text() if text is None else text
    return Candidate(name, body, title=title, score=score)


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

    def _read(self, row: Cursor, record: Record) -> Pool:
        units = row.need("ctxs", "top_contexts").items()
        names = named(units, "id", "docid", "passage_id")
        candidates = tuple(
            candidate(one, name, one.maybe_number("score")) for one, name in zip(units, names, strict=True)
        )
        return record.placed(Pool(row.need("question", "query").text(), candidates, origin=self.name))


class Recomp(JsonFormat):
    """RECOMP's compressor output: each unit is a sentence, its score in a list beside."""

    name = "recomp"
    needs: ClassVar = {"retrieved_docs": list}
    signs = ("query", "retrieved_docs", "compressor_scores")
    summary = "query + retrieved_docs [{text}] + compressor_scores: RECOMP"
    unit = "sentence"
    scores = ("compressor_scores", "contriever_scores", "dpr_scores", "bm25_scores")
    lists = ("retrieved_docs", *scores)

    def _read(self, row: Cursor, record: Record) -> Pool:
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

    def _read(self, row: Cursor, record: Record) -> Pool:
        found = self._question.search(row.need("prompt").text())
        question = (found["q"] if found else row.need("prompt").text()).strip()
        result = row.need("result")
        keys = sorted(
            (k for k in result.value if re.fullmatch(r"retrieval_\d+", k)), key=lambda k: int(k[10:])
        )
        units = [result.need(key) for key in keys]
        texts = [one.need("ctx") for one in units]
        own = [ctx.value.get("id") if isinstance(ctx.value, Mapping) else None for ctx in texts]
        names = unique_ids(
            [name if isinstance(name, str) else key for name, key in zip(own, keys, strict=True)]
        )
        candidates = []
        for key, name, one, ctx in zip(keys, names, units, texts, strict=True):
            score = one.maybe_number("score")
            plain = isinstance(ctx.value, str)
            candidates.append(
                Candidate(name, ctx.value, score=score) if plain else candidate(ctx, name, score)
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

    def _read(self, row: Cursor, record: Record) -> Pool:
        useful, useless = list[Candidate](), list[Candidate]()
        for step in _steps(record.raw):
            units = row.need(step).need("docs").items()
            for place, one in enumerate(units):
                found = one.maybe("id")
                name = found.label() if found is not None else f"{step}-{place}"
                if name in record.places:
                    continue  # the loop does not remove what an earlier iteration found
                record.places[name] = (step, place)
                text, title = one.need("text").text(), one.maybe_text("title")
                if title is not None:
                    text = text.removeprefix(f"{title}: ")
                wanted = one.maybe_text("label") != "<TERMINATE>"
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

    def _read(self, row: Cursor, record: Record) -> Pool:
        beside, where = record.beside, Cursor(row.value, record.file, None)  # the object has no lines
        questions = beside.load(self.companions[0], _questions) or {}
        paragraphs = beside.load(self.companions[1], _paragraphs) or {}
        name = record.raw["question"]
        if name not in questions:
            held = beside.path(self.companions[0])
            raise where.error(f"question {name!r} is not in {held}; name the file that holds it")
        candidates = []
        for one in dict.fromkeys(record.raw["found"]):
            if one not in paragraphs:
                held = beside.path(self.companions[1])
                raise where.error(
                    f"paragraph {one!r} of question {name!r} is not in {held}; log every response"
                )
            candidates.append(paragraphs[one])
            record.places[one] = one
        return Pool(questions[name], tuple(candidates), origin=self.name, metadata={"id": name})

    def rewrite(self, record: Record, ids: Sequence[str]) -> Any:
        """Return a copy of the record that holds only these units, in this order."""
        return {"question": record.raw["question"], "found": [record.places[name] for name in ids]}


def _questions(path: Path) -> dict[str, str]:
    return {
        row.need("question_id", "qid", "_id", "id").label(): row.need("question_text", "question").text()
        for row in _rows(path)
    }


def _paragraphs(path: Path) -> dict[str, Candidate]:
    found: dict[str, Candidate] = {}
    for row in _rows(path):
        for one in row.need("retrieval").items():
            name = one.need("id").label()
            # A paragraph found twice keeps the score of the query that found it first.
            found.setdefault(name, candidate(one, name, one.maybe_number("score")))
    return found


def _rows(path: Path) -> Iterator[Cursor]:
    layout, _ = layout_of(path)
    return (Cursor(raw, path, line) for line, raw in records(path, layout))
