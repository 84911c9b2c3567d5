"""Search for the formula's weights: random perturbation, kept when the core's Sup F1 rises."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import fields
from importlib.resources import files
from typing import Any

import numpy as np

from pagerag.promotion.candidates import as_candidates
from pagerag.promotion.evidence import Evidence
from pagerag.promotion.promoter import Promoter
from pagerag.promotion.strategy import FormulaStrategy
from pagerag.promotion.weights import Weights
from pagerag.units import Mode
from pagerag_lab.tune.pools import LabelledPool

__all__ = ["tune_weights"]

_PER_DATASET = 240
# signals that the train pools do not have, and the threshold of "insufficient", on which F1 does not depend
_FIXED = {"w_vec", "w_sup", "rel_spec", "rel_hub", "some"}


def tune_weights(
    items: Sequence[LabelledPool],
    mode: Mode,
    *,
    steps: int,
    seed: int,
    say: Callable[[str], None],
    k: int = 5,
) -> tuple[Weights, dict[str, Any]]:
    """Return the best weights of ``steps`` steps, and their Sup F1 on questions searched and held out."""
    rng = np.random.default_rng(seed)
    promoter = Promoter(Weights(), strategy="formula")
    search, held = [], []
    for name in sorted({item.dataset for item in items}):
        group = [item for item in items if item.dataset == name]
        order = rng.permutation(len(group))
        search += [_read(promoter, group[i], mode) for i in order[: min(_PER_DATASET, len(group) * 2 // 3)]]
        held += [
            _read(promoter, group[i], mode)
            for i in order[min(_PER_DATASET, len(group) * 2 // 3) :][:_PER_DATASET]
        ]
    best = _start(mode)
    value = _objective(search, best, mode, k)
    say(f"start: {value:.2f}")
    names = [item for item in fields(Weights) if item.name not in _FIXED]
    for step in range(steps):
        scale = 0.35 * (1.0 - step / steps) + 0.04
        chosen = rng.choice(len(names), size=int(rng.integers(1, 6)), replace=False)
        changes = {}
        for index in chosen:
            low, high = names[index].metadata["low"], min(names[index].metadata["high"], 2.0)
            moved = getattr(best, names[index].name) + rng.normal() * scale * (high - low) * 0.5
            changes[names[index].name] = round(float(np.clip(moved, low, high)), 4)
        trial = best.but(**changes)
        found = _objective(search, trial, mode, k)
        if found > value:
            best, value = trial, found
            say(f"step {step + 1}/{steps}: {value:.2f} ({', '.join(sorted(changes))})")
    figures = {"search": round(value, 2), "held_out": round(_objective(held, best, mode, k), 2)}
    figures |= {f"n_{name}": len(group) for name, group in (("search", search), ("held_out", held))}
    return best, figures


def _start(mode: Mode) -> Weights:
    """Return where an earlier, longer search on the train files ended, or the defaults.

    A search by chance steps from far away gets stuck. For paragraphs the earlier search's end is what ships.
    """
    if mode == "paragraph":
        return Weights.shipped(mode)
    file = files("pagerag_lab.tune") / "data" / f"start-{mode}.json"
    return Weights.from_dict(json.loads(file.read_text(encoding="utf-8"))) if file.is_file() else Weights()


def _read(promoter: Promoter, item: LabelledPool, mode: Mode) -> tuple[LabelledPool, Evidence]:
    return item, promoter.evidence(item.pool.question, as_candidates(item.pool), mode)


def _objective(rows: Sequence[tuple[LabelledPool, Evidence]], w: Weights, mode: Mode, k: int) -> float:
    """Average core Sup F1 over datasets, with a fifth of the filled one so that ranking counts."""
    by_dataset: dict[str, list[float]] = {}
    strategy = FormulaStrategy()
    for item, evidence in rows:
        trial = Evidence(evidence.reading, evidence.signals, w, mode)
        judgement = strategy.judge(trial, lambda units: len(units) <= k)
        gold, total = item.gold, item.total
        core = list(judgement.core)
        rest = [i for i in np.argsort(-judgement.scores, kind="stable").tolist() if i not in core]
        filled = (core + rest)[:k]
        f1 = 2 * gold[core].sum() / (len(core) + total)
        f1 += 0.2 * 2 * gold[filled].sum() / (len(filled) + total)
        by_dataset.setdefault(item.dataset, []).append(f1 / 1.2)
    return 100 * float(np.mean([np.mean(values) for values in by_dataset.values()]))
