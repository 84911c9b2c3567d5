"""Pictures: the heat map of positions, and lines over noise levels (extra ``plots``)."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pagerag_lab.product import need, write_atomic

__all__ = ["bars", "heat_map", "lines", "reliability", "risk_coverage"]

_INK, _GRID = "#22303c", "#d8dee4"
_COLOURS = ("#8a94a0", "#1f6f8b", "#d1772c", "#5b8c5a", "#7a5195", "#b23a48")


def _plots() -> Any:
    matplotlib = need("matplotlib", "matplotlib", "plots", "the figures")
    matplotlib.use("Agg")
    pyplot = need("matplotlib.pyplot", "matplotlib", "plots")
    pyplot.rcParams.update(
        {
            "font.size": 9,
            "axes.edgecolor": _INK,
            "axes.labelcolor": _INK,
            "text.color": _INK,
            "svg.hashsalt": "pagerag",
        }
    )
    return pyplot


def _save(figure: Any, file: Path, pyplot: Any) -> None:
    content = io.BytesIO()
    # Without the date and the version in it the same numbers give the same picture.
    kind = file.suffix.removeprefix(".")
    silent = {"Date": None} if kind == "svg" else {"Software": None}
    figure.savefig(content, format=kind, dpi=160, bbox_inches="tight", metadata=silent)
    pyplot.close(figure)
    file.parent.mkdir(parents=True, exist_ok=True)
    write_atomic(file, content.getvalue())


def heat_map(
    file: Path, columns: Sequence[str], panels: Mapping[str, Mapping[str, Sequence[float]]], title: str
) -> None:
    """Draw one panel beside the other; cells are fractions, shown in per cent."""
    pyplot = _plots()
    heights = [len(rows) for rows in panels.values()]
    figure, axes = pyplot.subplots(
        1, len(panels), figsize=(5.4 * len(panels), 0.42 * max(heights) + 1.4), constrained_layout=True
    )
    for axis, (name, rows) in zip(axes if len(panels) > 1 else [axes], panels.items(), strict=True):
        values = [[100 * share for share in shares] for shares in rows.values()]
        axis.imshow(values, cmap="YlGnBu", aspect="auto", vmin=0, vmax=60)
        axis.set_xticks(range(len(columns)), columns)
        axis.set_yticks(range(len(rows)), list(rows))
        axis.tick_params(length=0)
        axis.set_title(name, fontsize=10)
        axis.set_xlabel("position in the context")
        for i, row in enumerate(values):
            for j, value in enumerate(row):
                axis.text(
                    j,
                    i,
                    f"{value:.1f}",
                    ha="center",
                    va="center",
                    fontsize=8,
                    color="white" if value > 36 else _INK,
                )
        for side in axis.spines.values():
            side.set_visible(False)
    figure.suptitle(title, fontsize=11)
    _save(figure, file, pyplot)


def lines(
    file: Path, levels: Sequence[int], panels: Mapping[str, Mapping[str, Sequence[float]]], x: str, y: str
) -> None:
    """Draw one panel per dataset, one line per method; values are fractions, shown as points."""
    pyplot = _plots()
    figure, axes = pyplot.subplots(
        1, len(panels), figsize=(3.4 * len(panels), 2.9), sharey=True, constrained_layout=True, squeeze=False
    )
    for axis, (name, series) in zip(axes[0], panels.items(), strict=True):
        for colour, (label, values) in zip(_COLOURS, series.items(), strict=False):
            axis.plot(levels, [100 * value for value in values], marker="o", ms=4, color=colour, label=label)
        axis.set_title(name, fontsize=10)
        axis.set_xlabel(x)
        axis.set_xticks(list(levels), [f"+{level}" for level in levels])
        axis.grid(axis="y", color=_GRID, lw=0.8)
        axis.set_axisbelow(True)
        for side in ("top", "right"):
            axis.spines[side].set_visible(False)
    axes[0][0].set_ylabel(y)
    axes[0][0].set_ylim(bottom=0)
    figure.legend(*axes[0][0].get_legend_handles_labels(), loc="outside lower center", ncols=4, frameon=False)
    _save(figure, file, pyplot)


def bars(
    file: Path,
    panels: Mapping[str, Mapping[str, tuple[float, float, float]]],
    title: str,
    ceilings: Mapping[str, float],
) -> None:
    """Draw horizontal bars with intervals, one panel per dataset; values are (mean, low, high)."""
    pyplot = _plots()
    rows = max(len(values) for values in panels.values())
    figure, axes = pyplot.subplots(
        1,
        len(panels),
        figsize=(1.8 + 3.0 * len(panels), 0.27 * rows + 1.3),
        sharey=True,
        constrained_layout=True,
        squeeze=False,
    )
    for axis, (name, values) in zip(axes[0], panels.items(), strict=True):
        labels = list(values)[::-1]
        means = [100 * values[label][0] for label in labels]
        errors = [
            [100 * (values[label][0] - values[label][1]) for label in labels],
            [100 * (values[label][2] - values[label][0]) for label in labels],
        ]
        colours = [_COLOURS[1] if "PAGE-RAG" in label else _COLOURS[0] for label in labels]
        axis.barh(
            labels, means, xerr=errors, color=colours, error_kw={"ecolor": _INK, "lw": 0.8, "capsize": 2}
        )
        axis.axvline(100 * ceilings[name], color=_COLOURS[2], lw=1, ls="--")
        axis.set_title(name, fontsize=10)
        axis.set_xlim(0, 100)
        axis.set_xlabel("Sup F1 core")
        axis.grid(axis="x", color=_GRID, lw=0.8)
        axis.set_axisbelow(True)
        for side in ("top", "right"):
            axis.spines[side].set_visible(False)
    figure.suptitle(title, fontsize=11)
    _save(figure, file, pyplot)


def reliability(file: Path, curves: Mapping[str, Mapping[str, Any] | None], title: str) -> None:
    """Draw what was predicted against what came true, one line per kind of probability.

    ``curves`` maps a label to ``{"error": ..., "bins": [{"probability", "share", "count"}]}``; the area of a
    point grows with the number of predictions in its bin.
    """
    pyplot = _plots()
    figure, axis = pyplot.subplots(figsize=(4.4, 4.4), constrained_layout=True)
    axis.plot([0, 1], [0, 1], color=_GRID, lw=1.2)
    for colour, (label, curve) in zip(_COLOURS[1:], curves.items(), strict=False):
        if not curve or not curve["bins"]:
            continue
        bins = curve["bins"]
        told, true = [one["probability"] for one in bins], [one["share"] for one in bins]
        most = max(one["count"] for one in bins)
        axis.plot(told, true, color=colour, lw=1.2, label=f"{label}, ECE {curve['error']:.3f}")
        axis.scatter(told, true, s=[8 + 70 * one["count"] / most for one in bins], color=colour)
    axis.set(
        xlim=(0, 1), ylim=(0, 1), xlabel="predicted probability", ylabel="share that was true", title=title
    )
    axis.grid(color=_GRID, lw=0.6)
    axis.set_axisbelow(True)
    axis.legend(frameon=False, fontsize=8, loc="upper left")
    _save(figure, file, pyplot)


def risk_coverage(file: Path, curves: Mapping[str, Sequence[tuple[float, float]]], title: str) -> None:
    """Draw the share of given answers that are right against the share of questions answered."""
    pyplot = _plots()
    figure, axis = pyplot.subplots(figsize=(4.6, 3.4), constrained_layout=True)
    for colour, (label, points) in zip(_COLOURS[1:], curves.items(), strict=False):
        if points:
            wide = 2.0 if label == "all" else 1.0
            axis.plot(*zip(*points, strict=True), marker="o", ms=3, lw=wide, color=colour, label=label)
    axis.set(xlim=(0, 1), ylim=(0, 1), xlabel="questions answered", ylabel="answers right", title=title)
    axis.grid(color=_GRID, lw=0.6)
    axis.set_axisbelow(True)
    axis.legend(frameon=False, fontsize=8, loc="lower left")
    _save(figure, file, pyplot)
