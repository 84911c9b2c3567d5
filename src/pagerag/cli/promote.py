"""``pagerag promote``: promote the pools of a file that any retriever or RAG system wrote."""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from collections import deque
from collections.abc import Iterator
from dataclasses import asdict, replace
from importlib.metadata import version
from itertools import islice
from pathlib import Path
from typing import Any, cast

from pagerag._files import sha256_file
from pagerag.batch import Hands, Journal, in_order
from pagerag.cli import options
from pagerag.cli._show import STATE_COLOURS
from pagerag.cli.console import (
    OK,
    UsageError,
    as_usage,
    error,
    how_many,
    note,
    outcome,
    paint,
    print_json,
    progress,
)
from pagerag.cli.promoting import Chosen, PromotionTask, promote_chunk
from pagerag.errors import FormatError, InputError
from pagerag.pipeline import promoter_of
from pagerag.promotion import Weights
from pagerag.settings import Settings
from pagerag.systems.formats import FIELDS, FORMATS, Record, detect, read_pools, unit_of, write_promoted
from pagerag.units import Mode, Pool

HELP = "Promote every question's pool in a file: the same file with less in it, or the results as JSON lines."

EXAMPLES = """\
examples:
  pagerag promote pools.jsonl --out promoted.jsonl       the same format, only the promoted units, in order
  pagerag promote pools.jsonl --json > results.jsonl     one full result a line: core, context, scores, state
  pagerag promote pools.jsonl --explain --limit 3        in words
  pagerag promote run.trec --beside collection=corpus.jsonl --beside queries=queries.jsonl --out kept.trec
  pagerag promote ranking.csv --out kept.csv             columns qid,docid,rank,score
  pagerag promote mine.jsonl --field candidates=retrieved --field question=q
  pagerag promote pools.jsonl --out kept.jsonl --workers 4 --journal work/     four processes, resumable
  pagerag promote pools.jsonl --out kept.jsonl --engine ray --address auto     on a Ray cluster
  pagerag promote --formats                              what can be read

a pool in the native format is a line such as:
  {"question": "...", "candidates": [{"id": "a", "title": "...", "text": "...", "score": 0.7}, ...]}
a record whose pool is empty keeps its line, with nothing in it and the state "insufficient"
exit codes: 0, 1 nothing could be promoted, 2 wrong usage, 3 some pools failed (each is named on stderr)
"""


_CHUNK = 32  # pools that one worker takes at a time


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    add = parser.add_argument
    add("file", nargs="?", metavar="POOLS", help="the file with the pools")
    options.add_settings(parser)
    add("-o", "--out", metavar="FILE", help="write the promoted pools here, in their own format")
    add("--format", metavar="NAME", help="the file's format (default: detected)")
    add("--formats", action="store_true", help="list the formats and leave")
    add("-k", type=options.positive, metavar="N", help="units to keep (default: 5)")
    add("--core", action="store_true", help="keep the minimal core, not the context filled to k")
    options.add_promotion(parser)
    add("--limit", type=int, metavar="N", help="only the first N pools")
    add("--with-trace", action="store_true", help="with --out: add state, scores and core to records")
    add("--explain", action="store_true", help="print why, in words")
    told = "a second file of the format (passages, questions, facts) that does not lie beside it"
    options.add_pairs(parser, "--beside", "NAME=FILE", told)
    told = f"the name a field has in the file; fields: {', '.join(FIELDS)}"
    options.add_pairs(parser, "--field", "FIELD=NAME", told)
    add(
        "--journal", metavar="DIR", help="keep finished pools here: the same command goes on where it stopped"
    )
    add("--fresh", action="store_true", help="discard what the journal holds")
    options.add_engine(parser, workers="this process alone; all cores with --engine ray")
    add("--json", action="store_true", help="results as JSON lines on stdout")


def run(args: argparse.Namespace) -> int:
    """Promote the file."""
    if args.formats:
        told = {name: one.summary for name, one in FORMATS.items()}
        if args.json:
            print_json(told)
        else:
            print(*(f"{paint(f'{name:16}', 'bold')} {line}" for name, line in told.items()), sep="\n")
        return OK
    if args.file is None:
        raise UsageError("which file? pagerag promote POOLS.jsonl; --formats lists what can be read")
    if not Path(args.file).exists():
        raise InputError(f"there is no file {args.file}")
    settings = options.settings_of(args)
    with options.asked_hands(args) as hands:
        return _promote(args, _Work(args, settings, hands))


def _promote(args: argparse.Namespace, work: _Work) -> int:
    if args.out:
        options.check_folder_of(args.out)
        write_promoted(args.out, work.kept(), trace=args.with_trace)
        note(f"wrote {how_many(work.done, 'promoted pool')} to {args.out}")
    elif args.json:
        lists = {"core": [], "context": [], "candidates": [], "notes": ["the pool is empty"], "paths": []}
        empty = {"k": work.task.k, "state": "insufficient", "sufficiency": 0.0, **lists}
        for pool, _, promotion in work:  # one of an empty pool has the fields that every result has
            row = promotion.result if promotion is not None else {"question": pool.question, **empty}
            print_json(row or {}, line=True)
    else:
        for pool, _, promotion in work:
            _show(pool, promotion, explain=args.explain)
    whole = how_many(work.failed + work.done, "pool")
    if work.empty:
        are = "is" if work.empty == 1 else "are"
        note(f"{work.empty} of {whole} {are} empty: such records are kept as they are")
    if work.blank:
        note(f"{how_many(work.blank, 'candidate')} {'has' if work.blank == 1 else 'have'} no text; left out")
    if work.failed:
        error(f"{work.failed} of {whole} could not be promoted")
    return outcome(work.done, work.failed)


