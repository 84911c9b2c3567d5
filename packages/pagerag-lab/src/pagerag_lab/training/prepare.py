"""Put all that a training run needs into one folder, for a machine that has torch and its friends alone.

    python -m pagerag_lab.training.prepare support --config FILE --data DATA --pools POOLS --out FOLDER

The folder holds the code, the tokenized corpus, the base's weights in few bytes and two scripts: ``train.sh
TARGET`` trains and leaves the results in TARGET, ``folds.sh TARGET`` then leaves the networks that held a
fold out. The machine needs torch, safetensors, tokenizers, onnx and onnxruntime.
"""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path

from safetensors.torch import load_file, save_file

import pagerag
import pagerag_lab
from pagerag_lab.training.base import small
from pagerag_lab.training.common import base_folder, log, setting
from pagerag_lab.training.corpus import build
from pagerag_lab.training.network import in_few_bytes

__all__ = ["main"]

SCRIPT = """\
#!/usr/bin/env bash
# {use}
set -uo pipefail
cd "$(dirname "${{BASH_SOURCE[0]}}")"
export PYTHONPATH="$PWD/code" PYTHONUNBUFFERED=1 OMP_NUM_THREADS=2 TOKENIZERS_PARALLELISM=false
PYTHON="${{PYTHON:-$(command -v python || command -v python3)}}"
together() {{
  "$PYTHON" -m pagerag_lab.training.together {model} --config {model}.toml --out "$RUNS" --base base "$@"
}}
RUNS="${{RUNS:-/tmp/pagerag-runs}}"
{lines}
"""


def main() -> None:
    """Write the folder."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("model", choices=["support", "reader"])
    parser.add_argument("--config", type=Path, required=True)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--pools", type=Path, required=True)
    parser.add_argument("--base", type=Path)
    parser.add_argument("--start", type=Path, help="weights to go on from, in place of pretraining")
    parser.add_argument("--cache", type=Path, default=Path("runs/training/cache"))
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--minutes", type=float, default=8.3, help="time for the training")
    options = parser.parse_args()
    chosen, base = setting(options.config), base_folder(options.base)
    (options.out / "base").mkdir(parents=True, exist_ok=True)
    build(options.data, base / "tokenizer.json", chosen.recipe, options.cache, options.pools)
    newest = max(options.cache.glob("corpus-*.xz"), key=lambda path: path.stat().st_mtime)
    shutil.copyfile(newest, options.out / "corpus.xz")
    state = small(load_file(base / "model.safetensors"), chosen.plan.layers)
    save_file(state, options.out / "base/model.safetensors")
    if options.start is not None:
        save_file(in_few_bytes(load_file(options.start)), options.out / "start.safetensors")
    shutil.copyfile(base / "tokenizer.json", options.out / "base/tokenizer.json")
    shutil.copyfile(options.config, options.out / f"{options.model}.toml")
    shutil.rmtree(options.out / "code", ignore_errors=True)
    skipped = shutil.ignore_patterns("__pycache__", "*.npz", "*.html", "*.js", "*.css", "*.svg")
    shutil.copytree(Path(pagerag.__file__).parent, options.out / "code/pagerag", ignore=skipped)
    lab = Path(pagerag_lab.__file__).parent
    shutil.copytree(lab, options.out / "code/pagerag_lab", ignore=skipped)
    start = "--start start.safetensors " if options.start is not None else ""
    train = [
        f'together --corpus corpus.xz --minutes "${{MINUTES:-{options.minutes}}}" {start}$MORE',
        'together --pack "$1"',
    ]
    if options.model == "reader":
        train.append('together --pack "$1" --folds')
    scripts = {
        "train.sh": ("Trains; the results lie in the folder that is the first argument.", train),
        "folds.sh": ("After train.sh: the networks that held a fold out.", ['together --pack "$1" --folds']),
    }
    for name, (use, lines) in scripts.items():
        text = SCRIPT.format(use=use, model=options.model, lines="\n".join(lines))
        (options.out / name).write_text(text.replace("$MORE", "${MORE:-}"), encoding="utf-8")
    size = sum(path.stat().st_size for path in options.out.rglob("*") if path.is_file())
    log(f"{options.out}: {size / 2**20:.1f} MiB")


if __name__ == "__main__":
    main()
