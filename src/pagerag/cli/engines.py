"""Where batches are worked on: ``--engine``, ``--address`` and ``--workers`` of several commands."""

from __future__ import annotations

import argparse
from contextlib import AbstractContextManager, nullcontext

from pagerag.batch import ENGINES, Hands, open_hands


def add_engine(parser: argparse.ArgumentParser, *, workers: str = "all cores") -> None:
    """Add the options; ``workers`` says in words how many there are by default."""
    parser.add_argument(
        "--engine",
        choices=ENGINES,
        default=ENGINES[0],
        help="processes of this machine, or a Ray cluster (pip install 'pagerag[ray]'); results are the same",
    )
    parser.add_argument(
        "--address",
        metavar="ADDRESS",
        help="a running Ray cluster: HOST:PORT, ray://HOST:PORT or auto (default: one on this machine)",
    )
    parser.add_argument(
        "--workers", type=int, metavar="N", help=f"how many work at once (default: {workers})"
    )


def asked_hands(args: argparse.Namespace) -> AbstractContextManager[Hands | None]:
    """Return what the options name, or None where none was given: this process works alone then."""
    given = args.engine != ENGINES[0] or args.workers is not None or args.address is not None
    return hands_of(args) if given else nullcontext()


def hands_of(args: argparse.Namespace) -> Hands:
    """Return what the options name; nothing is started yet."""
    return open_hands(args.engine, args.workers, args.address)
