"""``pagerag config``: the settings in force and where each comes from."""

from __future__ import annotations

import argparse
import json
from typing import Any

from pagerag._user import trust, untrust
from pagerag.cli.console import OK, UsageError, as_usage, paint, print_json
from pagerag.cli.options import add_json, add_settings, settings_of
from pagerag.settings import PROJECT_FILE, Settings, project_settings, shown, variable

HELP = "Show every setting, its value and where it comes from. Secrets are shown as ***."

EXAMPLES = """\
examples:
  pagerag config                          all settings
  pagerag config chat                     one table
  pagerag config promote.k                one value, bare, for scripts
  pagerag config --template > pagerag.toml    a file with every setting, commented out
  PAGERAG_CHAT_MODEL=m pagerag config chat.model
  pagerag config --trust                  let ./pagerag.toml name endpoints, keys, encoders and files

order: defaults < user file < ./pagerag.toml < PAGERAG_... variables < flags and --set
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser.add_argument("name", nargs="?", help="a setting (promote.k) or a table (chat)")
    add_settings(parser)
    parser.add_argument("--template", action="store_true", help="print a settings file to start from")
    told = "trust ./pagerag.toml as it is now: it may name endpoints and keys"
    parser.add_argument("--trust", action="store_true", help=told)
    parser.add_argument("--untrust", action="store_true", help="trust ./pagerag.toml no longer")
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Show the settings."""
    if args.template:
        return _template(as_json=args.json)
    if args.trust or args.untrust:
        return _trust(args)
    settings = settings_of(args)
    tables = settings.to_dict()
    if args.name is not None and args.name not in tables:
        with as_usage():
            value = settings.get(args.name)  # an unknown name is an error that names the nearest
        if args.json:
            print_json({"name": args.name, "value": shown(value), "origin": settings.origin(args.name)})
        else:
            print(shown(value))
        return OK
    told = {
        table: {
            key: {"value": value, "origin": settings.origin(f"{table}.{key}")}
            for key, value in values.items()
        }
        for table, values in tables.items()
        if args.name in (None, table)
    }
    if args.json:
        print_json(told)
        return OK
    for table, values in told.items():
        print(paint(f"[{table}]", "bold"))
        for key, item in values.items():
            line, origin = f"{key} = {_toml(item['value'])}", item["origin"]
            print(f"{line:44} {paint(f'# {origin}', 'dim' if origin == 'default' else 'cyan')}")
        print()
    return OK


def _trust(args: argparse.Namespace) -> int:
    """Remember or forget that the user trusts the project file, and show what it is trusted with."""
    if args.trust and args.untrust:
        raise UsageError("--trust and --untrust exclude each other")
    if args.untrust:
        known = untrust(PROJECT_FILE)
        if args.json:
            print_json({"file": str(PROJECT_FILE), "trusted": False, "was_trusted": known})
        else:
            print(f"{PROJECT_FILE} {'is not trusted any more' if known else 'was not trusted'}")
        return OK
    content, found = project_settings()
    trust(PROJECT_FILE, content)
    values = {name: shown(Settings().updated({name: value}).get(name)) for name, value in found.items()}
    if args.json:
        print_json({"file": str(PROJECT_FILE), "trusted": True, "settings": values})
        return OK
    print(f"{PROJECT_FILE} is trusted as it is now; when it changes, it must be trusted again")
    for name, value in values.items():
        print(f"  {name} = {_toml(value)}")
    return OK


def _template(*, as_json: bool) -> int:
    """Print a settings file with every default, commented out."""
    defaults = {name: shown(Settings().get(name)) for name, _ in Settings.fields()}
    if as_json:
        print_json(
            {n: {"default": defaults[n], "doc": item.metadata["doc"]} for n, item in Settings.fields()}
        )
        return OK
    print("# Settings of pagerag. Uncomment what you change.")
    table = ""
    for name, item in Settings.fields():
        section, _, key = name.partition(".")
        if section != table:
            print(f"\n[{section}]")
            table = section
        choices = f" ({', '.join(item.metadata['one_of'])})" if "one_of" in item.metadata else ""
        print(f"# {item.metadata['doc']}{choices}; {variable(name)}\n# {key} = {_toml(defaults[name])}")
    return OK


def _toml(value: Any) -> str:
    if isinstance(value, dict):
        inside = ", ".join(f"{key} = {_toml(item)}" for key, item in value.items())
        return f"{{ {inside} }}" if inside else "{}"
    return json.dumps(value, ensure_ascii=False)
