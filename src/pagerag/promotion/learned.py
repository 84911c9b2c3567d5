"""The learned strategy: a small model over the paper's own features, and one of the set's size.

Two rounds of boosted trees. The first judges each unit by its features; the second sees what the first said
of the others, so that it judges a unit as part of a set: linked to a likely one, second sentence of a likely
document, one of two things to compare. A third tells what F1 each prefix of the ranking would have, its
expected F1 among what it reads; the best is the core. Trained by ``pagerag tune`` on train files; stored as
arrays, evaluated with NumPy.
"""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pagerag._files import write_atomic
from pagerag.errors import WeightsError
from pagerag.promotion.core_size import LARGEST, best_size, size_rows
from pagerag.promotion.evidence import Evidence
from pagerag.promotion.expected_f1 import prefix_values
from pagerag.promotion.features import (
    AGGREGATED,
    FEATURES,
    OF_QUESTION,
    View,
    second_features,
    unit_features,
    unit_view,
)
from pagerag.promotion.joining import NEVER, Joins, joined
from pagerag.promotion.next_unit import Standing, rank_units
from pagerag.promotion.strategy import Fits, Judgement, state_of
from pagerag.promotion.trees import Trees
from pagerag.promotion.weights import Weights
from pagerag.promotion.whole_units import rarity
from pagerag.promotion.word_vectors import NEAR
from pagerag.units import Mode, SupportKind

__all__ = [
    "FORMAT",
    "SUFFICIENCY",
    "LearnedModel",
    "LearnedStrategy",
    "cover_of",
    "order_of_argument",
    "sufficiency_row",
]

FORMAT = 4
_LOOKED_AT = 40  # how far down the ranking the core may reach for a unit that fits
_SHARE = 2 / 3  # of a model whose file does not tell it, beside one that reads no support encoder
_COUNTED = 16  # of the units left out, so many may turn out gold: the rest have next to no probability
Floats = NDArray[np.float32]

_TOP = 5
_TOLD = (
    "w_rare", "w_rare_best", "w_bm25", "w_run", "w_pairs", "w_stem", "sim", "answer_kind", "titled",
    "asked_share", "cues", "path_best", "ret",
)  # fmt: skip
_LIKE = ("near_cover", "meaning")
_COMPUTED = {
    tuple(name for name in computed if name not in gone): computed
    for computed in (FEATURES, AGGREGATED)
    for gone in ((), NEAR)
}
"""What a model may read, and which features that is taken from: models with support know no words alike."""
_SIGNALS = 2  # a support encoder's signals of each unit that the verdict reads: support and bearing

SUFFICIENCY: tuple[str, ...] = (
    "expected_f1", *(f"p{n}" for n in range(1, _TOP + 1)), "p_sum", "core", "p_min_core", "p_next", "gap",
    "doc1", "doc2", "doc3", "core_docs", "linked", "named", "cover_core", "cover_top", "cover_pool",
    *(f"core_{name}" for name in _TOLD), *(f"best_{name}" for name in _TOLD),
    *(f"support{n}" for n in range(1, _TOP + 1)), "bearing1", "bearing2", *OF_QUESTION, "complete",
    *(f"core_{name}" for name in _LIKE), *(f"best_{name}" for name in _LIKE),
)  # fmt: skip
"""What the verdict on sufficiency is read from."""


