"""Put finished models into ``packages/pagerag-models``: files, hashes, calibration.

``python -m pagerag_lab.training.package --runs runs/training --base FOLDER``
"""

from __future__ import annotations

import argparse
import json
import shutil
from pathlib import Path

from pagerag._files import sha256_file, write_atomic
from pagerag_lab.training.common import base_folder, setting

__all__ = ["main"]

TARGET = Path("packages/pagerag-models/src/pagerag_models")
LONGEST = 160
"""Tokens of a paragraph that the support encoder reads where the pool fits one window; it learned with fewer."""


def main() -> None:
    """Copy the files and write the manifest last, so that a half-made package does not load."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=Path, default=Path("runs/training"))
    parser.add_argument("--base", type=Path)
    parser.add_argument("--target", type=Path, default=TARGET)
    options = parser.parse_args()
    support, reader = (setting(Path(f"training/{n}.toml")) for n in ("support", "reader"))
    shutil.copyfile(base_folder(options.base) / "tokenizer.json", options.target / "tokenizer.json")
    for name in ("reader", "support"):
        for suffix in (".onnx", "-parity.json"):
            shutil.copyfile(options.runs / name / f"{name}{suffix}", options.target / f"{name}{suffix}")
    fitted = json.loads((options.runs / "reader/calibration.json").read_text(encoding="utf-8"))
    models = {
        "reader": {
            "calibration": {k: fitted[k] for k in ("slope", "offset", "none_threshold")},
            "layers": reader.plan.layers,
        },
        "support": {
            "caps": {
                "sentence": support.plan.text_cap,
                "paragraph": support.plan.paragraph_cap,
                "longest": LONGEST,
            },
            "layers": support.plan.layers or 6,
            "limit": support.plan.limit,
            "block": support.plan.block,
        },
    }
    files = {
        path.name: {"sha256": sha256_file(path), "bytes": path.stat().st_size}
        for path in sorted(options.target.iterdir())
        if path.suffix in {".onnx", ".json"} and path.name != "manifest.json"
    }
    manifest = {"version": 1, "models": models, "files": files}
    write_atomic(options.target / "manifest.json", json.dumps(manifest, indent=1) + "\n")


if __name__ == "__main__":
    main()
