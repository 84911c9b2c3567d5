"""``pagerag completion``: a completion script, made from the parser itself by shtab."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from pagerag._extras import need
from pagerag.cli.console import OK, UsageError, print_json
from pagerag.cli.options import add_json

HELP = "Print a shell completion script."

EXAMPLES = """\
examples:
  eval "$(pagerag completion bash)"                                   bash, this session
  pagerag completion bash > ~/.local/share/bash-completion/completions/pagerag
  pagerag completion zsh  > ~/.zfunc/_pagerag                         zsh (with fpath+=~/.zfunc)
  pagerag completion fish > ~/.config/fish/completions/pagerag.fish   fish
"""

SHELLS = ("bash", "zsh", "fish", "tcsh")
_FILES = {"FILE", "PATH", "POOLS"}
_FOLDERS = {"DIR", "FOLDER"}


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser.add_argument("shell", nargs="?", choices=SHELLS, help="default: the shell you are in")
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Print the script; with ``--json`` the commands and their options, for other shells."""
    from pagerag.cli import parser

    root = parser(None)
    [commands] = [one.choices for one in root._actions if isinstance(one, argparse._SubParsersAction)]
    if args.json:
        print_json({name: [_told(action) for action in sub._actions] for name, sub in commands.items()})
        return OK
    shell = args.shell or Path(os.environ.get("SHELL", "")).name
    if shell not in SHELLS:
        raise UsageError(f"which shell? pagerag completion {{{','.join(SHELLS)}}}")
    shtab = need("shtab", "shtab", "cli", "completion scripts")
    for action in (action for sub in commands.values() for action in sub._actions):
        kind = str(action.metavar).upper()
        if kind in _FILES | _FOLDERS:
            action.complete = shtab.FILE if kind in _FILES else shtab.DIRECTORY
    print(shtab.complete(root, shell=shell))
    return OK


def _told(action: argparse.Action) -> dict[str, object]:
    return {
        "flags": list(action.option_strings),
        "name": action.dest,
        "choices": [str(choice) for choice in action.choices or ()],
        "takes_value": action.nargs != 0,
        "file": str(action.metavar).upper() in _FILES | _FOLDERS,
        "help": action.help or "",
    }
