"""Let a server work for a long time beside indexing, and show that nothing grows, fails or changes.

    python -m pagerag_lab.benchmarks.soak [--minutes 30] [--clients 16] [--rate 4] [--reindex 45]

The clients ask the store, rerank and promote, ``--rate`` requests a second between them, so that the run
leaves room for others on the machine. Beside them the store's documents change back and forth between two
states and are indexed again every ``--reindex`` seconds. Expected answers of both states are taken before,
from the library in this process. An answer has to be that of one of the two states, whole; a ranking has
to be the expected one. A part of the requests has new words each time, which would fill
caches without a bound.

Memory is flat when the medians of the last and of the middle third of the run differ by less than 5 %.
The exit code is 1 when a bound is missed.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

from pagerag import PageRAG, Settings
from pagerag.cli.demo import CORPUS
from pagerag.errors import PageRAGError
from pagerag.pipeline import promoter_of
from pagerag.serve import AsyncClient
from pagerag.serve.dialects import RequestLimits, rank, read_request
from pagerag_lab.benchmarks.serve import memory, processor_seconds, served

CHANGED, OLD, NEW = "hans-zimmer.md", "Frankfurt", "Hanover"
"""What differs in the second state: one file, because a run of indexing is one version for each file."""
FLAT = 0.05

Facts = tuple[Any, ...]


@dataclass
class Expected:
    """What the library says: of each question in both states of the store, and of each rerank request."""

    answers: dict[str, set[Facts]] = field(default_factory=dict)
    rankings: list[tuple[str, list[str], list[int]]] = field(default_factory=list)


@dataclass
class Seen:
    """What happened."""

    requests: Counter[str] = field(default_factory=Counter)
    errors: Counter[str] = field(default_factory=Counter)
    different: list[str] = field(default_factory=list)
    indexed: int = 0
    memory: list[float] = field(default_factory=list)


def main() -> int:
    """Run the soak and print what was seen."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--clients", type=int, default=16)
    parser.add_argument("--rate", type=float, default=4.0, help="requests a second, of all clients together")
    parser.add_argument("--reindex", type=float, default=45.0, help="seconds between two runs of indexing")
    parser.add_argument("--reader", default="extractive")
    parser.add_argument("--support", default="auto", help="setting promote.support")
    parser.add_argument("--json", metavar="FILE", help="write every figure here, too")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        return soak(args, Path(folder))


def soak(args: argparse.Namespace, folder: Path) -> int:
    """Prepare both states, serve, load, index, and judge."""
    documents, store = folder / "documents", folder / "store"
    settings = Settings().updated({"promote.support": args.support, "read.reader": args.reader})
    expected = Expected()
    for state in (1, 0):  # the run begins with the first
        put(documents, state)
        index(documents, store)
        with PageRAG.open(store, settings) as rag:
            for question in questions():
                result = rag.ask(question).to_dict()
                expected.answers.setdefault(question, set()).add(facts(result))
    expected.rankings = rankings(settings)
    both = sum(len(answers) > 1 for answers in expected.answers.values())
    print(f"{len(expected.answers)} questions, {both} with different answers in the two states", flush=True)
    flags = [
        *("--store", f"s={store}", "--reader", args.reader),
        *("--set", f"promote.support={args.support}"),
        *("--set", f"serve.asks={args.clients}"),  # so that a slow moment is no 429
    ]
    seen = Seen()
    with served(*flags) as (url, process):
        started, used = time.monotonic(), processor_seconds(process)
        asyncio.run(load(args, url, process, expected, seen, documents, store))
        seconds = time.monotonic() - started
        cores = (processor_seconds(process) - used) / seconds
    return report(args, seen, seconds, cores)


def put(documents: Path, state: int) -> None:
    """Write the documents in one of their two states."""
    if not documents.exists():
        shutil.copytree(CORPUS, documents)
    text = (CORPUS / CHANGED).read_text(encoding="utf-8")
    (documents / CHANGED).write_text(text.replace(OLD, NEW) if state else text, encoding="utf-8")


def index(documents: Path, store: Path) -> None:
    """Index the documents in a process of its own."""
    command = [sys.executable, "-m", "pagerag", "index", str(documents), "--store", str(store)]
    subprocess.run(command, check=True, capture_output=True)


def questions() -> list[str]:
    """Return questions about every document, those of two hops among them."""
    films = ("Interstellar", "Inception", "Gladiator", "Gravity", "The Martian", "Oppenheimer", "Dune")
    people = ("Hans Zimmer", "Marie Curie", "Antoni Gaudí", "Nicolaus Copernicus", "Christopher Nolan")
    return [
        *(
            f"Which city was the {role} of {film} born in?"
            for film in films
            for role in ("composer", "director")
        ),
        *(f"{asks} {name}" for name in people for asks in ("Where was", "When was", "What is known about")),
        "Which river flows through the city where Marie Curie was born?",
        "In which year was the architect who designed Park Güell born?",
        "What did a tram ticket in Barcelona cost in 1926?",
    ]


