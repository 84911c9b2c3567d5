"""One training run: phases, mixtures, layer-wise learning rates, averaged weights, checkpoints, resume."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, IterableDataset

from pagerag.models.packing import LIMIT, Frame
from pagerag_lab.training.batches import Batch, Chooser, Stream
from pagerag_lab.training.corpus import Corpus, Row
from pagerag_lab.training.losses import LossWeights, total_loss
from pagerag_lab.training.network import Network

__all__ = ["Phase", "Plan", "train"]


@dataclass(frozen=True)
class Phase:
    """Some epochs over one mixture (source name to how often each of its rows is shown per epoch)."""

    name: str
    epochs: int
    rate: float
    mixture: dict[str, float]


@dataclass(frozen=True)
class Plan:
    """Everything that decides a run, but the data."""

    phases: tuple[Phase, ...]
    seed: int = 0
    batch_tokens: int = 8192
    text_cap: int = 96
    paragraph_cap: int = 160
    warmup: float = 0.06
    layer_decay: float = 0.9
    weight_decay: float = 0.01
    average: float = 0.998
    """Decay of the running average of the weights that is kept at the end; 0 keeps the last weights."""
    dropout: float = 0.1
    layers: int | None = None
    """Keep only the first so many layers of the base."""
    local: int = 0
    """So many of them read in blocks of ``block`` tokens, each with the question; the others ``limit``."""
    block: int = 0
    limit: int = LIMIT
    marked: int = 0
    """The last so many layers are for the question and the units' markers alone."""
    average_tokens: int = 80
    """Tokens that the support encoder reads of each unit of a pool of twenty and more, on average."""
    pools: bool = False
    """Whether contexts are pools that the support encoder reads, not contexts of a reader."""
    workers: int = 3
    losses: LossWeights = field(default_factory=LossWeights)

    @property
    def frame(self) -> Frame:
        """How much the encoder reads together."""
        return Frame(self.limit, self.block)

    def stream(self, corpus: Corpus, rows: list[Row], phase: Phase, chooser: Chooser, seed: int) -> Stream:
        """Return the batches of one epoch of a phase."""
        return Stream(
            corpus,
            rows,
            phase.mixture,
            chooser,
            text_cap=self.text_cap,
            paragraph_cap=self.paragraph_cap,
            batch_tokens=self.batch_tokens,
            frame=self.frame,
            pools=self.pools,
            seed=seed,
        )


def groups(network: Network, rate: float, decay: float, weight_decay: float) -> Iterator[dict[str, Any]]:
    """Parameters with smaller steps the nearer they are to the input; heads take the full rate twice."""
    depth = len(network.layers)
    found: dict[tuple[float, bool], list[nn.Parameter]] = {}
    for name, parameter in network.named_parameters():
        if name.startswith("layers."):
            scale = decay ** (depth - 1 - int(name.split(".")[1]))
        else:
            scale = 2.0 if "head" in name or "kind" in name else decay**depth
        found.setdefault((scale, parameter.ndim < 2), []).append(parameter)
    for (scale, plain), parameters in found.items():
        yield {"params": parameters, "lr": rate * scale, "weight_decay": 0.0 if plain else weight_decay}


