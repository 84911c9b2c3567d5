"""``pagerag index``: documents into a store."""

from __future__ import annotations

import argparse
import shutil
import sys
import time
from pathlib import Path
from typing import TextIO

from pagerag.cli._options import need_app
from pagerag.cli.console import FAILED, OK, PARTIAL, error, note, paint, print_json
from pagerag.errors import InputError
from pagerag.ingest import FORMATS, Event, IngestReport, IngestSettings, index_paths
from pagerag.settings import Settings
from pagerag.store import SqliteCorpus, StoreStats, local_folder, open_store, store_exists

HELP = """Read documents into a store. Unchanged files are skipped, changed ones replaced; a run that was
interrupted goes on where it stopped when the same command is given again."""

EXAMPLES = f"""examples:
  pagerag index docs/ notes.md --store my-store
  pagerag index docs/ --store my-store --prune          # forget files that are gone
  pagerag index corpus.jsonl --store my-store --field text=body --field title=headline
  pagerag index papers/ --store my-store --encoder minilm --relative-to papers

formats: {", ".join(f"{known.name} ({' '.join(known.suffixes)})" for known in FORMATS)}
exit codes: 0 all files are in the store; 3 some failed, each is named; 1 nothing was indexed"""

_DEFAULT = IngestSettings()
_SHOWN = 10


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("paths", nargs="+", metavar="PATH", help="a file or a folder")
    parser.add_argument("--store", metavar="DIR", help="the store's folder or URI (setting store.path)")
    parser.add_argument(
        "--encoder", metavar="NAME", help="encoder of a new store; an existing one keeps its own"
    )
    parser.add_argument("--prune", action="store_true", help="remove what the store holds of vanished files")
    parser.add_argument(
        "--field",
        action="append",
        default=[],
        metavar="KIND=NAME",
        help="what text, title or id is called in JSONL, JSON, CSV and Parquet files",
    )
    parser.add_argument(
        "--passage-chars", type=int, default=_DEFAULT.passage_chars, metavar="N", help="longest passage"
    )
    parser.add_argument(
        "--overlap", type=int, default=_DEFAULT.overlap, metavar="N", help="sentences that passages share"
    )
    parser.add_argument(
        "--record-chars",
        type=int,
        default=_DEFAULT.record_chars,
        metavar="N",
        help="records up to this length stay one passage",
    )
    parser.add_argument(
        "--relative-to", metavar="DIR", help="store paths relative to this folder, so that both can move"
    )
    parser.add_argument(
        "--max-file-mb",
        type=float,
        default=_DEFAULT.max_file_bytes / 2**20,
        metavar="N",
        help="larger files are refused, unless their format is read record by record",
    )
    parser.add_argument(
        "--skip-bad-records", action="store_true", help="pass over unusable records; each is named"
    )
    parser.add_argument("--config", metavar="FILE", help="settings file")
    parser.add_argument("-v", "--verbose", action="store_true", help="name each file once it is on disk")
    parser.add_argument("--json", action="store_true", help="print the outcome as JSON")


def run(args: argparse.Namespace) -> int:
    settings = Settings.load(args.config, flags={"store.path": args.store, "store.encoder": args.encoder})
    reading = IngestSettings(
        passage_chars=args.passage_chars,
        overlap=args.overlap,
        record_chars=args.record_chars,
        fields=_fields(args.field),
        base=args.relative_to,
        max_file_bytes=int(args.max_file_mb * 2**20),
        bad_records="skip" if args.skip_bad_records else "fail",
    )
    meter = _Meter(sys.stderr, verbose=args.verbose)
    folder = local_folder(settings.store.path)
    new = folder is not None and not folder.exists()
    if new and not any(Path(path).exists() for path in args.paths):
        raise InputError(f"there is no {' and no '.join(args.paths)}; nothing was indexed, and no store made")
    with open_for_writing(settings) as store:
        report = index_paths(args.paths, store, reading, prune=args.prune, listener=meter)
        meter.end()
        stats = store.stats()
    code = _exit_code(report)
    kept = not new or bool(stats.files)
    if folder is not None and not kept:
        shutil.rmtree(folder, ignore_errors=True)  # made by this run, which found nothing to put there
    if args.json:
        print_json({**report.to_dict(), "store": stats.to_dict(), "exit_code": code})
    else:
        _print(report, stats, kept=kept)
    if not report.taken and not report.failed and not report.removed:
        names = ", ".join(map(str, args.paths))
        error(f"there is nothing to index in {names}; see pagerag index --help for the formats")
    return code


