"""``pagerag ask``: a question in, an answer with its evidence path out."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from pagerag.cli.console import (
    OK,
    UsageError,
    erase_line,
    error,
    how_many,
    note,
    outcome,
    paint,
    print_json,
    progress,
)
from pagerag.cli.options import add_json, add_pipeline, asked, open_pipeline, positive
from pagerag.errors import InputError, PageRAGError
from pagerag.pipeline import Failure, PageRAG, Result, Stage

HELP = "Answer a question from a store. Without a question, opens a prompt."

EXAMPLES = """\
examples:
  pagerag ask "Which city was the composer of Interstellar born in?" --store my-store
  pagerag ask --store my-store                        a prompt: ask one after another; /help there
  pagerag ask "..." --reader chat --set chat.base_url=http://localhost:8080/v1 --set chat.model=MODEL
  pagerag ask --file questions.txt --json > answers.jsonl      one question a line, one result a line
  pagerag ask "..." --reader evidence -v              no model: the supporting sentences

exit codes: 0 answered, 1 failed, 2 wrong usage, 3 some questions of --file failed; of one question 4: not
enough evidence, or no answer in it (an answer that is called tentative may be printed all the same)
"""

NOT_ENOUGH = 4
_TOLD = 200  # characters of a question that failed: a line of a file may be of any length


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    add = parser.add_argument
    add("question", nargs="?", help="the question; none opens a prompt")
    add_pipeline(parser)
    add("-f", "--file", metavar="FILE", help="questions, one a line; - reads stdin")
    add("--workers", type=positive, default=4, metavar="N", help="questions of --file at once (default: 4)")
    add("--trace", action="store_true", help="with --json: every step of retrieval and promotion")
    add("-v", "--verbose", action="store_true", help="also pool, rejected paths and timings")
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Answer; the exit code tells whether."""
    if args.question is not None and args.file is not None:
        raise UsageError("give a question or --file, not both")
    if args.question is not None:
        asked(args.question)
    questions = _questions(args.file) if args.file is not None else []
    with open_pipeline(args) as pipeline:
        if questions:
            return _many(pipeline, questions, args)
        if args.question is None:
            return _prompt(pipeline, args)
        result = _answered(pipeline, args.question, args)
        return OK if result.answer.text and result.state != "insufficient" else NOT_ENOUGH


def _answered(pipeline: PageRAG, question: str, args: argparse.Namespace, *, line: bool = False) -> Result:
    """Show the words as they come where someone is watching, then the answer and its evidence."""
    if args.json:
        result = pipeline.ask(question)
        print_json(result.to_dict(trace=args.trace), line=line)
        return result
    from pagerag.cli._show import show_pool, show_rejected, show_result

    live = sys.stderr.isatty()
    shown = 0
    for item in pipeline.stream(question):
        if isinstance(item, Stage):
            if args.verbose:
                note(f"{item.name}: {item.detail}, {1000 * item.seconds:,.0f} ms")
        elif isinstance(item, str):
            if live:
                sys.stderr.write(paint(item, "dim", stream=sys.stderr))
                sys.stderr.flush()
                shown += len(item)
        else:
            if shown:
                sys.stderr.write(erase_line() if shown < 70 else "\n")
            show_result(item, verbose=args.verbose)
            if args.verbose:
                show_rejected(item)
                show_pool(item)
            print(end="\n" if line else "")
            return item
    raise AssertionError  # pragma: no cover - a stream ends in a Result


_HELP = """\
a line is a question; beside it there are
  /why    why the units of the last answer were chosen, and what was rejected
  /help   this
  /quit   leave (so do an empty line and Ctrl-D)"""


def _prompt(pipeline: PageRAG, args: argparse.Namespace) -> int:
    """Answer questions from the keyboard or a pipe; an error ends a question, not the prompt."""
    interactive = sys.stdin.isatty()
    if interactive:
        with suppress(ImportError):
            import readline  # noqa: F401 - gives input() its history and line editing
        note("Ask a question; /help tells what else there is.")
    asked = failed = 0
    last: Result | None = None
    for line in _lines(interactive):
        if line == "/quit":
            break
        if line == "/help":
            print(_HELP)
        elif line == "/why":
            print(last.explain() if last is not None else "nothing was asked yet")
        elif line.startswith("/") and " " not in line:
            error(f"there is no {line}; /help tells what there is")
        else:
            asked += 1
            try:
                last = _answered(pipeline, line, args, line=True)
            except PageRAGError as problem:
                failed += 1
                error(str(problem))
    if asked == 0 and not interactive:
        raise InputError("stdin held no question; give one as an argument: pagerag ask 'Who ...?'")
    return outcome(asked - failed, failed)


def _lines(interactive: bool) -> Iterator[str]:
    while True:
        try:
            # Plain: the line editor would count the letters of a colour as part of the line.
            line = input("? " if interactive else "").strip()
        except EOFError:
            return
        if line:
            yield line
        elif interactive:
            return


def _many(pipeline: PageRAG, questions: list[str], args: argparse.Namespace) -> int:
    from pagerag.explain.reasons import clip

    results = pipeline.ask_many(questions, workers=args.workers)
    failed = 0
    for result in progress(results, total=len(questions), label="asking", unit="questions"):
        if isinstance(result, Failure):
            failed += 1
            if not args.json:
                error(f"{clip(result.question, _TOLD)}: {clip(str(result.error), 3 * _TOLD)}")
        if args.json:
            told = result.to_dict() if isinstance(result, Failure) else result.to_dict(trace=args.trace)
            print_json(told, line=True)
        elif isinstance(result, Result):
            print(f"{paint(result.question, 'bold')}\n  {result.statement}")
            if (judged := result.verdict).tone != "good":
                print(paint(f"  {judged.words}", "dim"))
    if failed:
        error(f"{failed} of {how_many(len(questions), 'question')} failed")
    return outcome(len(questions) - failed, failed)


def _questions(name: str) -> list[str]:
    shown = "stdin" if name == "-" else name
    try:
        text = sys.stdin.read() if name == "-" else Path(name).read_text(encoding="utf-8")
    except FileNotFoundError:
        raise InputError(f"there is no file {name}") from None
    except IsADirectoryError:
        raise InputError(f"{name} is a folder; name a file with one question a line") from None
    except UnicodeDecodeError as wrong:
        raise InputError(
            f"{shown}: byte {wrong.start} is not UTF-8; convert it, for example with iconv"
        ) from None
    except OSError as problem:
        raise InputError(f"{name} cannot be read ({problem.strerror}); check its permissions") from problem
    found = [line.strip() for line in text.splitlines() if line.strip()]
    if not found:
        raise InputError(f"{shown} holds no question; write one a line")
    return found
