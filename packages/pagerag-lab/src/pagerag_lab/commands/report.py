"""``pagerag report``: compare runs in one HTML page."""

from __future__ import annotations

import argparse
from pathlib import Path

from pagerag.cli.console import OK, note

HELP = "Compare finished runs in one self-contained HTML file: plots, significance, questions won and lost."

EXAMPLES = """\
examples:
  pagerag report runs/hotpotqa
  pagerag report runs/formula runs/learned --out compare.html
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser.add_argument("runs", nargs="+", metavar="DIR", help="folders that pagerag evaluate has written")
    parser.add_argument(
        "--out", type=Path, default=Path("report.html"), metavar="FILE", help="default: report.html"
    )
    parser.add_argument(
        "--most", type=int, default=40, metavar="N", help="won and lost questions shown of each run"
    )


def run(args: argparse.Namespace) -> int:
    """Write the page."""
    from pagerag_lab.report import report

    file = report(args.runs, args.out, most=args.most)
    note(f"written: {file} ({file.stat().st_size / 1e6:.1f} MB)")
    print(file)
    return OK
