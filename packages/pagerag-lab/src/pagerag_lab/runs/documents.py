"""Run the product over corpora of real documents: index them, ask every question, judge every stage.

Stages: three plain searches (BM25, hybrid, follow-up in its own order), promotion on their pools, and ``ask``
as it is set up by default. Evidence is full when every fact of a question is among the first ``k`` passages.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

from pagerag import Candidate, PageRAG, Promoter, Settings
from pagerag.errors import EmptyPoolError, InputError, PageRAGError
from pagerag.retrieve.encoders import cache_folder
from pagerag.units import SUPPORT_CHOICES, Pool
from pagerag_lab.datasets.document_sets import (
    ARCHIVE,
    KINDS,
    QUESTIONS,
    DocumentQuestion,
    corpus_folders,
    read_document_questions,
    unpack,
)
from pagerag_lab.metrics.quotes import ContextText, abstains, fact_found, says_nothing
from pagerag_lab.product import sha256_file, write_atomic
from pagerag_lab.rivals.selection import named_support
from pagerag_lab.runs.config import check_counts
from pagerag_lab.runs.engine import Row, Say
from pagerag_lab.runs.versions import describe, index_hash

__all__ = ["ASK", "PLAIN", "POOLS", "PROMOTED", "DocumentsTask", "index_corpora", "summarise"]

PLAIN = {"plain BM25": "bm25", "plain hybrid": "hybrid", "follow-up, its own order": "follow-up"}
"""Label to search; the order of a search is its own."""

PROMOTED = {
    "BM25 → promotion, formula": ("bm25", "formula", False),
    "BM25 → promotion, learned": ("bm25", "learned", False),
    "BM25 → promotion with support": ("bm25", "learned", True),
    "hybrid → promotion, learned": ("hybrid", "learned", False),
    "follow-up → promotion, learned": ("follow-up", "learned", False),
    "follow-up → promotion with support": ("follow-up", "learned", True),
}
"""Label to (search, strategy, with the support encoder)."""

ASK = "pagerag ask, as it is set up"
POOLS = {
    "in the pool of 20, BM25": "bm25",
    "in the pool of 20, hybrid": "hybrid",
    "in the pool of 20, follow-up": "follow-up",
}

_SEARCHES: dict[str, dict[str, Any]] = {
    "bm25": {"retrieve.retriever": "lexical", "retrieve.adaptive": False},
    "hybrid": {"retrieve.retriever": "hybrid", "retrieve.adaptive": False},
    "follow-up": {"retrieve.retriever": "hybrid", "retrieve.adaptive": True},
}

CUTS = (0.0, 0.3, 0.4, 0.5, 0.6, 0.65, 0.7, 0.72, 0.74, 0.8, 0.9)
"""Confidences at which the trade of risk for coverage is told."""

SCHEMA = 1
_KEPT = 3  # indexes of earlier code or documents that are kept for each corpus


@dataclass(frozen=True, slots=True)
class DocumentsTask:
    """Which corpora, with how many passages, read by whom.

    ``stores`` holds one index per corpus (see ``index_corpora``); where it lies decides nothing. ``support``
    names the encoder of ``pagerag ask`` and of the rows that have one; ``none`` leaves these rows out.
    """

    data: str
    stores: str
    reader: str = "auto"
    support: str = "auto"
    pool: int = 20
    k: int = 5
    limit: int | None = None
    chunk: int = 8

    def __post_init__(self) -> None:
        check_counts(self, "pool", "k", "chunk", "limit")
        if self.support not in SUPPORT_CHOICES:
            raise InputError(
                f"--support is {self.support!r}; for documents one of: {', '.join(SUPPORT_CHOICES)}"
            )

    def items(self) -> Iterator[DocumentQuestion]:
        """Yield the questions, corpus by corpus."""
        for folder in corpus_folders(self.data):
            yield from read_document_questions(folder, limit=self.limit)

    def identity(self) -> dict[str, Any]:
        """Return the settings, the files' hashes and the versions; the whole product is code that decides."""
        config = asdict(self) | {"dataset": "documents", "data": Path(self.data).name}
        del config["stores"]
        files = {
            f"{folder.name}/{name}": str(folder / name)
            for folder in corpus_folders(self.data)
            for name in (ARCHIVE, QUESTIONS)
        }
        return describe(config, files, models=True, everything=True)

    def worker(self) -> DocumentsWorker:
        """Return the parts for one process."""
        return DocumentsWorker(self)

    def finish(self, folder: Path, described: Mapping[str, Any], lines: Iterator[str]) -> dict[str, Any]:
        """Write predictions.jsonl (which the folder's own scorer reads as well) and result.json."""
        told = list(lines)
        write_atomic(folder / "predictions.jsonl", "".join(told))
        result = {"schema": SCHEMA, **summarise([json.loads(line) for line in told]), **described}
        write_atomic(folder / "result.json", json.dumps(result, ensure_ascii=False, indent=2) + "\n")
        return result


