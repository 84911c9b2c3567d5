"""How fast promotion is, against the time to tokenise the same text once in the same run.

    python -m pagerag_lab.benchmarks.promote [--data DIR] [--repeat N] [--mode document]

Pools of 20 to 1,000 passages of about four sentences, from the 2Wiki open corpus where --data has it, else
made up; every call has a pool of its own, so that nothing is remembered from the call before. ``cold``
reads the text, ``stored`` takes analyses that an index has kept. Times are CPU time of the calling thread,
so that other load on the machine is not counted; even so, compare the columns of one run, not the
milliseconds of two.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import statistics
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

# One thread: a request in a busy server has one core, and threads of a matrix product only disturb.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

from pagerag import Candidate, Promoter
from pagerag.text import tokenize

SIZES = (20, 50, 100, 200, 1000)
QUESTION = "Who is the paternal grandfather of the director of the film that was released in 1950?"


def passages(data: Path | None) -> list[tuple[str, str]]:
    """Return titles and texts of passages."""
    corpus = data / "2wikimultihopqa" / "open_corpus.jsonl" if data else None
    if corpus is not None and corpus.exists():
        with corpus.open(encoding="utf-8") as file:
            rows = [json.loads(line) for line in file]
        return [(row["title"], row["text"]) for row in rows if 300 <= len(row["text"]) <= 900]
    return [_made_up(i) for i in range(4 * max(SIZES))]


def pool_of(everything: list[tuple[str, str]], count: int, seed: int) -> list[Candidate]:
    """Return ``count`` of the passages with falling scores."""
    drawn = random.Random(seed).sample(everything, count)
    return [
        Candidate(id=str(i), text=text, title=title, score=1.0 - i / (2 * count))
        for i, (title, text) in enumerate(drawn)
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


_FIRST = "Anna Karl Vera Otto Ilse Hugo Mara Ivan Lena Paul Nina Erik Rosa Emil Olga Jan".split()
_LAST = "Berg Kolb Stern Wolf Lang Horn Blum Frey Kern Voss Reiter Adler Brandt Moser Pohl Winter".split()
_PLAIN = (
    "was born near the old city and directed a film about his father who composed music for the school "
    "where she studied with another writer before the war when they moved north to work as teachers and "
    "actors"
).split()


def measure(job: Callable[[int], object], repeat: int) -> tuple[float, float]:
    """Return p50 and p95 of one call, in milliseconds of CPU time; the job gets the number of the call."""
    times = []
    for number in range(repeat):
        start = time.thread_time()
        job(number)
        times.append((time.thread_time() - start) * 1e3)
    times.sort()
    return statistics.median(times), times[min(len(times) - 1, int(len(times) * 0.95))]


def import_times() -> str:
    """Return what ``import pagerag`` takes in a fresh interpreter, and what the first promotion adds."""
    code = (
        "import time; s = time.perf_counter(); import pagerag; i = time.perf_counter(); import numpy; "
        "n = time.perf_counter(); from pagerag import promote; print(i - s, n - i, time.perf_counter() - n)"
    )
    runs = [
        [
            float(x)
            for x in subprocess.run(
                [sys.executable, "-c", code], capture_output=True, text=True, check=True
            ).stdout.split()
        ]
        for _ in range(5)
    ]
    own, numpy_s, promotion = (statistics.median(column) for column in zip(*runs, strict=True))
    return (
        f"import pagerag: {own:.3f} s; promotion when first used: {promotion:.3f} s, "
        f"and NumPy {numpy_s:.3f} s"
    )


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
    everything = passages(args.data)
    print(f"mode {args.mode}, strategy {promoter.strategy(args.mode).name}, numpy {version('numpy')}")
    print("passages  tokenise   cold p50    p95  ratio   stored p50    p95  ratio  peak MB  per n log n")
    promoter.promote(QUESTION, pool_of(everything, 20, -1), mode=args.mode)
    base = None
    for size in SIZES:
        repeat = max(5, args.repeat * 20 // size)
        pools = [pool_of(everything, size, seed) for seed in range(repeat)]
        analyses = [[promoter.analyze(unit, args.mode) for unit in pool] for pool in pools]

        def tokenised(i: int, pools: list[list[Candidate]] = pools) -> object:
            return [tokenize(unit.text) for unit in pools[i]]

        def cold(i: int, pools: list[list[Candidate]] = pools) -> object:
            return promoter.promote(QUESTION, pools[i], mode=args.mode)

        def stored(i: int, pools: list[list[Candidate]] = pools, kept: list[Any] = analyses) -> object:
            return promoter.promote(QUESTION, pools[i], mode=args.mode, analyses=kept[i])

        yardstick, _ = measure(tokenised, repeat)
        cold_50, cold_95 = measure(cold, repeat)
        stored_50, stored_95 = measure(stored, repeat)
        tracemalloc.start()
        cold(0)
        peak = tracemalloc.get_traced_memory()[1] / 1e6
        tracemalloc.stop()
        growth = cold_50 / (size * math.log2(size))
        base = base or growth
        print(
            f"{size:8} {yardstick:8.2f}ms {cold_50:8.2f}ms {cold_95:6.1f} {cold_50 / yardstick:5.1f}x "
            f"{stored_50:9.2f}ms {stored_95:6.1f} {stored_50 / yardstick:5.1f}x {peak:8.1f} "
            f"{growth / base:11.2f}"
        )
    print(import_times())


if __name__ == "__main__":
    main()
