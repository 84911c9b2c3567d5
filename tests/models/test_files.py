from __future__ import annotations

import json
import shutil
import subprocess
import sys

import numpy as np
import pytest

from pagerag._files import sha256_file
from pagerag.errors import MissingExtraError, WeightsError
from pagerag.models.files import (
    RELEASED,
    RELEASED_JUDGE,
    RELEASED_READER,
    Model,
    judge_folder,
    package_folder,
    reader_folder,
)

package = pytest.importorskip("pagerag_models", reason="pagerag-models is not installed")
pytest.importorskip("onnxruntime")

TOLERANCE = {"reader": (0.12, 0.99), "support": (0.18, 0.98), "judge": (0.18, 0.98), "larger": (0.18, 0.985)}
"""Root mean square difference of int8 and float32 logits, as a share of the float32 logits' spread, at most;
and their correlation at least. Attained here: 0.085 and 0.996, 0.094 and 0.996, 0.128 and 0.994."""
judge = pytest.mark.skipif(judge_folder() is None, reason="pagerag-judge is not installed")
larger = pytest.mark.skipif(reader_folder() is None, reason="pagerag-reader is not installed")


@pytest.fixture
def copy(tmp_path):
    for path in package.FOLDER.iterdir():
        if path.suffix in {".onnx", ".json"}:
            shutil.copyfile(path, tmp_path / path.name)
    return tmp_path


@pytest.mark.parametrize(
    "name",
    ["reader", "support", pytest.param("judge", marks=judge), pytest.param("larger", marks=larger)],
)
def test_the_shipped_file_gives_the_training_frameworks_answers(name: str) -> None:
    folder = {"larger": reader_folder, "judge": judge_folder}.get(name, package_folder)()
    file = {"larger": "reader", "judge": "support"}.get(name, name)
    model = Model(file, folder=folder, threads=1)
    cases = json.loads((folder / f"{file}-parity.json").read_text())["cases"]
    ours, theirs = [], []
    for case in cases:
        tokens, kinds = model(case["ids"], case["types"])
        ours += [tokens.ravel(), kinds]
        theirs += [np.ravel(case["tokens"]), case["kinds"]]
    a, b = np.concatenate(ours), np.concatenate(theirs)
    apart, alike = TOLERANCE[name]
    assert np.sqrt(((a - b) ** 2).mean()) <= apart * b.std()
    assert np.corrcoef(a, b)[0, 1] >= alike


def test_files_are_small_enough_to_ship() -> None:
    for name in ("reader", "support"):
        assert (package.FOLDER / f"{name}.onnx").stat().st_size <= 30_000_000


@judge
@larger
def test_the_larger_networks_fit_a_registry_and_a_repository() -> None:
    for file in (judge_folder() / "support.onnx", reader_folder() / "reader.onnx"):
        assert file.stat().st_size <= 100_000_000


def test_a_changed_file_is_refused(copy) -> None:
    whole = (copy / "support.onnx").read_bytes()
    (copy / "support.onnx").write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    with pytest.raises(WeightsError, match=r"support\.onnx has sha256 .* install pagerag-models again"):
        Model("support", folder=copy)


def test_the_released_digests_are_those_of_the_files() -> None:
    found = {name: sha256_file(package.FOLDER / name) for name in RELEASED}
    assert found == dict(RELEASED), f"put these into src/pagerag/models/files.py: {found}"


@larger
def test_the_larger_readers_digests_are_those_of_its_files() -> None:
    found = {name: sha256_file(reader_folder() / name) for name in RELEASED_READER}
    assert found == dict(RELEASED_READER), f"put these into src/pagerag/models/files.py: {found}"


@judge
def test_the_larger_support_encoders_digests_are_those_of_its_files() -> None:
    found = {name: sha256_file(judge_folder() / name) for name in RELEASED_JUDGE}
    assert found == dict(RELEASED_JUDGE), f"put these into src/pagerag/models/files.py: {found}"


def test_a_larger_support_encoder_that_is_not_the_released_one_is_refused(copy, monkeypatch) -> None:
    monkeypatch.setattr("pagerag.models.files.judge_folder", lambda: copy)
    with pytest.raises(WeightsError, match="install the pagerag-judge that belongs to it"):
        Model("support", folder=copy)


def test_a_larger_reader_that_is_not_the_released_one_is_refused(copy, monkeypatch) -> None:
    monkeypatch.setattr("pagerag.models.files.reader_folder", lambda: copy)
    with pytest.raises(WeightsError, match="install the pagerag-reader that belongs to it"):
        Model("reader", folder=copy)


def test_a_manifest_that_was_changed_with_its_file_does_not_help(copy, monkeypatch) -> None:
    whole = (copy / "support.onnx").read_bytes()
    (copy / "support.onnx").write_bytes(whole + b"\0")
    manifest = json.loads((copy / "manifest.json").read_text())
    manifest["files"]["support.onnx"]["sha256"] = sha256_file(copy / "support.onnx")
    (copy / "manifest.json").write_text(json.dumps(manifest))
    monkeypatch.setattr("pagerag.models.files.package_folder", lambda: copy)
    with pytest.raises(WeightsError, match="does not know"):
        Model("support")


def test_a_missing_file_and_a_missing_manifest_are_named(copy, tmp_path_factory) -> None:
    (copy / "tokenizer.json").unlink()
    with pytest.raises(WeightsError, match=r"tokenizer\.json is missing"):
        Model("support", folder=copy)
    with pytest.raises(WeightsError, match=r"manifest\.json cannot be read"):
        Model("support", folder=tmp_path_factory.mktemp("empty"))


def test_a_missing_package_names_the_extra(monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "pagerag_models", None)
    with pytest.raises(MissingExtraError, match=r"pagerag\[models\]"):
        Model("reader")


def test_importing_the_room_imports_no_runtime() -> None:
    code = "import sys, pagerag.models; print({'onnxruntime', 'tokenizers'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
