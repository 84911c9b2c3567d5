"""How fast documents go into a store and answers come out, stage by stage.

    python -m pagerag_lab.benchmarks.pipeline [--data DIR] [--sizes 6119 100000] [--questions N]
        [--encoder NAME] [--reader NAME] [--other NAME ...] [--keep DIR] [--json FILE]

The corpus is the 2Wiki open corpus (6,119 passages); larger sizes repeat it with other names in it, the
same way every time. Questions are those of the open dev file; they are timed, not scored. ``hybrid`` is
one search, ``adaptive`` follows what it finds. ``CPU`` is processor time of all threads: on a busy machine
the wall clock also counts the neighbours. All questions are read by the evidence reader, which takes no time
to speak of; the time to the first words is taken on ten of them with the readers of ``--other`` that are
installed (the default reader and SmolLM2 unless told). ``--keep`` leaves the stores in a folder, and uses
them again.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

# One thread each: a request in a busy server has one core, and threads of a matrix product only disturb.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np

from pagerag.errors import MissingExtraError
from pagerag.ingest import IngestReport, IngestSettings, index_paths
from pagerag.pipeline import PageRAG, Stage
from pagerag.protocols import Corpus
from pagerag.read import reader as make_reader
from pagerag.retrieve import AdaptiveRetriever, CorpusRetriever
from pagerag.retrieve import encoder as make_encoder
from pagerag.retrieve.encoders import DEFAULT_ENCODER
from pagerag.store import SqliteCorpus, open_store
from pagerag.text import split_sentences

WARM_UP = 5
FEW = 10
STAGES = ("read", "analyse", "encode", "write", "optimise")


def main(argv: Sequence[str] | None = None) -> int:
    """Measure every size and print a table."""
    options = _options(argv)
    corpus = options.data / "2wikimultihopqa" / "open_corpus.jsonl"
    if not corpus.is_file():
        print(f"there is no {corpus}; name the data folder with --data or PAGERAG_DATA", file=sys.stderr)
        return 1
    questions = _questions(options.data / "2wikimultihopqa" / "open_dev.jsonl", options.questions)
    encoder = make_encoder(options.encoder or DEFAULT_ENCODER)
    results: list[dict[str, Any]] = []
    place = nullcontext(options.keep) if options.keep else tempfile.TemporaryDirectory()
    with place as folder:
        for size in options.sizes:
            base = Path(folder) / f"{encoder.name.replace('/', '-')}-{size}"
            base.mkdir(parents=True, exist_ok=True)
            file = base / "corpus.jsonl"
            if not file.is_file():
                write_corpus(corpus, file, size)
            store = open_store(base / "store", encoder, create=True)
            report = index_paths([file], store, IngestSettings(base=str(base)))
            result = {
                "passages": size,
                "encoder": encoder.name,
                "store": store.stats().to_dict(),
                "ingest": report.to_dict() if report.units else None,
                "recall_of_search": recall(store, questions, encoder),
                "queries": {
                    name: latencies(store, retriever, encoder, questions, options.reader)
                    for name, retriever in (
                        ("hybrid", CorpusRetriever(store)),
                        ("adaptive", AdaptiveRetriever(store, encoder)),
                    )
                },
                "other_readers": {
                    name: latencies(
                        store, AdaptiveRetriever(store, encoder), encoder, questions[: WARM_UP + FEW], name
                    )
                    for name in options.other
                    if installed(name)
                },
                "load": os.getloadavg()[0],
            }
            results.append(result)
            show(result, report)
            store.close()
    if options.json:
        options.json.write_text(json.dumps(results, indent=2), encoding="utf-8")
    return 0


def _options(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    home = Path(__file__).resolve().parents[1]
    data = Path(os.environ.get("PAGERAG_DATA") or home.parent / "shared" / "data")
    parser.add_argument("--data", type=Path, default=data)
    parser.add_argument("--sizes", type=int, nargs="+", default=[6119, 100_000])
    parser.add_argument("--questions", type=int, default=100)
    parser.add_argument("--encoder")
    parser.add_argument("--reader", default="evidence", help="the reader of all questions")
    parser.add_argument("--other", nargs="*", default=["auto", "smollm2"], help="readers for a few questions")
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--json", type=Path)
    return parser.parse_args(argv)


def _questions(file: Path, count: int) -> list[str]:
    with file.open(encoding="utf-8") as lines:
        return [json.loads(line)["question"] for line, _ in zip(lines, range(count + WARM_UP), strict=False)]


def write_corpus(corpus: Path, file: Path, size: int) -> None:
    """Write a corpus of this size: the passages of the data, then others made from them (``expanded``)."""
    with corpus.open(encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    with file.open("w", encoding="utf-8") as out:
        for row in expanded(rows, size):
            out.write(json.dumps(row, ensure_ascii=False) + "\n")


def expanded(rows: Sequence[dict[str, str]], size: int) -> Iterator[dict[str, str]]:
    """Return ``size`` passages, no two alike: round after round, each passage is retold of another subject.

    The new subject's name joins the beginning of one title and the end of another, and the passage takes a
    sentence from that other one, so that words, names and lengths stay those of real text.
    """
    for number in range(size):
        round_, place = divmod(number, len(rows))
        row = rows[place]
        if round_ == 0:
            yield {"id": str(number), "title": row["title"], "text": row["text"]}
            continue
        other = rows[(place * 31 + round_ * 977) % len(rows)]
        first = row["title"].split(" (")[0].split()
        last = other["title"].split(" (")[0].split()
        title = " ".join([*first[: max(1, len(first) - 1)], last[-1], _roman(round_)])
        spans = split_sentences(other["text"])
        start, end = spans[round_ % len(spans)] if spans else (0, 0)
        text = row["text"].replace(row["title"].split(" (")[0], title)
        yield {"id": str(number), "title": title, "text": f"{text} {other['text'][start:end]}".strip()}


def _roman(number: int) -> str:
    tens, ones = divmod(number, 10)
    return "X" * tens + ("", "I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX")[ones]


def recall(store: Corpus, questions: Sequence[str], encoder: Any, k: int = 20) -> float:
    """Return how many of the true nearest neighbours dense search returns: 1 when it is exact."""
    points = encoder.encode_queries(list(questions[:50]))
    with SqliteCorpus(store.location, encoder, exact_below=1 << 62) as every, every.snapshot() as exact:
        floors = [ranking[-1].score - 1e-5 for ranking in exact.rank_vectors(points, k)]
    with store.snapshot() as now:
        found = now.rank_vectors(points, k)
    hits = sum(hit.score >= floor for hits, floor in zip(found, floors, strict=True) for hit in hits)
    return hits / (k * len(points))


def latencies(
    store: Corpus, retriever: Any, encoder: Any, questions: Sequence[str], reader: str
) -> dict[str, dict[str, Any]]:
    """Return milliseconds by stage over the questions, after a few to warm up."""
    pipeline = PageRAG(store, retriever, reader=make_reader(reader), encoder=encoder)
    rows: list[dict[str, float]] = []
    for question in questions:
        row = _ask(pipeline, question)
        rows.append(row)
    rows = rows[WARM_UP:]
    measured: dict[str, dict[str, Any]] = {
        name: {"p50": _at(rows, name, 50), "p95": _at(rows, name, 95)} for name in rows[0] if name in rows[-1]
    }
    return measured | {"reader": {"name": pipeline.reader.name}}


def installed(reader: str) -> bool:
    """Tell whether a reader can be made here."""
    try:
        make_reader(reader)
    except MissingExtraError as missing:
        print(f"the reader {reader} is left out: {missing}", file=sys.stderr)
        return False
    return True


def _ask(pipeline: PageRAG, question: str) -> dict[str, float]:
    start, used = time.perf_counter(), time.process_time()
    row: dict[str, float] = {}
    for item in pipeline.stream(question):
        if isinstance(item, Stage):
            row[item.name] = item.seconds
            if item.name == "promote":
                row["retrieve + promote"] = row["retrieve"] + row["promote"]
                row["retrieve + promote, CPU"] = time.process_time() - used
        elif isinstance(item, str):
            row.setdefault("first words", time.perf_counter() - start)
        else:
            row["read"] = item.timings["read"]
    row.setdefault("first words", time.perf_counter() - start)
    row["whole answer"] = time.perf_counter() - start
    return row


def _at(rows: Sequence[dict[str, float]], name: str, share: float) -> float:
    return round(1000 * float(np.percentile([row.get(name, np.nan) for row in rows], share)), 2)


def show(result: dict[str, Any], report: IngestReport) -> None:
    """Print one corpus size's figures."""
    stats = result["store"]
    print(
        f"\n{stats['units']:,} units of {result['passages']:,} passages · {result['encoder']}, "
        f"{stats['dimension']} dimensions · {stats['search']} search, recall@20 of it "
        f"{result['recall_of_search']:.3f} · {stats['size_bytes'] / 2**20:,.0f} MB"
    )
    if result["ingest"]:
        rates: Callable[[str], float] = lambda stage: report.units / report.stages[stage]  # noqa: E731
        shown = [f"{stage} {rates(stage):,.0f}" for stage in STAGES if report.stages.get(stage)]
        print(f"ingest, units/s: {' · '.join(shown)} · all {report.units / report.seconds:,.0f}")
    else:
        print("ingest: the store was there already")
    names = [name for name in next(iter(result["queries"].values())) if name != "reader"]
    print(f"{'ms':28}" + "".join(f"{kind + ' p50':>16}{'p95':>10}" for kind in result["queries"]))
    for name in names:
        cells = "".join(f"{q[name]['p50']:>16.1f}{q[name]['p95']:>10.1f}" for q in result["queries"].values())
        print(f"{name:28}{cells}")
    print(f"reader: {next(iter(result['queries'].values()))['reader']['name']}")
    for name, row in result["other_readers"].items():
        first, whole = row["first words"], row["whole answer"]
        print(
            f"reader {name}, adaptive, {FEW} questions: first words {first['p50']:,.0f} ms p50, "
            f"{first['p95']:,.0f} p95; whole answer {whole['p50']:,.0f} ms p50"
        )
    print(f"load average at the end: {result['load']:.1f}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
