"""The ``pagerag`` command: one file per sub-command, imported only when it is called.

A command module has ``HELP`` (one line), ``EXAMPLES`` (shown by ``--help``), ``configure(parser)`` and
``run(args) -> int``. Exit codes are in ``pagerag.cli.console``. Another package adds commands by entry points
of the group ``pagerag.commands`` that name such modules; ``pagerag-lab`` adds evaluate, reproduce, report and
tune.
"""

from __future__ import annotations

import argparse
import logging
import os
import sys
import traceback
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from difflib import get_close_matches
from functools import cache
from importlib import import_module
from typing import Any, NoReturn

from pagerag._secrets import shown_url
from pagerag.cli.console import (
    BROKEN_PIPE,
    FAILED,
    INTERRUPTED,
    OK,
    USAGE,
    UsageError,
    as_usage,
    clean_output,
    error,
)
from pagerag.errors import PageRAGError

__all__ = ["COMMANDS", "command_lines", "main", "parser"]

COMMANDS = {
    "demo": "index a small corpus and ask it multi-hop questions",
    "index": "read documents into a store",
    "ask": "answer a question from a store, with its evidence path",
    "explain": "show why each unit was chosen: text, JSON, DOT, GraphML or an HTML page",
    "promote": "promote the pools of a file from any retriever or RAG system",
    "serve": "rerank endpoints, an evidence API, chat and a page over HTTP",
    "mcp": "evidence tools for assistants that speak the Model Context Protocol",
    "stats": "what a store holds",
    "doctor": "what is installed, what answers, and how to fix what does not",
    "config": "show the settings and where each comes from",
    "completion": "print a shell completion script",
}

_PROGRAM = "pagerag"
_CLOSE = 0.7
ENTRY_POINTS = "pagerag.commands"

LABORATORY = ("evaluate", "reproduce", "report", "tune")
"""Commands of the package pagerag-lab: known by name, so that a user without it is told how to get it."""


@cache
def _added() -> dict[str, Any]:
    """Return the entry points of commands that other packages add, by name."""
    from importlib.metadata import entry_points  # 20 ms: only where a command is not one of our own

    return {point.name: point for point in sorted(entry_points(group=ENTRY_POINTS), key=lambda p: p.name)}


def _module(name: str) -> Any:
    """Import the module of a command, ours or another package's."""
    return import_module(f"pagerag.cli.{name}") if name in COMMANDS else _added()[name].load()


def command_lines(command: str | None = None) -> dict[str, str]:
    """Return each command's line of help; another package's modules are imported only to list them."""
    if command in COMMANDS:
        return COMMANDS
    others = [name for name in _added() if name not in COMMANDS]
    return COMMANDS | {name: _module(name).HELP if command in (None, "", name) else "" for name in others}


class _Parser(argparse.ArgumentParser):
    """A parser that knows the option that was probably meant, and shows the sub-command's own usage."""

    def error(self, message: str) -> NoReturn:
        """Print the usage and what is wrong, then leave with the code for wrong usage."""
        self.print_usage(sys.stderr)
        error(f"{message}; {self.prog} --help shows the options")
        raise SystemExit(USAGE)

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> tuple[Any, list[str]]:
        """Parse; refuse unknown options, and those that ``--set`` contradicts, where the command is known."""
        found, unknown = super().parse_known_args(args, namespace)
        question = getattr(found, "question", None)
        if unknown and question and not any(word.startswith("-") for word in unknown):
            error(f'put the question in quotes: {self.prog} "{" ".join([question, *unknown])}"')
            raise SystemExit(USAGE)
        if unknown and self.prog != _PROGRAM:
            self.error(f"unrecognized arguments: {' '.join(map(self._explained, unknown))}")
        if getattr(found, "assignments", None) and self.prog != _PROGRAM:
            from pagerag.cli.options import contradiction

            with as_usage():
                wrong = contradiction(found, self._actions)
            if wrong is not None:
                self.error(wrong)
        return found, unknown

    def _explained(self, word: str) -> str:
        word = shown_url(word) if "://" in word else word  # an address may hold a password
        # Compared without their dashes, which would make any two alike.
        flags = {flag.lstrip("-"): flag for action in self._actions for flag in action.option_strings}
        name = word.partition("=")[0].lstrip("-")
        near = get_close_matches(name, flags, 1, _CLOSE) if word.startswith("-") else []
        return f"{word} (did you mean {flags[near[0]]}?)" if near else word


