r"""Run the stages of a training command side by side within a given time, and bring home the results.

    python -m pagerag_lab.training.together support --config FILE --corpus FILE --base FOLDER --out RUNS \
      --minutes 8.5
    python -m pagerag_lab.training.together support --config FILE --out RUNS --pack FOLDER [--folds]
    python -m pagerag_lab.training.together support --config FILE --out RUNS --unpack FOLDER --corpus FILE

The first trains: one process for each run, all at once on one device, on examples that are packed once for
all (``training.shelf``). ``--pack`` writes what is to be carried away into files of at most 15 MiB: the
averaged network in few bytes, the held-out results and the logs (``--folds``: instead the networks that held
a fold out). ``--unpack`` puts such parts together again and writes int8 files of the networks; given several
folders (a training, and one that went on from it with ``--start``), of the mean of their networks.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tarfile
import time
from collections.abc import Sequence
from pathlib import Path

import torch
from safetensors.torch import load as read_tensors
from safetensors.torch import load_file, save_file

from pagerag_lab.training.common import Setting, log, setting, soup
from pagerag_lab.training.corpus import Corpus, load
from pagerag_lab.training.export import export
from pagerag_lab.training.network import Network, in_few_bytes, network_of, whole
from pagerag_lab.training.stages import EARLIER, finish, samples

__all__ = ["main"]

PART = 15 * 2**20
TOLD = "told.tar.gz"
"""Logs and held-out results, in one file: few files come back from some machines."""
PRETRAIN = {"support": 0.17, "reader": 0.22}
"""The share of the time that pretraining takes."""


def main() -> None:
    """Train, pack or unpack."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("model", choices=["support", "reader"])
    parser.add_argument("--config", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True, help="the folder of the runs")
    parser.add_argument("--minutes", type=float, default=8.5, help="time for everything")
    parser.add_argument("--start", type=Path, help="weights to go on from, in place of pretraining")
    parser.add_argument(
        "--further", type=Path, help="runs to go on from, each from its own weights, which enter its average"
    )
    parser.add_argument(
        "--closing",
        type=float,
        default=50.0,
        help="seconds for what follows the training: predictions for the held-out questions, writing",
    )
    parser.add_argument("--packers", type=int, default=10, help="processes that pack examples for all runs")
    parser.add_argument("--pack", type=Path)
    parser.add_argument("--folds", action="store_true")
    parser.add_argument("--unpack", type=Path, nargs="+", help="what was packed; of several, the mean")
    parser.add_argument("--corpus", type=Path, help="the tokenized corpus that prepare wrote")
    options, rest = parser.parse_known_args()
    chosen = setting(options.config)
    folder = options.out / chosen.name
    if options.unpack is not None:
        unpack(options.unpack, folder)
        write_files(folder, chosen, options.model, load(options.corpus))
    elif options.pack is not None:
        options.pack.mkdir(parents=True, exist_ok=True)
        (pack_folds if options.folds else pack_results)(folder, chosen, options.pack)
    else:
        train(options, rest, chosen, folder)


def write_files(folder: Path, chosen: Setting, model: str, corpus: Corpus) -> None:
    """Write the int8 files of the average and of the networks that held a fold out."""
    plan, shown = chosen.plan, samples(corpus, chosen)

    def network(path: Path) -> Network:
        return network_of(whole(load_file(path)), frame=plan.frame, local=plan.local, marked=plan.marked)

    averaged = folder / "averaged.safetensors"
    if averaged.exists():
        finish(network(averaged), folder, model, shown)
    for path in folder.glob("fold[0-9].safetensors"):
        export(network(path), path.with_suffix(".onnx"), shown)


