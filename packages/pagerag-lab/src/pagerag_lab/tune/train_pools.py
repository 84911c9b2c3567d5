"""Make the pools that the scorer and the support encoder learn from, of many kinds and in one format.

    python -m pagerag_lab.tune.train_pools --data DATA --out FOLDER

Writes one gzipped JSON-lines file for each source: the train files of the benchmarks, ``wide/train``,
``documents/train`` (indexed by the product itself), the reading sets, and sentences of the last two, and
claims made of these. A row is
a pool as some retriever gave it: ``id``, ``base`` (the question that it comes from: rows of one base never
stand on both sides of a split), ``set``, ``question``, ``unit`` (sentence, paragraph or document), ``kind``,
``retriever``, ``encoder`` (whose vectors belong to the pool, or null), ``candidates``, ``gold`` (ids of the
pool that are evidence), ``total`` (how many units of evidence there are, in the pool or not), ``complete``
(whether all of it is in the pool) and, for documents, ``facts`` and ``answer``. Each question comes as its
retrievers' pools, without its evidence (``~removed``) and with the pool of another question (``~stranger``).
Questions of ``wide/dev`` are left out, whatever file they stand in.
"""

from __future__ import annotations

import argparse
import gzip
import json
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from pagerag.ingest import index_paths
from pagerag.pipeline import PageRAG
from pagerag.retrieve import BM25Retriever, CorpusRetriever, DenseRetriever
from pagerag.retrieve.encoders import encoder
from pagerag.retrieve.retrievers import reciprocal_rank_fusion
from pagerag.store import open_store
from pagerag.units import Candidate
from pagerag_lab.datasets.document_sets import corpus_folders, read_document_questions, unpack
from pagerag_lab.datasets.records import read_values
from pagerag_lab.metrics.quotes import ContextText, fact_found
from pagerag_lab.pools.restated import with_restatement
from pagerag_lab.tune.claim_pools import claim_rows
from pagerag_lab.tune.pool_rows import SIZE, Row, as_units, chance, minilm, plain, pool_rows, ranked
from pagerag_lab.tune.pools import labelled_pools
from pagerag_lab.tune.sentence_pools import sentence_rows

__all__ = ["main"]

DEEP = 60
WIDE = {  # how many questions of each file: no set may outweigh the others
    "qasc_train": 2000,
    "qed_train": 1800,
    "qasper": 1500,
    "entailmentbank_train": 1272,
    "musique_gold": 234,
    "hotpot_ecm": 394,
    "hotpot_decoded": 256,
    "ircot": 78,
}


def wide_rows(data: Path, left_out: set[str]) -> Iterator[Row]:
    """Make the rows of the files in ``wide/train``."""
    for name, most in WIDE.items():
        rows = [
            r
            for r in read_values(data / "wide/train" / f"{name}.jsonl.gz")
            if plain(r["question"]) not in left_out
        ]
        rows.sort(key=lambda r: zlib.crc32(f"{name}{r['id']}".encode()))
        rows = rows[:most]
        for place, row in enumerate(rows):
            units = as_units(row["candidates"])
            ids = {i for g in row["gold"] for i in g}
            base = {
                "id": f"{name}:{row['id']}", "base": f"{name}:{row['id']}", "set": name,
                "question": row["question"], "unit": row["unit"], "kind": row["kind"], "ids": ids,
                "sets": row["gold"], "total": min(map(len, row["gold"])) if row["gold"] else 0,
                "size": max(SIZE, 25) if name.startswith("entail") else SIZE,
            }  # fmt: skip
            other = as_units(rows[(place + 11) % len(rows)]["candidates"])
            orders = {by: ranked(row["question"], units, by) for by in ("bm25", "minilm")}
            yield from pool_rows(base, orders, other if place % 2 else [])