@dataclass(frozen=True, slots=True, eq=False)
class LearnedModel:
    """Trees for the two rounds, the ranking, the set's size and sufficiency; names of what they read."""

    features: tuple[str, ...]
    signals: tuple[str, ...]
    first: Trees
    second: Trees
    next: Trees
    size: Trees
    sufficiency: Trees
    neutral: Floats  # the median of each feature, for ablations
    enough: float  # sufficiency from which the state is Enough
    some: float  # ... and under which it is insufficient
    weights: Weights  # those of the evidence it was trained on
    about: dict[str, Any]
    share: float = _SHARE
    """How much it counts when a model that reads no support encoder judges beside it."""
    joins: Joins = field(default_factory=Joins)
    """From which probability on a unit joins a core that is not enough."""

    def save(self, path: Path) -> None:
        """Write an npz file without pickled objects."""
        header = json.dumps(
            {
                "format": FORMAT,
                "features": self.features,
                "signals": self.signals,
                "weights": self.weights.to_dict(),
                "enough": self.enough,
                "some": self.some,
                "joins": asdict(self.joins),
                "share": self.share,
                "about": self.about,
            },
            sort_keys=True,
        )
        arrays = {
            "header": np.frombuffer(header.encode("utf-8"), dtype=np.uint8),
            "neutral": self.neutral,
            **self.first.to_arrays("first"),
            **self.second.to_arrays("second"),
            **self.next.to_arrays("next"),
            **self.size.to_arrays("size"),
            **self.sufficiency.to_arrays("sufficiency"),
        }
        file = io.BytesIO()
        np.savez_compressed(file, **arrays)
        write_atomic(path, file.getvalue())

    @classmethod
    def load(cls, path: Path) -> LearnedModel:
        """Read a model; refuse one of another format or with features that this version does not compute."""
        try:
            with np.load(path, allow_pickle=False) as arrays:
                header = json.loads(arrays["header"].tobytes().decode("utf-8"))
                if header.get("format") != FORMAT:
                    raise WeightsError(
                        f"{path} has model format {header.get('format')}, not {FORMAT}; "
                        "run pagerag tune again"
                    )
                model = cls(
                    features=tuple(header["features"]),
                    signals=tuple(header["signals"]),
                    first=Trees.from_arrays("first", arrays),
                    second=Trees.from_arrays("second", arrays),
                    next=Trees.from_arrays("next", arrays),
                    size=Trees.from_arrays("size", arrays),
                    sufficiency=Trees.from_arrays("sufficiency", arrays),
                    neutral=arrays["neutral"],
                    weights=Weights.from_dict(header["weights"], name=str(path)),
                    enough=float(header["enough"]),
                    some=float(header["some"]),
                    about=header["about"],
                    joins=Joins(**{name: float(least) for name, least in header.get("joins", {}).items()}),
                    share=float(header.get("share", _SHARE)),
                )
        except (OSError, KeyError, ValueError, TypeError, AttributeError) as broken:
            if isinstance(broken, WeightsError):
                raise
            raise WeightsError(
                f"{path} is not a learned model ({broken}); run pagerag tune again"
            ) from broken
        if model.features not in _COMPUTED:
            raise WeightsError(
                f"{path} was trained on other features than this version computes; run pagerag tune again"
            )
        return model

    @classmethod
    def shipped(cls, mode: Mode, *, support: SupportKind | None = None) -> LearnedModel | None:
        """Return the model that comes with the package for ``mode``, or None where there is none.

        ``support`` names the encoder whose signals it reads; another encoder's are read like the small one's.
        """
        return _shipped(mode, support)


@cache
def _shipped(mode: Mode, support: SupportKind | None) -> LearnedModel | None:
    name = f"learned-{'sentence' if mode == 'sentence' else 'document'}{f'-{support}' if support else ''}.npz"
    path = Path(__file__).with_name("data") / name
    return LearnedModel.load(path) if path.is_file() else None


class _Scorer:
    """One model over the features; ``off`` names those that are neutralised."""

    def __init__(self, model: LearnedModel, off: frozenset[str]) -> None:
        self.model = model
        computed = _COMPUTED[model.features]
        same = model.features == computed
        self._read = None if same else np.array([computed.index(name) for name in model.features])
        self._off = np.array(
            [
                any(name.removeprefix("max_").removeprefix("mean_") == gone for gone in off)
                for name in model.features
            ],
            dtype=bool,
        )

    def table(self, features: Floats, evidence: Evidence, view: View) -> Floats:
        """Return what the first round reads: the model's features, then a support encoder's signals."""
        model = self.model
        table = features if self._read is None else features.take(self._read, axis=1)
        if self._off.any():
            table = table.copy()
            table[:, self._off] = model.neutral[: len(model.features)][self._off]
        if not model.signals:
            return table
        extra = np.zeros((len(table), len(model.signals)), dtype=np.float32)
        support = evidence.signals.support
        if support is not None:  # another encoder may tell less than ours, or more
            told = support[view.unit, : extra.shape[1]]
            extra[:, : told.shape[1]] = told
        return np.concatenate([table, extra], axis=1)

    def log_odds(self, table: Floats, view: View) -> Floats:
        """Return every row's log-odds by the two rounds."""
        first = _sigmoid_all(self.model.first.log_odds(table))
        both = np.concatenate([table.T, second_features(view, first).T]).T  # by columns, as the trees read it
        return self.model.second.log_odds(both)


