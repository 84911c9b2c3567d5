"""What ``pagerag tune`` does: pools from the train files, a fit, files with how they were made."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pagerag import __version__
from pagerag._files import sha256_file, write_atomic
from pagerag.errors import InputError
from pagerag.promotion.promoter import Promoter
from pagerag.promotion.weights import Weights
from pagerag.protocols import Encoder
from pagerag.retrieve.encoders import encoder
from pagerag.units import Mode
from pagerag_lab.tune.learned import Settings, train
from pagerag_lab.tune.pools import TRAIN_FILES, LabelledPool, labelled_pools
from pagerag_lab.tune.support import StoredSupport
from pagerag_lab.tune.weights import tune_weights

__all__ = ["SIGNALS", "tune"]

WITH_SUPPORT = {"sentence": 3, "document": 1}
"""Models that are averaged behind a support encoder: in document mode more of them were no better on train."""
SIGNALS = ("support", "bearing")
"""What our support encoder says of a unit (``pagerag.models``)."""


def tune(
    *,
    data: Path,
    mode: Mode,
    what: str,
    encoder_name: str,
    out: Path,
    limit: int | None,
    steps: int,
    seed: int,
    support_scores: Path | None,
    say: Callable[[str], None],
) -> dict[str, Any]:
    """Fit ``what`` for ``mode`` and write it to ``out``; returns the cross-validated figures."""
    if steps < 0:
        raise InputError(f"--steps is {steps}; it must be 0 (the starting weights as they are) or more")
    out.mkdir(parents=True, exist_ok=True)
    model = encoder(encoder_name, cache=True)
    about = {
        "pagerag": __version__,
        "encoder": model.name,
        "mode": mode,
        "seed": seed,
        "limit": limit,
        "data": {file: sha256_file(data / file) for _, file, _ in TRAIN_FILES if (data / file).exists()},
    }
    figures: dict[str, Any] = {}
    weights: Weights | None = None
    if what in {"weights", "all"}:
        items = _items(data, model, mode, limit, say)
        weights, found = tune_weights(items, mode, steps=steps, seed=seed, say=say)
        body = {"_about": {**about, "figures": found, "steps": steps}, **weights.to_dict()}
        write_atomic(out / f"weights-{mode}.json", json.dumps(body, indent=2) + "\n")
        figures["weights"] = found
    if what in {"learned", "all"}:
        family: Mode = "sentence" if mode == "sentence" else "document"
        items = _items(data, model, family, limit, say)
        support = None
        if support_scores is not None:
            texts = {item.question: item.pool.question for item in items}
            support = StoredSupport.load(support_scores, texts, SIGNALS)
        promoter = Promoter(weights, support=support, strategy="formula")
        settings = Settings(seed=seed)
        if support is not None:  # the encoder takes so long that more trees are not felt
            settings = settings.averaged(WITH_SUPPORT[family])
        trained = train(items, settings, promoter, say, about)
        name = f"learned-{family}{'-support' if support is not None else ''}.npz"
        trained.model.save(out / name)
        figures["learned"] = trained.figures
    return figures


def _items(
    data: Path, model: Encoder, mode: Mode, limit: int | None, say: Callable[[str], None]
) -> list[LabelledPool]:
    """The train pools of ``mode``: MuSiQue's gold is paragraphs, so it has none of sentences."""
    say(f"pools for {mode} mode")
    found = [item for item in labelled_pools(data, model, mode, limit=limit) if item.mode == mode]
    say(f"{len(found)} pools")
    return found
