"""Lay out charts: where each bar, cell and label of the page's inline pictures stands, in SVG units."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

__all__ = ["Bar", "BarChart", "HeatMap", "bar_chart", "heat_map"]

LEFT = 250
"""How much room labels have left of a chart."""


@dataclass(frozen=True, slots=True)
class Bar:
    """A bar to draw: its label, the class of its colour, a fraction of 1, and its interval if any."""

    label: str
    kind: str
    value: float
    interval: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True)
class PlacedBar:
    """A bar and its places: top, middle line, length, ends of the interval, where its value is written."""

    bar: Bar
    top: float
    middle: float
    length: float
    whisker: tuple[float, float] | None
    end: float


@dataclass(frozen=True, slots=True)
class Group:
    """Bars under one name; ``ceiling`` is (x, top, bottom) of the line that none can pass."""

    name: str
    top: float
    bars: tuple[PlacedBar, ...]
    ceiling: tuple[float, float, float] | None


@dataclass(frozen=True, slots=True)
class BarChart:
    """Horizontal bars in groups, from 0 to 100 points."""

    width: float
    height: float
    left: float
    thickness: float
    ticks: tuple[tuple[int, float], ...]
    groups: tuple[Group, ...]


@dataclass(frozen=True, slots=True)
class Cell:
    """One share of a heat map."""

    x: float
    share: float
    opacity: float


@dataclass(frozen=True, slots=True)
class HeatMap:
    """Shares in per cent, darker where larger."""

    width: float
    height: float
    left: float
    cell: float
    line: float
    columns: tuple[tuple[str, float], ...]
    rows: tuple[tuple[str, float, tuple[Cell, ...]], ...]


def bar_chart(groups: Mapping[str, Sequence[Bar]], *, marks: Mapping[str, float] | None = None) -> BarChart:
    """Place horizontal bars in groups; ``marks`` has a group's ceiling."""
    width, step, gap = 560, 20, 30
    height = sum(gap + step * len(bars) for bars in groups.values()) + 26
    placed = []
    y = 0.0
    for name, bars in groups.items():
        top = y
        y += gap
        drawn = []
        for bar in bars:
            length = max(0.0, width * bar.value)
            ends = None
            if bar.interval is not None:
                low, high = bar.interval
                ends = (LEFT + width * low, LEFT + width * high)
            end = max(LEFT + length, ends[1] if ends else 0.0)
            drawn.append(PlacedBar(bar, y + 3, y + step / 2, length, ends, end + 6))
            y += step
        mark = (marks or {}).get(name)
        ceiling = None if mark is None else (LEFT + width * mark, y - step * len(bars), y)
        placed.append(Group(name, top + 20, tuple(drawn), ceiling))
    ticks = tuple((tick, LEFT + width * tick / 100) for tick in range(0, 101, 20))
    return BarChart(LEFT + width + 90, height, LEFT, step - 6, ticks, tuple(placed))


def heat_map(columns: Sequence[str], rows: Mapping[str, Sequence[float]]) -> HeatMap:
    """Place the cells of a heat map."""
    cell, line = 64, 26
    return HeatMap(
        width=LEFT + cell * len(columns),
        height=line * (len(rows) + 1),
        left=LEFT,
        cell=cell,
        line=line,
        columns=tuple((name, LEFT + cell * (place + 0.5)) for place, name in enumerate(columns)),
        rows=tuple(
            (
                name,
                float(line * number),
                tuple(
                    Cell(LEFT + cell * place, share, min(1.0, 0.06 + 1.5 * share))
                    for place, share in enumerate(shares)
                ),
            )
            for number, (name, shares) in enumerate(rows.items(), start=1)
        ),
    )
