"""What a result depends on: settings, data, code and versions, all told by content."""

from __future__ import annotations

import hashlib
import platform
import subprocess
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pagerag
from pagerag._files import sha256_file
from pagerag.errors import FormatError
from pagerag_lab.evaluate.config import RunConfig
from pagerag_lab.evaluate.hub import PREFIX, hub_fingerprint

__all__ = ["code_hash", "git_commit", "identity", "models_hash", "reader_hash"]

_PACKAGES = (
    "numpy",
    "onnxruntime",
    "tokenizers",
    "wordllama",
    "sentence-transformers",
    "xllamacpp",
    "pagerag-models",
)

_ROOMS = ("evaluate", "promote", "retrieve", "text")


def identity(config: RunConfig) -> dict[str, Any]:
    """Everything that a run's bytes depend on. Two runs with equal identities have equal results."""
    files = {"data": _digest(config.data)}
    if config.corpus not in (None, "contexts"):
        files["corpus"] = _digest(str(config.corpus))
    if config.retriever.startswith("file:"):
        files["pools"] = _digest(config.retriever.removeprefix("file:"))
    if (config.support or config.reader) and (models := models_hash()):
        files["models"] = models
    return {
        "config": config.to_dict(),
        "sha256": files,
        "commit": git_commit(),
        "versions": {
            "pagerag": pagerag.__version__,
            "code": code_hash(models=bool(config.support or config.reader)),
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
    """The manifest of the small models' package, which has the hash of each; None when it is not installed."""
    found = find_spec("pagerag_models")
    if found is None or found.origin is None:
        return None
    manifest = Path(found.origin).parent / "manifest.json"
    return sha256_file(manifest) if manifest.is_file() else None


@cache
def reader_hash() -> str:
    """A hash of what decides a local reader's answers: prompts, decoding, models."""
    return hashlib.sha256(f"{_files_hash(('models', 'read'))} {models_hash()}".encode()).hexdigest()[:12]


def code_hash(*, models: bool = False) -> str:
    """A hash of the files that decide a run's rows: a run is never continued with other code or weights.

    ``models`` adds the readers and the small models, which decide nothing where none is used.
    """
    return _files_hash((*_ROOMS, "models", "read") if models else _ROOMS)


@cache
def _files_hash(rooms: tuple[str, ...]) -> str:
    folder = Path(pagerag.__file__).parent
    digest = hashlib.sha256()
    files = [file for room in rooms for file in (folder / room).rglob("*")]
    for file in sorted([*files, folder / "units.py"]):
        if file.is_file() and file.suffix in (".py", ".json", ".npz", ".toml", ".onnx"):
            digest.update(f"{file.relative_to(folder).as_posix()}\0{sha256_file(file)}\n".encode())
    return digest.hexdigest()[:16]


@cache
def git_commit() -> str | None:
    """The commit of the checkout that the package runs from; None when it is installed from a wheel."""
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
