"""Train the learned scorer.

Two rounds of boosted trees, then the set's size, then the verdict on sufficiency.

Everything a later stage learns from is out of fold: no question's scores come from a model that saw it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pagerag.promotion.features import AGGREGATED, FEATURES
from pagerag.promotion.learned import LearnedModel
from pagerag.promotion.promoter import Promoter
from pagerag_lab.metrics.calibration import calibration_error, reliability_bins
from pagerag_lab.tune.boosting import boost, scaled, to_trees
from pagerag_lab.tune.held_out import HeldOut, fit, fit_next, hold_out
from pagerag_lab.tune.pool_features import Floats, ReadPool, Say, Settings
from pagerag_lab.tune.sizes import fit_size
from pagerag_lab.tune.verdict import (
    VerdictTable,
    cuts,
    flattened,
    judge_unseen,
    slope_on_unseen_sets,
    verdict_figures,
    verdict_table,
)

__all__ = ["CrossValidated", "Trained", "cross_validate", "train"]


@dataclass(frozen=True, slots=True, eq=False)
class Trained:
    """A model and how it did on questions it had not seen."""

    model: LearnedModel
    figures: dict[str, Any]
    unseen: dict[str, Unseen]
    """What models made of each pool (by id) that had not seen its question."""


@dataclass(frozen=True, slots=True)
class Unseen:
    """A promotion by models that had not seen the question: sufficiency, and the ids of core and context."""

    sufficiency: float
    core: list[str]
    context: list[str]


@dataclass(frozen=True, slots=True, eq=False)
class CrossValidated:
    """What every stage made of questions that it had not seen."""

    held: HeldOut
    table: VerdictTable
    judged: Floats  # how likely the evidence is whole
    figures: dict[str, Any]


def cross_validate(rows: Sequence[ReadPool], settings: Settings, say: Say) -> CrossValidated:
    """Judge each pool by models that had not seen its question."""
    held = hold_out(rows, settings, say)
    say("sufficiency")
    table = verdict_table(rows, held, settings)
    judged = judge_unseen(rows, table, settings)
    told = _figures(rows, held) | {"sufficiency": verdict_figures(rows, table, judged, settings)}
    return CrossValidated(held, table, judged, told)


def train(
    rows: Sequence[ReadPool],
    settings: Settings,
    promoter: Promoter,
    say: Say,
    about: dict[str, Any],
    signals: tuple[str, ...],
    slope: float | None = None,
) -> Trained:
    """Fit a model on labelled pools of one mode family; ``slope`` is the verdict's, where it is known."""
    tested = cross_validate(rows, settings, say)
    held, table, figures = tested.held, tested.table, tested.figures
    if slope is None:
        say("the verdict on kinds of questions never seen")
        slope = slope_on_unseen_sets(rows, settings, say)
    enough, some = cuts(settings, slope)
    say("final models on all questions")
    usable = [r for r, row in zip(held.rankings, rows, strict=True) if row.item.gold_ids]
    sample = np.concatenate([row.table for row in rows[::10]])
    model = LearnedModel(
        features=AGGREGATED if rows[0].item.mode == "document" else FEATURES,
        signals=signals,
        first=to_trees(fit(rows, [row.table for row in rows], settings)),
        second=to_trees(fit(rows, held.tables, settings)),
        next=fit_next(rows, held.scores, settings),
        size=to_trees(fit_size(usable, settings.size)),
        sufficiency=scaled(to_trees(boost(*table, settings.verdict)), slope),
        neutral=np.median(sample, axis=0).astype(np.float32),
        enough=enough,
        some=some,
        weights=promoter.weights(rows[0].item.mode),
        about={**about, "cross_validation": figures, "slope": slope},
    )
    unseen = {}
    for place, (row, p) in enumerate(zip(rows, flattened(tested.judged, slope), strict=True)):
        units = row.view.unit[held.rankings[place][0].order[: settings.k]]
        ids = [row.item.pool.candidates[unit].id for unit in units]
        core, _ = held.chosen(row, place)
        unseen[row.item.id] = Unseen(round(float(p), 4), ids[: len(core)], ids)
    return Trained(model, figures, unseen)


def _figures(rows: Sequence[ReadPool], held: HeldOut) -> dict[str, Any]:
    """Return cross-validated figures by set, of the pools as their retrievers gave them.

    They are first unit right, all evidence in the first five, core F1, core size, beside the retriever's own
    order; and how well the probabilities are calibrated.
    """
    found: dict[str, Any] = {}
    for name in sorted({row.item.group for row in rows}):
        here = [
            i for i, row in enumerate(rows) if row.item.main and row.item.group == name and row.item.gold_ids
        ]
        measured = []
        for i in here:
            row, (prefixes, f1, _) = rows[i], held.rankings[i]
            units = row.view.unit[prefixes.order]
            size = len(held.chosen(row, i)[0])
            gold = row.item.gold
            cuts = [_cut_f1(gold, n, row.item.total) for n in (1, 2, 5)]
            measured.append(
                (
                    gold[0], gold[units[0]],
                    row.item.covered(range(min(5, len(gold)))), row.item.covered(units[:5].tolist()),
                    *cuts, f1[size - 1], size, row.item.total,
                )
            )  # fmt: skip
        if measured:
            mean = np.mean(measured, axis=0)
            found[name] = {
                "n": len(here),
                "first": [round(100 * float(v), 1) for v in mean[:2]],
                "full5": [round(100 * float(v), 1) for v in mean[2:4]],
                "core_f1": [round(100 * float(max(mean[4:7])), 1), round(100 * float(mean[7]), 1)],
                "size": [round(float(mean[9]), 2), round(float(mean[8]), 2)],
            }
    p = np.concatenate(held.scores)
    y = np.concatenate([row.item.gold[row.view.unit] for row in rows])
    found["ece"] = round(calibration_error(reliability_bins(p, y)), 4)
    strangers = [
        float(s.max()) for s, row in zip(held.scores, rows, strict=True) if row.item.variant == "stranger"
    ]
    found["stranger_best_median"] = round(float(np.median(strangers)), 3)
    return found


def _cut_f1(gold: NDArray[np.bool_], size: int, total: int) -> float:
    hits = min(int(gold[:size].sum()), total)
    return 2 * hits / (min(size, len(gold)) + total) if total else 0.0