def index_corpora(data: str | Path, say: Say | None = None) -> Path:
    """Index every corpus that is not indexed yet and return the folder of their stores.

    A store is kept for the bytes of the documents and the code that indexes, in the user's cache.
    """
    root = cache_folder("documents")
    for folder in corpus_folders(data):
        store = store_of(root, folder)
        if store.is_dir():
            store.touch()
            continue
        (say or (lambda _: None))(f"indexing {folder.name}")
        _index(folder, store)
        _tidy(store)
    return root


def store_of(root: Path, corpus: Path) -> Path:
    """Return where the index of a corpus is: a name for its documents and the code that indexes them."""
    return root / f"{corpus.name}-{sha256_file(corpus / ARCHIVE)[:16]}-{index_hash()}"


def _index(corpus: Path, store: Path) -> None:
    with tempfile.TemporaryDirectory(dir=store.parent, prefix=".indexing-") as place:
        files, made = Path(place) / "files", Path(place) / "store"
        files.mkdir()
        unpack(corpus / ARCHIVE, files)
        # By the command, in a process of its own: what is measured is what a user gets by default.
        words = ["index", str(files), "--relative-to", str(files), "--store", str(made), "--json"]
        done = subprocess.run(
            [sys.executable, "-c", "import sys; from pagerag.cli import main; sys.exit(main())", *words],
            capture_output=True,
            text=True,
            cwd=place,
            env=_plain_environment(place),
            check=False,
        )
        if done.returncode not in (0, 3):
            raise PageRAGError(f"{corpus.name} cannot be indexed: {done.stderr.strip()[-500:]}")
        made.replace(store)