class LearnedStrategy:
    """Judge by a learned model; ``off`` names features to be neutralised (ablations).

    A second model may judge ``beside`` it: one that reads no support encoder errs in other places than one
    that does, and was fitted on more kinds of pools. A mean of their log-odds counts.
    """

    name = "learned"

    def __init__(
        self,
        model: LearnedModel,
        mode: Mode,
        *,
        beside: LearnedModel | None = None,
        off: frozenset[str] = frozenset(),
        minimal_selection: bool = True,
    ) -> None:
        self.model = model
        # A paragraph is judged by the sentences inside it: measured better than reading it whole.
        self.reads: Mode | None = "sentence" if mode == "sentence" else "document"
        self.weights: Weights | None = model.weights
        self.minimal_selection = minimal_selection
        self._scorers = [_Scorer(one, off) for one in (model, beside) if one is not None]

    def judge(self, evidence: Evidence, fits: Fits) -> Judgement:
        """Return each candidate's probability, the set worth most, and how likely the evidence suffices."""
        view = unit_view(evidence)
        features = unit_features(evidence)
        asked = features[0, -len(OF_QUESTION) :]
        tables = [scorer.table(features, evidence, view) for scorer in self._scorers]
        rows = _sigmoid_all(
            self._mean(
                [scorer.log_odds(table, view) for scorer, table in zip(self._scorers, tables, strict=True)]
            )
        )
        standing = Standing(view, rows, *cover_of(evidence), asked)
        usable = self._usable(evidence)
        ranked = rank_units(standing, self.model.next.log_odds, LARGEST, usable)
        core, expected = self._core(standing, [i for i in ranked if usable[i]], fits)
        sufficiency = 0.0
        if core:
            complete = _complete(evidence.signals.support, view)
            told = []
            for scorer, table in zip(self._scorers, tables, strict=True):
                model = scorer.model
                row = sufficiency_row(standing, table, model.features, ranked, core, expected, complete)
                told.append(model.sufficiency.log_odds(row[None, :]))
            sufficiency = _sigmoid(float(self._mean(told)[0]))
        state = state_of(sufficiency, self.model.enough, self.model.some)
        least = self.model.joins.least(evidence.reading.question, state)
        if core and least < NEVER and self.minimal_selection:
            left = [i for i in ranked if usable[i]]
            core = joined(core, left, least, rows.tolist(), view.unit.tolist(), fits)
        ordered = order_of_argument(evidence, view, rows, core)
        # What a pool too large for the graph left out comes after everything that took part.
        scores = 0.5 * float(rows.min()) * evidence.signals.overall
        scores[view.unit] = rows
        return Judgement(
            scores.astype(np.float32),
            tuple(int(view.unit[i]) for i in ordered),
            sufficiency,
            state,
            ranking=tuple(view.unit[ranked].tolist()),
            enough=self.model.enough,
            some=self.model.some,
        )

    def _mean(self, values: Sequence[Floats]) -> Floats:
        """Return the mean of what the models say, by their shares; of one alone just what it says."""
        if len(values) == 1:
            return values[0]
        first, second = values
        return np.asarray(self.model.share * first + (1.0 - self.model.share) * second, dtype=np.float32)

    def _usable(self, evidence: Evidence) -> list[bool]:
        """Tell which rows share a word with the question or the pool: no other is ever in the core."""
        isolated = evidence.isolated
        if evidence.mode == "document":
            isolated = np.logical_and.reduceat(isolated, evidence.segments)
        return (~isolated).tolist()

    def _core(self, standing: Standing, ranked: Sequence[int], fits: Fits) -> tuple[tuple[int, ...], float]:
        """Return the set worth most of those made of the ranking's first units that fit; its expected F1."""
        p, unit = standing.p.tolist(), standing.view.unit.tolist()
        chosen: list[int] = []
        taken: set[int] = set()
        for index in ranked[:_LOOKED_AT]:
            if fits({*taken, unit[index]}):
                chosen.append(index)
                taken.add(unit[index])
        if not chosen:
            return (), 0.0
        inside = set(chosen)
        left = [i for i in ranked if i not in inside]
        expected = prefix_values([p[i] for i in chosen], [p[i] for i in left[:_COUNTED]])
        if not self.minimal_selection:
            return tuple(chosen), max(expected)
        rows = size_rows(standing.view, chosen + left, p, expected[:LARGEST], standing.asked)
        size = best_size(self._mean([scorer.model.size.log_odds(rows) for scorer in self._scorers]), expected)
        return tuple(chosen[:size]), expected[size - 1]


def cover_of(evidence: Evidence) -> tuple[Floats, Floats]:
    """Return rows x question words, twice.

    Each word's share of the question's weight where the unit holds it, and where its title does, else 0.
    """
    reading, rows = evidence.reading, evidence.members
    _, share = rarity(tuple(dict.fromkeys(reading.question.tokens)))
    return reading.held.take(rows, axis=0) * share, reading.title_held.take(rows, axis=0) * share


def _complete(support: Floats | None, view: View) -> float:
    """Return how surely a support encoder sees all the evidence; 0 where it does not tell."""
    if support is None or support.shape[1] <= _SIGNALS:
        return 0.0
    return float(support[view.unit, _SIGNALS].max(initial=0.0))


@cache
def _columns(features: tuple[str, ...]) -> NDArray[np.intp]:
    """Return where the features of ``_TOLD`` stand: themselves, or the best of a unit's sentences."""
    return np.array([features.index(name if name in features else f"max_{name}") for name in _TOLD])


