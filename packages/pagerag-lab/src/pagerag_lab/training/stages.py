"""The stages of a training command: each leaves a file, and a stage whose file is there is not run again.

So a killed command goes on where it stopped, and stages may run side by side as separate processes:
``pretrain``; ``fold0-0``, ... (a network that has not seen the fold, by seed); ``fold0``, ... (what the
model's ``held_out`` makes of the average of those); ``seed0``, ...; ``finish`` (average, int8, parity).
"""

from __future__ import annotations

import argparse
import json
import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import load_file, save_file

from pagerag.models.packing import CLS, MARKER, SEP, block_count
from pagerag_lab.product import sha256_file, write_atomic
from pagerag_lab.training.common import CHOOSERS, Setting, fit, log, new_network, open_corpus, setting, soup
from pagerag_lab.training.corpus import Corpus
from pagerag_lab.training.export import Sample, export
from pagerag_lab.training.network import Network

__all__ = ["EARLIER", "HeldOut", "Task", "finish", "run", "samples"]


@dataclass(frozen=True, slots=True)
class Task:
    """What a command works on."""

    options: argparse.Namespace
    chosen: Setting
    corpus: Corpus
    base: Path


HeldOut = Callable[[Network, Task, int, Path], None]
"""Takes a network, the task, the fold that the network has not seen, and the file to write."""

EARLIER = "-earlier"
"""Behind the name of a run: the weights that it goes on from, in place of those of ``pretrain``."""
PARITY_SEED = 11
PARITY_UNIT = 30
"""Tokens from one marker to the next in the fixed inputs."""
SAMPLES = 64
"""Sequences that show the export which inputs of a matrix are loud."""


def keep(network: Network, path: Path) -> None:
    """Save a network's weights; the file is whole or absent."""
    part = path.with_suffix(".part")
    save_file({k: v.detach().cpu().contiguous() for k, v in network.state_dict().items()}, part)
    part.replace(path)


def wait_for(path: Path, seconds: float = 1800) -> Path:
    """Return the file, once another process has made it."""
    deadline = time.monotonic() + seconds
    while not path.exists():
        if time.monotonic() > deadline:
            raise SystemExit(f"{path} did not appear within {seconds:.0f} s; run the stage that makes it")
        time.sleep(0.5)
    return path


def run(
    parser: argparse.ArgumentParser, name: str, folds: Sequence[int] | None, output: str, held_out: HeldOut
) -> None:
    """Return the command of a model: every stage that is missing, or those that ``--stage`` names.

    ``folds`` (by default all) are held out one by one; ``output`` names the file that ``held_out`` writes,
    ``{}`` the fold.
    """
    parser.add_argument(
        "--stage", action="append", help="pretrain, fold0-0, ..., fold0, ..., seed0, ..., finish"
    )
    options = parser.parse_args()
    chosen = setting(options.config)
    folder = options.out / chosen.name
    folder.mkdir(parents=True, exist_ok=True)
    # The fold that a run does not see (or none) and its seed; the fold whose runs a stage averages.
    runs: dict[str, tuple[int | None, int]] = {"pretrain": (None, (chosen.seeds or chosen.fold_seeds)[0])}
    held: dict[str, int] = {}
    for fold in range(chosen.folds) if folds is None else folds:
        runs |= {f"fold{fold}-{seed}": (fold, seed) for seed in chosen.fold_seeds}
        held[f"fold{fold}"] = fold
    runs |= {f"seed{seed}": (None, seed) for seed in chosen.seeds}
    every = [*runs, *held, "finish"]
    unknown = set(options.stage or []) - set(every)
    if unknown:
        raise SystemExit(f"there is no stage {', '.join(sorted(unknown))}; the stages are {', '.join(every)}")
    packs = options.shelf is None or "pretrain" in (options.stage or every)
    corpus, base = open_corpus(options, chosen, ranked=packs)
    task = Task(options, chosen, corpus, base)
    for stage in options.stage or every:
        file = folder / (output.format(held[stage]) if stage in held else f"{stage}.safetensors")
        if stage == "finish":
            own = [f"seed{seed}" for seed in chosen.seeds]
            if chosen.with_folds:
                own += [one for one, (fold, _) in runs.items() if fold is not None]
            finish(_averaged(task, folder, own), folder, name, samples(corpus, chosen))
        elif file.exists():
            log(f"{file} is there")
        elif stage in held:
            own = [one for one, (fold, _) in runs.items() if fold == held[stage]]
            own += [one + EARLIER for one in own if (folder / f"{one}{EARLIER}.safetensors").exists()]
            held_out(_averaged(task, folder, own).to(options.device), task, held[stage], file)
        else:
            left_out, seed = runs[stage]
            keep(_trained(task, folder, stage, fold=left_out, seed=seed), file)


