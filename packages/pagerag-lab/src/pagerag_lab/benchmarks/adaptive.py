"""Adaptive candidate generation against plain retrieval, by question type.

    python -m pagerag_lab.benchmarks.adaptive --data ../shared/data
    python -m pagerag_lab.benchmarks.adaptive --data ../shared/data --corpus hotpotqa-dev --encoder minilm

For each corpus: passage recall@5 and full recall@5 (all gold passages among five) of the plain hybrid
ranking, of the adaptive ranking, and of promotion in document mode on each of the two pools; how often
the pool holds all gold; and the time a question takes. Corpora: the open 2Wiki pair, all HotpotQA dev
contexts or MuSiQue dev paragraphs as one corpus, each of them without titles, and the questions' own
contexts (``--pools``). ``--support`` promotes with the larger support encoder, which leads search as well.
Embeddings are cached; the times include encoding the question.
"""

from __future__ import annotations

import argparse
import atexit
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pagerag import Promoter
from pagerag.pipeline import guide_of
from pagerag.protocols import Corpus, Encoder
from pagerag.retrieve import AdaptiveRetriever, CorpusRetriever, MemoryCorpus, encoder
from pagerag.retrieve.adaptive import Limits
from pagerag.store import open_store
from pagerag.units import Candidate, Pool, Unit
from pagerag_lab.benchmarks import corpora
from pagerag_lab.rivals.selection import named_support

K = 5


@dataclass
class Row:
    """What one way of choosing found, question by question."""

    name: str
    kinds: list[str] = field(default_factory=list)
    recall: list[float] = field(default_factory=list)
    pool_recall: list[float] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)

    def add(self, asked: corpora.Asked, top: Sequence[Candidate], pool: Pool, seconds: float) -> None:
        """Count one question."""
        self.kinds.append(asked.kind)
        self.recall.append(share(asked.gold, top[:K]))
        self.pool_recall.append(share(asked.gold, pool.candidates))
        self.sizes.append(len(pool))
        self.seconds.append(seconds)

    def line(self, kind: str | None) -> str:
        """Return the table's row for a kind of question, or for all."""
        here = [i for i, one in enumerate(self.kinds) if kind in (None, one)]
        recall, whole = np.array(self.recall)[here], np.array(self.pool_recall)[here]
        return (
            f"| {self.name} | {kind or 'all'} | {len(here)} | {100 * recall.mean():.1f} | "
            f"{100 * (recall == 1).mean():.1f} | {100 * (whole == 1).mean():.1f} | "
            f"{np.array(self.sizes)[here].mean():.1f} | "
            f"{1000 * np.median(np.array(self.seconds)[here]):.0f} |"
        )


def share(gold: frozenset[str], units: Sequence[Candidate]) -> float:
    """Return the share of the gold ids that is among the units."""
    return len(gold & {unit.id for unit in units}) / len(gold)


