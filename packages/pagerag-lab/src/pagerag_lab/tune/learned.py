"""Train the learned scorer.

Two rounds of boosted trees, then the set's size, then the verdict on sufficiency.

Everything a later stage learns from is out of fold: no question's scores come from a model that saw it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pagerag.promotion.candidates import as_candidates
from pagerag.promotion.features import (
    AGGREGATED,
    FEATURES,
    OF_QUESTION,
    View,
    second_features,
    unit_features,
    unit_view,
)
from pagerag.promotion.learned import SUFFICIENCY, LearnedModel, cover_of, sufficiency_row
from pagerag.promotion.next_unit import CONSIDERED, Standing, next_rows, rank_units
from pagerag.promotion.promoter import Promoter
from pagerag.promotion.trees import Trees
from pagerag_lab.metrics.calibration import calibration_error, reliability_bins
from pagerag_lab.metrics.statistics import auroc
from pagerag_lab.tune.boosting import Growth, boost, predict, to_trees
from pagerag_lab.tune.labelled import LabelledPool, fold_of
from pagerag_lab.tune.sizes import Prefixes, fit_size

__all__ = ["Settings", "Trained", "train"]

_REMOVED = 2.0
"""How much more a pool without its evidence counts for the verdict.

With it, and without the size of the pool, AUROC is 0.882 instead of 0.872 on sets of sentences that were left
out one by one, and ECE 0.026 instead of 0.039.
"""

Floats = NDArray[np.float32]
Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Settings:
    """How the trees are grown. Chosen by cross-validation on the train files."""

    folds: int = 4
    growth: Growth = field(default_factory=Growth)
    following: Growth = field(default_factory=lambda: Growth(rounds=150, depth=5, rate=0.06, columns=0.6))
    size: Growth = field(default_factory=lambda: Growth(rounds=250, depth=4, rate=0.04, columns=0.5))
    verdict: Growth = field(default_factory=lambda: Growth(rounds=200, depth=4, rate=0.05, columns=0.4))
    k: int = 5
    enough: float = 0.6
    """Probability that all evidence is there from which the state is Enough."""
    some: float = 0.3
    """... and under which it is insufficient."""


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


@dataclass(slots=True, eq=False)
class _Row:
    item: LabelledPool
    table: Floats
    asked: Floats  # the features of the question and the pool
    view: View
    cover: tuple[Floats, Floats]
    fold: int
    complete: float = 0.0  # what a support encoder says of the pool as a whole

    def standing(self, p: Floats) -> Standing:
        """Return what ranking reads."""
        return Standing(self.view, p, *self.cover, self.asked)


_PROMOTER: Promoter | None = None


def _share(promoter: Promoter) -> None:
    global _PROMOTER  # noqa: PLW0603  (once in each process)
    _PROMOTER = promoter


def _read(item: LabelledPool) -> tuple[Floats, Floats, View, tuple[Floats, Floats]]:
    """Return what the trees read of a pool."""
    if _PROMOTER is None:
        raise AssertionError("the process was not given its promoter")
    evidence = _PROMOTER.evidence(
        item.pool.question, as_candidates(item.pool), item.mode, vector=item.pool.vector
    )
    view = unit_view(evidence)
    table = unit_features(evidence)
    asked = table[0, -len(OF_QUESTION) :].copy()
    return np.ascontiguousarray(table), asked, view, cover_of(evidence)


def read_rows(
    items: Sequence[LabelledPool], settings: Settings, promoter: Promoter, say: Say, workers: int
) -> list[_Row]:
    """Read every pool as promotion would."""
    rows: list[_Row] = []
    with ProcessPoolExecutor(workers, initializer=_share, initargs=(promoter,)) as processes:
        stream = iter(items)
        while batch := list(islice(stream, 512 * workers)):
            for item, (table, asked, view, cover) in zip(
                batch, processes.map(_read, batch, chunksize=64), strict=True
            ):
                rows.append(_Row(item, table, asked, view, cover, fold_of(item.base, settings.folds)))
            say(f"features: {len(rows)}/{len(items)} pools")
    return rows


def with_signals(rows: Sequence[_Row], signals: Callable[[LabelledPool], Floats]) -> None:
    """Add a support encoder's signals to the rows: two of each unit, and one of the pool."""
    for row in rows:
        told = signals(row.item)[row.view.unit]
        row.table = np.concatenate([row.table, told[:, :2]], axis=1)
        row.complete = float(told[:, 2].max(initial=0.0))


