"""Options that several commands share, and the settings they make."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pagerag.cli.console import UsageError, as_usage, note
from pagerag.errors import InputError, SettingsError, StoreError
from pagerag.settings import Settings, shown
from pagerag.units import SUPPORT_CHOICES

if TYPE_CHECKING:
    from pagerag.batch import Hands
    from pagerag.pipeline import PageRAG

_FLAGS = {
    "store": "store.path",
    "encoder": "store.encoder",
    "reader": "read.reader",
    "units": "read.units",
    "k": "promote.k",
    "mode": "promote.mode",
    "strategy": "promote.strategy",
    "support": "promote.support",
    "pool": "retrieve.pool",
    "adaptive": "retrieve.adaptive",
    "host": "serve.host",
    "port": "serve.port",
    "serve_workers": "serve.workers",
    "api_key_file": "serve.api_key_file",
    "insecure": "serve.insecure",
}
"""Which setting each option gives a value to."""
_STORES = ("store.path", "serve.stores")
"""The settings that the ``--store`` of a server, which may be given several times, stands in for."""


def positive(text: str) -> int:
    """Return the whole number of at least 1 that an option was given; anything else is wrong usage."""
    try:
        number = int(text)
    except ValueError:
        number = 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"must be a whole number of at least 1, not {text!r}")
    return number


def add_json(parser: argparse.ArgumentParser) -> None:
    """Add ``--json``."""
    parser.add_argument("--json", action="store_true", help="JSON on stdout, for programs")


def add_settings(parser: argparse.ArgumentParser) -> None:
    """Add ``--config`` and ``--set``, which every command with settings has."""
    parser.add_argument(
        "--config", metavar="FILE", help="settings file (default: yours, then ./pagerag.toml)"
    )
    told = "change any setting, such as chat.model=NAME ('pagerag config' lists them)"
    add_pairs(parser, "--set", "NAME=VALUE", told, "assignments")


def add_reader(parser: argparse.ArgumentParser) -> None:
    """Add ``--reader``."""
    told = "auto, extractive, extractive-small, smollm2, gguf, chat or evidence (default: auto)"
    parser.add_argument("-r", "--reader", metavar="NAME", help=told)


def add_store(parser: argparse.ArgumentParser) -> None:
    """Add ``--store``, a folder or a database."""
    parser.add_argument(
        "-s", "--store", metavar="STORE", help="folder or postgresql:// address (setting store.path)"
    )


def add_promotion(parser: argparse.ArgumentParser) -> None:
    """Add how promotion is done: ``--mode``, ``--strategy`` and ``--support``."""
    add = parser.add_argument
    add("--mode", choices=("auto", "sentence", "paragraph", "document"), help="what a unit is")
    add("--strategy", choices=("auto", "learned", "formula"), help="how support is scored")
    add(
        "--support",
        choices=SUPPORT_CHOICES,
        help="our support encoder as one more signal: small; auto (the default), where pagerag-models is "
        "installed; default, the larger one of pagerag-judge, where that is installed",
    )


def add_pipeline(parser: argparse.ArgumentParser) -> None:
    """Add what asking a store takes."""
    add = parser.add_argument
    add_settings(parser)
    add("-s", "--store", metavar="DIR", help="the store (default: setting store.path)")
    add(
        "--encoder",
        metavar="NAME",
        help="the store's encoder: needed where the store names one that is not built in",
    )
    add_reader(parser)
    add("--units", choices=("auto", "core", "context"), help="what the reader sees of the promotion")
    add("-k", type=positive, metavar="N", help="units the reader may see (default: 5)")
    add("--pool", type=positive, metavar="N", help="units in the pool (default: 20)")
    add_promotion(parser)
    add("--no-adaptive", dest="adaptive", action="store_false", default=None, help="no follow-up retrieval")


def add_engine(parser: argparse.ArgumentParser, *, workers: str = "all cores") -> None:
    """Add where batches are worked on; ``workers`` says in words how many there are by default."""
    add = parser.add_argument
    from pagerag.batch import ENGINES  # here and below: a question alone needs none of it

    add(
        "--engine",
        choices=ENGINES,
        default=ENGINES[0],
        help="processes of this machine, or a Ray cluster (pip install 'pagerag[ray]'); results are the same",
    )
    add(
        "--address",
        metavar="ADDRESS",
        help="a running Ray cluster: HOST:PORT, ray://HOST:PORT or auto (default: one on this machine)",
    )
    add("--workers", type=int, metavar="N", help=f"how many work at once (default: {workers})")


def hands_of(args: argparse.Namespace) -> Hands:
    """Return what the options of ``add_engine`` name; nothing is started yet."""
    from pagerag.batch import open_hands

    with as_usage():
        return open_hands(args.engine, args.workers, args.address)


def asked_hands(args: argparse.Namespace) -> AbstractContextManager[Hands | None]:
    """Return what the options name, or None where none was given: this process works alone then."""
    given = args.engine != "local" or args.workers is not None or args.address is not None
    return hands_of(args) if given else nullcontext()


def add_pairs(
    parser: argparse.ArgumentParser, flag: str, pair: str, told: str, dest: str | None = None
) -> None:
    """Add an option that takes pairs and may be given several times."""
    parser.add_argument(flag, action="append", default=[], metavar=pair, dest=dest, help=told)


def pairs(given: Iterable[str], wanted: str, *, empty: bool = False) -> dict[str, str]:
    """Return the sides of each ``NAME=VALUE``; ``wanted`` opens the message about what is none."""
    found = {}
    for one in given:
        name, equals, value = one.partition("=")
        if not equals or not (empty or value.strip()):
            raise UsageError(f"{wanted}, not {one!r}")
        found[name.strip()] = value
    return found


def asked(question: str) -> str:
    """Return the question that was given, if it is one."""
    if not question.strip():
        raise UsageError("the question is empty; ask something")
    return question


def check_folder_of(out: str) -> None:
    """Refuse a file that could not be written for want of its folder, before any work is done for it."""
    if not Path(out).resolve().parent.is_dir():
        raise InputError(f"the folder of {out} does not exist; make it first")


def contradiction(args: argparse.Namespace, options: Iterable[argparse.Action]) -> str | None:
    """Return what is wrong where an option and ``--set`` give one setting two values; None where none do."""
    assigned = _assigned(args)
    for option in options:
        given = getattr(args, option.dest, None)
        if given is None or given == []:
            continue
        for name in _STORES if option.dest == "stores" else (_FLAGS.get(option.dest, ""),):
            if name in assigned and not _same(name, given, assigned[name]):
                flag = option.option_strings[-1]
                values = given if isinstance(given, list) else [given]
                told = flag if option.nargs == 0 else " ".join(f"{flag} {shown(value)}" for value in values)
                return f"{told} and --set {name}={shown(assigned[name])} are one setting; give it once"
    return None


def _same(name: str, given: Any, assigned: str) -> bool:
    """Tell whether an option's value is the one that ``--set`` gives, as the setting reads them."""
    if isinstance(given, list):
        return given == [assigned]
    one, other = (Settings().updated({name: value}, {name: "flag"}).get(name) for value in (given, assigned))
    return bool(one == other)


