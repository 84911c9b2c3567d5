"""Train the learned scorer: two rounds of boosted trees, then the set's size, then the verdict on sufficiency.

Everything a later stage learns from is out of fold: no question's scores come from a model that saw it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pagerag.promotion.candidates import as_candidates
from pagerag.promotion.evidence import Evidence
from pagerag.promotion.features import (
    AGGREGATED,
    FEATURES,
    OF_QUESTION,
    View,
    second_features,
    unit_features,
    unit_view,
)
from pagerag.promotion.learned import SUFFICIENCY, LearnedModel, sufficiency_row
from pagerag.promotion.promoter import Promoter
from pagerag.promotion.trees import Trees
from pagerag_lab.tune.boosting import Growth, boost, predict, to_trees
from pagerag_lab.tune.pools import LabelledPool, small, twin, without
from pagerag_lab.tune.sizes import Prefixes, fit_size

__all__ = ["Settings", "Trained", "train"]

Floats = NDArray[np.float32]
Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Settings:
    """How the trees are grown. Chosen by cross-validation on the train files."""

    folds: int = 5
    growth: Growth = field(default_factory=Growth)
    seed: int = 0
    no_vectors: float = 0.3  # weight of each question's copy without vectors
    no_scores: float = 0.3  # ... and without scores either
    small: float = 0.3  # ... and as a pool of six to twelve units
    noisy: float = 0.8  # ... and with documents of other questions added to the pool
    musique: float = 3.0  # weight of its questions: there are ten times fewer of them than of the others
    size: Growth = field(default_factory=lambda: Growth(rounds=250, depth=4, rate=0.04, columns=0.5))
    verdict: Growth = field(default_factory=lambda: Growth(rounds=150, depth=3, rate=0.06, columns=0.6))
    k: int = 5

    def averaged(self, models: int) -> Settings:
        """The scores and the size by the mean of several models."""
        return replace(
            self, growth=replace(self.growth, models=models), size=replace(self.size, models=models)
        )


@dataclass(frozen=True, slots=True, eq=False)
class Trained:
    """A model and how it did on questions it had not seen."""

    model: LearnedModel
    figures: dict[str, Any]


@dataclass(slots=True, eq=False)
class _Row:
    item: LabelledPool
    table: Floats
    asked: Floats  # the features of the question
    view: View
    evidence: Evidence
    weight: float
    fold: int
    main: bool


def read_evidence(promoter: Promoter, item: LabelledPool) -> Evidence:
    """The evidence that promotion would judge this pool by."""
    return promoter.evidence(item.pool.question, as_candidates(item.pool), item.mode, vector=item.pool.vector)


def train(
    items: Sequence[LabelledPool], settings: Settings, promoter: Promoter, say: Say, about: dict[str, Any]
) -> Trained:
    """Fit a model on labelled pools of one mode family."""
    folds = _folds(items, settings)
    rows = _rows(items, folds, settings, promoter, say)
    first_oof, first_models = _cross_fit(rows, [row.table for row in rows], settings, say, "first round")
    tables = [
        np.concatenate([row.table, second_features(row.view, p)], axis=1)
        for row, p in zip(rows, first_oof, strict=True)
    ]
    second_oof, second_models = _cross_fit(rows, tables, settings, say, "second round")
    say("the set's size")
    rankings = []
    for row, p in zip(rows, second_oof, strict=True):
        prefixes = Prefixes.of(row.view, row.asked, p, settings.k)
        rankings.append((prefixes, prefixes.f1(row.item, row.view), row.weight))
    size_models = [
        fit_size(
            [ranking for ranking, row in zip(rankings, rows, strict=True) if row.fold != fold], settings.size
        )
        for fold in range(settings.folds)
    ]
    figures = _figures(rows, first_oof, second_oof, size_models, settings)
    say("sufficiency: pools, twins with a gold unit removed, and pools of other questions")
    verdicts, auroc, (enough, some) = _fit_sufficiency(
        rows, second_oof, (first_models, second_models, size_models), promoter, settings
    )
    figures["sufficiency_auroc"] = auroc
    figures["enough"], figures["some"] = enough, some
    say("final models on all questions")
    first = to_trees(_fit(rows, [row.table for row in rows], settings))
    second = to_trees(_fit(rows, tables, settings))
    size = to_trees(fit_size(rankings, settings.size))
    features = AGGREGATED if items[0].mode == "document" else FEATURES
    main = np.concatenate([row.table for row in rows if row.main])
    signals = tuple(promoter.support.signals) if promoter.support is not None else ()
    model = LearnedModel(
        features=features,
        signals=signals,
        first=first,
        second=second,
        size=size,
        sufficiency=verdicts,
        neutral=np.median(main, axis=0).astype(np.float32),
        enough=enough,
        some=some,
        weights=promoter.weights(items[0].mode),
        about={**about, "cross_validation": figures},
    )
    return Trained(model, figures)


def _folds(items: Sequence[LabelledPool], settings: Settings) -> list[int]:
    """A fold per question id: a question read at two granularities stays in one fold."""
    ids = sorted({item.question for item in items})
    drawn = np.random.default_rng(settings.seed).integers(settings.folds, size=len(ids))
    fold = dict(zip(ids, drawn.tolist(), strict=True))
    return [fold[item.question] for item in items]


def _rows(
    items: Sequence[LabelledPool], folds: Sequence[int], settings: Settings, promoter: Promoter, say: Say
) -> list[_Row]:
    rows = []
    for done, (item, fold) in enumerate(zip(items, folds, strict=True), 1):
        copies = [(item, 1.0)]
        if settings.no_vectors:
            copies.append((without(item, "vectors"), settings.no_vectors))
        if settings.no_scores:
            copies.append((without(item, "vectors", "scores"), settings.no_scores))
        if settings.small:
            copies.append((small(item), settings.small))
        if settings.noisy and item.noisy is not None:
            copies.append((replace(item, pool=item.noisy), settings.noisy))
        share = settings.musique if item.dataset == "musique" else 1.0
        for number, (copy, weight) in enumerate(copies):
            evidence = read_evidence(promoter, copy)
            table, asked = _table(evidence)
            view = unit_view(evidence)
            rows.append(_Row(copy, table, asked, view, evidence, weight * share, fold, number == 0))
        if done % 200 == 0 or done == len(items):
            say(f"features: {done}/{len(items)} questions")
    return rows


def _table(evidence: Evidence) -> tuple[Floats, Floats]:
    """What the first round reads, and the features of the question."""
    table = unit_features(evidence)
    asked = table[0, -len(OF_QUESTION) :]
    support = evidence.signals.support
    if support is not None:
        table = np.concatenate([table, support[unit_view(evidence).unit]], axis=1)
    return table, asked


def _fit(rows: Sequence[_Row], tables: Sequence[Floats], settings: Settings) -> Any:
    labels = np.concatenate([row.item.gold[row.view.unit] for row in rows]).astype(np.float32)
    weights = np.concatenate([np.full(len(row.table), row.weight) for row in rows])
    return boost(np.concatenate(tables), labels, weights, settings.growth)


def _cross_fit(
    rows: Sequence[_Row], tables: Sequence[Floats], settings: Settings, say: Say, name: str
) -> tuple[list[Floats], list[Any]]:
    """Out-of-fold probabilities for every row, and the fold models."""
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


def _figures(
    rows: Sequence[_Row],
    first: Sequence[Floats],
    second: Sequence[Floats],
    sizes: Sequence[Any],
    settings: Settings,
) -> dict[str, Any]:
    """Cross-validated Sup F1 by dataset and granularity, core and filled, on the unreduced pools: the rounds with the
    size by expected F1, and ``core`` with the size as it is learned."""
    found: dict[str, Any] = {}
    for name in sorted({(row.item.dataset, row.item.mode) for row in rows}):
        chosen = [i for i, row in enumerate(rows) if row.main and (row.item.dataset, row.item.mode) == name]
        figures: dict[str, Any] = {"n": len(chosen)}
        for label, scores in (("_first", first), ("_second", second), ("", second)):
            core, filled = [], []
            for i in chosen:
                row = rows[i]
                prefixes = Prefixes.of(row.view, row.asked, scores[i], settings.k)
                f1 = prefixes.f1(row.item, row.view)
                picked, _ = prefixes.chosen(None if label else sizes[row.fold])
                core.append(f1[len(picked) - 1])
                filled.append(f1[-1])
            figures[f"core{label}"] = round(100 * float(np.mean(core)), 2)
            figures[f"filled{label}"] = round(100 * float(np.mean(filled)), 2)
        found["/".join(name)] = figures
    return found


def _fit_sufficiency(
    rows: Sequence[_Row],
    scores: Sequence[Floats],
    models: tuple[Sequence[Any], Sequence[Any], Sequence[Any]],
    promoter: Promoter,
    settings: Settings,
) -> tuple[Trees, dict[str, float], tuple[float, float]]:
    """Learn to tell a pool that holds all gold units from its twin without one, and from a stranger's pool."""
    first, second, sizes = models
    main = [i for i, row in enumerate(rows) if row.main]
    table, labels, folds, kinds, names = [], [], [], [], []

    def add(
        evidence: Evidence, asked: Floats, p: Floats, label: bool, fold: int, kind: str, name: str
    ) -> None:
        view = unit_view(evidence)
        chosen, expected = Prefixes.of(view, asked, p, settings.k).chosen(sizes[fold])
        table.append(sufficiency_row(evidence, view, p, tuple(chosen), expected))
        labels.append(label)
        folds.append(fold)
        kinds.append(kind)
        names.append(name)

    for place, i in enumerate(main):
        row = rows[i]
        name = f"{row.item.dataset}/{row.item.mode}"
        add(row.evidence, row.asked, scores[i], row.item.complete, row.fold, "pool", name)
        stranger = rows[main[(place + 7) % len(main)]].item
        foreign = _with_question(stranger, row.item.pool.question, row.item)
        for kind, other in (("twin", twin(row.item, settings.seed + place)), ("stranger", foreign)):
            if other is None:
                continue
            evidence = read_evidence(promoter, other)
            view = unit_view(evidence)
            features, asked = _table(evidence)
            p1 = predict(first[row.fold], features)
            both = np.concatenate([features, second_features(view, p1)], axis=1)
            p2 = predict(second[row.fold], both)
            add(evidence, asked, p2, False, row.fold, kind, name)
    x = np.stack(table)
    y = np.array(labels, dtype=np.float32)
    weight = np.array([{"pool": 1.0, "twin": 1.0, "stranger": 0.3}[kind] for kind in kinds])
    oof = np.zeros(len(y))
    fold_of = np.array(folds)
    for fold in range(settings.folds):
        held = fold_of == fold
        model = boost(x[~held], y[~held], weight[~held], settings.verdict)
        oof[held] = predict(model, x[held])
    figures = {}
    kind_of, name_of = np.array(kinds), np.array(names)
    for name in sorted(set(names)):
        here = name_of == name
        figures[name] = round(_auroc(oof[here & (kind_of == "pool")], oof[here & (kind_of == "twin")]), 4)
    final = boost(x, y, weight, settings.verdict)
    if x.shape[1] != len(SUFFICIENCY):
        raise AssertionError("sufficiency_row and SUFFICIENCY disagree")
    # Enough: where complete pools outnumber twins two to one. Insufficient: what nine strangers' pools of ten
    # fall under, but no more than one complete pool of twenty.
    pool, other = oof[y > 0], oof[(y == 0) & (kind_of == "twin")]
    grid = np.linspace(0.2, 0.9, 71)
    odds = [(pool >= t).sum() / max(int((other >= t).sum()), 1) for t in grid]
    enough = float(next((t for t, ratio in zip(grid, odds, strict=True) if ratio >= 2.0), grid[-1]))
    some = float(min(np.quantile(oof[kind_of == "stranger"], 0.9), np.quantile(pool, 0.05)))
    return to_trees(final), figures, (round(enough, 3), round(some, 3))


def _with_question(stranger: LabelledPool, question: str, owner: LabelledPool) -> LabelledPool | None:
    """Another question's pool for this question: nothing in it should support it."""
    if stranger.question == owner.question or stranger.mode != owner.mode:
        return None
    return replace(
        owner, pool=replace(stranger.pool, question=question, vector=None), gold_ids=owner.gold_ids
    )


def _auroc(positive: Floats, negative: Floats) -> float:
    """The probability that a random positive scores above a random negative (ties count half)."""
    both = np.concatenate([positive, negative])
    order = np.argsort(both, kind="stable")
    rank = np.empty(len(both))
    rank[order] = np.arange(1, len(both) + 1)
    for value in np.unique(both):
        same = both == value
        if same.sum() > 1:
            rank[same] = rank[same].mean()
    above = rank[: len(positive)].sum() - len(positive) * (len(positive) + 1) / 2
    return float(above / (len(positive) * len(negative)))