def _plain_environment(place: str) -> dict[str, str]:
    """Return the environment without anybody's own settings, so that everybody measures the same."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("PAGERAG_") or name == "PAGERAG_CACHE"
    }
    return kept | {"XDG_CONFIG_HOME": place}


def _tidy(store: Path) -> None:
    """Remove the oldest indexes of the same corpus."""
    name = store.name.rsplit("-", 2)[0]
    same = [one for one in store.parent.glob(f"{name}-*-*") if one.name.rsplit("-", 2)[0] == name]
    for old in sorted(same, key=lambda one: one.stat().st_mtime, reverse=True)[_KEPT:]:
        shutil.rmtree(old, ignore_errors=True)


class _Made:
    """A retriever that returns a pool which was made before."""

    name = "made before"

    def __init__(self) -> None:
        self.pool = Pool("", ())

    def retrieve(self, question: str, k: int = 20) -> Pool:  # noqa: ARG002
        """Return the pool."""
        return self.pool


class _Pipelines:
    """The searches, the promoters and ``ask`` over one store."""

    def __init__(self, store: Path, task: DocumentsTask) -> None:
        settings = Settings().updated(
            {
                "promote.k": task.k,
                "promote.support": task.support,
                "retrieve.pool": task.pool,
                "read.reader": task.reader,
            }
        )
        self.ask = PageRAG.open(store, settings)
        self.searches = {
            name: PageRAG.open(
                store, settings.updated(changes), reader=self.ask.reader, encoder=self.ask.encoder
            ).retriever
            for name, changes in _SEARCHES.items()
        }
        self.made = _Made()
        self.promoted = {
            (strategy, support): PageRAG(
                self.ask.store,
                self.made,
                Promoter(strategy=strategy, support=_support(task.support) if support else None),
                self.ask.reader,
                encoder=self.ask.encoder,
                k=task.k,
                pool=task.pool,
            )
            for _, strategy, support in PROMOTED.values()
            if task.support != "none" or not support
        }


_support = lru_cache(maxsize=1)(named_support)


class DocumentsWorker:
    """Asks each question of the pipelines over its corpus."""

    def __init__(self, task: DocumentsTask) -> None:
        self.task = task
        self.seconds: dict[str, float] = {"stages": 0.0, "ask": 0.0}
        self._pipelines = lru_cache(maxsize=1)(self._open)

    @cached_property
    def _stores(self) -> dict[str, Path]:
        root = Path(self.task.stores)
        return {folder.name: store_of(root, folder) for folder in corpus_folders(self.task.data)}

    def _open(self, corpus: str) -> _Pipelines:
        return _Pipelines(self._stores[corpus], self.task)

    def rows(self, items: Sequence[DocumentQuestion]) -> list[Row]:
        """Return one row per question; one that fails is a row with its error, and nothing found."""
        return [self.row(item) for item in items]

    def row(self, item: DocumentQuestion) -> Row:
        """Return the question's row of predictions.jsonl."""
        row: Row = {"corpus": item.corpus, "id": item.id, "kind": item.kind, "question": item.question}
        try:
            row |= self._asked(item)
            row["error"] = None
        except Exception as problem:  # noqa: BLE001 - one question's failure is a row, never the run's end
            row |= {
                "answer": "",
                "context": [],
                "state": None,
                "stages": {},
                "facts": [False] * len(item.facts),
            }
            row["error"] = {"type": type(problem).__name__, "message": str(problem)}
        return row | _judged(item, row["answer"], row["state"])

    def _asked(self, item: DocumentQuestion) -> Row:
        pipelines = self._pipelines(item.corpus)
        started = time.perf_counter()
        try:
            result = pipelines.ask.ask(item.question)
            # A person is told what an answer leaves open, and so is who judges it.
            text, state, context = result.text + result.answer.left_open, result.state, result.context
            sure: dict[str, Any] = {
                "sufficiency": round(float(result.promotion.sufficiency), 6),
                "confidence": result.answer.confidence,
                "in_part": bool(result.answer.left_open),
            }
        except EmptyPoolError:
            text, state, context, sure = "", "insufficient", (), {}
        asked = time.perf_counter()
        stages = self._stages(item, pipelines, context)
        self.seconds["ask"] += asked - started
        self.seconds["stages"] += time.perf_counter() - asked
        shown = [{"source": unit.source, "title": unit.title, "text": unit.text} for unit in context]
        return {
            "answer": text,
            "state": state,
            **sure,
            "facts": stages[ASK],
            "stages": stages,
            "context": shown,
        }

    def _stages(
        self, item: DocumentQuestion, pipelines: _Pipelines, asked: Sequence[Candidate]
    ) -> dict[str, list[bool]]:
        k = self.task.k
        pools = {
            name: search.retrieve(item.question, self.task.pool)
            for name, search in pipelines.searches.items()
        }
        found = {label: _found(item, pools[search].candidates[:k]) for label, search in PLAIN.items()}
        for label, (search, strategy, support) in PROMOTED.items():
            if (strategy, support) not in pipelines.promoted:
                continue
            context: Sequence[Candidate] = ()
            if pools[search].candidates:
                pipelines.made.pool = pools[search]
                _, promotion = pipelines.promoted[strategy, support].gather(item.question)
                context = promotion.context
            found[label] = _found(item, context)
        found[ASK] = _found(item, asked)
        return found | {label: _found(item, pools[search].candidates) for label, search in POOLS.items()}


