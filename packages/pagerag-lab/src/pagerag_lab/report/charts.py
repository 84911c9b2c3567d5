"""Charts as inline SVG, so that the page needs nothing but itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

__all__ = ["bar_chart", "heat_map"]

Bar = tuple[str, str, float, tuple[float, float] | None]
"""(label, class, fraction, interval)"""


def bar_chart(groups: Mapping[str, Sequence[Bar]], *, marks: Mapping[str, float] | None = None) -> str:
    """Horizontal bars in groups, from 0 to 100 points; ``marks`` draws a group's ceiling."""
    left, width, step, gap = 250, 560, 20, 30
    height = sum(gap + step * len(bars) for bars in groups.values()) + 26
    parts = [
        f'<svg class="chart" role="img" viewBox="0 0 {left + width + 90} {height}" '
        f'style="max-width:{left + width + 90}px">'
    ]
    for tick in range(0, 101, 20):
        x = left + width * tick / 100
        parts.append(f'<line class="grid" x1="{x}" x2="{x}" y1="8" y2="{height - 18}"/>')
        parts.append(f'<text class="tick" x="{x}" y="{height - 4}" text-anchor="middle">{tick}</text>')
    y = 0.0
    for name, bars in groups.items():
        parts.append(f'<text class="group" x="0" y="{y + 20}">{escape(name)}</text>')
        y += gap
        for label, kind, value, interval in bars:
            middle = y + step / 2
            length = max(0.0, width * value)
            parts.append(
                f'<text class="label" x="{left - 8}" y="{middle + 4}" text-anchor="end">'
                f"{escape(label)}</text>"
            )
            parts.append(
                f'<rect class="{kind}" x="{left}" y="{y + 3}" width="{length:.1f}" height="{step - 6}"/>'
            )
            end = left + length
            if interval is not None:
                low, high = (left + width * side for side in interval)
                parts.append(
                    f'<line class="whisker" x1="{low:.1f}" x2="{high:.1f}" y1="{middle}" y2="{middle}"/>'
                )
                end = max(end, high)
            parts.append(f'<text class="value" x="{end + 6:.1f}" y="{middle + 4}">{100 * value:.1f}</text>')
            y += step
        if marks and name in marks:
            x = left + width * marks[name]
            top = y - step * len(bars)
            parts.append(f'<line class="ceiling" x1="{x:.1f}" x2="{x:.1f}" y1="{top}" y2="{y}"/>')
    parts.append("</svg>")
    return "".join(parts)


def heat_map(columns: Sequence[str], rows: Mapping[str, Sequence[float]]) -> str:
    """Shares in per cent, darker where larger."""
    left, cell, line = 250, 64, 26
    height = line * (len(rows) + 1)
    width = left + cell * len(columns)
    parts = [f'<svg class="chart" role="img" viewBox="0 0 {width} {height}" style="max-width:{width}px">']
    for place, column in enumerate(columns):
        x = left + cell * place + cell / 2
        parts.append(f'<text class="tick" x="{x}" y="17" text-anchor="middle">{escape(column)}</text>')
    for number, (name, shares) in enumerate(rows.items()):
        y = line * (number + 1)
        parts.append(
            f'<text class="label" x="{left - 8}" y="{y + 17}" text-anchor="end">{escape(name)}</text>'
        )
        for place, share in enumerate(shares):
            x = left + cell * place
            ink = "light" if share > 0.35 else "dark"
            parts.append(
                f'<rect class="cell" x="{x + 1}" y="{y + 1}" width="{cell - 2}" height="{line - 2}" '
                f'fill-opacity="{min(1.0, 0.06 + 1.5 * share):.3f}"/>'
                f'<text class="{ink}" x="{x + cell / 2}" y="{y + 17}" text-anchor="middle">'
                f"{100 * share:.1f}</text>"
            )
    parts.append("</svg>")
    return "".join(parts)
