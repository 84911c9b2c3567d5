"""Indexing: files into a store, a batch at a time, so that it can stop at any moment and go on later.

The order of writes is what makes this safe. A batch's units are committed and synced first, its files are
entered in the ledger after that, and only then is a file reported as indexed. A run that dies in between
leaves units of files that the ledger does not know: the next run reads those files again, finds the
documents already there by their digests, and goes on with the first that is not. A file that changed keeps
its old units until the new ones replace them in one commit. A file that turns out to be broken is taken back:
what the batch holds of it is dropped, and what earlier batches have stored is deleted.

With ``hands`` documents are cut, read and encoded in chunks elsewhere, and their units come back in the order
of the documents: this process alone reads files and writes the store, so that the store is the same, and its
ledger is the journal.
"""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from functools import partial

from pagerag.batch import Hands
from pagerag.errors import FormatError, InputError, MissingExtraError
from pagerag.ingest.documents import BadRecord, Document, IngestSettings, SourceFile
from pagerag.ingest.formats import Format
from pagerag.ingest.isolation import FileReader
from pagerag.ingest.passages import Asked, UnitMaker, encoded, read_chunk
from pagerag.ingest.report import Event, IngestReport, Listener, empty_message, timed
from pagerag.ingest.scan import Found, scan
from pagerag.protocols import Corpus
from pagerag.store import FileRecord, StoredDocument, Unit
from pagerag.text import Analyzer
from pagerag.text.analysis import VERSION as ANALYSIS_VERSION
from pagerag.units import FileStatus

_AHEAD = 8  # files that the reading process may begin with while earlier ones are being indexed
_CHUNK = 64  # documents that are sent elsewhere at a time, and at most ...
_CHUNK_CHARACTERS = 200_000
_OPTIMISE_EVERY = 25_000  # units; until then new ones are searched without an index, which is slower


def index_paths(
    paths: Iterable[str | os.PathLike[str]],
    store: Corpus,
    settings: IngestSettings | None = None,
    *,
    prune: bool = False,
    listener: Listener | None = None,
    analyzer: Analyzer | None = None,
    reader: FileReader | None = None,
    hands: Hands | None = None,
) -> IngestReport:
    """Read files and folders into ``store``: unchanged files are skipped, changed ones replaced.

    With ``prune``, what the store holds of files below ``paths`` that are there no more is removed; a path
    that is itself away with all that the store holds of it is an InputError then, before anything is
    removed. A file that cannot be read is reported and the others go on; a store that cannot be written
    ends the run.
    ``reader`` may be one of the same settings that was started before, so that it is ready now. ``hands`` do
    the work between reading and writing elsewhere.
    """
    chosen = settings or IngestSettings()
    with store.writing(), reader or FileReader(chosen) as files:
        maker = UnitMaker(chosen, analyzer or Analyzer(), store.encoder)
        run = _Run(store, maker, listener or (lambda _: None), files, hands)
        return run.run(list(paths), prune=prune)


@dataclass(slots=True)
class _Taken:
    """What is known of a file while its documents are worked on."""

    file: SourceFile
    digest: str
    size: int
    kept: set[str] = field(default_factory=set)
    made: dict[str, StoredDocument | None] = field(default_factory=dict)  # by this run; what was there before
    owned: list[str] = field(default_factory=list)  # digests that it was entered as the original of
    broken: bool = False
    documents: int = 0
    count: int = 0
    original: str | None = None