def parser(command: str | None = None) -> argparse.ArgumentParser:
    """Return the whole parser; only ``command``'s own module is imported unless none is named."""
    root = _Parser(
        prog=_PROGRAM,
        description="Evidence promotion for RAG: connectivity is not support.",
        epilog="pagerag COMMAND --help shows a command's options and examples.",
        allow_abbrev=False,
    )
    root.add_argument("--version", action="store_true", help="print the version and leave")
    subs = root.add_subparsers(dest="command", metavar="COMMAND")
    for name, line in command_lines(command).items():
        raw = argparse.RawDescriptionHelpFormatter
        sub = subs.add_parser(name, help=line, formatter_class=raw)
        if command in (None, name):
            module = _module(name)
            sub.description, sub.epilog = module.HELP, module.EXAMPLES
            module.configure(sub)
    return root


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; return the exit code.

    Errors of ours are one line on stderr, never a traceback. Whatever is printed meanwhile is cleaned
    (``console.CleanStream``), and libraries keep their log lines and warnings to themselves.
    """
    words = list(sys.argv[1:] if argv is None else argv)
    with clean_output(), _quiet_libraries():
        try:
            return _run(words)
        except PageRAGError as problem:
            error(str(problem))
            return USAGE if isinstance(problem, UsageError) else FAILED
        except BrokenPipeError:  # stdout points at nothing then, or Python would complain when it ends
            with suppress(OSError, ValueError):
                os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return BROKEN_PIPE
        except KeyboardInterrupt as interrupted:
            error("; ".join(["interrupted", *map(str, interrupted.args)]))
            return INTERRUPTED
        except Exception:  # noqa: BLE001 - printed here, because what it quotes must be cleaned, too
            traceback.print_exc()
            error("this is a defect of pagerag; please report it with the lines above")
            return FAILED


def _run(words: list[str]) -> int:
    command = next((word for word in words if not word.startswith("-")), None)
    if command is not None and command not in COMMANDS and command not in _added():
        known = [*COMMANDS, *_added()]
        near = get_close_matches(command, known, 1)
        hint = f"did you mean {near[0]!r}?" if near else f"one of: {', '.join(known)}"
        if command in LABORATORY:
            hint = "it belongs to the package pagerag-lab, which is not installed"
        error(f"there is no command {command!r}; {hint}")
        return USAGE
    # Products of matrices are small here: a second thread of OpenBLAS mostly waits, which took a quarter of
    # the processor time of one question. NumPy, imported by the command, reads this once.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    root = parser(command or "")
    args = root.parse_args(words)
    if args.version:
        from pagerag import __version__

        print(f"pagerag {__version__}")
    elif args.command is None:
        root.print_help()
    else:
        return int(_module(args.command).run(args))
    return OK


@contextmanager
def _quiet_libraries() -> Iterator[None]:
    """Keep warnings and log lines of libraries off the terminal, unless Python was told to show warnings."""
    os.environ.setdefault("LANCE_LOG", "error")  # written by native code, which no handler of Python's sees
    handler = logging.NullHandler()  # with any handler, Python does not fall back to writing to stderr
    logging.getLogger().addHandler(handler)
    with warnings.catch_warnings():
        if not sys.warnoptions:
            warnings.simplefilter("ignore")
        try:
            yield
        finally:
            logging.getLogger().removeHandler(handler)