def reading_rows(data: Path, left_out: set[str]) -> Iterator[Row]:
    """Make single-fact pools of paragraphs: each question against all passages of its collection."""
    rows = list(read_values(data / "reading/nq_open_oracle.jsonl"))
    passages: dict[str, Candidate] = {}
    for row in rows:
        ctx = row["ctxs"][0]
        key = ctx["title"] + "\n" + ctx["text"]
        passages.setdefault(key, Candidate(f"n{len(passages)}", ctx["text"], ctx["title"]))
    units = list(passages.values())
    questions = []
    for n, row in enumerate(rows):
        if plain(row["question"]) in left_out:
            continue
        ctx = row["ctxs"][0]
        answers = [a.lower() for a in row["answers"]]
        ids = {
            u.id for u in units if u.title == ctx["title"] and any(a and a in u.text.lower() for a in answers)
        } | {passages[ctx["title"] + "\n" + ctx["text"]].id}
        questions.append((f"nq:{n}", row["question"], ids, row["answers"]))
    yield from _collection("nq", questions, units)
    articles = json.loads((data / "reading/xquad.en.json").read_text(encoding="utf-8"))["data"]
    units, questions = [], []
    for article in articles:
        asked = [q["question"] for p in article["paragraphs"] for q in p["qas"]]
        if any(plain(q) in left_out for q in asked):
            continue  # the whole article: its paragraphs are those of dev questions
        for paragraph in article["paragraphs"]:
            unit = Candidate(f"x{len(units)}", paragraph["context"], article["title"].replace("_", " "))
            units.append(unit)
            for q in paragraph["qas"]:
                answers = [a["text"] for a in q["answers"]]
                questions.append((f"xquad:{q['id']}", q["question"], {unit.id}, answers))
    yield from _collection("xquad", questions, units)


def _collection(
    name: str, questions: list[tuple[str, str, set[str], list[str]]], units: list[Candidate]
) -> Iterator[Row]:
    lexical = BM25Retriever(units)
    dense = DenseRetriever(units, minilm())
    known = {unit.id: unit for unit in units}
    for place, (key, question, ids, answers) in enumerate(questions):
        bm25 = list(lexical.retrieve(question, DEEP).candidates)
        near = list(dense.retrieve(question, DEEP).candidates)
        fused = reciprocal_rank_fusion([[u.id for u in bm25], [u.id for u in near]])
        hybrid = [replace(known[i], score=s) for i, s in fused.items()]
        by = chance("order", key).choice(["bm25", "minilm"])
        base = {
            "id": key, "base": key, "set": name, "question": question, "unit": "paragraph", "kind": "single",
            "ids": ids, "sets": [[i] for i in ids], "total": 1, "answer": answers,
        }  # fmt: skip
        stranger = (
            list(lexical.retrieve(questions[(place + 7) % len(questions)][1], SIZE).candidates)
            if place % 3 == 0
            else []
        )
        stranger = [u for u in stranger if u.id not in ids]
        yield from pool_rows(base, {by: bm25 if by == "bm25" else near, "hybrid": hybrid}, stranger)


def benchmark_rows(data: Path) -> Iterator[Row]:
    """Make the rows of the benchmarks' own train files, at both granularities."""
    model = minilm()
    for mode in ("sentence", "document"):
        items = [item for item in labelled_pools(data, model, mode, noise=False) if item.mode == mode]
        for place, item in enumerate(items):
            units = [*item.pool.candidates, *item.spare.candidates]
            key = f"{item.dataset}:{item.question}"
            base = {
                "id": f"{key}:{mode}", "base": key, "set": item.dataset, "question": item.pool.question,
                "unit": mode, "kind": "multi", "ids": set(item.gold_ids), "total": item.total,
                "sets": [sorted(item.gold_ids)],
            }  # fmt: skip
            orders = {
                "minilm": units,
                "bm25": ranked(
                    item.pool.question, [replace(u, score=None, vector=None) for u in units], "bm25"
                ),
            }
            other = items[(place + 7) % len(items)]
            yield from pool_rows(base, orders, list(other.pool.candidates) if place % 2 else [])


def document_rows(data: Path, stores: Path | None) -> Iterator[Row]:
    """Make the rows of ``documents/train``: each corpus is indexed and searched as a user would."""
    for folder in corpus_folders(data / "documents/train"):
        with TemporaryDirectory() as scratch:
            store = (stores or Path(scratch)) / folder.name
            if not store.exists():
                files = Path(scratch) / "files"
                unpack(folder / "files.tar.xz", files)
                index_paths([files], open_store(store, create=True, encoder=encoder("wordllama")))
            yield from _corpus_rows(folder, store)


