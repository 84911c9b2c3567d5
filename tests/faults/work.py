"""Work that faults strike: documents, writers in processes of their own, chunks for Ray."""

from __future__ import annotations

import multiprocessing
import os
import time
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from pagerag.protocols import Corpus
from pagerag.store import MemoryCorpus
from pagerag.testing import FakeEncoder
from pagerag.text import Analyzer
from pagerag.units import Unit

QUESTIONS = ("river of the city", "who composed the music of the film", "thing3 and thing5", "note 7")


def document(number: int, units: int = 3) -> list[Unit]:
    words = " ".join(("film", "river", "city", "music", "bank", "star")[k % 6] for k in range(number % 7 + 1))
    found = []
    for part in range(units):
        text = f"Note {number}.{part} tells of {words} and of thing{number % 9}."
        analysis = Analyzer().analyze(text).to_bytes()
        found.append(Unit(id=f"d{number}#{part}", text=text, source=f"d{number}", path=f"d{number}", title=f"Note {number}", position=part, total=units, analysis=analysis))  # fmt: skip
    return found


def lost(corpus: Corpus, acknowledged: Sequence[int]) -> int:
    """Count units of acknowledged documents that are not there."""
    there = {unit.id for unit in corpus.units()}
    return sum(unit.id not in there for number in acknowledged for unit in document(number))


def assert_undisturbed(corpus: Corpus, documents: Sequence[int]) -> None:
    """Expect what an undisturbed run of the same documents holds and finds."""
    encoder = FakeEncoder(64)
    calm = MemoryCorpus((), encoder)
    for number in documents:
        calm.upsert(document(number))
    assert {unit.id for unit in corpus.units()} == {unit.id for unit in calm.units()}
    for question in QUESTIONS:
        found, want = corpus.search_text(question, 20), calm.search_text(question, 20)
        assert [round(unit.score or 0, 4) for unit in found] == [round(unit.score or 0, 4) for unit in want]
        point = encoder.encode_queries([question])[0]
        found, want = corpus.search_vector(point, 20), calm.search_vector(point, 20)
        assert all(abs((a.score or 0) - (b.score or 0)) < 0.01 for a, b in zip(found, want, strict=True))
    assert list(corpus.verify()) == []


def write_documents(open_corpus: Callable[..., Corpus], first: int, say: Connection) -> None:
    """Write documents for ever and tell of each that is stored."""
    with open_corpus(FakeEncoder(64)) as corpus:
        for number in range(first, 1_000_000):
            corpus.upsert(document(number))
            say.send(number)
            if number % 8 == 7:
                corpus.optimize(final=False)


def killed_writer(open_corpus: Callable[..., Corpus], first: int, after: int, delay: float) -> list[int]:
    """Start a writer, kill it a moment after its ``after``-th document, and return what it acknowledged."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    writer = context.Process(target=write_documents, args=(open_corpus, first, theirs), daemon=True)
    writer.start()
    theirs.close()
    done = [ours.recv() for _ in range(after)]
    time.sleep(delay)
    writer.kill()
    writer.join()
    try:
        while ours.poll():
            done.append(ours.recv())
    except (EOFError, OSError):
        pass  # the last message was cut short
    return done


def slow_squares(task: tuple[str, float], items: Sequence[int]) -> list[dict[str, Any]]:
    """Square numbers slowly; leave a file that says which process does which chunk."""
    folder, seconds = task
    if folder:
        (Path(folder) / f"{items[0]:04d}.{os.getpid()}").touch()
    time.sleep(seconds)
    return [{"item": item, "square": item * item} for item in items]