def _assigned(args: argparse.Namespace) -> dict[str, str]:
    """Return what ``--set`` gives, by setting."""
    wanted = "--set takes NAME=VALUE, such as --set promote.k=3"
    return pairs(getattr(args, "assignments", []), wanted, empty=True)


def settings_of(args: argparse.Namespace) -> Settings:
    """Return the settings with the options and ``--set`` on top; print what they remark.

    An option and ``--set`` do not disagree here: the parser has refused that (``contradiction``).
    """
    flags = {name: getattr(args, flag, None) for flag, name in _FLAGS.items()} | _assigned(args)
    try:
        settings = Settings.load(getattr(args, "config", None), flags=flags)
    except SettingsError:
        given = {name: value for name, value in flags.items() if value is not None}
        with as_usage():
            Settings().updated(given, dict.fromkeys(given, "flag"))
        raise  # what is wrong stands in a file or in the environment
    if settings.origin("read.reader") == "flag":
        from pagerag.read import check_reader

        with as_usage():
            check_reader(settings.read.reader)
    for remark in settings.remarks:
        note(remark)
    return settings


def open_pipeline(args: argparse.Namespace) -> PageRAG:
    """Return the pipeline that the settings describe; say what to do where there is no store yet."""
    from pagerag.pipeline import PageRAG
    from pagerag.store.problems import explained

    settings = settings_of(args)
    path = settings.store.path
    with explained("opening", path):
        there = "://" in path or Path(path).exists()
    if not there:
        raise StoreError(
            f"there is no store at {path}; make one with: pagerag index DOCUMENTS --store {path}"
            " (or see one at work with: pagerag demo)"
        )
    return PageRAG.open(path, settings)
