"""``pagerag index``: documents into a store."""

from __future__ import annotations

import argparse
import shutil
from collections import Counter
from contextlib import nullcontext
from pathlib import Path

from pagerag._extras import app_named
from pagerag.cli import options
from pagerag.cli.console import FAILED, Progress, as_usage, error, how_many, note, outcome, paint, print_json
from pagerag.errors import InputError
from pagerag.ingest import FORMATS, Event, FileReader, IngestReport, IngestSettings, index_paths
from pagerag.ingest.report import empty_message
from pagerag.ingest.scan import local_paths
from pagerag.protocols import Corpus
from pagerag.settings import Settings
from pagerag.store import StoreStats, local_folder, open_store, store_exists, upgrade_store
from pagerag.store.problems import explained

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
_AGAIN = "what was indexed is kept; the same command goes on where this one stopped"
_UNKNOWN = "not a known format; a text is read whatever its suffix when it is named on the command line"


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    add = parser.add_argument
    add("paths", nargs="+", metavar="PATH", help="a file or a folder")
    options.add_store(parser)
    add("--encoder", metavar="NAME", help="encoder of a new store; an existing one keeps its own")
    add("--prune", action="store_true", help="remove what the store holds of vanished files")
    told = "what text, title or id is called in JSONL, JSON, CSV and Parquet files"
    options.add_pairs(parser, "--field", "KIND=NAME", told)
    add("--relative-to", metavar="DIR", help="store paths relative to this folder, so that both can move")
    for name, default, said in (
        ("passage-chars", _DEFAULT.passage_chars, "longest passage"),
        ("overlap", _DEFAULT.overlap, "sentences that passages share"),
        ("record-chars", _DEFAULT.record_chars, "records up to this length stay one passage"),
        ("max-file-mb", _DEFAULT.max_file_bytes / 2**20, "larger files are refused, unless read by record"),
        ("max-seconds", _DEFAULT.max_seconds, "a file is given up when its next document takes longer"),
        ("max-memory-mb", _DEFAULT.max_memory_bytes / 2**20, "memory of the process that reads files"),
    ):
        add(f"--{name}", type=type(default), default=default, metavar="N", help=said)
    add("--follow-links", action="store_true", help="read links in a folder that lead out of it")
    add("--skip-bad-records", action="store_true", help="pass over unusable records; each is named")
    options.add_engine(parser, workers="this process alone; all cores with --engine ray")
    options.add_settings(parser)
    add("-v", "--verbose", action="store_true", help="name each file once it is on disk")
    options.add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Index the files; the exit code tells whether all are in."""
    settings = options.settings_of(args)
    with as_usage():
        local_paths(args.paths)
        reading = _reading(args)
    workers = options.asked_hands(args)  # nothing is started yet
    progress = Progress("indexing", "units")

    def tell(event: Event) -> None:
        if event.kind == "progress":
            progress.update(event.units, event.done / event.total if event.total else 1.0)
        elif args.verbose:
            detail = f" ({how_many(event.units, 'unit')})" if event.units else ""
            message = f": {event.message}" if event.message else ""
            progress.line(f"{event.kind} {event.path}{detail}{message}")

    folder = local_folder(settings.store.path)
    with explained("opening", settings.store.path):
        new = folder is not None and not folder.exists()
    if new and not any(Path(path).exists() for path in args.paths):
        raise InputError(f"there is no {' and no '.join(args.paths)}; nothing was indexed, and no store made")
    with FileReader(reading) as reader:
        reader.start()  # beside the store and its encoder, which take longer
        with open_for_writing(settings) as store:
            with workers as hands:
                try:
                    report = index_paths(
                        args.paths,
                        store,
                        reading,
                        prune=args.prune,
                        listener=tell,
                        reader=reader,
                        hands=hands,
                    )
                except KeyboardInterrupt:
                    raise KeyboardInterrupt(_AGAIN) from None
                finally:
                    progress.end()
            stats = store.stats()
    done = bool(report.taken or report.removed or report.empty)
    code = outcome(done, len(report.failed) + len(report.bad_records)) if done else FAILED
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


def _reading(args: argparse.Namespace) -> IngestSettings:
    """Return how files are read, as the options say."""
    return IngestSettings(
        passage_chars=args.passage_chars,
        overlap=args.overlap,
        record_chars=args.record_chars,
        fields=options.pairs(args.field, "--field wants KIND=NAME, such as text=body"),
        base=args.relative_to,
        max_file_bytes=int(args.max_file_mb * 2**20),
        max_seconds=args.max_seconds,
        max_memory_bytes=int(args.max_memory_mb * 2**20),
        follow_links=args.follow_links,
        bad_records="skip" if args.skip_bad_records else "fail",
    )


def open_for_writing(settings: Settings) -> Corpus:
    """Return the store of the settings: with its own encoder, or with the setting's where it is new."""
    from pagerag.retrieve.encoders import DEFAULT_ENCODER, encoder, encoder_of_store

    name = settings.store.encoder
    place = settings.store.path
    with app_named("to index documents"):
        if not store_exists(place):
            with as_usage() if settings.origin("store.encoder") == "flag" else nullcontext():
                made = encoder(name or DEFAULT_ENCODER)
            return open_store(place, made, create=True)
        upgrade_store(place)
        with open_store(place) as present:
            made = encoder_of_store(present.encoder_name, present.location, name)
    return open_store(place, made, create=True)


def _print(report: IngestReport, stats: StoreStats, *, kept: bool) -> None:
    rate = report.units / report.seconds if report.seconds > 0 else 0.0
    counts = {
        "indexed": report.indexed,
        "unchanged": report.unchanged,
        "duplicate" if report.duplicates == 1 else "duplicates": report.duplicates,
        "without text": len(report.empty),
        "removed": len(report.removed),
    }
    said = ", ".join(f"{count:,} {word}" for word, count in counts.items() if count) or "no files"
    units = how_many(report.units, "unit")
    print(f"{paint(said, 'bold')} · {units} in {report.seconds:.1f} s ({rate:,.0f}/s)")
    holds = ((stats.files, "file"), (stats.documents, "document"), (stats.units, "unit"))
    held = ", ".join(how_many(*one) for one in holds)
    print(f"{stats.location}: {held if kept else 'no store was made'}")
    for said in sorted(set(map(empty_message, report.empty))):
        _list(said, [name for name in report.empty if empty_message(name) == said])
    _list("gone, still in the store; --prune removes", report.vanished)
    if report.unsupported or report.outside:
        note(f"left out: {_left_out(report)}")
    _list("record left out", report.bad_records)
    if not report.isolated:
        note("no process could be started to read files: their time and memory were not bounded")
    for _, problem in report.failed:
        error(problem)


def _left_out(report: IngestReport) -> str:
    """Return what was not read, by kind, in one line."""
    kinds = Counter(Path(name).suffix.lower() or "no suffix" for name in report.unsupported)
    most = kinds.most_common(_SHOWN)
    rest = kinds.total() - sum(count for _, count in most)
    said = [f"{count:,} {kind}" for kind, count in most] + ([f"{rest:,} others"] if rest else [])
    parts = [f"{', '.join(said)} ({_UNKNOWN})"] if said else []
    if report.outside:
        parts.append(f"{how_many(len(report.outside), 'link')} to the outside (--follow-links reads such)")
    return "; ".join(parts)


def _list(what: str, names: list[str]) -> None:
    """Print up to ten names, one a line, and how many more there are."""
    for name in names[:_SHOWN]:
        note(f"{what}: {name}")
    if len(names) > _SHOWN:
        note(f"{what}: {len(names) - _SHOWN:,} more (--json lists all)")
