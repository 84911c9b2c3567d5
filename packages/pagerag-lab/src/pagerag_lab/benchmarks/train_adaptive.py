r"""Train the two rankers of adaptive retrieval, on train files alone.

    python -m pagerag_lab.benchmarks.train_adaptive --data ../shared/data \
        --out src/pagerag/retrieve/data/adaptive.npz

Questions of 2Wiki train and HotpotQA train, asked of all contexts of their file as one corpus; wordllama
and MiniLM vectors; a part of each with every title taken away. A passage is a positive example when the
question's supporting facts name it. The second ranker and the follow-up rounds see the first one's
predictions on questions it was not trained on (two folds), as they will on new questions.
"""

from __future__ import annotations

import argparse
import io
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pagerag.promotion.trees import Trees
from pagerag.retrieve import MemoryCorpus, encoder
from pagerag.retrieve.adaptive import Frontier, Limits, probability
from pagerag.text.passage_reading import PassageCache
from pagerag_lab.benchmarks import corpora
from pagerag_lab.product import write_atomic
from pagerag_lab.tune.boosting import Growth, boost, to_trees

# corpus, encoder, with titles, from question, to question
PARTS: tuple[tuple[str, str, bool, int, int], ...] = (
    ("2wiki-train", "minilm", True, 0, 300),
    ("2wiki-train", "wordllama", True, 200, 500),
    ("2wiki-train", "wordllama", False, 0, 120),
    ("hotpotqa-train", "minilm", True, 0, 350),
    ("hotpotqa-train", "wordllama", True, 300, 600),
    ("hotpotqa-train", "wordllama", False, 600, 750),
)
FOLDS = 2
GROWTH = Growth(rounds=150, depth=5, rate=0.1, columns=0.6)


@dataclass
class Example:
    """One question's frontier, its gold, and the fold that its question belongs to."""

    frontier: Frontier
    gold: frozenset[str]
    fold: int

    def labels(self) -> NDArray[np.bool_]:
        """Return which candidates are gold."""
        return np.array([name in self.gold for name in self.frontier.passages])


def main() -> None:
    """Fit the ranker on the train corpora and write it."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--rounds", type=int, default=Limits().rounds)
    arguments = parser.parse_args()
    started = time.perf_counter()

    def say(what: str) -> None:
        print(f"{time.perf_counter() - started:6.0f} s  {what}", flush=True)

    examples = list(starts(arguments.data, say))
    by_match = by_path = None
    for step in range(arguments.rounds):
        by_match = trained(examples, [example.frontier.direct() for example in examples])
        own = predicted(by_match, examples, [example.frontier.direct() for example in examples])
        if by_path is not None:
            own = predicted(by_path, examples, rows(examples, own))
        for example, scores in zip(examples, own, strict=True):
            example.frontier.follow(scores)
        size = np.mean([len(example.frontier.passages) for example in examples])
        whole = np.mean([example.gold <= set(example.frontier.passages) for example in examples])
        say(f"round {step + 1}: {size:.1f} passages a question; all gold is in the pool for {whole:.1%}")
        direct = [example.frontier.direct() for example in examples]
        by_match = trained(examples, direct)
        table = rows(examples, predicted(by_match, examples, direct))
        by_path = trained(examples, table)
        report(say, examples, predicted(by_path, examples, table))
    assert by_match is not None
    assert by_path is not None
    buffer = io.BytesIO()
    np.savez_compressed(
        buffer, allow_pickle=False, **by_match[-1].to_arrays("direct"), **by_path[-1].to_arrays("linked")
    )
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    write_atomic(arguments.out, buffer.getvalue())
    say(f"wrote {arguments.out} ({len(buffer.getvalue()) // 1024} KiB)")


def starts(data: Path, say: Any) -> Iterator[Example]:
    """Yield the examples of the train corpora."""
    for name, encoded, titled, first, last in PARTS:
        corpus = corpora.read(name, data)
        if not titled:
            corpus = corpus.without_titles()
        vectors = encoder(encoded, cache=True)
        searcher = MemoryCorpus(corpus.units, vectors)
        readings = PassageCache(8 << 30)
        asked = corpus.questions[first:last]
        encoded_questions = vectors.encode_queries([one.question for one in asked])
        with searcher.snapshot() as now:
            for place, (one, vector) in enumerate(zip(asked, encoded_questions, strict=True)):
                yield Example(
                    Frontier(one.question, vector, now, Limits(), readings), one.gold, (first + place) % FOLDS
                )
        say(f"{corpus.name}, {encoded}: {len(asked)} questions, {len(corpus.units)} passages")


def rows(examples: list[Example], own: list[NDArray[np.float32]]) -> list[NDArray[np.float32]]:
    """Return all features of each question's passages."""
    return [np.hstack([e.frontier.direct(), e.frontier.links(s)]) for e, s in zip(examples, own, strict=True)]


def trained(examples: list[Example], tables: list[NDArray[np.float32]]) -> list[Trees]:
    """Return one forest for each fold, trained on the others, and last the one trained on everything."""
    forests = []
    for left_out in [*range(FOLDS), None]:
        chosen = [i for i, example in enumerate(examples) if example.fold != left_out]
        table = np.vstack([tables[i] for i in chosen])
        labels = np.concatenate([examples[i].labels() for i in chosen]).astype(np.float32)
        forests.append(to_trees(boost(table, labels, None, GROWTH)))
    return forests


def predicted(
    forests: list[Trees], examples: list[Example], tables: list[NDArray[np.float32]]
) -> list[NDArray[np.float32]]:
    """Return each question's scores by the forest that has not seen it."""
    return [probability(forests[e.fold], table) for e, table in zip(examples, tables, strict=True)]


def report(say: Any, examples: list[Example], own: list[NDArray[np.float32]]) -> None:
    """Print how well the fitted ranker orders its examples."""
    start = 0
    for name, encoded, titled, first, last in PARTS:
        part = range(start, start + last - first)
        start += last - first
        found = []
        for i in part:
            names = list(examples[i].frontier.passages)
            top = {names[place] for place in np.argsort(-own[i], kind="stable")[:5]}
            found.append(len(examples[i].gold & top) / len(examples[i].gold))
        say(f"  held out, {name}{'' if titled else ' without titles'}, {encoded}: "
            f"recall@5 {np.mean(found):.1%}, full recall@5 {np.mean(np.array(found) == 1):.1%}")  # fmt: skip


if __name__ == "__main__":
    main()