class _Run:
    """The state of one run."""

    def __init__(
        self, store: Corpus, maker: UnitMaker, listener: Listener, reader: FileReader, hands: Hands | None
    ) -> None:
        if maker.encoder is None:
            raise InputError("indexing needs the store opened with its encoder")
        self.store, self.maker, self.encoder, self.settings = store, maker, maker.encoder, maker.settings
        self.tell, self.reader = listener, reader
        self.fingerprint = self.settings.fingerprint(ANALYSIS_VERSION)
        self.report = IngestReport()
        self.stage = partial(timed, self.report.stages)
        self.work = maker.packed() if hands is not None else b""
        self.hands = hands
        self.ready = deque[tuple[Future[list[list[Unit]]] | None, list[_Taken], list[Asked]]]()
        self.chunk: tuple[list[_Taken], list[Asked]] = ([], [])
        self.units: list[Unit] = []
        self.stale: list[str] = []
        self.records: list[FileRecord] = []
        self.begun = time.monotonic()  # when the batch got its first units
        self.since_optimised = 0
        self.done_bytes = self.total_bytes = 0

    def run(self, paths: list[str | os.PathLike[str]], *, prune: bool) -> IngestReport:
        """Index the paths and return what happened."""
        start = time.perf_counter()
        report = self.report
        self.reader.start()  # it is ready by the time that files are found
        with self.stage("scan"):
            found = scan(paths, self.settings, leave_out=self.store.folder)
            report.unsupported, report.outside = found.unsupported, found.outside
            for problem in found.problems:
                self._failed(str(problem.file), problem)
            self.ledger = dict(self.store.ledger())
            self.stored = dict(self.store.documents())
            self.sources: dict[str, set[str]] = {}
            for source, document in self.stored.items():
                self.sources.setdefault(document.path, set()).add(source)
            self._vanished(found, prune=prune)
            todo = list(self._changed(found))
            if not todo:
                self.reader.close()
        for place, (file, known, size) in enumerate(todo, start=1):
            try:
                self._take(file, known, [item[:2] for item in todo[place : place + _AHEAD]])
            except (FormatError, MissingExtraError) as problem:
                self._failed(file.name, problem)
            self.done_bytes += size
            self._progress(0)
        self.reader.close()
        self._submit()
        while self.ready:
            self._collect()
        self._flush()
        if self.since_optimised or self.store.pending():
            with self.stage("optimise"):
                self.store.optimize()
        report.isolated = self.reader.isolated
        report.seconds = time.perf_counter() - start
        return report

    # -- what is to be done

    def _vanished(self, found: Found, *, prune: bool) -> None:
        known = self.sources.keys() | self.ledger.keys()
        if prune and (away := found.away(known)) is not None:
            raise InputError(
                f"{away} is not there, and --prune would forget all that the store holds of it; nothing was "
                "removed. Bring it back (is its disk mounted?); if it is gone for good, make an empty folder "
                "in its place and run this again"
            )
        gone = sorted(filter(found.lacks, known))
        for name in found.missing:
            if not (prune and name in gone):
                self._failed(name, FormatError("does not exist", file=name))
        if not prune:
            self.report.vanished = gone
        if not prune or not gone:
            return
        # Off the ledger first: if this is cut short, a file that comes back is read again.
        self.store.forget(gone)
        sources = [source for name in gone for source in self.sources.pop(name, ())]
        self.store.delete(sources)
        for source in sources:
            del self.stored[source]
        self.report.removed = gone
        for name in gone:
            self.ledger.pop(name, None)
            self.tell(Event("removed", name))
        self.since_optimised += len(sources)

    def _changed(self, found: Found) -> Iterator[tuple[SourceFile, Format, int]]:
        """Yield the files that must be read. What they hold is known by hash, whatever their dates say."""
        todo = []
        for name, (file, known) in found.files.items():
            try:
                size, _ = file.stamp()
                if known.whole and size > self.settings.max_file_bytes:
                    raise file.too_large(self.settings.max_file_bytes)
                record = self.ledger.get(name)
                same = record is not None and record.digest == self._digest(file)
            except FormatError as problem:
                self._failed(name, problem)
            else:
                todo.append((file, known, size, record if same else None))
        kept = {file.name for file, _, _, record in todo if record is not None}
        # A duplicate stands or falls with its original: when that is about to change, it is read again.
        # Originals outside the paths of this run stay as they are.
        self.owners = {
            document.digest: source
            for source, document in self.stored.items()
            if source == document.path
            and (source in kept or (source in self.ledger and not found.covers(source)))
        }
        originals = set(self.owners.values())
        for file, known, size, record in todo:
            if record is not None and (record.status != "duplicate" or record.original in originals):
                self.report.unchanged += 1
                self.tell(Event("unchanged", file.name, record.units))
            else:
                self.total_bytes += size
                yield file, known, size

    def _digest(self, file: SourceFile) -> str:
        return f"{file.digest()}:{self.fingerprint}"

    # -- doing it

    def _take(self, file: SourceFile, known: Format, ahead: Sequence[tuple[SourceFile, Format]]) -> None:
        """Read one file into the batch; its ledger entry goes with its last units.

        ``ahead`` are the next files, which can be read meanwhile.
        """
        if not known.whole and file.name in self.ledger:
            # Batches of a streamed file would replace records of the version that is stored, which could not
            # be brought back: it is read to its end first, nothing kept, to see what is wrong with it.
            with self.stage("read"):
                for _ in self.reader.read(file, known):
                    pass
            # The process has read ahead of this; a second request would come behind that and lose it.
            self.reader.close()
        before = file.stamp()
        taken = _Taken(file, self._digest(file), before[0])
        try:
            self._read_into(taken, self._read(file, known, ahead))
            if not file.stamp() == before == self.reader.stamps.pop(file.name, before):
                raise file.bad("changed while it was being read; run it again")
        except (FormatError, MissingExtraError):
            self._take_back(taken)
            raise
        self._submit(taken)

    def _read_into(self, taken: _Taken, documents: Iterable[Document]) -> None:
        """Have the documents of a file made into units, except those that are there already."""
        file = taken.file
        for document in documents:
            source = file.name if document.record is None else f"{file.name}#{document.record}"
            own = document.digest(self.fingerprint)
            if document.record is None and document.text:
                taken.original = self.owners.get(own)
                if taken.original is not None and taken.original != source:
                    continue
                self.owners[own] = source
                taken.owned.append(own)
                taken.original = None
            taken.documents += 1
            taken.kept.add(source)
            there = self.stored.get(source)
            if there is not None and there.digest == own:
                taken.count += there.units  # an earlier run was cut short after this document
                continue
            self._ask(taken, (document, source, file.name, own))
            self._progress(document.at)

    def _take_back(self, taken: _Taken) -> None:
        """Remove what a broken file has put into the batch and the store; a version that is listed stays."""
        taken.broken = True  # what is still being made elsewhere is dropped when it comes
        name = taken.file.name
        waiting = {unit.source for unit in self.units} & taken.made.keys()
        self.units = [unit for unit in self.units if unit.source not in waiting]
        self.stored.update({source: before for source in waiting if (before := taken.made[source])})
        gone = {source for source, before in taken.made.items() if before is None}
        if name not in self.ledger:
            gone |= self.sources.get(name, set())  # of a run that was cut short
        for source in sorted(gone):
            written = self.stored.pop(source)
            self.sources[name].discard(source)
            if source in taken.made.keys() - waiting:
                self.report.units -= written.units
        self.stale += sorted(gone)
        for digest in taken.owned:
            self.owners.pop(digest, None)

    def _ask(self, taken: _Taken, asked: Asked) -> None:
        """Have a document made into units, here and now or elsewhere."""
        if self.hands is None:
            with self.stage("analyse"):
                units = self.maker.units(asked)
            self._answered(taken, asked, units)
            return
        self.chunk[0].append(taken)
        self.chunk[1].append(asked)
        if len(self.chunk[1]) >= _CHUNK or sum(len(one[0].text) for one in self.chunk[1]) > _CHUNK_CHARACTERS:
            self._submit()

    def _submit(self, ended: _Taken | None = None) -> None:
        """Send what waits; ``ended`` is a file that has been read to its end."""
        files, asked = self.chunk
        self.chunk = ([], [])
        if asked and self.hands is not None:
            self.ready.append((self.hands.submit(read_chunk, self.work, asked), files, asked))
        if ended is not None:
            self.ready.append((None, [ended], []))
        most = 0 if self.hands is None else 2 * self.hands.count
        while sum(future is not None for future, *_ in self.ready) > most or (
            self.ready and self.ready[0][0] is None
        ):
            self._collect()

    def _collect(self) -> None:
        """Take in what was sent first."""
        future, files, asked = self.ready.popleft()
        if future is None or self.hands is None:
            for taken in files:
                self._ended(taken)
            return
        with self.stage("analyse"):
            found = self.hands.result(future)
        for taken, one, units in zip(files, asked, found, strict=True):
            self._answered(taken, one, units)

    def _answered(self, taken: _Taken, asked: Asked, units: list[Unit]) -> None:
        _, source, path, own = asked
        if taken.broken:
            return
        if not units:
            taken.kept.discard(source)
            taken.documents -= 1
            return
        if not self.units:
            self.begun = time.monotonic()  # workers that were slow to start make no batch late
        self.units += units
        taken.count += len(units)
        taken.made.setdefault(source, self.stored.get(source))
        self.stored[source] = StoredDocument(own, path, len(units))
        self.sources.setdefault(path, set()).add(source)
        self._flush_if_due()

    def _ended(self, taken: _Taken) -> None:
        """Enter a file whose documents are all in the batch or in the store."""
        name = taken.file.name
        for source in sorted(self.sources.get(name, set()) - taken.kept):
            del self.stored[source]
            self.sources[name].discard(source)
            self.stale.append(source)
        status: FileStatus = (
            "duplicate" if taken.original is not None else "indexed" if taken.documents else "empty"
        )
        self.records.append(
            FileRecord(name, taken.digest, status, taken.documents, taken.count, taken.size, taken.original)
        )
        self._flush_if_due()

    def _read(
        self, file: SourceFile, known: Format, ahead: Sequence[tuple[SourceFile, Format]]
    ) -> Iterator[Document]:
        reading = self.reader.read(file, known, ahead)
        while True:
            with self.stage("read"):
                item = next(reading, None)
            if item is None:
                return
            if isinstance(item, BadRecord):
                self.report.bad_records.append(str(item.problem))
            else:
                yield item

    def _flush_if_due(self) -> None:
        late = time.monotonic() - self.begun >= self.settings.batch_seconds
        if len(self.units) >= self.settings.batch_units or (late and (self.units or self.records)):
            self._flush()

    def _flush(self) -> None:
        """Commit the batch: vectors, units, then the ledger, then the news."""
        units, stale, records = self.units, self.stale, self.records
        self.units, self.stale, self.records = [], [], []
        if units:
            with self.stage("encode"):
                units = encoded(units, self.encoder)
        with self.stage("write"):
            self.store.upsert(units, sources=stale)
            self.store.acknowledge(records)
        self.report.units += len(units)
        self.report.documents += sum(record.documents for record in records)
        self.since_optimised += len(units) + len(stale)
        self.begun = time.monotonic()
        for record in records:
            self._acknowledged(record)
        # Rarer as the store grows: each time costs about as much as the store is large.
        if self.since_optimised >= _OPTIMISE_EVERY and 2 * self.since_optimised >= len(self.store):
            with self.stage("optimise"):
                self.store.optimize(final=False)
            self.since_optimised = 0

    def _acknowledged(self, record: FileRecord) -> None:
        self.report.bytes += record.size
        if record.status == "duplicate":
            self.report.duplicates += 1
            self.tell(Event("duplicate", record.path, message=f"the same as {record.original}"))
        elif record.status == "empty":
            self.report.empty.append(record.path)
            self.tell(Event("empty", record.path, message=empty_message(record.path)))
        else:
            self.report.indexed += 1
            self.tell(Event("indexed", record.path, record.units))

    def _failed(self, path: str, problem: Exception) -> None:
        self.report.failed.append((path, str(problem)))
        self.tell(Event("failed", path, message=str(problem)))

    def _progress(self, within: int) -> None:
        units = self.report.units + len(self.units)
        done = min(self.done_bytes + within, self.total_bytes)
        self.tell(Event("progress", units=units, done=done, total=self.total_bytes))
