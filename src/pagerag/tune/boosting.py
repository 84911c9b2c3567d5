"""Boosted trees grown by CatBoost, and kept as plain arrays."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pagerag._extras import need
from pagerag.promote.trees import Trees

__all__ = ["Growth", "boost", "predict", "to_trees"]

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


def boost(
    table: Floats, labels: Floats, weights: Floats | None, growth: Growth, *, values: bool = False
) -> Any:
    """Symmetric trees: they generalise a little better here than free ones, and are quick to evaluate.

    ``labels`` are classes, or with ``values`` numbers.
    """
    catboost = need("catboost", "catboost", "tune", "growing boosted trees")
    grown = catboost.CatBoostRegressor if values else catboost.CatBoostClassifier
    model = grown(
        iterations=growth.rounds,
        depth=growth.depth,
        learning_rate=growth.rate,
        l2_leaf_reg=growth.l2,
        rsm=growth.columns,
        bootstrap_type="Bernoulli",
        subsample=growth.rows,
        border_count=growth.borders,
        boosting_type="Plain",
        random_seed=growth.seed,
        thread_count=1,
        allow_writing_files=False,
        verbose=False,
    )
    return model.fit(table, labels, sample_weight=weights)


def predict(model: Any, table: Floats) -> NDArray[np.float32]:
    """Probabilities, or values, by a model as it was grown."""
    found = model.predict_proba(table)[:, 1] if hasattr(model, "predict_proba") else model.predict(table)
    return np.asarray(found, dtype=np.float32)


def to_trees(model: Any) -> Trees:
    """A CatBoost model of symmetric trees as arrays."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "model.json"
        model.save_model(str(path), format="json")
        body = json.loads(path.read_text(encoding="utf-8"))
    trees = body["oblivious_trees"]
    depth = max(len(tree["splits"] or ()) for tree in trees)
    feature = np.zeros((depth, len(trees)), dtype=np.int64)
    threshold = np.full((depth, len(trees)), np.inf, dtype=np.float32)
    leaf = np.zeros((len(trees), 2**depth), dtype=np.float32)
    scale, (bias,) = body["scale_and_bias"]
    for place, tree in enumerate(trees):
        for level, split in enumerate(tree["splits"] or ()):
            feature[level, place] = split["float_feature_index"]
            threshold[level, place] = split["border"]
        # a level that asks nothing always answers no: its leaves are never reached
        leaf[place, : len(tree["leaf_values"])] = tree["leaf_values"]
    return Trees(feature, threshold, leaf * np.float32(scale), float(bias))
