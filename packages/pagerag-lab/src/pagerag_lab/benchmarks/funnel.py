"""From passages to sentences: how many passages, how many sentences, and how a sentence is scored.

    python benchmarks/funnel.py --data ../shared/data/hotpotqa/train.json [--questions 100] [--corpus 500]

The contexts of the file's first questions are one corpus; adaptive retrieval gives each question a pool of 20
passages; each row is a way from that pool to at most five sentences. The rankers of adaptive retrieval were
fitted on train files, so the rows compare ways and are no result. Gold sentences only measure; nothing else
sees them.
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from pagerag.promotion import Promoter
from pagerag.retrieve import AdaptiveRetriever, MemoryCorpus, encoder
from pagerag.store import encoded_text, sentences_of
from pagerag.units import Candidate, Pool

ROWS = [(passages, cut, plus) for passages in (5, 8, 10, 12) for cut in (20, 999) for plus in (False, True)]


def corpus_of(examples: list[dict[str, Any]]) -> list[Candidate]:
    """Return one passage per title, its sentences as the benchmark cuts them."""
    found: dict[str, Candidate] = {}
    for example in examples:
        for title, sentences in example["context"]:
            text, spans = "", []
            for sentence in sentences:
                start = len(text) + len(sentence) - len(sentence.lstrip())
                text += sentence
                spans.append([start, len(text.rstrip())])
            kept = {"sentences": [s for s in spans if s[1] > s[0]]}
            numbers = [number for number, s in enumerate(spans) if s[1] > s[0]]
            found.setdefault(
                title,
                Candidate(title, text, title=title, source=title, metadata={**kept, "numbers": numbers}),
            )
    return list(found.values())


def sentences(pool: Pool, passages: int, cut: int, plus: bool, encode: Any) -> list[Candidate]:
    """Return the sentences of the first ``passages``, the ``cut`` best of them."""
    units = [
        replace(sentence, id=f"{passage.title}##{number}")
        for passage in pool.candidates[:passages]
        for sentence, number in zip(sentences_of(passage), passage.metadata["numbers"], strict=True)
    ]
    vectors = encode([encoded_text(unit.title, unit.text) for unit in units])
    best = max(unit.score or 0.0 for unit in pool.candidates)
    share = {unit.title: (unit.score or 0.0) / best for unit in pool.candidates}
    scores = [float(v @ pool.vector) + plus * share[u.title] for u, v in zip(units, vectors, strict=True)]
    order = sorted(range(len(units)), key=lambda place: (-scores[place], place))[:cut]
    return [replace(units[place], score=scores[place], vector=vectors[place]) for place in order]


def main() -> None:
    """Measure every row and print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", required=True, type=Path, help="a HotpotQA train file")
    parser.add_argument("--questions", type=int, default=100)
    parser.add_argument("--corpus", type=int, default=500, help="questions whose contexts are the corpus")
    args = parser.parse_args()
    examples = json.loads(args.data.read_text(encoding="utf-8"))[: max(args.corpus, args.questions)]
    model = encoder("wordllama")
    retriever = AdaptiveRetriever(MemoryCorpus(corpus_of(examples), model), model)
    promoter = Promoter()
    sums = {row: [0.0] * 5 for row in ROWS}
    asked = examples[: args.questions]
    for example in asked:
        question = example["question"]
        gold = {f"{title}##{number}" for title, number in example["supporting_facts"]}
        pool = retriever.retrieve(question, 20)
        for row in ROWS:
            started = time.process_time()
            units = sentences(pool, *row, model.encode_passages)
            result = promoter.promote(question, units, k=5, mode="sentence", vector=pool.vector)
            seconds = time.process_time() - started
            context, core = {u.id for u in result.context}, {u.id for u in result.core}
            f1 = 2 * len(core & gold) / (len(core) + len(gold))
            values = (len(context & gold) / len(gold), gold <= context, f1, len(core), 1000 * seconds)
            sums[row] = [a + b for a, b in zip(sums[row], values, strict=True)]
    print(f"{len(asked)} questions, {args.data.name}")
    print("passages  sentences  score      recall@5  full@5  core F1  core size  CPU ms")
    for (passages, cut, plus), total in sums.items():
        recall, full, f1, size, ms = (value / len(asked) for value in total)
        way = "near+share" if plus else "near"
        print(
            f"{passages:8}  {cut if cut < 999 else 'all':>9}  {way:10} {recall:8.3f} {full:7.3f} {f1:8.3f}"
            f" {size:10.2f} {ms:7.0f}"
        )


if __name__ == "__main__":
    main()