def _corpus_rows(folder: Path, store: Path) -> Iterator[Row]:
    rag = PageRAG.open(store, reader="evidence")
    corpus = rag.store
    if corpus is None:
        raise AssertionError("a pipeline opened by path has its store")
    hybrid = CorpusRetriever(corpus, "hybrid", encoder=rag.encoder)
    questions = list(read_document_questions(folder))
    found = []
    for row in questions:
        text = row.question
        found.append(
            {
                "follow": list(rag.retriever.retrieve(text, DEEP).candidates),
                "bm25": list(corpus.search_text(text, DEEP)),
                "hybrid": list(hybrid.retrieve(text, DEEP).candidates),
            }
        )
    for place, (row, orders) in enumerate(zip(questions, found, strict=True)):
        units = {unit.id: unit for order in orders.values() for unit in order}
        texts = {key: ContextText(unit.source, unit.text) for key, unit in units.items()}
        facts = [
            {
                "quote": fact.quotes[0].text,
                "ids": [k for k, text in texts.items() if fact_found(fact, [text])],
            }
            for fact in row.facts
        ]
        gold = {i for f in facts for i in f["ids"]}
        base = {
            "id": f"{folder.name}:{row.id}", "base": f"documents:{folder.name}",
            "set": f"documents:{folder.name}", "question": row.question, "unit": "document", "kind": row.kind,
            "ids": gold, "facts": facts, "total": len(facts), "answer": list(row.answers),
            "answer_re": row.pattern,
        }  # fmt: skip
        kept = {"follow": orders["follow"]}
        other = chance("order", base["id"]).choice(["bm25", "hybrid"])
        kept[other] = orders[other]
        # what search found too deep is brought up into the last places, as better search would
        deep = orders["bm25"] + [u for u in orders["hybrid"] if u.id not in {x.id for x in orders["bm25"]}]
        missing = [u for u in deep[SIZE:] if u.id in gold][:5]
        if missing:
            low = min((u.score or 0.0) for u in orders["bm25"][:SIZE])
            kept["reached"] = [
                *orders["bm25"][: SIZE - len(missing)],
                *(replace(u, score=low) for u in missing),
            ]
        strangers = found[(place + 5) % len(found)]["bm25"]
        yield from pool_rows(base, kept, [u for u in strangers if u.id not in gold])


def write(rows: Iterable[Row], path: Path) -> None:
    """Write rows, and say how many of each set there are."""
    count: Counter[str] = Counter()
    part = path.with_suffix(".part")
    with gzip.open(part, "wt", encoding="utf-8", compresslevel=5) as file:
        for row in rows:
            if len(row["candidates"]) < 2:
                continue
            count[row["set"].partition(":")[0]] += 1
            file.write(json.dumps(with_restatement(row), ensure_ascii=False) + "\n")
    part.replace(path)
    print(f"{path}: {dict(count)}", flush=True)


def main() -> None:
    """Make the files that are missing."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument(
        "--stores", type=Path, help="folder of indexed corpora, to be used instead of indexing again"
    )
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    reported = [row for file in (args.data / "wide/dev").glob("*.gz") for row in read_values(file)]
    left_out = {plain(row["question"]) for row in reported}
    shown = {plain(unit["text"]) for row in reported for unit in row["candidates"]}
    sources: dict[str, Callable[[], Iterator[Row]]] = {
        "documents-train": lambda: document_rows(args.data, args.stores),
        "reading-train": lambda: reading_rows(args.data, left_out),
        "wide-train": lambda: wide_rows(args.data, left_out),
        "benchmarks-train": lambda: benchmark_rows(args.data),
        "sentences-train": lambda: sentence_rows(
            args.data, args.out / "documents-train.jsonl.gz", left_out, shown
        ),
        "claims-train": lambda: claim_rows(args.data, left_out, shown),
    }
    for name, make in sources.items():
        path = args.out / f"{name}.jsonl.gz"
        if not path.exists():
            write(make(), path)


if __name__ == "__main__":
    main()
