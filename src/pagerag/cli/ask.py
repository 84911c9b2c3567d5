"""``pagerag ask``: a question in, an answer with its evidence path out."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from pathlib import Path

from pagerag.cli._options import add_json, add_pipeline, open_pipeline
from pagerag.cli.console import FAILED, OK, PARTIAL, error, note, paint, print_json
from pagerag.errors import InputError, PageRAGError
from pagerag.pipeline import Failure, PageRAG, Result, Stage

HELP = "Answer a question from a store. Without a question, opens a prompt."

EXAMPLES = """\
examples:
  pagerag ask "Which city was the composer of Interstellar born in?" --store my-store
  pagerag ask --store my-store                        a prompt: ask one after another
  pagerag ask "..." --reader chat --set chat.base_url=http://localhost:8080/v1 --set chat.model=MODEL
  pagerag ask --file questions.txt --json > answers.jsonl      one question a line, one result a line
  pagerag ask "..." --reader evidence -v              no model: the supporting sentences

exit codes: 0 answered, 1 failed, 2 wrong usage, 3 some questions of --file failed, 4 not enough evidence
"""

NOT_ENOUGH = 4


def configure(parser: argparse.ArgumentParser) -> None:
    """The command's options."""
    parser.add_argument("question", nargs="?", help="the question; none opens a prompt")
    add_pipeline(parser)
    parser.add_argument("-f", "--file", metavar="FILE", help="questions, one a line; - reads stdin")
    parser.add_argument(
        "--workers", type=int, default=4, metavar="N", help="questions of --file at once (default: 4)"
    )
    parser.add_argument(
        "--trace", action="store_true", help="with --json: every step of retrieval and promotion"
    )
    parser.add_argument("-v", "--verbose", action="store_true", help="also pool, rejected paths and timings")
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Answer; the exit code tells whether."""
    if args.question is not None and args.file is not None:
        raise InputError("give a question or --file, not both")
    if args.question is not None and not args.question.strip():
        raise InputError("the question is empty; ask something, or leave it out for a prompt")
    if args.file is not None:
        questions = list(_questions(args.file))
        return _many(open_pipeline(args), questions, args)
    pipeline = open_pipeline(args)
    if args.question is None:
        return _prompt(pipeline, args)
    if args.json:
        result = pipeline.ask(args.question)
        print_json(result.to_dict(trace=args.trace))
    else:
        result = _streamed(pipeline, args.question, args.verbose)
    return OK if result.answer.text else NOT_ENOUGH


def _streamed(pipeline: PageRAG, question: str, verbose: bool) -> Result:
    """Show the words as they come where someone is watching, then the answer and its evidence."""
    from pagerag.cli._show import show_pool, show_rejected, show_result

    live = sys.stderr.isatty()
    shown = 0
    for item in pipeline.stream(question):
        if isinstance(item, Stage):
            if verbose:
                note(f"{item.name}: {item.detail}, {1000 * item.seconds:,.0f} ms")
        elif isinstance(item, str):
            if live:
                sys.stderr.write(paint(item, "dim", stream=sys.stderr))
                sys.stderr.flush()
                shown += len(item)
        else:
            if shown:
                sys.stderr.write("\r\033[K" if shown < 70 else "\n")
            show_result(item, verbose=verbose)
            if verbose:
                show_rejected(item)
                show_pool(item)
            return item
    raise AssertionError  # pragma: no cover - a stream ends in a Result


def _prompt(pipeline: PageRAG, args: argparse.Namespace) -> int:
    """Questions from the keyboard or a pipe until end of file; an error ends a question, not the prompt."""
    interactive = sys.stdin.isatty()
    if interactive:
        try:
            import readline  # noqa: F401 - gives input() its history and line editing
        except ImportError:
            pass
        note("Ask a question; an empty line or Ctrl-D ends.")
    failed = asked = 0
    while True:
        try:
            question = input(paint("? ", "cyan", "bold") if interactive else "").strip()
        except EOFError:
            break
        if not question:
            if interactive:
                break
            continue
        asked += 1
        try:
            if args.json:
                print(
                    json.dumps(pipeline.ask(question).to_dict(trace=args.trace), ensure_ascii=False),
                    flush=True,
                )
            else:
                _streamed(pipeline, question, args.verbose)
                print()
        except PageRAGError as problem:
            failed += 1
            error(str(problem))
    if asked == 0 and not interactive:
        raise InputError("stdin held no question; give one as an argument: pagerag ask 'Who ...?'")
    return OK if not failed else FAILED if failed == asked else PARTIAL


def _many(pipeline: PageRAG, questions: list[str], args: argparse.Namespace) -> int:
    from pagerag.cli.console import progress

    results = pipeline.ask_many(questions, workers=args.workers)
    failed = 0
    for result in progress(results, total=len(questions), label="asking", unit="questions"):
        if isinstance(result, Failure):
            failed += 1
            if not args.json:
                error(f"{result.question}: {result.error}")
        if args.json:
            told = result.to_dict() if isinstance(result, Failure) else result.to_dict(trace=args.trace)
            print(json.dumps(told, ensure_ascii=False, default=str), flush=True)
        elif isinstance(result, Result):
            print(f"{paint(result.question, 'bold')}\n  {result.statement}")
    if failed:
        error(f"{failed} of {len(questions)} questions failed")
    return OK if not failed else FAILED if failed == len(questions) else PARTIAL


def _questions(name: str) -> Iterator[str]:
    if name == "-":
        lines = sys.stdin.read().splitlines()
    else:
        try:
            lines = Path(name).read_text(encoding="utf-8").splitlines()
        except (OSError, UnicodeDecodeError) as problem:
            raise InputError(f"the questions file {name} cannot be read: {problem}") from problem
    found = [line.strip() for line in lines if line.strip()]
    if not found:
        raise InputError(f"{name} holds no question; write one a line")
    yield from found
