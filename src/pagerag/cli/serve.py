"""``pagerag serve``: rerank endpoints, the evidence API, chat and the page, over HTTP."""

from __future__ import annotations

import argparse
import errno
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext

from pagerag.cli.console import as_usage, note
from pagerag.cli.options import add_reader, add_settings, settings_of
from pagerag.errors import SettingsError
from pagerag.settings import Settings

HELP = "Serve promotion and stores over HTTP: rerank endpoints for every client, an API, chat, and a page."

EXAMPLES = """\
examples:
  pagerag serve --store my-store                       then open http://127.0.0.1:8484/
  pagerag serve                                        no store: rerank endpoints and /v1/promote
  pagerag serve --store films=films-store --store law=law-store --workers 2
  pagerag serve --host 0.0.0.0 --api-key-file keys.txt --store my-store
  curl localhost:8484/rerank -d '{"query": "...", "documents": ["...", "..."]}'

On a public address keys are needed (one a line in the file), or --insecure behind something that checks
callers.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    add_settings(parser)
    add_listening(parser)
    told = "processes (default: 1)"
    parser.add_argument("--workers", type=int, metavar="N", dest="serve_workers", help=told)


def add_listening(parser: argparse.ArgumentParser) -> None:
    """Add what ``serve`` and ``mcp`` share: reader, stores, address, keys."""
    add = parser.add_argument
    add_reader(parser)
    add(
        "-s",
        "--store",
        action="append",
        default=[],
        metavar="[NAME=]DIR",
        dest="stores",
        help="a store to serve; may be given several times (default: setting store.path, where it is there)",
    )
    add("--json", action="store_true", help="print the address as JSON on stdout, for programs that start it")
    add("--host", metavar="ADDRESS", help="address to listen on (default: 127.0.0.1)")
    add("--port", type=int, metavar="N", help="port to listen on (default: 8484)")
    add("--api-key-file", metavar="FILE", help="file with one key a line")
    add("--insecure", action="store_true", default=None, help="listen on a public address without keys")


def run(args: argparse.Namespace) -> int:
    """Serve until told to stop."""
    from pagerag import serve

    start = serve.run  # says what is missing before anything else is imported
    settings = settings_of(args)
    places = places_asked(settings, args)
    tell_of_absent(places)
    with port_told():
        return start(settings, places, announce=args.json)


def places_asked(settings: Settings, args: argparse.Namespace) -> dict[str, str]:
    """Return the stores to serve, by name."""
    from pagerag.serve.stores import places_of

    with as_usage() if args.stores else nullcontext():
        return places_of(settings, args.stores)


def tell_of_absent(places: Mapping[str, str]) -> None:
    """Print which stores are not there yet: uploads or ``pagerag index`` may make them while it runs."""
    from pagerag.store import local_folder, store_exists

    for path in places.values():
        if local_folder(path) is not None and not store_exists(path):
            made = f"make it with: pagerag index PATH --store {path}"
            note(f"there is no store at {path} yet; upload files, or {made}")


@contextmanager
def port_told() -> Iterator[None]:
    """Name the remedy where another program has the port."""
    try:
        yield
    except SettingsError as problem:
        cause = problem.__cause__
        if isinstance(cause, OSError) and cause.errno == errno.EADDRINUSE:
            raise SettingsError(
                f"{problem}; stop what listens there, or choose another with --port N"
            ) from cause
        raise