class Remembered:
    """The questions' vectors, encoded beforehand; ``seconds`` is what encoding one of them took."""

    def __init__(self, inner: Encoder, questions: Sequence[str]) -> None:
        self.name, self.dimension = inner.name, inner.dimension
        self.inner = inner
        some = questions[:: max(1, len(questions) // 50)]
        fresh = encoder(inner.name)
        fresh.encode_queries(some[:2])  # the first call loads
        took = []
        for text in some:
            start = time.process_time()
            fresh.encode_queries([text])
            took.append(time.process_time() - start)
        self.seconds = float(np.median(took))
        self.vectors = dict(zip(questions, inner.encode_queries(questions), strict=True))

    def encode_queries(self, texts: Sequence[str], /) -> NDArray[np.float32]:
        """Return the vectors that were made beforehand."""
        return np.stack([self.vectors[text] for text in texts])

    def encode_passages(self, texts: Sequence[str], /) -> NDArray[np.float32]:
        """Encode passages."""
        return self.inner.encode_passages(texts)


def measure(
    name: str,
    tasks: Sequence[tuple[corpora.Asked, Corpus]],
    promoter: Promoter,
    pool_size: int,
    limits: Limits,
    encode_seconds: float,
) -> list[Row]:
    """Ask every question in each of the four ways and print the rows."""
    rows = [Row(what) for what in ("hybrid", "hybrid → promotion", "adaptive", "adaptive → promotion")]
    adaptive: dict[int, AdaptiveRetriever] = {}
    for asked, corpus in tasks:
        retriever = adaptive.setdefault(
            id(corpus), AdaptiveRetriever(corpus, limits=limits, guide=guide_of(promoter.support))
        )
        ways: list[Callable[[str, int], Pool]] = [CorpusRetriever(corpus).retrieve, retriever.retrieve]
        for plain, promoted, way in zip(rows[::2], rows[1::2], ways, strict=True):
            start = time.process_time()
            pool = way(asked.question, pool_size)
            found = time.process_time()
            chosen: Sequence[Candidate] = ()
            if len(pool):
                followed = way == retriever.retrieve
                chosen = promoter.promote(
                    asked.question, pool, k=K, mode="document", fill_by_score=followed
                ).context
            end = time.process_time()
            plain.add(asked, pool.candidates, pool, found - start + encode_seconds)
            promoted.add(asked, chosen, pool, end - start + encode_seconds)
    print(f"\n{name}\n")
    print("| way | questions | N | recall@5 | full recall@5 | all gold in pool | pool | CPU ms |")
    print("|---|---|---|---|---|---|---|---|")
    for row in rows:
        for kind in (None, *sorted(set(row.kinds))):
            print(row.line(kind), flush=True)
    return rows


def stored(units: Sequence[Candidate], vectors: Encoder) -> Corpus:
    """Return the same passages in an embedded store, under a folder that goes with the process."""
    folder = tempfile.TemporaryDirectory()
    atexit.register(folder.cleanup)
    store = open_store(folder.name, vectors, create=True)
    for start in range(0, len(units), 512):
        some = units[start : start + 512]
        store.upsert(
            [Unit(id=one.id, text=one.text, source=one.id, path=one.id, title=one.title) for one in some]
        )
    store.optimize()
    return store


def main() -> None:
    """Measure one corpus and print its table."""
    form = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=form)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--corpus", default="2wiki-open", choices=sorted(corpora.FILES))
    parser.add_argument("--encoder", default="wordllama")
    parser.add_argument("--no-titles", action="store_true", help="take every title away")
    parser.add_argument("--pools", action="store_true", help="the questions' own contexts, not one corpus")
    parser.add_argument("--support", action="store_true", help="promote with the support encoder")
    parser.add_argument("--limit", type=int)
    parser.add_argument("--store", action="store_true", help="the corpus in an embedded store, not in memory")
    parser.add_argument("--pool", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=Limits().rounds)
    arguments = parser.parse_args()
    corpus = corpora.read(arguments.corpus, arguments.data, arguments.limit)
    if arguments.no_titles:
        corpus = corpus.without_titles()
    vectors = Remembered(encoder(arguments.encoder, cache=True), [one.question for one in corpus.questions])
    if arguments.pools:
        tasks: list[tuple[Any, Corpus]] = [
            (asked, MemoryCorpus(units, vectors)) for asked, units in corpus.contexts()
        ]
        what = "each question's own context"
    else:
        shared: Corpus = MemoryCorpus(corpus.units, vectors)
        if arguments.store:
            shared = stored(corpus.units, vectors)
        tasks = [(asked, shared) for asked in corpus.questions]
        what = f"{len(corpus.units)} passages"
    measure(
        f"{corpus.name}, {what}, {arguments.encoder}, pool {arguments.pool}",
        tasks,
        Promoter(support=named_support() if arguments.support else None),
        arguments.pool,
        Limits(rounds=arguments.rounds),
        vectors.seconds,
    )


if __name__ == "__main__":
    main()
