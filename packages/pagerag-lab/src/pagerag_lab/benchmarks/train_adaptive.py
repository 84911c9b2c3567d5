r"""Train the two rankers of adaptive retrieval, on train files alone.

    python -m pagerag_lab.benchmarks.train_adaptive --data ../shared/data \
        --out src/pagerag/retrieve/data/adaptive.npz

Questions of 2Wiki, HotpotQA and MuSiQue train (with those of the wider train sets), asked of all contexts
of their file as one corpus, MuSiQue's among passages of HotpotQA train; wordllama and MiniLM vectors; a part
with every title taken away. Questions of ``documents/train``, asked of their corpus as ``pagerag index``
makes it (``--stores`` keeps the indexed corpora). A passage is a positive example when it holds one of the
question's supporting facts. The second ranker and the follow-up rounds see the first one's predictions on
questions it was not trained on (two folds, documents by corpus), as they will on new questions.

Printed for each part, from rankers that saw none of its questions: recall@5 of facts, how often all facts are
among the first 5 and 20, how often they are in the pool, and the pool's size.
"""

from __future__ import annotations

import argparse
import io
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from numpy.typing import NDArray

from pagerag.ingest import index_paths
from pagerag.promotion.trees import Trees
from pagerag.protocols import Encoder, Snapshot
from pagerag.retrieve import MemoryCorpus, encoder
from pagerag.retrieve.adaptive import Frontier, Limits, probability
from pagerag.store import open_store
from pagerag.text.passage_reading import PassageCache
from pagerag_lab.benchmarks import corpora
from pagerag_lab.datasets.document_sets import corpus_folders, read_document_questions, unpack
from pagerag_lab.metrics.quotes import ContextText, Fact, fact_found
from pagerag_lab.product import write_atomic
from pagerag_lab.tune.boosting import Growth, boost, to_trees

# corpus, encoder, with titles, from question, to question
PARTS: tuple[tuple[str, str, bool, int, int], ...] = (
    ("musique-wide-train", "wordllama", True, 0, 334),
    ("2wiki-train", "minilm", True, 0, 300),
    ("2wiki-train", "wordllama", True, 200, 500),
    ("2wiki-train", "wordllama", False, 0, 120),
    ("hotpotqa-train", "minilm", True, 0, 350),
    ("hotpotqa-train", "wordllama", True, 300, 600),
    ("hotpotqa-train", "wordllama", False, 600, 750),
)
AMONG = {"musique-wide-train": ("hotpotqa-train", 3500)}
"""Passages of another train corpus beside a small one, which would be too easy to search."""

FOLDS = 2
GROWTH = Growth(rounds=250, depth=5, rate=0.1, columns=0.6)
DOCUMENTS = 0.5
"""Weight of a question about documents, of which there are three times as many as of any other part."""

Floats = NDArray[np.float32]
Say = Callable[[str], None]


@dataclass
class Example:
    """One question's frontier, the facts it asks for, its part, and the fold it belongs to.

    ``facts`` are ids of passages, or facts with quotes.
    """

    frontier: Frontier
    facts: Sequence[str | Fact]
    part: str
    fold: int
    weight: float = 1.0
    _known: dict[str, frozenset[int]] = field(default_factory=dict)

    def held(self, unit: str) -> frozenset[int]:
        """Return the numbers of the facts that a passage of the frontier holds."""
        if unit not in self._known:
            passage = self.frontier.passages[unit].unit
            text = ContextText(passage.source, passage.text) if isinstance(self.facts[0], Fact) else None
            self._known[unit] = frozenset(
                number
                for number, fact in enumerate(self.facts)
                if (fact == unit if text is None or isinstance(fact, str) else fact_found(fact, [text]))
            )
        return self._known[unit]

    def labels(self) -> Floats:
        """Return which candidates hold a fact, as ones and zeros."""
        return np.array([bool(self.held(unit)) for unit in self.frontier.passages], dtype=np.float32)

    def share(self, units: Sequence[str]) -> float:
        """Return the share of the facts that these candidates hold."""
        return len(frozenset[int]().union(*map(self.held, units))) / len(self.facts)


