"""``pagerag stats``: what a store holds."""

from __future__ import annotations

import argparse
from dataclasses import asdict

from pagerag.cli.console import OK, how_many, paint, print_json
from pagerag.cli.options import add_json, add_settings, add_store, settings_of
from pagerag.store import StoreStats, open_store

HELP = "What a store holds: files, documents, units, its encoder, its size, how it is searched."

EXAMPLES = """examples:
  pagerag stats --store my-store
  pagerag stats --store my-store --files     # every file with its units
  pagerag stats --store my-store --json"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    add_settings(parser)
    add_store(parser)
    parser.add_argument("--files", action="store_true", help="list the files as well")
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Print what the store holds."""
    settings = settings_of(args)
    with open_store(settings.store.path) as store:
        stats = store.stats()
        files = list(store.ledger().values()) if args.files else []
    if args.json:
        body = stats.to_dict()
        if args.files:
            body["ledger"] = [asdict(item) for item in files]
        print_json(body)
        return OK
    for label, value in _rows(stats).items():
        print(f"{paint(f'{label:12}', 'dim')}  {value}")
    for item in files:
        detail = how_many(item.units, "unit") if item.status == "indexed" else item.status
        print(f"  {item.path}  {paint(detail, 'dim')}")
    return OK


def _rows(stats: StoreStats) -> dict[str, str]:
    kinds = ", ".join(f"{count:,} {kind}" for kind, count in stats.by_type.items())
    duplicates = f", {how_many(stats.duplicates, 'duplicate')} among them" if stats.duplicates else ""
    size = f"{stats.size_bytes / 2**20:,.1f} MB" if stats.size_bytes is not None else "unknown"
    waiting = f"; {how_many(stats.unindexed, 'unit')} not yet in the indexes" if stats.unindexed else ""
    stale = "" if stats.analysis_current else " (of another version: index again to renew it)"
    return {
        "store": stats.location,
        "files": f"{stats.files:,}{f' ({kinds})' if kinds else ''}{duplicates}",
        "documents": f"{stats.documents:,}",
        "units": f"{stats.units:,}{waiting}",
        "encoder": f"{stats.encoder}, {stats.dimension} dimensions",
        "dense search": stats.search,
        "analysis": f"stored{stale}",
        "size": size,
        "schema": f"version {stats.schema_version}",
    }
