"""Follow-up search over the embedded store: the same evidence as over the corpus in memory."""

from __future__ import annotations

from pathlib import Path

from pagerag.protocols import Encoder
from pagerag.retrieve import AdaptiveRetriever, Limits, MemoryCorpus
from pagerag.store import Unit, open_store
from pagerag.units import Candidate


def test_a_store_is_followed(tmp_path: Path, pages: list[Candidate], words: Encoder) -> None:
    store = open_store(tmp_path / "store", words, create=True)
    store.upsert(
        [Unit(id=page.id, text=page.text, source=page.id, path=page.id, title=page.title) for page in pages]
    )
    limits = Limits(first=2, depth=2)
    question = "Where does the director of Gravity come from?"
    stored = AdaptiveRetriever(store, words, limits=limits).retrieve(question, 4)
    kept = AdaptiveRetriever(MemoryCorpus(pages, words), limits=limits).retrieve(question, 4)
    for pool in (stored, kept):
        assert {"Gravity (2013 film)", "Alfonso Cuarón"} <= {unit.id for unit in pool.candidates}
    assert all(unit.vector is not None for unit in stored.candidates)