def open_for_writing(settings: Settings) -> SqliteCorpus:
    """The store of the settings: with its own encoder when it is there, with the setting's when it is new."""
    from pagerag.retrieve.encoders import DEFAULT_ENCODER, encoder, encoder_of_store

    name = settings.store.encoder
    if (name or DEFAULT_ENCODER) == "wordllama":
        need_app("wordllama", purpose="to index documents")
    folder = local_folder(settings.store.path)
    if folder is not None and not store_exists(folder):
        return open_store(settings.store.path, encoder(name or DEFAULT_ENCODER), create=True)
    with open_store(settings.store.path) as present:
        named = present.encoder_name
    return open_store(settings.store.path, encoder_of_store(named, settings.store.path, name), create=True)


def _fields(pairs: list[str]) -> dict[str, str]:
    fields = {}
    for pair in pairs:
        kind, equals, name = pair.partition("=")
        if not equals or not name:
            raise InputError(f"--field wants KIND=NAME, such as text=body, not {pair!r}")
        fields[kind] = name
    return fields


def _exit_code(report: IngestReport) -> int:
    done = report.taken or report.removed or report.empty
    if report.failed or report.bad_records:
        return PARTIAL if done else FAILED
    return OK if done else FAILED


def _print(report: IngestReport, stats: StoreStats, *, kept: bool) -> None:
    rate = report.units / report.seconds if report.seconds > 0 else 0.0
    counts = [
        (report.indexed, "indexed"),
        (report.unchanged, "unchanged"),
        (report.duplicates, "duplicates"),
        (len(report.empty), "without text"),
        (len(report.removed), "removed"),
    ]
    said = ", ".join(f"{count:,} {word}" for count, word in counts if count) or "no files"
    print(f"{paint(said, 'bold')} · {report.units:,} units in {report.seconds:.1f} s ({rate:,.0f}/s)")
    held = f"{stats.files:,} files, {stats.documents:,} documents, {stats.units:,} units"
    print(f"{stats.location}: {held if kept else 'no store was made'}")
    _list("holds no text (a scan needs OCR first)", report.empty)
    _list("gone, still in the store; --prune removes", report.vanished)
    _list("not a known format, left out", report.unsupported)
    _list("record left out", report.bad_records)
    for _, problem in report.failed:
        error(problem)


def _list(what: str, names: list[str]) -> None:
    for name in names[:_SHOWN]:
        note(f"{what}: {name}")
    if len(names) > _SHOWN:
        note(f"{what}: {len(names) - _SHOWN:,} more (--json lists all)")


class _Meter:
    """Progress on stderr: how far, how fast, how long still. A terminal gets a line that rewrites itself,
    a log one every ten seconds."""

    def __init__(self, stream: TextIO, *, verbose: bool) -> None:
        self.stream, self.verbose = stream, verbose
        self.live = stream.isatty()
        self.start: float | None = None
        self.shown = 0.0
        self.open = False

    def __call__(self, event: Event) -> None:
        if event.kind != "progress":
            if self.verbose:
                detail = f" ({event.units:,} units)" if event.units else ""
                self._line(f"{event.kind} {event.path}{detail}{': ' if event.message else ''}{event.message}")
            return
        now = time.monotonic()
        if self.start is None:  # the first batch: what came before was scanning, not indexing
            self.start = self.shown = now
        if now - self.shown < (0.1 if self.live else 10.0):
            return
        self.shown = now
        seconds = max(now - self.start, 1e-9)
        share = event.done / event.total if event.total else 1.0
        text = f"indexing: {share:4.0%} · {event.units:,} units · {event.units / seconds:,.0f} units/s"
        if share > 0:
            left = round(seconds * (1 - share) / share)
            text += f" · {left // 60}:{left % 60:02d} left"
        self.stream.write(f"\r\033[K{text}" if self.live else f"{text}\n")
        self.stream.flush()
        self.open = self.live

    def _line(self, text: str) -> None:
        self.end()
        print(text, file=self.stream, flush=True)

    def end(self) -> None:
        """Leave the line that rewrites itself."""
        if self.open:
            self.stream.write("\n")
            self.open = False
