"""``pagerag mcp``: evidence tools for assistants, over stdio or HTTP."""

from __future__ import annotations

import argparse

from pagerag._extras import need
from pagerag.cli.console import OK
from pagerag.cli.options import add_settings, settings_of
from pagerag.cli.serve import add_listening, places_asked, port_told, tell_of_absent

HELP = "Serve the tools select_evidence, ask and search over the Model Context Protocol."

EXAMPLES = """\
examples:
  pagerag mcp --store my-store                         over stdio: how desktop assistants start it
  pagerag mcp --http --port 8485 --store my-store      over streamable HTTP, at /mcp
  pagerag mcp                                          no store: select_evidence alone

docs/serving.md has the configuration for three common hosts.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    add_settings(parser)
    add_listening(parser)
    parser.add_argument("--http", action="store_true", help="streamable HTTP instead of stdio")


def run(args: argparse.Namespace) -> int:
    """Serve until the client goes, or until told to stop."""
    need("mcp", "mcp", "mcp", "pagerag mcp")
    from pagerag.serve.tools import http_app, mcp_server

    settings = settings_of(args)
    places = places_asked(settings, args)
    tell_of_absent(places)
    if not args.http:
        server, service = mcp_server(settings, places)
        try:
            server.run("stdio")
        finally:
            service.close()
        return OK
    from pagerag.serve.process import run_app

    with port_told():
        return run_app(lambda: http_app(settings, places), settings, list(places), announce=args.json)