@cache
def _like(features: tuple[str, ...]) -> NDArray[np.intp]:
    """Return where the features of ``_LIKE`` stand, or nothing where the model has none."""
    return np.array([features.index(name) for name in _LIKE if name in features], dtype=np.intp)


def sufficiency_row(
    standing: Standing,
    table: Floats,
    features: tuple[str, ...],
    ranked: Sequence[int],
    core: tuple[int, ...],
    expected: float,
    complete: float,
) -> Floats:
    """Return the values of ``SUFFICIENCY`` for a selected set.

    ``table`` is what the first round read (its columns are ``features``, then a support encoder's signals);
    ``ranked`` and ``core`` are rows of the view, ``expected`` is the set's expected F1, ``complete`` what a
    support encoder says of the pool as a whole.
    """
    view, scores, cover = standing.view, standing.p, standing.cover
    order = np.array(ranked[: _TOP + 1])
    top = np.zeros(_TOP + 1, dtype=np.float32)
    top[: len(order)] = scores.take(order)
    best_of: dict[int, float] = {}
    p = scores.tolist()
    for document, value in zip(view.document.tolist(), p, strict=True):
        best_of[document] = max(value, best_of.get(document, 0.0))
    documents = [*sorted(best_of.values(), reverse=True), 0.0, 0.0][:3]
    chosen, inside = list(core), set(core)
    told = table.take(_columns(features), axis=1)
    # A model that does not know words that are alike reads no further than what it knows.
    like = table.take(_like(features), axis=1)
    signals = [*table.T[len(features) :].tolist(), [], []]
    support = [*sorted(signals[0], reverse=True), *[0.0] * _TOP][:_TOP]
    bearing = [*sorted(signals[1], reverse=True), 0.0, 0.0][:2]
    most = np.maximum.reduce
    total = np.add.reduce
    return np.concatenate(
        [
            np.array(
                [
                    expected,
                    *top[:_TOP],
                    total(scores),
                    len(core),
                    min([p[i] for i in chosen]),
                    max([value for i, value in enumerate(p) if i not in inside], default=0.0),
                    top[0] - top[1],
                    *documents,
                    len(set(view.document.take(chosen).tolist())),
                    view.linked.take(chosen, axis=0).take(chosen, axis=1).any(),
                    view.names.take(chosen, axis=0).take(chosen, axis=1).any(),
                    total(most(cover.take(chosen, axis=0), axis=0)),
                    total(most(cover.take(order[:_TOP], axis=0), axis=0)),
                    total(most(cover, axis=0)),
                ],
                dtype=np.float32,
            ),
            most(told.take(chosen, axis=0), axis=0),
            most(told, axis=0),
            np.array([*support, *bearing], dtype=np.float32),
            standing.asked,
            np.array([complete], dtype=np.float32),
            most(like.take(chosen, axis=0), axis=0),
            most(like, axis=0),
        ]
    )


def order_of_argument(
    evidence: Evidence, view: View, scores: Floats, core: tuple[int, ...]
) -> tuple[int, ...]:
    """Return the core in reading order.

    It opens with what the question names, and each next unit is one that the last ones lead to, document by
    document.
    """
    if len(core) < 2:
        return core
    reading = evidence.reading
    named = np.zeros(len(reading.candidates), dtype=np.float32)
    np.maximum.at(named, reading.unit, evidence.asked_entities + evidence.titled)
    asked = named.take(view.unit).tolist()
    left = list(core)
    document, p = view.document.tolist(), scores.tolist()
    names = dict(zip(left, view.names.take(left, axis=0).tolist(), strict=True))
    linked = dict(zip(left, view.linked.take(left, axis=0).tolist(), strict=True))

    def opens(i: int) -> tuple[float, float, int]:
        return asked[i] - 0.5 * any(names[other][i] for other in left), p[i], -i

    first = max(left, key=opens)
    ordered = [first]
    left.remove(first)
    while left:
        last = ordered[-1]

        def closeness(i: int, last: int = last) -> tuple[bool, bool, float, int]:
            leads = any(names[other][i] or linked[other][i] for other in ordered)
            return document[i] == document[last], leads, p[i], -i

        following = max(left, key=closeness)
        ordered.append(following)
        left.remove(following)
    return tuple(ordered)


def _sigmoid(x: float) -> float:
    return float(1.0 / (1.0 + np.exp(-min(max(x, -30.0), 30.0))))


def _sigmoid_all(x: Floats) -> Floats:
    bounded = np.minimum(np.maximum(x, -30.0), 30.0)
    return np.asarray(1.0 / (1.0 + np.exp(-bounded)), dtype=np.float32)
