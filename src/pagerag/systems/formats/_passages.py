"""Formats whose units carry no graph: our own, those of retrievers and readers, and benchmark files.

Answers and supporting facts of a benchmark stay in the record; no candidate carries them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from pagerag.errors import InputError
from pagerag.promotion.foreign import unique_ids
from pagerag.systems._records import Companion, Cursor, Record, layout_of, records
from pagerag.systems.formats._base import PoolFormat, candidate, named, pair_of
from pagerag.units import Candidate, Pool, Relation

FIELDS: Mapping[str, tuple[str, ...]] = {
    "question": ("question", "query"),
    "candidates": ("candidates", "documents", "passages", "contexts", "pool"),
    "id": ("id", "_id"),
    "text": ("text", "content", "contents", "page_content", "paragraph_text"),
    "title": ("title",),
    "source": ("source", "doc_id"),
    "position": ("position",),
    "score": ("score",),
    "entities": ("entities",),
}
"""The fields of a line of our own and of its candidates, each with the names it may go by."""


class Native(PoolFormat):
    """``{"question", "candidates": ["text" or {text, id, title, source, position, score, entities}]}``.

    ``fields`` gives fields other names: ``Native({"candidates": "retrieved", "text": "body"})``.
    """

    name = "pagerag"
    summary = "question + candidates [text, or {text, id, title, source, position, score}] + relations"
    units = ("sentence", "paragraph", "document")
    signs = ("question", "candidates")

    def __init__(self, fields: Mapping[str, str] | None = None) -> None:
        for name in fields or {}:
            if name not in FIELDS:
                raise InputError(f"there is no field {name!r} to rename; one of: {', '.join(FIELDS)}")
        self.fields = {**FIELDS, **{name: (own,) for name, own in (fields or {}).items()}}
        self._renamed = bool(fields)

    def holds(self, first: Mapping[str, Any]) -> bool:
        return any(isinstance(first.get(key), list) for key in self.fields["candidates"]) and (
            self._renamed or any(key in first for key in self.fields["question"])
        )

    def _read(self, row: Cursor, record: Record) -> Pool:
        candidates = candidates_in(row, self.fields)
        record.found["candidates"] = row.need(*self.fields["candidates"]).path
        name = row.maybe("id", "_id", "question_id", "qid")
        return Pool(
            row.need(*self.fields["question"]).text(),
            candidates,
            relations=tuple(map(_relation, row.maybe_items("relations"))),
            origin=self.name,
            metadata={} if name is None else {"id": name.label()},
        )

    def rewrite(self, record: Record, ids: Sequence[str]) -> Any:
        key = record.found["candidates"]
        return {**record.raw, key: [record.raw[key][record.places[name]] for name in ids]}


def candidates_in(row: Cursor, fields: Mapping[str, tuple[str, ...]]) -> tuple[Candidate, ...]:
    """Return the candidates of one line, in its order; what has no id gets its place as its id."""
    return tuple(
        Candidate(name, one.value) if isinstance(one.value, str) else _candidate(name, one, fields)
        for name, one in named(row.need(*fields["candidates"]).items(), *fields["id"])
    )


def looks_like_candidates(value: object) -> bool:
    """Return whether a field's value may be a list of candidates: texts, or objects with a text."""
    if not isinstance(value, list) or not value:
        return False
    return all(
        isinstance(one, str)
        or (isinstance(one, Mapping) and any(isinstance(one.get(key), str) for key in FIELDS["text"]))
        for one in value[:20]
    )


def _candidate(name: str, one: Cursor, fields: Mapping[str, tuple[str, ...]]) -> Candidate:
    source, position, entities = (one.maybe(*fields[key]) for key in ("source", "position", "entities"))
    return Candidate(
        id=name,
        text=one.need(*fields["text"]).text(),
        title=one.maybe_text(*fields["title"]),
        source=source.label() if source is not None else None,
        position=position.whole() if position is not None else None,
        score=one.maybe_number(*fields["score"]),
        entities=tuple(e.text() for e in entities.items()) if entities is not None else None,
    )


def _relation(one: Cursor) -> Relation:
    confidence = one.maybe_number("confidence")
    return Relation(
        one.need("head").text(),
        one.need("relation").text(),
        one.need("tail").text(),
        tuple(unit.label() for unit in one.maybe_items("units")),
        1.0 if confidence is None else confidence,
    )


class Ctxs(PoolFormat):
    """DPR, FiD, Atlas, Contriever, Self-RAG input: scores may be strings, ids may be missing."""

    name = "ctxs"
    signs = ("question", "ctxs")
    lists = ("ctxs", "top_contexts")
    summary = "question + ctxs [{id, title, text, score}]: DPR, FiD, Contriever, Self-RAG input"

    def holds(self, first: Mapping[str, Any]) -> bool:
        return any(key in first for key in self.lists)

    def _read(self, row: Cursor, record: Record) -> Pool:  # noqa: ARG002
        units = named(row.need(*self.lists).items(), "id", "docid", "passage_id")
        candidates = tuple(candidate(name, one, one.maybe_number("score")) for name, one in units)
        return Pool(row.need("question", "query").text(), candidates, origin=self.name)