def train(
    corpus: Corpus,
    rows: list[Row],
    network: Network,
    plan: Plan,
    chooser: Chooser,
    device: torch.device,
    *,
    folder: Path,
    log: Callable[[str], None],
    seconds: float | None = None,
    every: Callable[[Network, str, int], None] | None = None,
    batches: Callable[[Phase], IterableDataset[Batch] | None] = lambda _: None,
) -> Network:
    """Train in place and return the averaged network. A killed run goes on from its last whole epoch.

    With ``seconds`` the run ends then, and its learning rate falls to its end by that time. ``batches``
    may have batches without end for a phase: time alone ends that phase then.
    """
    torch.manual_seed(plan.seed)
    torch.backends.cuda.enable_cudnn_sdp(False)  # it compiles anew for every length of a batch
    workers = plan.workers if device.type == "cuda" else 0
    network.to(device)
    shadow = {k: v.detach().clone() for k, v in network.state_dict().items()}
    folder.mkdir(parents=True, exist_ok=True)
    checkpoint, done = folder / "checkpoint.pt", (0, 0)
    saved: dict[str, Any] | None = None
    if checkpoint.exists():
        saved = torch.load(checkpoint, map_location=device, weights_only=True)
        network.load_state_dict(saved["network"])
        shadow, done = saved["shadow"], (saved["phase"], saved["epoch"])
        log(f"resumed after phase {done[0]}, epoch {done[1]}")
    epochs = sum(phase.epochs for phase in plan.phases)
    for number, phase in enumerate(plan.phases):
        if number < done[0]:
            continue
        if number and plan.average and (number > done[0] or done[1] == 0):
            network.load_state_dict(shadow)
        optimizer = torch.optim.AdamW(
            list(groups(network, phase.rate, plan.layer_decay, plan.weight_decay)),
            betas=(0.9, 0.98),
            fused=device.type == "cuda",
        )
        base = [g["lr"] for g in optimizer.param_groups]
        shown = sum(phase.mixture.get(r.source, 0.0) for r in rows)
        first = done[1] if number == done[0] else 0
        if saved is not None and first and "optimizer" in saved:
            optimizer.load_state_dict(saved["optimizer"])
        progress, steps = first * shown, 0
        total = max(1.0, shown * phase.epochs)
        opened, given = time.monotonic(), None if seconds is None else seconds * phase.epochs / epochs
        for epoch in range(first, phase.epochs):
            began, losses, part = time.monotonic(), [], 0.0
            endless = batches(phase)
            seed = plan.seed * 1000 + number * 100 + epoch
            stream = endless or plan.stream(corpus, rows, phase, chooser, seed)
            loader = DataLoader(
                stream,
                batch_size=None,
                num_workers=min(workers, 2) if endless else workers,
                prefetch_factor=8 if workers else None,
                pin_memory=device.type == "cuda",
            )
            network.train()
            for batch in loader:
                progress += len(batch.ids)
                part = _part_done(0.0 if endless else progress / total, opened, given)
                if given is not None and part >= 1:
                    break
                _set_rates(optimizer, base, _schedule(part, plan.warmup))
                losses.append(_step(network, optimizer, batch.to(device), plan, device))
                steps += 1
                _average(shadow, network, min(plan.average, (steps + 1) / (steps + 10)))
            mean = torch.stack(losses).mean().item() if losses else math.nan
            log(
                json.dumps(
                    {
                        "phase": phase.name,
                        "epoch": epoch + 1,
                        "loss": round(mean, 4),
                        "steps": len(losses),
                        "seconds": round(time.monotonic() - began, 1),
                    }
                )
            )
            if device.type != "cuda" or epoch % 4 == 3:
                _save(checkpoint, network, shadow, optimizer, number, epoch + 1)
            if every is not None:
                every(network, phase.name, epoch + 1)
            if given is not None and part >= 1:
                log(f"{phase.name}: ended by time")
                break
        _save(checkpoint, network, shadow, None, number + 1, 0)
    network.load_state_dict(shadow if plan.average else network.state_dict())
    return network.eval()


def _part_done(seen: float, opened: float, given: float | None) -> float:
    """Return the part of a phase that is over, by what was seen or by time, whichever is further."""
    return seen if given is None else max(seen, (time.monotonic() - opened) / given)


def _set_rates(optimizer: torch.optim.Optimizer, base: list[float], factor: float) -> None:
    for group, rate in zip(optimizer.param_groups, base, strict=True):
        group["lr"] = rate * factor


def _schedule(done: float, warmup: float) -> float:
    return min(1.0, done / warmup) if done < warmup else max(0.02, (1 - done) / (1 - warmup))


def _step(
    network: Network, optimizer: torch.optim.Optimizer, batch: Any, plan: Plan, device: torch.device
) -> Tensor:
    with torch.autocast(device.type, torch.bfloat16, enabled=device.type == "cuda"):
        tokens, kinds = network(batch.ids, batch.types)
    loss = total_loss(tokens, kinds, batch, plan.losses)
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    nn.utils.clip_grad_norm_(network.parameters(), 1.0)
    optimizer.step()
    return loss.detach()


@torch.no_grad()
def _average(shadow: dict[str, Tensor], network: Network, decay: float) -> None:
    state = network.state_dict()
    names = list(shadow)
    torch._foreach_lerp_([shadow[n] for n in names], [state[n] for n in names], 1 - decay)


def _save(
    path: Path,
    network: Network,
    shadow: dict[str, Tensor],
    optimizer: torch.optim.Optimizer | None,
    phase: int,
    epoch: int,
) -> None:
    state = {"network": network.state_dict(), "shadow": shadow, "phase": phase, "epoch": epoch}
    if optimizer is not None:
        state["optimizer"] = optimizer.state_dict()
    part = path.with_suffix(".part")
    torch.save(state, part)
    part.replace(path)
