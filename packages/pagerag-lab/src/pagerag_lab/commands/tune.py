"""``pagerag tune``: fit the formula's weights and the learned scorer on train files."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import get_args

from pagerag.cli.console import OK, note, print_json
from pagerag.units import SupportKind

HELP = """Fit the formula's weights and the learned scorer on train files, deterministically.

The shipped ones were made by this command; dev files are never read."""
EXAMPLES = """examples:
  pagerag tune --data ../shared/data --mode sentence --out tuned/
  pagerag tune --data ../shared/data --mode document --what learned --out tuned/
  pagerag tune --data ../shared/data --mode paragraph --what weights --steps 200 --out tuned/
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser.add_argument("--data", type=Path, required=True, metavar="DIR", help="folder with the train files")
    parser.add_argument(
        "--mode",
        choices=("sentence", "paragraph", "document"),
        required=True,
        help="which mode to fit; paragraph and document share one learned model",
    )
    parser.add_argument(
        "--what", choices=("weights", "learned", "slope", "all"), default="all", help="what to fit"
    )
    parser.add_argument("--encoder", default="minilm", help="the retriever whose pools are fitted on")
    parser.add_argument("--out", type=Path, default=Path("tuned"), metavar="DIR", help="where the files go")
    parser.add_argument("--limit", type=int, help="at most this many questions of each file (a trial)")
    parser.add_argument("--steps", type=int, default=240, help="search steps for the weights")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--pools",
        type=Path,
        metavar="DIR",
        help="pools of pagerag_lab.tune.train_pools, for the learned scorer",
    )
    parser.add_argument(
        "--support-signals",
        type=Path,
        metavar="FILE",
        help="held-out signals of the support encoder: fit the learned scorer that reads them as well",
    )
    parser.add_argument(
        "--signals-of",
        choices=get_args(SupportKind),
        default="support",
        help="whose signals these are: of the small support encoder, or the larger (judge)",
    )
    parser.add_argument(
        "--slope",
        type=float,
        help="what the verdict's log-odds are multiplied by (default: measured on kinds of sets left out; "
        "signals of an encoder that knows the kinds make it too steep)",
    )
    parser.add_argument("--workers", type=int, default=2, help="processes that read pools (default: 2)")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")


def run(args: argparse.Namespace) -> int:
    """Fit, write, report."""
    from pagerag_lab.tune.command import tune

    new = not args.out.exists()
    try:
        figures = tune(
            data=args.data,
            mode=args.mode,
            what=args.what,
            encoder_name=args.encoder,
            out=args.out,
            limit=args.limit,
            steps=args.steps,
            seed=args.seed,
            pools=args.pools,
            support_signals=args.support_signals,
            signals_of=args.signals_of,
            slope=args.slope,
            workers=args.workers,
            say=note,
        )
    finally:
        if new and args.out.is_dir() and not any(args.out.iterdir()):
            args.out.rmdir()  # it failed before there was anything to keep
    if args.json:
        print_json(figures)
        return OK
    for name, values in figures.items():
        print(f"{name}: {values}")
    return OK
