"""How fast promotion is, against the time to tokenise the same text once in the same run.

    python -m benchmarks.promote [--data DIR] [--repeat N] [--mode document]

Pools of 20 to 1,000 passages of about four sentences, from the 2Wiki open corpus where --data has it, else
made up. ``cold`` reads the text, ``stored`` takes analyses that an index has kept. Times are CPU
time of the calling thread, so that other load on the machine is not counted; even so, compare the columns
of one run, not the milliseconds of two.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path

# One thread: a request in a busy server has one core, and threads of a matrix product only disturb.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

from pagerag import Candidate, Promoter
from pagerag.text import tokenize

SIZES = (20, 50, 100, 200, 1000)
QUESTION = "Who is the paternal grandfather of the director of the film that was released in 1950?"


def passages(data: Path | None, count: int) -> list[Candidate]:
    """``count`` passages with titles and falling scores."""
    corpus = data / "2wikimultihopqa" / "open_corpus.jsonl" if data else None
    if corpus is not None and corpus.exists():
        with corpus.open(encoding="utf-8") as file:
            rows = [json.loads(line) for line in file]
        rows = [row for row in rows if 300 <= len(row["text"]) <= 900]
        random.Random(0).shuffle(rows)
        pairs = [(row["title"], row["text"]) for row in rows[:count]]
    else:
        pairs = [_made_up(i) for i in range(count)]
    return [
        Candidate(id=str(i), text=text, title=title, score=1.0 - i / (2 * count))
        for i, (title, text) in enumerate(pairs)
    ]


def _made_up(seed: int) -> tuple[str, str]:
    rng = random.Random(seed)
    name = f"{rng.choice(_FIRST)} {rng.choice(_LAST)}"
    sentences = []
    for _ in range(4):
        other = f"{rng.choice(_FIRST)} {rng.choice(_LAST)}"
        words = " ".join(rng.choice(_PLAIN) for _ in range(rng.randint(8, 16)))
        sentences.append(
            f"{rng.choice((name, 'He', 'The film'))} {words} {other} in {rng.randint(1900, 2020)}."
        )
    return name, " ".join(sentences)


_FIRST = [
    "Anna",
    "Karl",
    "Vera",
    "Otto",
    "Ilse",
    "Hugo",
    "Mara",
    "Ivan",
    "Lena",
    "Paul",
    "Nina",
    "Erik",
    "Rosa",
    "Emil",
    "Olga",
    "Jan",
]
_LAST = [
    "Berg",
    "Kolb",
    "Stern",
    "Wolf",
    "Lang",
    "Horn",
    "Blum",
    "Frey",
    "Kern",
    "Voss",
    "Reiter",
    "Adler",
    "Brandt",
    "Moser",
    "Pohl",
    "Winter",
]
_PLAIN = [
    "was",
    "born",
    "near",
    "the",
    "old",
    "city",
    "and",
    "directed",
    "a",
    "film",
    "about",
    "his",
    "father",
    "who",
    "composed",
    "music",
    "for",
    "the",
    "school",
    "where",
    "she",
    "studied",
    "with",
    "another",
    "writer",
    "before",
    "the",
    "war",
    "when",
    "they",
    "moved",
    "north",
    "to",
    "work",
    "as",
    "teachers",
    "and",
    "actors",
]


def measure(job: Callable[[], object], repeat: int) -> tuple[float, float]:
    """p50 and p95 of one call, in milliseconds of CPU time."""
    job()
    times = []
    for _ in range(repeat):
        start = time.thread_time()
        job()
        times.append((time.thread_time() - start) * 1e3)
    times.sort()
    return statistics.median(times), times[min(len(times) - 1, int(len(times) * 0.95))]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path)
    parser.add_argument("--repeat", type=int, default=40)
    parser.add_argument("--mode", default="document", choices=("sentence", "paragraph", "document"))
    parser.add_argument("--strategy", default=None, choices=("learned", "formula"))
    args = parser.parse_args()
    promoter = Promoter(strategy=args.strategy)
    everything = passages(args.data, max(SIZES))
    print(
        f"mode {args.mode}, strategy {promoter.strategy(args.mode).name}, numpy {__import__('numpy').__version__}"
    )
    print("passages  tokenise   cold p50    p95  ratio   stored p50    p95  ratio  peak MB  per n log n")
    base = None
    for size in SIZES:
        pool = everything[:size]
        texts = [unit.text for unit in pool]
        repeat = max(5, args.repeat * 20 // size)
        analyses = [promoter.analyze(unit, args.mode) for unit in pool]

        def cold(pool: list[Candidate] = pool) -> object:
            return promoter.promote(QUESTION, pool, mode=args.mode)

        def stored(pool: list[Candidate] = pool, analyses: list[object] = analyses) -> object:
            return promoter.promote(QUESTION, pool, mode=args.mode, analyses=analyses)  # type: ignore[arg-type]

        yardstick, _ = measure(lambda texts=texts: [tokenize(text) for text in texts], repeat)
        cold_50, cold_95 = measure(cold, repeat)
        stored_50, stored_95 = measure(stored, repeat)
        tracemalloc.start()
        cold()
        peak = tracemalloc.get_traced_memory()[1] / 1e6
        tracemalloc.stop()
        growth = cold_50 / (size * max(1.0, __import__("math").log2(size)))
        base = base or growth
        print(
            f"{size:8} {yardstick:8.2f}ms {cold_50:8.2f}ms {cold_95:6.1f} {cold_50 / yardstick:5.1f}x "
            f"{stored_50:9.2f}ms {stored_95:6.1f} {stored_50 / yardstick:5.1f}x {peak:8.1f} {growth / base:11.2f}"
        )
    code = "import time; s = time.perf_counter(); import numpy; n = time.perf_counter(); import pagerag; print(n - s, time.perf_counter() - n)"
    runs = [
        tuple(
            float(x)
            for x in subprocess.run(
                [sys.executable, "-c", code], capture_output=True, text=True, check=True
            ).stdout.split()
        )
        for _ in range(5)
    ]
    numpy_s, own_s = (statistics.median(column) for column in zip(*runs, strict=True))
    print(f"import pagerag: {numpy_s + own_s:.3f} s ({numpy_s:.3f} s of it NumPy)")


if __name__ == "__main__":
    main()
