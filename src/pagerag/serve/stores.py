"""The stores that a server holds open, each under a name; and the text around their passages."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from pagerag.errors import EmptyPoolError, InputError, ReaderError, StoreError
from pagerag.pipeline import PageRAG
from pagerag.places import place_of
from pagerag.promotion import Promoter, Weights
from pagerag.protocols import Corpus, Reader
from pagerag.serve.models import Tuning
from pagerag.serve.problems import Problem
from pagerag.settings import Settings
from pagerag.store import store_exists
from pagerag.units import Candidate

# Of a document, on each side of the passage; longer ones are cut there, and the cut is told.
MOST_CHARACTERS, MOST_PASSAGES = 60_000, 200
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._\-]{0,63}")
_NAMED = re.compile(r"[^/:?]*=")  # an address may have "=" in its query


def places_of(settings: Settings, given: list[str] | None = None) -> dict[str, str]:
    """Return the stores to serve, by name: ``NAME=PATH`` or ``PATH`` each, else the settings'.

    Where nothing names a store, ``store.path`` is served if it is there.
    """
    if given:
        named = [item.split("=", 1) if _NAMED.match(item) else [_name(item), item] for item in given]
    elif settings.serve.stores:
        named = [[name, str(path)] for name, path in settings.serve.stores.items()]
    else:
        path = settings.store.path
        told = settings.origin("store.path") != "default"
        named = [[_name(path), path]] if told or "://" in path or Path(path).exists() else []
    places: dict[str, str] = {}
    for name, path in named:
        if not _NAME.fullmatch(name) or not path:
            raise InputError(f"{name!r} cannot be the name of a store: letters, digits, '.', '_' and '-'")
        if name in places:
            raise InputError(f"two stores are called {name!r}; name them: --store NAME=PATH")
        places[name] = path
    return places


def _name(path: str) -> str:
    last = PurePosixPath(path.partition("?")[0].rstrip("/")).name
    return re.sub(r"[^A-Za-z0-9._\-]+", "-", last).strip("-.") or "store"


class Held:
    """One store, opened when it is there. The store itself follows what others write into it."""

    def __init__(self, name: str, path: str, settings: Settings, reader: Reader | None) -> None:
        self.name, self.path, self.settings = name, path, settings
        self._reader = reader
        self._pipeline: PageRAG | None = None
        self._lock = threading.Lock()

    @property
    def exists(self) -> bool:
        """Whether there is something to open."""
        return self._pipeline is not None or store_exists(self.path)

    def pipeline(self, tuning: Tuning | None = None) -> PageRAG:
        """Return the pipeline over the store, changed as a request asks."""
        with self._lock:
            if self._pipeline is None:
                if not self.exists:
                    raise StoreError(
                        f"the store {self.name!r} is empty; upload files, or fill it with: pagerag index"
                    )
                self._pipeline = PageRAG.open(self.path, self.settings, reader=self._reader)
            pipeline = self._pipeline
        if tuning is None or all(getattr(tuning, name) is None for name in Tuning.model_fields):
            return pipeline
        return PageRAG(
            pipeline.store, pipeline.retriever, tuned_promoter(tuning, pipeline.promoter), pipeline.reader,
            encoder=pipeline.encoder, k=tuning.k or pipeline.k, pool=tuning.pool or pipeline.pool,
            mode=tuning.mode or pipeline.mode, max_tokens=tuning.max_tokens or pipeline.max_tokens,
            strategy=None if tuning.weights else tuning.strategy or pipeline.strategy,
            units=tuning.units or pipeline.units,
        )  # fmt: skip

    def describe(self) -> dict[str, Any]:
        """Return what the store holds, for ``GET /v1/stores``."""
        told: dict[str, Any] = {"name": self.name, "ready": self.exists, "encoder": None}
        told |= {"units": 0, "documents": 0, "files": 0}
        if not self.exists:
            return told
        pipeline = self.pipeline()
        if pipeline.store is not None:
            stats = pipeline.store.stats()
            told |= {"units": stats.units, "documents": stats.documents, "files": stats.files}
        if pipeline.encoder is not None:
            told["encoder"] = pipeline.encoder.name
        told |= {"reader": pipeline.reader.name, "mode": pipeline.mode}
        return told | {"k": pipeline.k, "pool": pipeline.pool}

    def document_around(self, unit: str) -> dict[str, Any]:
        """Return the text of the document that a passage is of, and where in it the passage begins."""
        corpus = self.pipeline().store
        if corpus is None:
            raise Problem(404, "no_document", f"the store {self.name!r} keeps no documents", "unit")
        try:
            return _document_around(corpus, unit)
        except InputError:
            words = f"the store {self.name!r} has no unit {unit!r}"
            raise Problem(404, "no_document", words, "unit") from None


def tuned_promoter(tuning: Tuning, default: Promoter) -> Promoter:
    """Return the promoter for a request: the shared one, or one with the weights that it names."""
    if not tuning.weights:
        return default
    if tuning.strategy == "learned":
        raise InputError("weights belong to the formula; leave strategy out, or set it to 'formula'")
    mode = tuning.mode or "document"
    unknown = sorted(set(tuning.weights) - set(Weights.shipped(mode).to_dict()))
    if unknown:
        raise InputError(f"there is no weight {unknown[0]!r}; GET /v1/weights lists them")
    return Promoter(weights=Weights.shipped(mode).but(**tuning.weights), support=default.support)


class Stores:
    """All stores of a server, by name."""

    def __init__(self, places: Mapping[str, str], settings: Settings) -> None:
        reader: Reader | None = None
        if places:
            from pagerag.read import reader as make_reader

            reader = make_reader(settings.read.reader, settings)  # one for all stores: it may hold a model
        self._held = {name: Held(name, path, settings, reader) for name, path in places.items()}

    def __iter__(self) -> Iterator[Held]:
        return iter(self._held.values())

    def __len__(self) -> int:
        return len(self._held)

    def get(self, name: str | None) -> Held:
        """Return the store of this name; without a name, the only one or the first."""
        if not self._held:
            raise Problem(404, "no_store", "this server serves no store; start it with --store PATH", "store")
        if name is None:
            return next(iter(self._held.values()))
        if name not in self._held:
            known = ", ".join(self._held)
            raise Problem(404, "no_store", f"there is no store {name!r}; there are: {known}", "store")
        return self._held[name]

    def open(self) -> None:
        """Open every store that is there and ask it something, so that no question waits for models."""
        for held in self:
            if held.exists:
                try:
                    held.pipeline().ask("What is this about?")
                except (EmptyPoolError, ReaderError):
                    continue  # an empty store; an endpoint that does not answer yet


def _document_around(corpus: Corpus, unit: str) -> dict[str, Any]:
    """Return the text of the document that a passage is of, and where in it the passage begins.

    The text is put together from the stored passages, so that it is the version that was searched, and no
    file is opened because a request names it.
    """
    [passage] = corpus.fetch([unit])
    before, cut_before = _beside(corpus, passage, -1)
    after, cut_after = _beside(corpus, passage, 1)
    text, at, end = "", 0, None
    for part in (*reversed(before), passage, *after):
        start = int(part.metadata.get("start", 0))
        if end is not None and start > end:
            text += "\n\n"  # blanks between passages are not stored
        own = part.text if end is None else part.text[max(0, end - start) :]  # passages may overlap
        if part is passage:
            at = len(text) - (len(part.text) - len(own))
        text += own
        end = max(end or 0, start + len(part.text))
    return {
        "unit": passage.id,
        "title": passage.title,
        **place_of(passage).to_dict(),
        "text": text,
        "at": at,
        "length": len(passage.text),
        "cut_before": cut_before,
        "cut_after": cut_after,
    }


def _beside(corpus: Corpus, passage: Candidate, step: int) -> tuple[list[Candidate], bool]:
    """Return the passages of the same document on one side up to the limits, and whether there are more.

    Passages are called ``source#0``, ``source#1`` and so on; the nearest comes first.
    """
    taken: list[Candidate] = []
    characters = 0
    source, _, number = passage.id.rpartition("#")
    place = int(number) + step if source and number.isdecimal() else -1
    while place >= 0:
        try:
            [found] = corpus.fetch([f"{source}#{place}"])
        except InputError:  # the document ends here
            break
        characters += len(found.text)
        if characters > MOST_CHARACTERS or len(taken) == MOST_PASSAGES:
            return taken, True
        taken.append(found)
        place += step
    return taken, False