def train(options: argparse.Namespace, rest: list[str], chosen: Setting, folder: Path) -> None:
    """Start a process for each run and wait for all of them."""
    folder.mkdir(parents=True, exist_ok=True)
    began = time.time()
    until = began + 60 * options.minutes - options.closing
    held = range(chosen.folds) if options.model == "support" else [0]
    if options.start is not None:
        shutil.copyfile(options.start, folder / "pretrain.safetensors")
    if options.further is not None:
        go_on(options.further, folder)
    stages = [] if options.start is not None or options.further is not None else [["pretrain"]]
    for fold in held:
        stages += [[f"fold{fold}-{seed}"] for seed in chosen.fold_seeds]
        stages[-1].append(f"fold{fold}")
    stages += [[f"seed{seed}"] for seed in chosen.seeds]
    given = ["--config", str(options.config), "--out", str(options.out), "--until", str(until), *rest]
    given += ["--corpus", str(options.corpus)]
    given += ["--shelf", str(folder / "shelf")]
    shared = ["--minutes", str(PRETRAIN[options.model] * options.minutes)]
    commands = {}
    for names in stages:
        commands[names[0]] = [options.model, *given, *shared, *(f"--stage={name}" for name in names)]
        commands.setdefault("shelf", ["shelf", *given, "--packers", str(options.packers)])
    running = {}
    for name, (module, *arguments) in commands.items():
        command = [sys.executable, "-m", f"pagerag_lab.training.{module}", *arguments]
        with (folder / f"{name}.log").open("w", encoding="utf-8") as file:
            running[name] = subprocess.Popen(command, stdout=file, stderr=file)
    for name, process in running.items():
        left = began + 60 * options.minutes + 30 - time.time()
        try:
            code: int | None = process.wait(max(1.0, left))
        except subprocess.TimeoutExpired:
            process.kill()
            code = None
        log(f"{name}: exit {code} after {time.time() - began:.0f} s")
        if code:
            text = (folder / f"{name}.log").read_text(encoding="utf-8")
            print(text[-3000:], file=sys.stderr, flush=True)
            if name in {"pretrain", "shelf"}:  # the others wait for its weights, or for examples
                for other in running.values():
                    other.kill()
                raise SystemExit(f"{name} failed")


def go_on(earlier: Path, folder: Path) -> None:
    """Put the networks of earlier runs where the runs of their names go on from them."""
    for path in earlier.glob("fold?-*.safetensors"):
        if not path.stem.endswith(EARLIER):
            shutil.copyfile(path, folder / f"{path.stem}{EARLIER}.safetensors")


def pack_results(folder: Path, chosen: Setting, target: Path) -> None:
    """Write the average of the runs in few bytes, the held-out results and the logs."""
    runs = [f"seed{seed}" for seed in chosen.seeds]
    if chosen.with_folds:
        runs += [path.stem for path in sorted(folder.glob("fold*-*.safetensors"))]
    there = [folder / f"{name}.safetensors" for name in runs if (folder / f"{name}.safetensors").exists()]
    log(f"averaging {[path.stem for path in there]}")
    averaged = soup([load_file(path) for path in there])
    file = folder / "averaged.safetensors"
    save_file(in_few_bytes(averaged), file)
    cut(file, target)
    told = [p for kind in ("oof-*.npz", "*.json", "*.log") for p in sorted(folder.glob(kind))]
    with tarfile.open(target / TOLD, "w:gz") as archive:
        for path in told:
            archive.add(path, path.name)


def pack_folds(folder: Path, chosen: Setting, target: Path) -> None:
    """Write the networks that held a fold out, in few bytes."""
    for fold in range(chosen.folds):
        states = [load_file(path) for path in sorted(folder.glob(f"fold{fold}-*.safetensors"))]
        if states:
            file = folder / f"fold{fold}.safetensors"
            save_file(in_few_bytes(soup(states)), file)
            cut(file, target)


def cut(path: Path, target: Path) -> None:
    """Write a file in parts that are named by their order."""
    data = path.read_bytes()
    for number, start in enumerate(range(0, len(data), PART)):
        (target / f"{path.name}.{number:02d}").write_bytes(data[start : start + PART])


def unpack(packed: Sequence[Path], folder: Path) -> None:
    """Put files together that were cut, and unpack the results; networks of one name become their mean."""
    folder.mkdir(parents=True, exist_ok=True)
    networks: dict[str, list[dict[str, torch.Tensor]]] = {}
    for parts in packed:
        with tarfile.open(parts / TOLD) as archive:
            archive.extractall(folder, filter="data")
        for first in sorted(parts.glob("*.safetensors.00")):
            pieces = sorted(parts.glob(f"{first.stem}.[0-9][0-9]"))
            networks.setdefault(first.stem, []).append(
                whole(read_tensors(b"".join(piece.read_bytes() for piece in pieces)))
            )
    for name, states in networks.items():
        save_file(in_few_bytes(soup(states)), folder / name)


if __name__ == "__main__":
    main()