class _Work:
    """Promote the file's pools; failures are named and counted, and results come in the file's order."""

    def __init__(self, args: argparse.Namespace, settings: Settings, hands: Hands | None) -> None:
        self.args, self.settings, self.hands = args, settings, hands
        self.done = self.failed = self.empty = self.blank = 0
        wanted = "--beside takes NAME=FILE, such as --beside queries=queries.tsv"
        self.companions = options.pairs(args.beside, wanted)
        chosen = settings.promote
        self.task = PromotionTask(
            k=chosen.k,
            max_tokens=chosen.max_tokens or None,
            strategy=None if chosen.strategy == "auto" else chosen.strategy,
            weights=Weights.load(chosen.weights) if chosen.weights else None,
            # Decided here: a machine without the model must not choose otherwise.
            support=promoter_of(settings).support is not None,
            explain=args.explain and not args.out and not args.json,
            full=args.json and not args.out,
        )
        self.journal = Journal(Path(args.journal), option="--journal") if args.journal else None

    def __iter__(self) -> Iterator[tuple[Pool, Record, Chosen | None]]:
        """Return each pool with its record and its promotion, None where the pool is empty."""
        if self.journal is None:
            yield from self._promoted()
            return
        with self.journal.held():
            if self.args.fresh:
                self.journal.discard()
            self.journal.claim(self._identity())
            yield from self._promoted()
        note(f"finished pools are kept in {self.journal.folder}; remove it when you need them no more")

    def _promoted(self) -> Iterator[tuple[Pool, Record, Chosen | None]]:
        args, promote = self.args, self.settings.promote
        mode = None if promote.mode == "auto" else cast(Mode, promote.mode)
        records: deque[Record] = deque()
        read = islice(self._pools(mode), args.limit)

        def asked() -> Iterator[tuple[Pool, Mode]]:
            for pool, record in progress(read, total=args.limit, label="promoting", unit="pools"):
                readable = tuple(unit for unit in pool.candidates if unit.text.strip())
                self.blank += len(pool) - len(readable)
                records.append(record)
                yield replace(pool, candidates=readable), mode or unit_of(record)

        size = _CHUNK if self.hands is not None or self.journal is not None else 1
        stream = asked()
        chunks = iter(lambda: tuple(islice(stream, size)), ())
        for chunk, rows in in_order(
            self.hands, promote_chunk, self.task, chunks, journal=self.journal, say=note
        ):
            for (pool, _), row in zip(chunk, rows, strict=True):
                record = records.popleft()
                if "error" in row:
                    self.failed += 1
                    error(f"{record.file}, record {record.number + 1}: {row['error']}")
                    continue
                self.done += 1
                self.empty += "empty" in row
                yield pool, record, None if "empty" in row else Chosen(pool, row)

    def _identity(self) -> dict[str, Any]:
        """Return all that the rows depend on: a journal of anything else is refused."""
        return {
            "pagerag": version("pagerag"),
            "data": {str(name): _digest(Path(name)) for name in (self.args.file, *self.companions.values())},
            "reading": [self.args.format, self.args.field, self.args.limit, self.settings.promote.mode],
            "task": json.loads(json.dumps(asdict(self.task), default=str)),
        }

    def _pools(self, mode: Mode | None) -> Iterator[tuple[Pool, Record]]:
        args = self.args
        wanted = "--field takes FIELD=NAME, such as --field candidates=retrieved"
        fields = options.pairs(args.field, wanted)
        name = "pagerag" if fields and args.format is None else args.format or detect(args.file)
        unit = mode if name in FORMATS and mode in FORMATS[name].units else None
        with as_usage():  # what is wrong with the file itself is a FormatError
            pools = read_pools(args.file, name, unit=unit, companions=self.companions, fields=fields)
        return pools if args.out else self._readable(pools)  # what is written is whole or not at all

    def _readable(self, pools: Iterator[tuple[Pool, Record]]) -> Iterator[tuple[Pool, Record]]:
        """Yield the pools that can be read; the others are named and counted."""
        while True:
            try:
                item = next(pools, None)
            except FormatError as problem:
                self.failed += 1
                error(str(problem))
                continue
            if item is None:
                return
            yield item

    def kept(self) -> Iterator[tuple[Record, Any]]:
        """Return each record with what is to be written of it."""
        for _, record, promotion in self:
            yield record, () if promotion is None else promotion.core if self.args.core else promotion


def _digest(path: Path) -> str:
    """Return a hash of a file, or of the files of a folder."""
    if path.is_file():
        return sha256_file(path)
    files = sorted(one for one in path.rglob("*") if one.is_file())
    told = "\n".join(f"{one.relative_to(path).as_posix()} {sha256_file(one)}" for one in files)
    return hashlib.sha256(told.encode("utf-8", "surrogateescape")).hexdigest()


def _show(pool: Pool, promotion: Chosen | None, *, explain: bool) -> None:
    """Print a promoted pool, or that it is empty."""
    if promotion is None:
        print(f"{paint(pool.question, 'bold')}  {paint('insufficient', 'red')}\n  the pool is empty")
        return
    if explain:
        print(promotion.explanation, end="\n\n")
        return
    state = paint(promotion.state, STATE_COLOURS[promotion.state])
    print(f"{paint(promotion.question, 'bold')}  {state}")
    core = {unit.id for unit in promotion.core}
    for number, unit in enumerate(promotion.context, 1):
        mark = paint("●", "green") if unit.id in core else paint("○", "dim")
        text = " ".join(f"{unit.title + ': ' if unit.title else ''}{unit.text}".split())
        print(f"  {mark} [{number}] {text[:150]}{'…' if len(text) > 150 else ''}")
    sys.stdout.flush()
