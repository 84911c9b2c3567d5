"""Render the page: templates that escape what runs wrote, with style, charts and a little script inside."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from pagerag_lab.report.charts import Bar, BarChart, HeatMap, bar_chart, heat_map

if TYPE_CHECKING:
    from pagerag_lab.metrics.statistics import Comparison
    from pagerag_lab.report import RunView

__all__ = ["page"]

PLACES = ("1", "2", "3", "4", "5", "Out")
COLUMNS = (
    "Run", "Dataset, unit", "Pool", "Strategy", "N", "Plain Sup F1", "Sup F1 core", "Core − plain", "p",
    "Sup F1 filled", "Ceiling", "Recall@5", "Full recall@5", "Units in core", "Plain Ans F1", "Ans F1",
    "Errors",
)  # fmt: skip


def page(views: Sequence[RunView], pairs: Sequence[tuple[RunView, RunView, Comparison]]) -> str:
    """Return the whole file."""
    return (
        _environment()
        .get_template("page.html")
        .render(
            views=views,
            pairs=pairs,
            columns=COLUMNS,
            scores=_scores(views),
            positions=_positions(views),
            breakdowns=[_breakdown(view) for view in views],
            configurations=[_configuration(view.result) for view in views],
            style=_own("style.css"),
            script=_own("script.js"),
        )
    )


@cache
def _environment() -> Environment:
    made = Environment(
        loader=PackageLoader("pagerag_lab.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {"points": _points, "signed": _signed, "p_value": _p_value, "short": _short}
    return made


def _own(name: str) -> Markup:
    """Return a file of this package, which needs no escaping."""
    text = files("pagerag_lab.report").joinpath(name).read_text(encoding="utf-8")
    return Markup(text)  # noqa: S704 - our own file


def _points(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:.1f}"


def _signed(value: float) -> str:
    return f"{100 * value:+.1f}"


def _p_value(value: float) -> str:
    return "< .001" if value < 0.001 else f"{value:.3f}"


def _short(text: str, most: int = 320) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"


def _scores(views: Sequence[RunView]) -> BarChart:
    groups: dict[str, list[Bar]] = {}
    for view in views:
        result = view.result
        ours, plain = result["metrics"], result["baseline"]
        intervals, usual = result["intervals"], result["baseline_intervals"]
        bars = [
            Bar("plain top k", "plain", plain["sup_f1_filled"], _ends(usual, "sup_f1_filled")),
            Bar("core", "core", ours["sup_f1_core"], _ends(intervals, "sup_f1_core")),
            Bar("filled", "filled", ours["sup_f1_filled"], _ends(intervals, "sup_f1_filled")),
        ]
        if ours.get("ans_f1") is not None:
            bars += [
                Bar("answer F1, plain", "plain", plain["ans_f1"], _ends(usual, "ans_f1")),
                Bar("answer F1", "core", ours["ans_f1"], _ends(intervals, "ans_f1")),
            ]
        groups[view.name] = bars
    return bar_chart(groups, marks={view.name: view.result["metrics"]["ceiling_filled"] for view in views})


def _ends(intervals: dict[str, list[float]], name: str) -> tuple[float, float]:
    low, high = intervals[name]
    return float(low), float(high)


def _positions(views: Sequence[RunView]) -> HeatMap:
    shares: dict[str, tuple[float, ...]] = {}
    for view in views:
        shares[f"{view.name}: pool order"] = view.before
        shares[f"{view.name}: selected"] = view.after
    return heat_map(PLACES, shares)


def _breakdown(view: RunView) -> BarChart:
    groups: dict[str, list[Bar]] = {}
    for title, part in (("hops", "by_hops"), ("type", "by_type"), ("gold", "by_gold_reach")):
        for label, group in view.result[part].items():
            groups[f"{title}: {label} (N = {group['n']:,})"] = [
                Bar("plain top k", "plain", group["baseline"]["sup_f1_filled"]),
                Bar("core", "core", group["metrics"]["sup_f1_core"]),
            ]
    return bar_chart(groups)


def _configuration(result: dict[str, Any]) -> str:
    kept = {name: result[name] for name in ("config", "versions", "commit", "sha256", "states", "gold_reach")}
    return json.dumps(kept, indent=2, ensure_ascii=False)
