"""Scores, rankings and sizes of the core by models that had not seen the question.

Everything a later stage learns from is out of fold.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pagerag.promotion.features import second_features
from pagerag.promotion.next_unit import CONSIDERED, next_rows, rank_units
from pagerag.promotion.trees import Trees
from pagerag_lab.tune.boosting import boost, predict, to_trees
from pagerag_lab.tune.pool_features import Floats, ReadPool, Say, Settings
from pagerag_lab.tune.sizes import Prefixes, fit_size

__all__ = ["HeldOut", "fit", "fit_next", "hold_out"]


@dataclass(frozen=True, slots=True, eq=False)
class HeldOut:
    """What each stage says of questions that it had not seen."""

    tables: list[Floats]  # what the second round reads
    scores: list[Floats]
    rankings: list[tuple[Prefixes, Floats, float]]  # with the F1 of each prefix, and the question's weight
    sizes: list[Any]  # a model for each fold

    def chosen(self, row: ReadPool, place: int) -> tuple[list[int], float]:
        """Return the core of a row, and its expected F1."""
        return self.rankings[place][0].chosen(self.sizes[row.fold])


def hold_out(rows: Sequence[ReadPool], settings: Settings, say: Say) -> HeldOut:
    """Fit scores, ranking and size without each fold in turn, and judge the fold by them."""
    first = _cross_fit(rows, [row.table for row in rows], settings, say, "first round")
    tables = [
        np.concatenate([row.table, second_features(row.view, p)], axis=1)
        for row, p in zip(rows, first, strict=True)
    ]
    scores = _cross_fit(rows, tables, settings, say, "second round")
    say("the ranking")
    following = fit_next_folds(rows, scores, settings)
    say("the set's size")
    rankings = []
    for row, p in zip(rows, scores, strict=True):
        standing = row.standing(p)
        order = rank_units(standing, following[row.fold].log_odds, settings.k)
        prefixes = Prefixes.of(standing, order, settings.k)
        rankings.append(
            (prefixes, prefixes.f1(row.item, row.view), row.item.weight if row.item.total else 0.0)
        )
    sizes = [
        fit_size(
            [r for r, row in zip(rankings, rows, strict=True) if row.item.gold_ids and row.fold != fold],
            settings.size,
        )
        for fold in range(settings.folds)
    ]
    return HeldOut(tables, scores, rankings, sizes)


def fit(rows: Sequence[ReadPool], tables: Sequence[Floats], settings: Settings) -> Any:
    """Grow trees that tell whether a unit is evidence."""
    labels = np.concatenate([row.item.gold[row.view.unit] for row in rows]).astype(np.float32)
    weights = np.concatenate([np.full(len(row.table), row.item.weight) for row in rows])
    return boost(np.concatenate(tables), labels, weights, settings.growth)


def _cross_fit(
    rows: Sequence[ReadPool], tables: Sequence[Floats], settings: Settings, say: Say, name: str
) -> list[Floats]:
    """Return out-of-fold probabilities for every row."""
    out: list[Floats] = [np.empty(0, dtype=np.float32)] * len(rows)
    for fold in range(settings.folds):
        inside = [i for i, row in enumerate(rows) if row.fold != fold]
        model = fit([rows[i] for i in inside], [tables[i] for i in inside], settings)
        held = [i for i, row in enumerate(rows) if row.fold == fold]
        if held:
            values = predict(model, np.concatenate([tables[i] for i in held]))
            ends = np.cumsum([len(tables[i]) for i in held])
            for i, part in zip(held, np.split(values, ends[:-1]), strict=True):
                out[i] = part
        say(f"{name}: fold {fold + 1}/{settings.folds}")
    return out


def fit_next(rows: Sequence[ReadPool], scores: Sequence[Floats], settings: Settings) -> Trees:
    """Learn what a unit adds to those chosen before it, on sets that a ranking would make."""
    tables, labels, weights = [], [], []
    for number, (row, p) in enumerate(zip(rows, scores, strict=True)):
        gold = row.item.gold[row.view.unit]
        if not gold.any() or not row.item.main:
            continue
        rng = np.random.default_rng(number)
        standing = row.standing(p)
        order = np.argsort(-p, kind="stable").tolist()[:CONSIDERED]
        facts = _facts_of(row)
        chosen, left = order[:1], order[1:]
        for _ in range(settings.k - 1):
            if not left:
                break
            tables.append(next_rows(standing, chosen, left))
            have = set().union(*(facts[i] for i in chosen))
            labels.append([bool(facts[i] - have) for i in left])
            weights.append(np.full(len(left), row.item.weight))
            # now and then another than the most probable: a ranking must go on well after a slip
            step = 0 if rng.random() < 0.7 else int(rng.integers(min(4, len(left))))
            chosen.append(left.pop(step))
    table, label = np.concatenate(tables), np.concatenate(labels).astype(np.float32)
    return to_trees(boost(table, label, np.concatenate(weights), settings.following))


def _facts_of(row: ReadPool) -> list[set[object]]:
    """Return the facts that each row of the view tells."""
    units = [row.item.pool.candidates[u].id for u in row.view.unit.tolist()]
    if row.item.facts:
        return [{n for n, ids in enumerate(row.item.facts) if unit in ids} for unit in units]
    if row.item.total == 1:
        return [{0} if unit in row.item.gold_ids else set() for unit in units]
    return [{unit} if unit in row.item.gold_ids else set() for unit in units]


def fit_next_folds(rows: Sequence[ReadPool], scores: Sequence[Floats], settings: Settings) -> list[Trees]:
    """Learn the ranking without each fold."""
    found = []
    for fold in range(settings.folds):
        inside = [i for i, row in enumerate(rows) if row.fold != fold]
        found.append(fit_next([rows[i] for i in inside], [scores[i] for i in inside], settings))
    return found