class Recomp(PoolFormat):
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
        found = [candidate(*pair, scores[place]) for place, pair in enumerate(named(units, "id"))]
        record.places.update({one.id: place for place, one in enumerate(found)})
        return Pool(row.need("query", "question").text(), _best_first(found), origin=self.name)


class SelfRAG(PoolFormat):
    """Self-RAG's result file: one object, its lists run parallel over the questions."""

    name = "selfrag"
    signs = ("prompts", "all_results")
    whole = True
    summary = "prompts + all_results [{retrieval_0: {pred, score, ctx}}]: Self-RAG output"
    _question = re.compile(r"### Instruction:\n(?P<q>.*?)(?:\n\n### Input:.*)?\n\n### Response:", re.DOTALL)
    _unit = re.compile(r"retrieval_\d+")

    def holds(self, first: Mapping[str, Any]) -> bool:
        return "all_results" in first

    def split(self, whole: Cursor) -> Iterator[Any]:
        results, prompts = whole.need("all_results").items(), whole.need("prompts").items()
        if len(results) != len(prompts):
            said = f"{len(results)} all_results for {len(prompts)} prompts; they must run parallel"
            raise whole.error(said)
        for result, prompt in zip(results, prompts, strict=True):
            yield {"prompt": prompt.text(), "result": result.value}

    def join(self, whole: Any, parts: Sequence[tuple[int, Any]]) -> Any:
        count = len(whole["all_results"])
        joined = dict(whole)
        for key, value in whole.items():
            if isinstance(value, list) and len(value) == count:
                joined[key] = [value[number] for number, _ in parts]
        joined["all_results"] = [raw["result"] for _, raw in parts]
        accounts = [raw["pagerag"] for _, raw in parts if "pagerag" in raw]
        return {**joined, "pagerag": accounts} if accounts else joined

    def _read(self, row: Cursor, record: Record) -> Pool:
        prompt, result = row.need("prompt").text(), row.need("result")
        found = self._question.search(prompt)
        # By length, then by letters: numbers in order, however long they are.
        keys = sorted(filter(self._unit.fullmatch, result.mapping()), key=lambda key: (len(key), key))
        units = [result.need(key) for key in keys]
        texts = [one.need("ctx") for one in units]
        own = [ctx.value.get("id") if isinstance(ctx.value, Mapping) else None for ctx in texts]
        names = [name if isinstance(name, str) else key for name, key in zip(own, keys, strict=True)]
        candidates = []
        for key, name, one, ctx in zip(keys, unique_ids(names), units, texts, strict=True):
            plain, score = isinstance(ctx.value, str), one.maybe_number("score")
            candidates.append(
                Candidate(name, ctx.value, score=score) if plain else candidate(name, ctx, score)
            )
            record.places[name] = key
        question = (found["q"] if found else prompt).strip()
        return Pool(question, _best_first(candidates), origin=self.name)

    def rewrite(self, record: Record, ids: Sequence[str]) -> Any:
        result = record.raw["result"]
        kept = {k: v for k, v in result.items() if not self._unit.fullmatch(k)}
        kept |= {f"retrieval_{i}": result[record.places[name]] for i, name in enumerate(ids)}
        return {"result": kept}


def _best_first(candidates: Sequence[Candidate]) -> tuple[Candidate, ...]:
    """Sort by descending score when every unit has one; leave them as they stand otherwise."""
    if any(c.score is None for c in candidates):
        return tuple(candidates)
    return tuple(sorted(candidates, key=lambda c: -(c.score or 0.0)))


class EfficientRAG(PoolFormat):
    """EfficientRAG's retrieval file: chunks by iteration, tagged, without scores.

    Its reader skips chunks tagged ``<TERMINATE>``: they stand last in the pool, and a promoted one is
    written back as ``<CONTINUE>`` so that the reader sees it.
    """

    name = "efficientrag"
    signs = ("query", "0")
    summary = 'query + "0".."3" {query, docs [{id, title, text, label, info}]}: EfficientRAG'

    def holds(self, first: Mapping[str, Any]) -> bool:
        return isinstance(first.get("0"), Mapping) and "docs" in first["0"]

    def _read(self, row: Cursor, record: Record) -> Pool:
        useful, useless = list[Candidate](), list[Candidate]()
        for step in _steps(row.mapping()):
            for place, one in enumerate(row.need(step).need("docs").items()):
                found = one.maybe("id")
                name = found.label() if found is not None else f"{step}-{place}"
                if name in record.places:
                    continue  # the loop does not remove what an earlier iteration found
                record.places[name] = (step, place)
                text, title = one.need("text").text(), one.maybe_text("title")
                if title is not None:
                    text = text.removeprefix(f"{title}: ")
                wanted = one.maybe_text("label") != "<TERMINATE>"
                (useful if wanted else useless).append(candidate(name, one, None, text))
        return Pool(row.need("query", "question").text(), (*useful, *useless), origin=self.name)

    def rewrite(self, record: Record, ids: Sequence[str]) -> Any:
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
    steps = [key for key in raw if key.isdigit() and isinstance(raw[key], Mapping)]
    return sorted(steps, key=lambda key: (len(key), key))


