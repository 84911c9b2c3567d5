"""Measure the recall of the retrievers on corpora that all questions share, to choose the default.

    python -m pagerag_lab.benchmarks.recall --data ../shared/data

Passage recall@5 and @20, full recall@20 (all gold passages among twenty), and CPU time a question.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from pagerag.protocols import Retriever
from pagerag.retrieve import BM25Retriever, CachedEncoder, DenseRetriever, HybridRetriever, encoder
from pagerag.units import Candidate
from pagerag_lab.benchmarks import corpora


class Asked(DenseRetriever):
    """A dense retriever that encodes its questions afresh, so that their time is counted."""

    def __init__(self, units: Sequence[Candidate], cached: CachedEncoder) -> None:
        super().__init__(units, cached)
        self.encoder = cached.encoder


def retrievers(units: Sequence[Candidate], names: Sequence[str]) -> dict[str, Retriever]:
    """Return the retrievers of these names over the units."""
    lexical = BM25Retriever(units)
    found: dict[str, Retriever] = {"bm25": lexical}
    for name in names:
        cached = encoder(name, cache=True)
        assert isinstance(cached, CachedEncoder)
        found[name] = Asked(units, cached)
        found[f"bm25+{name}"] = HybridRetriever([lexical, found[name]])
    if len(names) > 1:
        everything = [lexical, *(found[name] for name in names)]
        found["+".join(["bm25", *names])] = HybridRetriever(everything)
    return found


def main() -> None:
    """Print a row for each corpus and retriever."""
    form = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=form)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--corpus", nargs="+", default=["2wiki-open", "hotpotqa-dev"])
    parser.add_argument("--encoder", nargs="*", default=["wordllama", "minilm"])
    parser.add_argument("--limit", type=int)
    arguments = parser.parse_args()
    print("| corpus | passages | N | retriever | recall@5 | recall@20 | full recall@20 | CPU ms |")
    print("|---|---|---|---|---|---|---|---|")
    for name in arguments.corpus:
        corpus = corpora.read(name, arguments.data, arguments.limit)
        for label, retriever in retrievers(corpus.units, arguments.encoder).items():
            five, twenty, seconds = [], [], []
            for asked in corpus.questions:
                start = time.process_time()
                found = [unit.id for unit in retriever.retrieve(asked.question, 20).candidates]
                seconds.append(time.process_time() - start)
                five.append(len(asked.gold & set(found[:5])) / len(asked.gold))
                twenty.append(len(asked.gold & set(found)) / len(asked.gold))
            print(
                f"| {name} | {len(corpus.units)} | {len(corpus.questions)} | {label} | "
                f"{100 * np.mean(five):.1f} | "
                f"{100 * np.mean(twenty):.1f} | {100 * np.mean(np.array(twenty) == 1):.1f} | "
                f"{1000 * np.median(seconds):.1f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
