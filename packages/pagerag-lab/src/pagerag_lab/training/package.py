"""Put a finished model into its package: files, hashes, calibration.

``python -m pagerag_lab.training.package support --runs runs/training`` (or ``judge``, ``reader``,
``reader-small``)
"""

from __future__ import annotations

import argparse
import json
import shutil
from dataclasses import asdict
from pathlib import Path
from typing import Any

from pagerag.models.excerpts import Reading
from pagerag_lab.product import sha256_file, write_atomic
from pagerag_lab.training.common import Setting, setting

__all__ = ["main"]

MODELS, LARGER, JUDGE = (
    Path(f"packages/pagerag-{name}/src/pagerag_{name}") for name in ("models", "reader", "judge")
)
TARGETS = {"support": MODELS, "judge": JUDGE, "reader-small": MODELS, "reader": LARGER}
FILES = {"judge": "support", "reader-small": "reader"}
"""The file of a model that has another name than its configuration."""


def main() -> None:
    """Copy the files and write the manifest last, so that a half-made package does not load."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", choices=list(TARGETS))
    parser.add_argument("--runs", type=Path, default=Path("runs/training"))
    parser.add_argument("--target", type=Path, help="by default the package's own folder")
    options = parser.parse_args()
    target = options.target or TARGETS[options.model]
    name = FILES.get(options.model, options.model)
    chosen = setting(Path(__file__).with_name(f"{options.model.replace('-', '_')}.toml"))
    for suffix in (".onnx", "-parity.json"):
        shutil.copyfile(options.runs / chosen.name / f"{name}{suffix}", target / f"{name}{suffix}")
    manifest = json.loads((target / "manifest.json").read_text(encoding="utf-8"))
    facts = _support(chosen) if name == "support" else _reader(chosen, options.runs / chosen.name)
    manifest["models"][name] = facts
    manifest["files"] = {
        path.name: {"sha256": sha256_file(path), "bytes": path.stat().st_size}
        for path in sorted(target.iterdir())
        if path.suffix in {".onnx", ".json"} and path.name != "manifest.json"
    }
    write_atomic(target / "manifest.json", json.dumps(manifest, indent=1) + "\n")


def _support(chosen: Setting) -> dict[str, Any]:
    plan = chosen.plan
    reading = asdict(Reading(average=plan.average_tokens))
    return {"reading": reading, "layers": plan.layers or 6, "limit": plan.limit, "block": plan.block}


def _reader(chosen: Setting, folder: Path) -> dict[str, Any]:
    fitted = json.loads((folder / "calibration.json").read_text(encoding="utf-8"))
    sure = json.loads((folder / "confidence.json").read_text(encoding="utf-8"))
    told = {name: sure[name] for name in ("weights", "offset", "least_confidence")}
    told["none_threshold"] = fitted["none_threshold"]
    return {"calibration": told, "layers": chosen.plan.layers}


if __name__ == "__main__":
    main()