class Ircot(PoolFormat):
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
        lists = (isinstance(v, list) and all(isinstance(x, str) for x in v) for v in first.values())
        return bool(first) and all(lists)

    def split(self, whole: Cursor) -> Iterator[Any]:
        for question, found in whole.value.items():
            yield {"question": question, "found": found}

    def join(self, whole: Any, parts: Sequence[tuple[int, Any]]) -> Any:  # noqa: ARG002
        return {raw["question"]: raw["found"] for _, raw in parts}

    def _read(self, row: Cursor, record: Record) -> Pool:
        beside, where = record.beside, Cursor(row.value, record.file, None)  # the object has no lines
        questions = beside.load("questions", _questions) or {}
        paragraphs = beside.load("responses", _paragraphs) or {}
        name = record.raw["question"]
        if name not in questions:
            held = beside.paths["questions"]
            raise where.error(f"question {name!r} is not in {held}; name the file that holds it")
        for one in record.raw["found"]:
            if one not in paragraphs:
                held = beside.paths["responses"]
                raise where.error(
                    f"paragraph {one!r} of question {name!r} is not in {held}; log every response"
                )
            record.places[one] = one
        candidates = tuple(paragraphs[one] for one in record.places)
        return Pool(questions[name], candidates, origin=self.name, metadata={"id": name})

    def rewrite(self, record: Record, ids: Sequence[str]) -> Any:
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
            found.setdefault(name, candidate(name, one, one.maybe_number("score")))
    return found


def _rows(path: Path) -> Iterator[Cursor]:
    return (Cursor(raw, path, line) for line, raw in records(path, layout_of(path)[0]))


class Hotpot(PoolFormat):
    """HotpotQA and 2Wiki: ``context`` is a list of [title, [sentence, ...]]."""

    name = "hotpotqa"
    needs: ClassVar = {"context": list}
    signs = ("question", "context")
    summary = "question + context [[title, [sentence]]]: HotpotQA, 2WikiMultiHopQA"
    units = ("document", "sentence")

    def _read(self, row: Cursor, record: Record) -> Pool:
        pairs = [pair_of(one, "[title, [sentence, ...]]") for one in row.need("context").items()]
        paragraphs = [(title.text(), [one.text() for one in body.items()]) for title, body in pairs]
        names = unique_ids([title for title, _ in paragraphs])
        candidates = []
        for place, (name, (title, sentences)) in enumerate(zip(names, paragraphs, strict=True)):
            if record.unit == "sentence":
                for position, sentence in enumerate(sentences):
                    if sentence.strip():
                        one = Candidate(f"{name}#{position}", sentence.strip(), title, name, position)
                        candidates.append(one)
                        record.places[one.id] = (place, position)
            else:
                candidates.append(Candidate(name, _joined(sentences), title, name))
                record.places[name] = (place, None)
        return Pool(row.need("question").text(), tuple(candidates), origin=self.name, metadata=_id(record))

    def rewrite(self, record: Record, ids: Sequence[str]) -> Any:
        kept: dict[int, list[int | None]] = {}
        for name in ids:
            place, position = record.places[name]
            kept.setdefault(place, []).append(position)
        rows = []
        for place, positions in kept.items():
            title, sentences = row = record.raw["context"][place]
            some = sorted(position for position in positions if position is not None)
            rows.append([title, [sentences[position] for position in some]] if some else row)
        return {**record.raw, "context": rows}


class Musique(PoolFormat):
    """MuSiQue: ``paragraphs`` is a list of {idx, title, paragraph_text}."""

    name = "musique"
    needs: ClassVar = {"paragraphs": list}
    lists = ("paragraphs",)
    signs = ("question", "paragraphs")
    summary = "question + paragraphs [{idx, title, paragraph_text}]: MuSiQue"
    unit = "paragraph"
    units = ("paragraph", "document")

    def _read(self, row: Cursor, record: Record) -> Pool:
        candidates = tuple(
            Candidate(name, one.need("paragraph_text", "text").text(), title=one.maybe_text("title"))
            for name, one in named(row.need("paragraphs").items(), "idx")
        )
        return Pool(row.need("question").text(), candidates, origin=self.name, metadata=_id(record))


def _joined(sentences: Sequence[str]) -> str:
    """Put a blank between sentences that have none: HotpotQA's carry one, 2Wiki's do not."""
    return "".join(
        s if i == 0 or s[:1].isspace() or sentences[i - 1][-1:].isspace() else f" {s}"
        for i, s in enumerate(sentences)
    )


def _id(record: Record) -> Mapping[str, Any]:
    name = record.raw.get("_id", record.raw.get("id"))
    return {} if name is None else {"id": str(name)}