def train(
    rows: Sequence[_Row],
    settings: Settings,
    promoter: Promoter,
    say: Say,
    about: dict[str, Any],
    signals: tuple[str, ...],
) -> Trained:
    """Fit a model on labelled pools of one mode family."""
    first_oof, _ = _cross_fit(rows, [row.table for row in rows], settings, say, "first round")
    tables = [
        np.concatenate([row.table, second_features(row.view, p)], axis=1)
        for row, p in zip(rows, first_oof, strict=True)
    ]
    second_oof, _ = _cross_fit(rows, tables, settings, say, "second round")
    say("the ranking")
    following = fit_next_folds(rows, second_oof, settings)
    say("the set's size")
    rankings = []
    for row, p in zip(rows, second_oof, strict=True):
        standing = row.standing(p)
        order = rank_units(standing, following[row.fold].log_odds, settings.k)
        prefixes = Prefixes.of(standing, order, settings.k)
        rankings.append(
            (prefixes, prefixes.f1(row.item, row.view), row.item.weight if row.item.total else 0.0)
        )
    usable = [bool(row.item.gold_ids) for row in rows]
    sizes = [
        fit_size(
            [r for r, row, ok in zip(rankings, rows, usable, strict=True) if ok and row.fold != fold],
            settings.size,
        )
        for fold in range(settings.folds)
    ]
    figures = _figures(rows, rankings, second_oof, sizes)
    say("sufficiency")
    verdict, told, judged = _fit_sufficiency(rows, rankings, second_oof, sizes, settings)
    figures["sufficiency"] = told
    say("final models on all questions")
    first = to_trees(_fit(rows, [row.table for row in rows], settings))
    second = to_trees(_fit(rows, tables, settings))
    size = to_trees(fit_size([r for r, ok in zip(rankings, usable, strict=True) if ok], settings.size))
    features = AGGREGATED if rows[0].item.mode == "document" else FEATURES
    sample = np.concatenate([row.table for row in rows[::10]])
    model = LearnedModel(
        features=features,
        signals=signals,
        first=first,
        second=second,
        next=fit_next(rows, second_oof, settings),
        size=size,
        sufficiency=verdict,
        neutral=np.median(sample, axis=0).astype(np.float32),
        enough=settings.enough,
        some=settings.some,
        weights=promoter.weights(rows[0].item.mode),
        about={**about, "cross_validation": figures},
    )
    unseen = {}
    for row, (prefixes, _, _), p in zip(rows, rankings, judged, strict=True):
        ids = [row.item.pool.candidates[unit].id for unit in row.view.unit[prefixes.order[: settings.k]]]
        core, _ = prefixes.chosen(sizes[row.fold])
        unseen[row.item.id] = Unseen(round(float(p), 4), ids[: len(core)], ids)
    return Trained(model, figures, unseen)


def _fit(rows: Sequence[_Row], tables: Sequence[Floats], settings: Settings) -> Any:
    labels = np.concatenate([row.item.gold[row.view.unit] for row in rows]).astype(np.float32)
    weights = np.concatenate([np.full(len(row.table), row.item.weight) for row in rows])
    return boost(np.concatenate(tables), labels, weights, settings.growth)


def _cross_fit(
    rows: Sequence[_Row], tables: Sequence[Floats], settings: Settings, say: Say, name: str
) -> tuple[list[Floats], list[Any]]:
    """Return out-of-fold probabilities for every row, and the fold models."""
    out: list[Floats] = [np.empty(0, dtype=np.float32)] * len(rows)
    models = []
    for fold in range(settings.folds):
        inside = [i for i, row in enumerate(rows) if row.fold != fold]
        model = _fit([rows[i] for i in inside], [tables[i] for i in inside], settings)
        models.append(model)
        held = [i for i, row in enumerate(rows) if row.fold == fold]
        if held:
            values = predict(model, np.concatenate([tables[i] for i in held]))
            ends = np.cumsum([len(tables[i]) for i in held])
            for i, part in zip(held, np.split(values, ends[:-1]), strict=True):
                out[i] = part
        say(f"{name}: fold {fold + 1}/{settings.folds}")
    return out, models


def fit_next(rows: Sequence[_Row], scores: Sequence[Floats], settings: Settings) -> Trees:
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


def _facts_of(row: _Row) -> list[set[object]]:
    """Return the facts that each row of the view tells."""
    units = [row.item.pool.candidates[u].id for u in row.view.unit.tolist()]
    if row.item.facts:
        return [{n for n, ids in enumerate(row.item.facts) if unit in ids} for unit in units]
    if row.item.total == 1:
        return [{0} if unit in row.item.gold_ids else set() for unit in units]
    return [{unit} if unit in row.item.gold_ids else set() for unit in units]