def _found(item: DocumentQuestion, context: Sequence[Candidate]) -> list[bool]:
    texts = [ContextText(unit.source, unit.text) for unit in context]
    return [fact_found(fact, texts) for fact in item.facts]


def _judged(item: DocumentQuestion, answer: str, state: str | None) -> Row:
    told = answer.strip()
    matches = bool(item.pattern) and re.search(item.pattern, told, re.IGNORECASE) is not None
    return {
        "right": item.kind != "unanswerable" and matches and not says_nothing(told),
        "abstained": abstains(told, state),
    }


def summarise(rows: Sequence[Row]) -> dict[str, Any]:
    """Return the counts over all corpora, and for each corpus, by kind of question."""
    corpora = list(dict.fromkeys(row["corpus"] for row in rows))
    return {
        "all": _counts(rows),
        "corpora": {name: _counts([row for row in rows if row["corpus"] == name]) for name in corpora},
        "errors": sum(row["error"] is not None for row in rows),
    }


def _counts(rows: Sequence[Row]) -> dict[str, Any]:
    by_kind = {kind: [row for row in rows if row["kind"] == kind] for kind in KINDS}
    answerable = [row for row in rows if row["kind"] != "unanswerable"]
    incomplete = [row for row in answerable if not all(row["facts"])]
    right = sum(row["right"] for row in answerable)
    wrong = sum(not row["right"] and not row["abstained"] for row in answerable)
    return {
        "n": len(rows),
        "kinds": {kind: _kind_counts(part) for kind, part in by_kind.items() if part},
        "right": right,
        "wrong": wrong,
        "precision": right / (right + wrong) if right + wrong else None,
        "made_up": sum(not row["abstained"] for row in by_kind["unanswerable"]),
        "in_part": sum(row.get("in_part", False) for row in answerable),
        "made_up_in_part": sum(row.get("in_part", False) for row in by_kind["unanswerable"]),
        "incomplete": len(incomplete),
        "incomplete_called_enough": sum(row["state"] == "enough" for row in incomplete),
        "complete_called_enough": sum(row["state"] == "enough" and all(row["facts"]) for row in answerable),
        "risk": _risk(rows),
    }


def _risk(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Return how much is answered, and how much of that is right, when only surer answers are given.

    Over all questions, so that an answer to an unanswerable one counts as wrong. A reader without confidences
    has no such rows; neither has a cut that keeps the answers of the one before it, or none.
    """
    given = [row for row in rows if not row["abstained"]]
    if not given or any(row.get("confidence") is None for row in given):
        return []
    found: list[dict[str, Any]] = []
    for cut in CUTS:
        kept = [row for row in given if row["confidence"] >= cut]
        if kept and (not found or len(kept) < found[-1]["answered"]):
            right = sum(row["right"] for row in kept)
            found.append(
                {
                    "cut": cut,
                    "answered": len(kept),
                    "coverage": len(kept) / len(rows),
                    "right": right,
                    "precision": right / len(kept),
                    "made_up": sum(row["kind"] == "unanswerable" for row in kept),
                }
            )
    return found


def _kind_counts(rows: Sequence[Row]) -> dict[str, Any]:
    stages = list(dict.fromkeys(label for row in rows for label in row["stages"]))
    some = [row for row in rows if row["kind"] != "unanswerable"]
    return {
        "n": len(rows),
        "full": {label: sum(all(row["stages"].get(label, [False])) for row in some) for label in stages},
        "facts": {label: sum(sum(row["stages"].get(label, [])) for row in some) for label in stages},
        "right": sum(row["right"] for row in some),
        "wrong": sum(not row["right"] and not row["abstained"] for row in some),
        "abstained": sum(row["abstained"] for row in rows),
        "states": dict(sorted(Counter(str(row["state"]) for row in rows).items())),
    }