def _averaged(task: Task, folder: Path, names: Sequence[str]) -> Network:
    """Return the network whose weights are the mean of these stages', once they are there."""
    states = [load_file(wait_for(folder / f"{name}.safetensors")) for name in names]
    network = new_network(task.base, task.chosen.plan).eval()
    network.load_state_dict(soup(states))
    return network


def _trained(task: Task, folder: Path, stage: str, *, fold: int | None, seed: int) -> Network:
    """Return the phase pretrain alone, or the others from its weights."""
    names = tuple(phase.name for phase in task.chosen.plan.phases)
    first = stage == "pretrain"
    earlier = folder / f"{stage}{EARLIER}.safetensors"
    start = earlier if earlier.exists() else folder / "pretrain.safetensors"
    return fit(
        task.options,
        task.chosen,
        task.corpus,
        task.base,
        fold=fold,
        seed=seed,
        folder=folder / stage,
        start=None if first else wait_for(start),
        phases=("pretrain",) if first else tuple(n for n in names if n != "pretrain"),
    )


def samples(corpus: Corpus, chosen: Setting) -> list[Sample]:
    """Draw a few sequences as the last phase shows them; of those that read in blocks none are needed."""
    plan = chosen.plan
    if plan.local:
        return []
    stream = plan.stream(corpus, corpus.rows, plan.phases[-1], CHOOSERS[chosen.chooser], PARITY_SEED)
    rng = random.Random(PARITY_SEED)
    drawn = stream.draw(range(len(corpus.rows)), rng)[:SAMPLES]
    items = [stream.item(corpus.rows[row], rng) for row in drawn]
    return [(list(item.ids), list(item.types)) for item in items]


def finish(network: Network, folder: Path, name: str, shown: Sequence[Sample] = ()) -> None:
    """Write the int8 file and what the framework answers on fixed inputs."""
    keep(network, folder / f"{name}.safetensors")
    file = export(network, folder / f"{name}.onnx", shown)
    log(f"{file}: {file.stat().st_size / 1e6:.1f} MB, sha256 {sha256_file(file)}")
    write_atomic(folder / f"{name}-parity.json", json.dumps(parity(network)))


@torch.inference_mode()
def parity(network: Network) -> dict[str, object]:
    """Return inputs by seed and the float32 network's outputs, for the test of the shipped file."""
    rng = np.random.default_rng(PARITY_SEED)
    cases = []
    for wanted in (12, 57, 200, 600):
        asked = wanted // 5 + 1
        length = wanted + -(wanted - asked) % block_count(wanted - asked, network.block)
        ids = rng.integers(1996, 20000, (1, length))
        ids[0, 0], ids[0, asked - 1] = CLS, SEP
        ids[0, asked::PARITY_UNIT] = MARKER
        types = (np.arange(length) >= asked).astype(np.int64)[None]
        tokens, kinds = network.cpu().float()(torch.from_numpy(ids), torch.from_numpy(types))
        cases.append(
            {
                "ids": ids[0].tolist(),
                "types": types[0].tolist(),
                "tokens": np.round(tokens[0].numpy(), 4).tolist(),
                "kinds": np.round(kinds[0].numpy(), 4).tolist(),
            }
        )
    return {"cases": cases}
