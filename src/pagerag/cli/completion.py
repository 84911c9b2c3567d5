"""``pagerag completion``: a completion script for bash, zsh or fish, made from the parser itself."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from pathlib import Path

from pagerag.cli.console import OK
from pagerag.errors import InputError

HELP = "Print a shell completion script."

EXAMPLES = """\
examples:
  eval "$(pagerag completion bash)"                                   bash, this session
  pagerag completion bash > ~/.local/share/bash-completion/completions/pagerag
  pagerag completion zsh  > ~/.zfunc/_pagerag                         zsh (with fpath+=~/.zfunc)
  pagerag completion fish > ~/.config/fish/completions/pagerag.fish   fish
"""

SHELLS = ("bash", "zsh", "fish")


def configure(parser: argparse.ArgumentParser) -> None:
    """The command's options."""
    parser.add_argument("shell", nargs="?", choices=SHELLS, help="default: the shell you are in")
    parser.add_argument("--json", action="store_true", help="commands and options as JSON, for other shells")


def run(args: argparse.Namespace) -> int:
    """Print the script."""
    commands = {name: list(_options(sub)) for name, sub in _commands()}
    if args.json:
        from pagerag.cli.console import print_json

        print_json({name: [_told(option) for option in options] for name, options in commands.items()})
        return OK
    shell = args.shell or Path(os.environ.get("SHELL", "")).name
    if shell not in SHELLS:
        raise InputError(f"which shell? pagerag completion {{{','.join(SHELLS)}}}")
    print({"bash": _bash, "zsh": _zsh, "fish": _fish}[shell](commands), end="")
    return OK


def _commands() -> Iterator[tuple[str, argparse.ArgumentParser]]:
    from pagerag.cli import parser

    for action in parser(None)._actions:
        if isinstance(action, argparse._SubParsersAction):
            yield from action.choices.items()


def _options(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    for action in parser._actions:
        if action.help != argparse.SUPPRESS:
            yield action


def _told(action: argparse.Action) -> dict[str, object]:
    return {
        "flags": list(action.option_strings),
        "name": action.dest,
        "choices": [str(choice) for choice in action.choices or ()],
        "takes_value": action.nargs != 0,
        "file": _wants_path(action),
        "help": action.help or "",
    }


def _wants_path(action: argparse.Action) -> bool:
    return str(action.metavar or "").upper() in {"FILE", "DIR", "PATH", "POOLS", "FOLDER"} or action.dest in {
        "paths",
        "path",
        "file",
    }


def _bash(commands: dict[str, list[argparse.Action]]) -> str:
    cases, values = [], []
    for name, actions in commands.items():
        flags = " ".join(flag for action in actions for flag in action.option_strings)
        cases.append(f'    {name}) words="{flags}" ;;')
        for action in actions:
            if action.choices and action.option_strings:
                chosen = " ".join(map(str, action.choices))
                values += [
                    f'    "{name} {flag}") COMPREPLY=($(compgen -W "{chosen}" -- "$current")); return ;;'
                    for flag in action.option_strings
                ]
            elif action.choices:
                cases[-1] = f'    {name}) words="{flags} {" ".join(map(str, action.choices))}" ;;'
    lines = [
        "# pagerag completion for bash",
        "_pagerag() {",
        '  local current="${COMP_WORDS[COMP_CWORD]}" previous="${COMP_WORDS[COMP_CWORD-1]}"',
        '  local command="${COMP_WORDS[1]}" words=""',
        "  if [[ $COMP_CWORD -eq 1 ]]; then",
        f'    COMPREPLY=($(compgen -W "{" ".join(commands)} --help --version" -- "$current")); return',
        "  fi",
        '  case "$command $previous" in',
        *values,
        "  esac",
        '  case "$command" in',
        *cases,
        "  esac",
        '  COMPREPLY=($(compgen -W "$words" -- "$current"))',
        '  [[ "$current" == -* ]] || COMPREPLY+=($(compgen -f -- "$current"))',
        "}",
        "complete -o filenames -F _pagerag pagerag",
    ]
    return "\n".join(lines) + "\n"


def _zsh(commands: dict[str, list[argparse.Action]]) -> str:
    from pagerag.cli import command_lines

    said = command_lines()

    lines = [
        "#compdef pagerag",
        "# pagerag completion for zsh",
        "_pagerag() {",
        "  local -a commands",
        "  commands=(",
    ]
    lines += [f"    '{name}:{_quoted(said[name])}'" for name in commands]
    lines += [
        "  )",
        "  if (( CURRENT == 2 )); then _describe command commands; return; fi",
        '  case "$words[2]" in',
    ]
    for name, actions in commands.items():
        lines.append(f"    {name}) _arguments \\")
        for action in actions:
            told = _quoted(action.help or "")
            value = "" if action.nargs == 0 else f":{action.dest}:{_zsh_values(action)}"
            lines += [f"      '{flag}[{told}]{value}' \\" for flag in action.option_strings]
        lines.append("      '*:file:_files' ;;")
    lines += [
        "  esac",
        "}",
        'if [ "$funcstack[1]" = "_pagerag" ]; then _pagerag "$@"; else compdef _pagerag pagerag; fi',
    ]
    return "\n".join(lines) + "\n"


def _zsh_values(action: argparse.Action) -> str:
    if action.choices:
        return f"({' '.join(map(str, action.choices))})"
    return "_files" if _wants_path(action) else " "


def _fish(commands: dict[str, list[argparse.Action]]) -> str:
    from pagerag.cli import command_lines

    said = command_lines()

    lines = ["# pagerag completion for fish"]
    lines += [
        f"complete -c pagerag -n __fish_use_subcommand -f -a {name} -d '{_quoted(said[name])}'"
        for name in commands
    ]
    for name, actions in commands.items():
        where = f"complete -c pagerag -n '__fish_seen_subcommand_from {name}'"
        for action in actions:
            if not action.option_strings:
                if action.choices:
                    lines.append(f"{where} -f -a '{' '.join(map(str, action.choices))}'")
                continue
            flags = " ".join(
                f"-l {flag[2:]}" if flag.startswith("--") else f"-s {flag[1:]}"
                for flag in action.option_strings
            )
            value = "" if action.nargs == 0 else " -r"
            if action.choices:
                value += f" -f -a '{' '.join(map(str, action.choices))}'"
            elif _wants_path(action):
                value += " -F"
            lines.append(f"{where} {flags}{value} -d '{_quoted(action.help or '')}'")
    return "\n".join(lines) + "\n"


def _quoted(text: str) -> str:
    """Safe inside single quotes and brackets of all three shells."""
    table = str.maketrans({"'": "’", "[": "(", "]": ")", ":": " -", "\\": "/", "$": "", "`": "", "\n": " "})
    return " ".join(text.replace("%%", "%").translate(table).split())