def main() -> None:
    """Fit the ranker on the train corpora and write it."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--stores", type=Path, help="folder of indexed corpora, made where they are missing")
    parser.add_argument("--rounds", type=int, default=Limits().rounds)
    arguments = parser.parse_args()
    started = time.perf_counter()

    def say(what: str) -> None:
        print(f"{time.perf_counter() - started:6.0f} s  {what}", flush=True)

    with ExitStack() as stack:
        stores = arguments.stores or Path(stack.enter_context(TemporaryDirectory()))
        examples = [
            *benchmark_examples(arguments.data, stack, say),
            *document_examples(arguments.data, stores, stack, say),
        ]
        rankers = fitted(examples, arguments.rounds, say)
    buffer = io.BytesIO()
    arrays = [ranker.to_arrays(name) for ranker, name in zip(rankers, ("direct", "linked"), strict=True)]
    np.savez_compressed(buffer, allow_pickle=False, **arrays[0], **arrays[1])
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    write_atomic(arguments.out, buffer.getvalue())
    say(f"wrote {arguments.out} ({len(buffer.getvalue()) // 1024} KiB)")


def fitted(examples: Sequence[Example], rounds: int, say: Say) -> tuple[Trees, Trees]:
    """Follow each question for so many rounds, and return the two rankers that the last one taught."""
    direct = directs(examples)
    by_match = trained(examples, direct)
    own = predicted(by_match, examples, direct)
    by_path = by_match
    for step in range(rounds):
        for example, scores in zip(examples, own, strict=True):
            example.frontier.follow(scores)
        direct = directs(examples)
        by_match = trained(examples, direct)
        table = linked(examples, predicted(by_match, examples, direct))
        by_path = trained(examples, table)
        own = predicted(by_path, examples, table)
        say(f"round {step + 1}, held out: recall@5, all facts among 5, 20, in the pool, size of the pool")
        report(say, examples, own)
    return by_match[-1], by_path[-1]


def benchmark_examples(data: Path, stack: ExitStack, say: Say) -> Iterator[Example]:
    """Yield the examples of the benchmarks' train files."""
    for name, encoded, titled, first, last in PARTS:
        corpus = corpora.read(name, data)
        if not titled:
            corpus = corpus.without_titles()
        units = list(corpus.units)
        if name in AMONG:
            other, count = AMONG[name]
            units += [
                replace(unit, id=f"{other} {unit.id}", source=None)
                for unit in corpora.read(other, data).units[:count]
            ]
        vectors = encoder(encoded, cache=True)
        now = stack.enter_context(MemoryCorpus(units, vectors).snapshot())
        part = f"{name}{'' if titled else ' without titles'}, {encoded}"
        asked = [(one.question, sorted(one.gold)) for one in corpus.questions[first:last]]
        folds = [(first + place) % FOLDS for place in range(len(asked))]
        yield from _started(asked, vectors, now, part, folds)
        say(f"{part}: {len(asked)} questions, {len(units)} passages")


def document_examples(data: Path, stores: Path, stack: ExitStack, say: Say) -> Iterator[Example]:
    """Yield the examples of ``documents/train``; ``stores`` are its indexed corpora, made where missing."""
    vectors = encoder("wordllama")
    count = 0
    for number, folder in enumerate(corpus_folders(data / "documents/train")):
        place = stores / folder.name
        if not place.exists():
            with TemporaryDirectory() as files:
                unpack(folder / "files.tar.xz", Path(files))
                index_paths([files], open_store(place, create=True, encoder=vectors))
        store = stack.enter_context(open_store(place, encoder=vectors))
        now = stack.enter_context(store.snapshot())
        asked = [(one.question, one.facts) for one in read_document_questions(folder) if one.facts]
        for example in _started(asked, vectors, now, "documents", [number % FOLDS] * len(asked)):
            yield replace(example, weight=DOCUMENTS)
        count += len(asked)
    say(f"documents: {count} questions")


def _started(
    asked: Sequence[tuple[str, Sequence[str | Fact]]],
    vectors: Encoder,
    now: Snapshot,
    part: str,
    folds: Sequence[int],
) -> Iterator[Example]:
    readings = PassageCache(8 << 30)
    encoded = vectors.encode_queries([question for question, _ in asked])
    for (question, facts), vector, fold in zip(asked, encoded, folds, strict=True):
        yield Example(Frontier(question, vector, now, Limits(), readings), facts, part, fold)


def directs(examples: Sequence[Example]) -> list[Floats]:
    """Return the direct features of each question's passages."""
    return [example.frontier.table.direct() for example in examples]


def linked(examples: Sequence[Example], own: Sequence[Floats]) -> list[Floats]:
    """Return all features of each question's passages."""
    tables = [example.frontier.table for example in examples]
    return [np.hstack([table.direct(), table.links(s)]) for table, s in zip(tables, own, strict=True)]


def trained(examples: Sequence[Example], tables: Sequence[Floats]) -> list[Trees]:
    """Return one forest for each fold, trained on the others, and last the one trained on everything."""
    forests = []
    for left_out in [*range(FOLDS), None]:
        chosen = [i for i, example in enumerate(examples) if example.fold != left_out]
        table = np.vstack([tables[i] for i in chosen])
        labels = np.concatenate([examples[i].labels() for i in chosen])
        weights = np.concatenate([np.full(len(tables[i]), examples[i].weight) for i in chosen])
        forests.append(to_trees(boost(table, labels, weights, GROWTH)))
    return forests


def predicted(
    forests: Sequence[Trees], examples: Sequence[Example], tables: Sequence[Floats]
) -> list[Floats]:
    """Return each question's scores by the forest that has not seen it."""
    return [probability(forests[e.fold], table) for e, table in zip(examples, tables, strict=True)]


def report(say: Say, examples: Sequence[Example], own: Sequence[Floats]) -> None:
    """Print how well held-out rankers order each part; two of them also by how many facts are asked for."""
    found: dict[str, list[tuple[float, ...]]] = {}
    for example, scores in zip(examples, own, strict=True):
        names = list(example.frontier.passages)
        order = [names[place] for place in np.argsort(-scores, kind="stable")]
        row = (*(example.share(order[:k]) for k in (5, 20)), example.share(names), len(names))
        found.setdefault(example.part, []).append(row)
        if example.part.startswith(("musique", "documents")):
            found.setdefault(f"{example.part}, {len(example.facts)} facts", []).append(row)
    for part, rows in sorted(found.items()):
        table = np.array(rows)
        whole = 100 * (table[:, :3] == 1).mean(axis=0)
        say(
            f"  {part} ({len(rows)}): {100 * table[:, 0].mean():.1f}  {whole[0]:.1f}  {whole[1]:.1f}  "
            f"{whole[2]:.1f}  {table[:, 3].mean():.1f}"
        )


if __name__ == "__main__":
    main()
