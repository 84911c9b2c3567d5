r"""Run the stages of a training command side by side within a given time, and bring home the results.

    python -m pagerag_lab.training.together support --config FILE --corpus FILE --base FOLDER --out RUNS \
      --minutes 8.5
    python -m pagerag_lab.training.together support --config FILE --out RUNS --pack FOLDER [--folds]
    python -m pagerag_lab.training.together support --config FILE --out RUNS --unpack FOLDER

The first trains: one process for each run, all at once on one device, on examples that are packed once for
all (``training.shelf``). ``--pack`` writes what is to be carried away into files of at most 15 MiB: the
averaged network in float16, the held-out results and the logs (``--folds``: instead the networks that held
a fold out, as int8 files). ``--unpack`` puts such parts together again and writes the model's file.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tarfile
import time
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file

from pagerag_lab.training.common import Setting, log, new_network, setting, soup
from pagerag_lab.training.export import export
from pagerag_lab.training.network import Network
from pagerag_lab.training.stages import finish

__all__ = ["main"]

PART = 15 * 2**20
TOLD = "told.tar.gz"
"""Logs and held-out results, in one file: few files come back from some machines."""
PRETRAIN = {"support": 0.17, "reader": 0.22}
"""The share of the time that pretraining takes."""
CLOSING = 50.0
"""Seconds for what follows the training: predictions for the held-out questions, writing."""


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
    parser.add_argument("--packers", type=int, default=10, help="processes that pack examples for all runs")
    parser.add_argument("--pack", type=Path)
    parser.add_argument("--folds", action="store_true")
    parser.add_argument("--unpack", type=Path)
    options, rest = parser.parse_known_args()
    chosen = setting(options.config)
    folder = options.out / chosen.name
    if options.unpack is not None:
        unpack(options.unpack, folder)
        averaged = folder / "averaged.safetensors"
        if averaged.exists():
            network = Network(
                layers=chosen.plan.layers or 6,
                frame=chosen.plan.frame,
                local=chosen.plan.local,
                marked=chosen.plan.marked,
            ).eval()
            network.load_state_dict({k: v.to(torch.float32) for k, v in load_file(averaged).items()})
            finish(network, folder, options.model)
    elif options.pack is not None:
        options.pack.mkdir(parents=True, exist_ok=True)
        (pack_folds if options.folds else pack_results)(folder, chosen, options.pack, rest)
    else:
        train(options, rest, chosen, folder)


def train(options: argparse.Namespace, rest: list[str], chosen: Setting, folder: Path) -> None:
    """Start a process for each run and wait for all of them."""
    folder.mkdir(parents=True, exist_ok=True)
    began = time.time()
    until = began + 60 * options.minutes - CLOSING
    held = range(chosen.folds) if options.model == "support" else [0]
    if options.start is not None:
        shutil.copyfile(options.start, folder / "pretrain.safetensors")
    stages = [] if options.start is not None else [["pretrain"]]
    for fold in held:
        stages += [[f"fold{fold}-{seed}"] for seed in chosen.fold_seeds]
        stages[-1].append(f"fold{fold}")
    stages += [[f"seed{seed}"] for seed in chosen.seeds]
    given = ["--config", str(options.config), "--out", str(options.out), "--until", str(until), *rest]
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


def pack_results(folder: Path, chosen: Setting, target: Path, _: list[str]) -> None:
    """Write the average of the runs in float16, the held-out results and the logs."""
    runs = [f"seed{seed}" for seed in chosen.seeds]
    if chosen.with_folds:
        runs += [path.stem for path in sorted(folder.glob("fold*-*.safetensors"))]
    there = [folder / f"{name}.safetensors" for name in runs if (folder / f"{name}.safetensors").exists()]
    log(f"averaging {[path.stem for path in there]}")
    averaged = soup([load_file(path) for path in there])
    whole = folder / "averaged.safetensors"
    save_file({k: v.half().contiguous() for k, v in averaged.items()}, whole)
    cut(whole, target)
    told = [p for kind in ("oof-*.npz", "*.json", "*.log") for p in sorted(folder.glob(kind))]
    with tarfile.open(target / TOLD, "w:gz") as archive:
        for path in told:
            archive.add(path, path.name)


def pack_folds(folder: Path, chosen: Setting, target: Path, rest: list[str]) -> None:
    """Write the networks that held a fold out, ready to run."""
    base = Path(rest[rest.index("--base") + 1])
    for fold in range(chosen.folds):
        states = [load_file(path) for path in sorted(folder.glob(f"fold{fold}-*.safetensors"))]
        if states:
            network = new_network(base, chosen.plan).eval()
            network.load_state_dict(soup(states))
            cut(export(network, folder / f"fold{fold}.onnx"), target)


def cut(path: Path, target: Path) -> None:
    """Write a file in parts that are named by their order."""
    data = path.read_bytes()
    for number, start in enumerate(range(0, len(data), PART)):
        (target / f"{path.name}.{number:02d}").write_bytes(data[start : start + PART])


def unpack(parts: Path, folder: Path) -> None:
    """Put files together that were cut, and copy the others."""
    folder.mkdir(parents=True, exist_ok=True)
    for path in sorted(parts.iterdir()):
        name, _, number = path.name.rpartition(".")
        if path.name == TOLD:
            with tarfile.open(path) as archive:
                archive.extractall(folder, filter="data")
        elif not number.isdigit():
            shutil.copyfile(path, folder / path.name)
        elif number == "00":
            pieces = sorted(parts.glob(f"{name}.[0-9][0-9]"))
            (folder / name).write_bytes(b"".join(piece.read_bytes() for piece in pieces))


if __name__ == "__main__":
    main()
