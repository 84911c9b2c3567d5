"""What a result depends on: settings, data, code and versions, all told by content."""

from __future__ import annotations

import hashlib
import platform
import subprocess
from collections.abc import Mapping
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pagerag
import pagerag_lab
from pagerag.errors import FormatError, PageRAGError
from pagerag_lab.datasets.hub import PREFIX, hub_fingerprint
from pagerag_lab.product import sha256_file
from pagerag_lab.runs.config import RunConfig

__all__ = [
    "code_hash",
    "describe",
    "git_commit",
    "identity",
    "index_hash",
    "models_hash",
    "product_hash",
    "reader_hash",
]

_PACKAGES = (
    "numpy",
    "onnxruntime",
    "tokenizers",
    "wordllama",
    "sentence-transformers",
    "xllamacpp",
    "pagerag-models",
    "pagerag-judge",
    "pagerag-reader",
)

_PROMOTION = ("promotion", "retrieve", "text", "units.py")
_INDEX = ("ingest", "store", "text", "retrieve", "units.py")
_MODELS = ("models", "read")
_LAB = ("datasets", "metrics", "pools", "rivals", "runs")


def identity(config: RunConfig) -> dict[str, Any]:
    """Return everything that a run's bytes depend on; two runs with equal identities have equal results."""
    files = {"data": config.data}
    if config.corpus not in (None, "contexts"):
        files["corpus"] = str(config.corpus)
    if config.retriever.startswith("file:"):
        files["pools"] = config.retriever.removeprefix("file:")
    return describe(config.to_dict(), files, models=bool(config.support or config.reader))


def describe(
    config: Mapping[str, Any],
    files: Mapping[str, str],
    *,
    models: bool = False,
    everything: bool = False,
) -> dict[str, Any]:
    """Return settings, hashes of the data files, commit and versions.

    ``models`` adds the readers and the small models, which decide nothing where none is used;
    ``everything`` counts the whole product as code that decides, for runs that index and answer.
    """
    hashes = {name: _digest(path) for name, path in files.items()}
    if models and (manifest := models_hash()):
        hashes["models"] = manifest
    return {
        "config": dict(config),
        "sha256": hashes,
        "commit": git_commit(),
        "versions": {
            "pagerag": pagerag.__version__,
            "code": product_hash() if everything else code_hash(models=models),
            "python": platform.python_version(),
            "machine": platform.machine(),
            **{name: found for name in _PACKAGES if (found := _version(name))},
        },
    }


def _digest(path: str) -> str:
    if path.startswith(PREFIX):
        return hub_fingerprint(path)
    place = Path(path)
    if place.is_dir():
        parts = sorted(one for one in place.rglob("*") if one.is_file())
        return hashlib.sha256("".join(sha256_file(one) for one in parts).encode()).hexdigest()
    if not place.is_file():
        raise FormatError("there is no such file; check the command line", file=place)
    return sha256_file(place)


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


@cache
def models_hash() -> str | None:
    """Return a hash of the manifests of our models; None when no package of them is installed."""
    manifests = []
    for package in ("pagerag_models", "pagerag_judge", "pagerag_reader"):
        found = find_spec(package)
        if found is not None and found.origin is not None:
            manifest = Path(found.origin).parent / "manifest.json"
            manifests += [sha256_file(manifest)] if manifest.is_file() else []
    return " ".join(manifests) or None


@cache
def reader_hash() -> str:
    """Return a hash of what decides a local reader's answers: prompts, decoding, models."""
    return hashlib.sha256(f"{_files_hash(_MODELS, ())} {models_hash()}".encode()).hexdigest()[:12]


def code_hash(*, models: bool = False) -> str:
    """Return a hash of the files that decide a run's rows: no run is continued with other code or weights.

    ``models`` adds the readers and the small models, which decide nothing where none is used.
    """
    return _files_hash((*_PROMOTION, *_MODELS) if models else _PROMOTION, _LAB)


def index_hash() -> str:
    """Return a hash of the code that decides what an index of documents holds."""
    return _files_hash(_INDEX, ())


def product_hash() -> str:
    """Return a hash of the whole product's code and of the laboratory's runs."""
    return _files_hash((".",), _LAB)


@cache
def _files_hash(product: tuple[str, ...], lab: tuple[str, ...]) -> str:
    digest = hashlib.sha256()
    for package, rooms in ((pagerag, product), (pagerag_lab, lab)):
        folder = Path(str(package.__file__)).parent
        for room in rooms:
            place = folder / room
            files = [place] if place.is_file() else sorted(one for one in place.rglob("*") if one.is_file())
            if not files:
                raise PageRAGError(f"{place} is missing: the installation is not whole; install it again")
            for file in files:
                if file.suffix in (".py", ".json", ".npz", ".toml", ".onnx"):
                    digest.update(f"{file.relative_to(folder).as_posix()}\0{sha256_file(file)}\n".encode())
    return digest.hexdigest()[:16]


@cache
def git_commit() -> str | None:
    """Return the commit of the checkout that the package runs from; None when it came from a wheel."""
    folder = Path(pagerag.__file__).parent
    if not any((parent / ".git").exists() for parent in folder.parents):
        return None
    try:
        done = subprocess.run(
            ["git", "-C", str(folder), "rev-parse", "HEAD"],
            capture_output=True,
            text=True,
            check=True,
            timeout=10,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip() or None
