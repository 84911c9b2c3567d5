"""Do what ``pagerag tune`` says: read pools of train questions, fit, write files with their origin."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pagerag import __version__
from pagerag.cli.console import UsageError
from pagerag.errors import FormatError
from pagerag.promotion.joining import Joins
from pagerag.promotion.learned import LearnedModel
from pagerag.promotion.promoter import Promoter
from pagerag.promotion.weights import Weights
from pagerag.protocols import Encoder
from pagerag.retrieve.encoders import encoder
from pagerag.units import Mode, SupportKind
from pagerag_lab.product import sha256_file, write_atomic
from pagerag_lab.tune.boosting import scaled
from pagerag_lab.tune.labelled import FILES, read_pools
from pagerag_lab.tune.labelled import LabelledPool as TrainPool
from pagerag_lab.tune.learned import train
from pagerag_lab.tune.pool_features import Settings, read_rows, with_signals
from pagerag_lab.tune.pools import TRAIN_FILES, LabelledPool, labelled_pools
from pagerag_lab.tune.verdict import cuts, slope_on_unseen_sets
from pagerag_lab.tune.weights import tune_weights

__all__ = ["SIGNALS", "tune"]

SIGNALS = ("support", "bearing")
"""What our support encoder says of a unit (``pagerag.models``); a third column is of the whole pool."""

JOINS = {
    "sentence": Joins(open=0.1),
    "sentence-support": Joins(open=0.1),
    "sentence-judge": Joins(fact=0.15, open=0.03),
}
"""From which probability on a unit joins a core that is not enough, by the scorer's name.

Chosen with wide/dev in view (docs/evaluation.md).
"""


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
    pools: Path | None,
    support_signals: Path | None,
    signals_of: SupportKind,
    slope: float | None,
    workers: int,
    say: Callable[[str], None],
) -> dict[str, Any]:
    """Fit ``what`` for ``mode`` and write it to ``out``; returns the cross-validated figures.

    The weights are fitted on the benchmarks' train files under ``data``; the learned scorer on the ``pools``
    that ``pagerag_lab.tune.train_pools`` made, with a support encoder's held-out ``support_signals`` where
    they are given: ``signals_of`` says which encoder's. The
    verdict's ``slope`` is measured on kinds of sets left out, unless it is given.
    """
    if steps < 0:
        raise UsageError(f"--steps is {steps}; it must be 0 (the starting weights as they are) or more")
    if what != "weights" and pools is None:
        raise UsageError(
            "the learned scorer is fitted on pools: make them with python -m pagerag_lab.tune.train_pools, "
            "and name their folder with --pools"
        )
    if slope is not None and not 0 < slope <= 1:
        raise UsageError(f"--slope is {slope}; it must be above 0, and 1 (no change) at most")
    if signals_of != "support" and support_signals is None:
        raise UsageError(f"--signals-of {signals_of} needs the file of signals: --support-signals FILE")
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
    if what == "weights" or pools is None:
        return figures
    family: Mode = "sentence" if mode == "sentence" else "document"
    about["pools"] = {name: sha256_file(pools / f"{name}.jsonl.gz") for name in FILES}
    promoter = Promoter(weights, strategy="formula")
    settings = Settings()
    train_pools = read_pools(pools, family, model)[:limit]
    say(f"{len(train_pools)} pools")
    rows = read_rows(train_pools, settings, promoter, say, workers)
    if what == "slope":
        figures["slope"] = slope_on_unseen_sets(rows, settings, say)
        _with_slope(family, figures["slope"], settings, out, None)
        _with_slope(family, figures["slope"], settings, out, "support")
        return figures
    signals: tuple[str, ...] = ()
    if support_signals is not None:
        known = _signals(support_signals)
        rows = [row for row in rows if _fits(known, row.item)]
        with_signals(rows, lambda item: known[item.id])
        signals = SIGNALS
    trained = train(rows, settings, promoter, say, about, signals, slope)
    name = f"{family}-{signals_of}" if signals else family
    fitted = replace(trained.model, joins=JOINS.get(name, Joins()))
    if name == "sentence-judge":
        fitted = replace(fitted, share=settings.share)
    fitted.save(out / f"learned-{name}.npz")
    unseen = {pool: asdict(found) for pool, found in trained.unseen.items()}
    told = {"enough": fitted.enough, "some": fitted.some, "pools": unseen}
    write_atomic(out / f"unseen-{name}.json", json.dumps(told))
    figures["learned"] = trained.figures
    return figures


def _with_slope(
    family: Mode, slope: float, settings: Settings, out: Path, support: SupportKind | None
) -> None:
    """Write the shipped model with another slope of its verdict."""
    shipped = LearnedModel.shipped(family, support=support)
    if shipped is None:
        return
    trees = scaled(shipped.sufficiency, slope / shipped.about.get("slope", 1.0))
    enough, some = cuts(settings, slope)
    about = {**shipped.about, "slope": slope}
    path = out / f"learned-{family}{f'-{support}' if support else ''}.npz"
    replace(shipped, sufficiency=trees, enough=enough, some=some, about=about).save(path)


def _signals(path: Path) -> dict[str, NDArray[np.float32]]:
    """Return the held-out signals that ``pagerag_lab.training.signals`` wrote, by pool, three columns."""
    try:
        with np.load(path, allow_pickle=False) as held:
            ids, lengths = json.loads(held["ids"].tobytes()), held["lengths"]
            complete = 1.0 - held["none"].astype(np.float32).repeat(lengths)[:, None]
            table = np.concatenate([held["signals"].astype(np.float32), complete], axis=1)
            parts = np.split(table, np.cumsum(lengths)[:-1])
    except (OSError, KeyError, ValueError) as broken:
        raise FormatError(f"not a file of support signals ({broken})", file=path) from broken
    return dict(zip(ids, parts, strict=True))


def _fits(known: dict[str, NDArray[np.float32]], item: TrainPool) -> bool:
    """Tell whether a pool has signals for each of its units."""
    return item.id in known and len(known[item.id]) == len(item.pool.candidates)


def _items(
    data: Path, model: Encoder, mode: Mode, limit: int | None, say: Callable[[str], None]
) -> list[LabelledPool]:
    """Return the train pools of ``mode``: MuSiQue's gold is paragraphs, so it has none of sentences."""
    say(f"pools for {mode} mode")
    found = [item for item in labelled_pools(data, model, mode, limit=limit) if item.mode == mode]
    say(f"{len(found)} pools")
    return found