def fit_next_folds(rows: Sequence[_Row], scores: Sequence[Floats], settings: Settings) -> list[Trees]:
    """Learn the ranking without each fold."""
    found = []
    for fold in range(settings.folds):
        inside = [i for i, row in enumerate(rows) if row.fold != fold]
        found.append(fit_next([rows[i] for i in inside], [scores[i] for i in inside], settings))
    return found


def _figures(
    rows: Sequence[_Row],
    rankings: Sequence[tuple[Prefixes, Floats, float]],
    scores: Sequence[Floats],
    sizes: Sequence[Any],
) -> dict[str, Any]:
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
            row, (prefixes, f1, _) = rows[i], rankings[i]
            units = row.view.unit[prefixes.order]
            size = len(prefixes.chosen(sizes[row.fold])[0])
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
    p = np.concatenate(scores)
    y = np.concatenate([row.item.gold[row.view.unit] for row in rows])
    found["ece"] = round(calibration_error(reliability_bins(p, y)), 4)
    strangers = [
        float(s.max()) for s, row in zip(scores, rows, strict=True) if row.item.variant == "stranger"
    ]
    found["stranger_best_median"] = round(float(np.median(strangers)), 3)
    return found


def _cut_f1(gold: NDArray[np.bool_], size: int, total: int) -> float:
    hits = min(int(gold[:size].sum()), total)
    return 2 * hits / (min(size, len(gold)) + total) if total else 0.0


def _fit_sufficiency(
    rows: Sequence[_Row],
    rankings: Sequence[tuple[Prefixes, Floats, float]],
    scores: Sequence[Floats],
    sizes: Sequence[Any],
    settings: Settings,
) -> tuple[Trees, dict[str, Any], Floats]:
    """Learn the probability that the first k units hold all the evidence; and judge each pool unseen."""
    features = AGGREGATED if rows[0].item.mode == "document" else FEATURES
    table, labels = [], []
    for row, (prefixes, _, _), p in zip(rows, rankings, scores, strict=True):
        chosen, expected = prefixes.chosen(sizes[row.fold])
        table.append(
            sufficiency_row(
                row.standing(p), row.table, features, prefixes.order, tuple(chosen), expected, row.complete
            )
        )
        labels.append(row.item.covered(row.view.unit[prefixes.order[: settings.k]].tolist()))
    x, y = np.stack(table), np.array(labels, dtype=np.float32)
    if x.shape[1] != len(SUFFICIENCY):
        raise AssertionError("sufficiency_row and SUFFICIENCY disagree")
    # How many units a pool has would tell the sets apart, and that one lacks its evidence; it is kept out.
    x[:, SUFFICIENCY.index("pool_size")] = 0.0
    weight = np.array(
        [row.item.weight * (_REMOVED if row.item.variant == "removed" else 1.0) for row in rows]
    )
    fold_of_row = np.array([row.fold for row in rows])
    oof = np.zeros(len(y), dtype=np.float32)
    for fold in range(settings.folds):
        held = fold_of_row == fold
        oof[held] = predict(boost(x[~held], y[~held], weight[~held], settings.verdict), x[held])
    figures: dict[str, Any] = {"ece": round(calibration_error(reliability_bins(oof, y > 0)), 4)}
    groups = np.array([row.item.group for row in rows])
    variants = np.array([row.item.variant for row in rows])
    main = np.array([row.item.main and bool(row.item.gold_ids) for row in rows])
    none = np.array([row.item.main and not row.item.total for row in rows])
    for name in sorted(set(groups)):
        here = groups == name
        removed = here & (variants == "removed")
        if removed.any():
            figures[name] = {"removed": round(auroc(oof[here & main], oof[removed]), 3)}
            if (here & none).any():
                figures[name]["unanswerable"] = round(auroc(oof[here & main], oof[here & none]), 3)
    figures["enough"], figures["some"] = settings.enough, settings.some
    sure, doubtful = oof >= settings.enough, oof < settings.some
    figures["enough_right"] = round(float(y[sure].mean()), 3) if sure.any() else None
    figures["insufficient_wrong"] = round(float(y[doubtful].mean()), 3) if doubtful.any() else None
    final = boost(x, y, weight, settings.verdict)
    return to_trees(final), figures, oof