def rankings(settings: Settings) -> list[tuple[str, list[str], list[int]]]:
    """Return rerank requests with the order that the library gives them."""
    texts = [path.read_text(encoding="utf-8") for path in sorted(CORPUS.glob("*.md"))]
    promoter, chance, found = promoter_of(settings), random.Random(7), []
    for question in questions():
        documents = chance.sample(texts, 12)
        body = {"query": question, "documents": documents}
        ranked, _ = rank(promoter, read_request(body, RequestLimits(1000, 10**7), default_model="pagerag"), 5)
        found.append((question, documents, [one.index for one in ranked]))
    return found


def facts(result: dict[str, Any]) -> Facts:
    """Return what has to be equal of two answers."""
    cited = tuple((one["number"], one["id"], one["quote"], one["place"]) for one in result["citations"])
    return result["statement"], result["state"], cited, tuple(result["core"])


async def load(
    args: argparse.Namespace,
    url: str,
    process: subprocess.Popen[str],
    expected: Expected,
    seen: Seen,
    documents: Path,
    store: Path,
) -> None:
    """Run clients, indexing and the look at the memory until the time is over."""
    end = time.monotonic() + 60 * args.minutes
    pause = args.clients / args.rate

    async def client(place: int) -> None:
        chance = random.Random(place)
        kinds: Sequence[Callable[..., Awaitable[None]]] = (ask, rerank, promote)
        async with AsyncClient(url) as http:
            while time.monotonic() < end:
                kind = chance.choice(kinds)
                seen.requests[kind.__name__] += 1
                try:
                    await kind(http, chance, expected, seen)
                except PageRAGError as error:
                    seen.errors[f"{type(error).__name__}: {error}"] += 1
                await asyncio.sleep(pause * chance.uniform(0.5, 1.5))

    async def reindex() -> None:
        while time.monotonic() < end:
            await asyncio.sleep(args.reindex)
            put(documents, (seen.indexed + 1) % 2)
            await asyncio.to_thread(index, documents, store)
            seen.indexed += 1

    async def watch() -> None:
        while time.monotonic() < end:
            seen.memory.append(memory(process))
            await asyncio.sleep(5)

    await asyncio.gather(reindex(), watch(), *(client(place) for place in range(args.clients)))


async def ask(http: AsyncClient, chance: random.Random, expected: Expected, seen: Seen) -> None:
    """Ask the store: the answer has to be one of the two expected ones."""
    question = chance.choice(list(expected.answers))
    found = facts(dict((await http.ask(question)).raw))
    if found not in expected.answers[question]:
        seen.different.append(f"{question} {found[:2]}")


async def rerank(http: AsyncClient, chance: random.Random, expected: Expected, seen: Seen) -> None:
    """Rank documents: the order has to be the library's."""
    question, documents, order = chance.choice(expected.rankings)
    if [one.index for one in await http.rerank(question, documents)] != order:
        seen.different.append(f"rerank {question}")


async def promote(http: AsyncClient, chance: random.Random, _: Expected, seen: Seen) -> None:
    """Promote a pool with new names and words each time, whose right core is known."""
    hero, place, other, film = (
        "".join(chance.choices("abcdefghiklmnoprstuvw", k=9)).title() for _ in range(4)
    )
    noise = [
        f"{other} {n} was seen in {''.join(chance.choices('aeioulmnrst', k=8))}. Nothing came of it."
        for n in range(8)
    ]
    pool = [
        *({"id": f"n{n}", "text": text} for n, text in enumerate(noise)),
        {"id": "film", "title": film, "text": f"The score of {film} was composed by {hero}."},
        {"id": "hero", "title": hero, "text": f"{hero} was born in the city of {place}."},
    ]
    found = await http.promote(f"Which city was the composer of {film} born in?", pool)
    if not {"film", "hero"} <= set(found.context):
        seen.different.append(f"promote {found.context}")


def report(args: argparse.Namespace, seen: Seen, seconds: float, cores: float) -> int:
    """Print what was seen; return 1 when a bound is missed."""
    third = max(1, len(seen.memory) // 3)
    first, middle, last = (
        median(part)
        for part in (seen.memory[:third], seen.memory[third : 2 * third], seen.memory[2 * third :])
    )
    grown = last / middle - 1
    kept = {
        "no errors": not seen.errors,
        "answers equal": not seen.different,
        "memory flat": abs(grown) < FLAT,
    }
    print(
        f"{seconds / 60:.1f} minutes, {args.clients} clients, {sum(seen.requests.values())} requests "
        f"{dict(seen.requests)}, {seen.indexed} times indexed beside them; the server used {cores:.2f} cores"
    )
    print(f"errors: {sum(seen.errors.values())} {dict(seen.errors)}; other answers: {len(seen.different)}")
    for line in seen.different[:5]:
        print(f"  {line}")
    print(
        f"memory: first third {first:.0f} MiB, middle {middle:.0f}, last {last:.0f} ({100 * grown:+.1f} %), "
        f"most {max(seen.memory):.0f}"
    )
    print("; ".join(f"{name} {'(kept)' if good else '(MISSED)'}" for name, good in kept.items()))
    if args.json:
        told = {**vars(args), "seconds": seconds, "cores": cores, **vars(seen)}
        Path(args.json).write_text(json.dumps(told, indent=1), encoding="utf-8")
    return 0 if all(kept.values()) else 1


if __name__ == "__main__":
    raise SystemExit(main())
