"""The stages of a training command: each leaves a file, and a stage whose file is there is not run again.

So a killed command goes on where it stopped, and stages may run side by side as separate processes.
"""

from __future__ import annotations

import json
import time
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import load_file, save_file

from pagerag._files import sha256_file, write_atomic
from training.common import Setting, log, soup
from training.export import export
from training.network import Network, load_base

__all__ = ["finish", "keep", "wait_for"]

PARITY_SEED = 11


def keep(network: Network, path: Path) -> None:
    """Save a network's weights; the file is whole or absent."""
    part = path.with_suffix(".part")
    save_file({k: v.detach().cpu().contiguous() for k, v in network.state_dict().items()}, part)
    part.replace(path)


def wait_for(path: Path, seconds: float = 1800) -> Path:
    """The file, once another process has made it."""
    deadline = time.monotonic() + seconds
    while not path.exists():
        if time.monotonic() > deadline:
            raise SystemExit(f"{path} did not appear within {seconds:.0f} s; run the stage that makes it")
        time.sleep(0.5)
    return path


def finish(chosen: Setting, base: Path, folder: Path, name: str) -> Network:
    """Average the seeds, write the int8 file and what the framework answers on fixed inputs."""
    states = [load_file(folder / f"seed-{seed}.safetensors") for seed in chosen.seeds]
    network = load_base(base / "model.safetensors", layers=chosen.plan.layers).eval()
    network.load_state_dict(soup(states))
    keep(network, folder / f"{name}.safetensors")
    file = export(network, folder / f"{name}.onnx")
    log(f"{file}: {file.stat().st_size / 1e6:.1f} MB, sha256 {sha256_file(file)}")
    write_atomic(folder / f"{name}-parity.json", json.dumps(parity(network)))
    return network


@torch.inference_mode()
def parity(network: Network) -> dict[str, object]:
    """Inputs by seed and the float32 network's outputs, for the test of the shipped file."""
    rng = np.random.default_rng(PARITY_SEED)
    cases = []
    for length in (12, 57, 200, 600):
        ids = rng.integers(1996, 20000, (1, length))
        ids[0, 0], ids[0, length // 5] = 101, 102
        types = (np.arange(length) > length // 5).astype(np.int64)[None]
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
