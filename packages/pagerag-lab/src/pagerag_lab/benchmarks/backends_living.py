"""Measure pairs with the real LightRAG and GraphRAG on HotpotQA: their pool read plainly and promoted.

    python -m pagerag_lab.benchmarks.backends_living lightrag --data ../shared/data --limit 20
    python -m pagerag_lab.benchmarks.backends_living graphrag --data ../shared/data --limit 20

One index over the contexts of the first --limit questions. What a language model would extract for it comes
from rules over a server on loopback: the names in a text, each related to the first, and a question's names
and words as its keywords. All else (chunks, graph, vectors, search, ranking) is the system's own; embeddings
are MiniLM's. So this says what promotion does behind these systems, and nothing about their quality with a
good model.

The pools are kept under --out; with pools there, the second run measures promotion alone.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from pagerag import Promoter
from pagerag.systems.formats import read_pools
from pagerag.testing import ScriptedChat
from pagerag.testing.chat import prompt_of
from pagerag.text import extract_entities, tokenize
from pagerag.units import Pool
from pagerag_lab.datasets.questions import Question
from pagerag_lab.datasets.registry import read_questions
from pagerag_lab.pools.retrievers import cached_encoder
from pagerag_lab.product import write_atomic

os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")  # read when litellm is imported
K, POOL = 5, 20
DIMENSION = 384


def names(text: str) -> list[str]:
    """Names in order, each once."""
    return list(dict.fromkeys(extract_entities(text)))[:12]


def script(request: dict[str, Any]) -> str:
    """Return what the model says to a prompt of LightRAG or GraphRAG."""
    prompt, last = prompt_of(request), str(request["messages"][-1].get("content") or "")
    if "high_level_keywords" in prompt:
        question = last.rpartition("Query:")[2] or last
        words = list(tokenize(question))
        return json.dumps({"high_level_keywords": words[:8], "low_level_keywords": names(question) or words})
    if "<|#|>" in prompt or "---Input Text---" in prompt:
        found = names(last.rpartition("---Input Text---")[2])
        rows = [f"entity<|#|>{n}<|#|>thing<|#|>{n} is named in the text." for n in found]
        rows += [f"relation<|#|>{found[0]}<|#|>{n}<|#|>related to<|#|>Named together." for n in found[1:]]
        return "\n".join([*rows, "<|COMPLETE|>"])
    if '("entity"<|>' in prompt:
        found = names(last.rpartition("Text:")[2])
        rows = [f'("entity"<|>{n.upper()}<|>THING<|>{n} is named in the text.)' for n in found]
        rows += [
            f'("relationship"<|>{found[0].upper()}<|>{n.upper()}<|>Named together.<|>7)' for n in found[1:]
        ]
        return "\n##\n".join(rows) + "\n<|COMPLETE|>"
    return "none"


class Letters:
    """A tokenizer that needs no download: four letters a token, as a rule of thumb."""

    def encode(self, content: str) -> list[int]:
        """Return a number for each character."""
        return [ord(letter) for letter in content]

    def decode(self, tokens: list[int]) -> str:
        """Return the text of such numbers."""
        return "".join(map(chr, tokens))


async def lightrag(folder: Path, url: str, corpus: dict[str, str], questions: Sequence[str]) -> list[Pool]:
    """Return the pools of a LightRAG index over the corpus."""
    from lightrag import LightRAG
    from lightrag.llm.openai import openai_complete_if_cache
    from lightrag.utils import EmbeddingFunc, Tokenizer

    from pagerag.systems.lightrag import LightRAGBackend

    encoder = cached_encoder("minilm")

    async def embed(texts: list[str], **_: Any) -> Any:
        return encoder.encode_passages(texts)

    async def model(
        prompt: str, system_prompt: str | None = None, history_messages: Any = None, **_: Any
    ) -> Any:
        return await openai_complete_if_cache(
            "rules", prompt, system_prompt, history_messages or [], base_url=url, api_key="none"
        )

    rag = LightRAG(
        working_dir=str(folder),
        llm_model_func=model,
        embedding_func=EmbeddingFunc(embedding_dim=DIMENSION, max_token_size=8192, func=embed),
        tokenizer=Tokenizer("letters", Letters()),
        chunk_token_size=4000,
        entity_extract_max_gleaning=0,
        enable_llm_cache=False,
    )
    await rag.initialize_storages()
    titles = list(corpus)
    await rag.ainsert([corpus[t] for t in titles], file_paths=[f"{n}.txt" for n in range(len(titles))])
    backend = LightRAGBackend(rag, title=lambda path: titles[int(Path(path).stem)])
    return [await backend.apool(question, POOL) for question in questions]


async def graphrag(folder: Path, url: str, corpus: dict[str, str], questions: Sequence[str]) -> list[Pool]:
    """Return the pools of a GraphRAG index over the corpus."""
    import pandas as pd
    from tests.systems.graphrag_index import build, engine

    from pagerag.systems.graphrag import GraphRAGBackend

    titles = list(corpus)
    texts = {str(number): corpus[title] for number, title in enumerate(titles)}
    config = await asyncio.to_thread(build, folder, url, texts, dimension=DIMENSION, size=1200, overlap=100)
    documents = pd.read_parquet(folder / "output" / "documents.parquet")
    known = {
        str(i): titles[int(Path(str(t)).stem)]
        for i, t in zip(documents["id"], documents["title"], strict=True)
    }
    backend = GraphRAGBackend(engine(config), titles=known)
    return [await asyncio.to_thread(backend.pool, question, POOL) for question in questions]


SYSTEMS = {"lightrag": lightrag, "graphrag": graphrag}


def pools(system: str, questions: Sequence[Question], out: Path) -> Iterator[Pool]:
    """Return the system's pool of each question, from the file of an earlier run or from a new index."""
    file = out / f"{system}-{len(questions)}.jsonl"
    if not file.is_file():
        corpus: dict[str, str] = {}
        for question in questions:
            for document in question.documents:
                corpus.setdefault(document.title or document.id, document.text)
        started = time.perf_counter()
        folder = out / f"{system}-{len(questions)}-{os.getpid()}"
        with ScriptedChat(script, encoder=cached_encoder("minilm")) as chat:
            made = asyncio.run(SYSTEMS[system](folder, chat.url, corpus, [q.question for q in questions]))
        seconds = time.perf_counter() - started
        print(f"{len(corpus)} documents, {len(questions)} questions: {seconds:.0f} s", file=sys.stderr)
        lines = [
            {
                "question": pool.question,
                "candidates": [
                    {k: v for k in _FIELDS if (v := getattr(unit, k)) is not None} for unit in pool.candidates
                ],
                "relations": [asdict(fact) for fact in pool.relations],
            }
            for pool in made
        ]
        write_atomic(file, "".join(json.dumps(line) + "\n" for line in lines))
    for pool, _ in read_pools(file, format="pagerag"):
        yield pool


