"""``pagerag explain``: why each unit was chosen, as text, JSON, DOT, GraphML or one HTML page."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path

from pagerag._files import write_atomic
from pagerag.cli.console import OK, UsageError, note
from pagerag.cli.options import add_pipeline, asked, check_folder_of, open_pipeline
from pagerag.errors import InputError
from pagerag.pipeline import Result

HELP = "Ask a question and show why each unit was chosen or rejected."

EXAMPLES = """\
examples:
  pagerag explain "Which city was the composer of Interstellar born in?" --store my-store
  pagerag explain "..." --store my-store --out why.html         the graph as a picture, one file
  pagerag explain "..." --store my-store --format dot | dot -Tsvg > graph.svg
  pagerag explain "..." --store my-store --out graph.graphml    for Gephi, yEd or NetworkX
  pagerag explain "..." --store my-store --out path.svg         the evidence paths alone, as a picture
  pagerag explain "..." --json                                  the whole trace

The format follows the name of --out; --format wins.
"""

FORMATS: dict[str, Callable[[Result], str]] = {
    "text": lambda result: f"{result.statement}\n\n{result.explain()}\n",
    "json": lambda one: json.dumps(one.to_dict(trace=True), ensure_ascii=False, indent=2, default=str) + "\n",
    "dot": lambda result: result.promotion.graph.to_dot(),
    "graphml": lambda result: result.promotion.graph.to_graphml(),
    "svg": Result.to_svg,
    "html": Result.to_html,
}
_SUFFIXES = {
    ".txt": "text",
    ".json": "json",
    ".dot": "dot",
    ".gv": "dot",
    ".graphml": "graphml",
    ".svg": "svg",
    ".html": "html",
}


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser.add_argument("question", help="the question")
    add_pipeline(parser)
    parser.add_argument("-o", "--out", metavar="FILE", help="write here instead of stdout")
    parser.add_argument("--format", choices=tuple(FORMATS), help="default: by the name of --out, else text")
    parser.add_argument("--json", action="store_true", help="the same as --format json")


def run(args: argparse.Namespace) -> int:
    """Explain one question."""
    form, question = _format(args), asked(args.question)
    if args.out:
        check_folder_of(args.out)
    with open_pipeline(args) as pipeline:
        text = FORMATS[form](pipeline.ask(question))
    if not args.out:
        sys.stdout.write(text)
        return OK
    try:
        write_atomic(args.out, text)
    except OSError as problem:
        raise InputError(f"cannot write {args.out}: {problem.strerror or problem}") from problem
    note(f"wrote {args.out} ({form}, {len(text.encode()):,} bytes)")
    return OK


def _format(args: argparse.Namespace) -> str:
    if args.json and args.format not in (None, "json"):
        raise UsageError(f"--json and --format {args.format} disagree; give one")
    if args.json or args.format or not args.out:
        return "json" if args.json else args.format or "text"
    suffix = Path(args.out).suffix.lower()
    if suffix not in _SUFFIXES:
        raise UsageError(
            f"the name {args.out} does not tell the format; "
            f"end it in one of {', '.join(_SUFFIXES)} or give --format"
        )
    return _SUFFIXES[suffix]
