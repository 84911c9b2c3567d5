"""Boosted trees grown by CatBoost, and kept as plain arrays."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pagerag.promotion.trees import Trees
from pagerag_lab.product import need

__all__ = ["Growth", "boost", "predict", "scaled", "to_trees"]

Floats = NDArray[Any]


@dataclass(frozen=True, slots=True)
class Growth:
    """How the trees are grown."""

    rounds: int = 400
    depth: int = 6
    rate: float = 0.04
    l2: float = 5.0
    columns: float = 0.3
    rows: float = 0.8
    borders: int = 64
    seed: int = 0
    threads: int = 2
    models: int = 1
    """So many are grown, from seeds in a row, and averaged: chance decides less, and judging takes longer."""


def boost(
    table: Floats, labels: Floats, weights: Floats | None, growth: Growth, *, values: bool = False
) -> list[Any]:
    """Symmetric trees: they generalise a little better here than free ones, and are quick to evaluate.

    ``labels`` are classes, or with ``values`` numbers. One model for each seed.
    """
    catboost = need("catboost", "catboost", "tune", "growing boosted trees")
    grown = catboost.CatBoostRegressor if values else catboost.CatBoostClassifier
    return [
        grown(
            iterations=growth.rounds,
            depth=growth.depth,
            learning_rate=growth.rate,
            l2_leaf_reg=growth.l2,
            rsm=growth.columns,
            bootstrap_type="Bernoulli",
            subsample=growth.rows,
            border_count=growth.borders,
            boosting_type="Plain",
            random_seed=growth.seed + number,
            thread_count=growth.threads,
            allow_writing_files=False,
            verbose=False,
        ).fit(table, labels, sample_weight=weights)
        for number in range(growth.models)
    ]


def predict(models: Sequence[Any], table: Floats) -> NDArray[np.float32]:
    """Probabilities, or values, by models as they were grown: the mean of their log-odds or values."""
    raw = np.mean([model.predict(table, prediction_type="RawFormulaVal") for model in models], axis=0)
    found = 1.0 / (1.0 + np.exp(-raw)) if hasattr(models[0], "predict_proba") else raw
    return np.asarray(found, dtype=np.float32)


def to_trees(models: Sequence[Any]) -> Trees:
    """Return CatBoost models of symmetric trees as arrays: their mean as one model."""
    bodies = [_body(model) for model in models]
    trees = [(tree, body["scale_and_bias"][0]) for body in bodies for tree in body["oblivious_trees"]]
    depth = max(len(tree["splits"] or ()) for tree, _ in trees)
    feature = np.zeros((depth, len(trees)), dtype=np.int64)
    threshold = np.full((depth, len(trees)), np.inf, dtype=np.float32)
    leaf = np.zeros((len(trees), 2**depth), dtype=np.float32)
    for place, (tree, scale) in enumerate(trees):
        for level, split in enumerate(tree["splits"] or ()):
            feature[level, place] = split["float_feature_index"]
            threshold[level, place] = split["border"]
        # a level that asks nothing always answers no: its leaves are never reached
        leaf[place, : len(tree["leaf_values"])] = np.array(tree["leaf_values"]) * (scale / len(bodies))
    bias = sum(body["scale_and_bias"][1][0] for body in bodies) / len(bodies)
    return Trees(feature, threshold, leaf, float(bias))


def scaled(trees: Trees, by: float) -> Trees:
    """Return trees whose log-odds are ``by`` times as large."""
    return replace(trees, leaf=(trees.leaf * by).astype(np.float32), bias=trees.bias * by)


def _body(model: Any) -> dict[str, Any]:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "model.json"
        model.save_model(str(path), format="json")
        body: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return body