_FIELDS = ("id", "text", "title", "source", "position", "score", "entities")


def measured(titles: Sequence[str | None], gold: frozenset[str]) -> tuple[float, float]:
    """Return (F1 of the documents read, whether all gold is among them)."""
    read = {title for title in titles if title}
    right = len(read & gold)
    return (2 * right / (len(read) + len(gold)) if right else 0.0), float(gold <= read)


def main(arguments: list[str] | None = None) -> int:
    """Index, ask, promote, and print the pairs."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("system", choices=SYSTEMS)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--out", type=Path, default=Path("runs/living"))
    parser.add_argument("--limit", type=int, default=20)
    args = parser.parse_args(arguments)
    args.out.mkdir(parents=True, exist_ok=True)
    questions = list(read_questions("hotpotqa", str(args.data / "hotpotqa/dev.json"), limit=args.limit))
    promoter = Promoter()
    rows, reach, empty = [], 0, 0
    for question, pool in zip(questions, pools(args.system, questions, args.out), strict=True):
        gold = question.gold("document")
        own = [unit.title for unit in pool.candidates]
        promoted = promoter.promote(pool.question, pool, k=K, mode="document") if own else None
        ours = [unit.title for unit in promoted.context] if promoted is not None else []
        rows.append((*measured(own[:K], gold), *measured(ours, gold)))
        reach += gold <= set(own)
        empty += not own
    n = len(rows)
    f1, full, our_f1, our_full = (100 * sum(column) / n for column in zip(*rows, strict=True))
    print("| system | N | gold in pool | Sup F1 filled | + PAGE-RAG | full recall@5 | + PAGE-RAG |")
    print("|---|---:|---:|---:|---:|---:|---:|")
    print(f"| {args.system} | {n} | {reach} | {f1:.1f} | {our_f1:.1f} | {full:.1f} | {our_full:.1f} |")
    if empty:
        print(f"{empty} pools were empty", file=sys.stderr)
    return 0 if our_f1 > f1 and our_full > full else 1


if __name__ == "__main__":
    sys.exit(main())
