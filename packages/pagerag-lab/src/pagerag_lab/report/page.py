"""The page: plain HTML with its style, charts and a few lines of script inside."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from pagerag_lab.report.charts import bar_chart, heat_map

if TYPE_CHECKING:
    from pagerag_lab.metrics.statistics import Comparison
    from pagerag_lab.report import Case, RunView

__all__ = ["page"]

_PLACES = ("1", "2", "3", "4", "5", "Out")


def page(views: Sequence[RunView], pairs: Sequence[tuple[RunView, RunView, Comparison]]) -> str:
    """The whole file."""
    style = files("pagerag_lab.report").joinpath("style.css").read_text(encoding="utf-8")
    script = files("pagerag_lab.report").joinpath("script.js").read_text(encoding="utf-8")
    body = [
        "<header><h1>Runs compared</h1><p>Support is scored on the units that a run selected. <em>Plain</em> "
        "is the same pool's own first k units. Values are points; intervals are 95 % bootstrap.</p>",
        _menu(views),
        "</header><main>",
        _overview(views),
        _charts(views),
        _pairs(pairs),
        *(_run(view) for view in views),
        "</main>",
    ]
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1"><title>pagerag report</title>'
        f"<style>{style}</style></head><body>{''.join(body)}<script>{script}</script></body></html>\n"
    )


def _menu(views: Sequence[RunView]) -> str:
    links = "".join(f'<a href="#{view.anchor}">{escape(view.name)}</a>' for view in views)
    return f"<nav>{links}</nav>"


def _points(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:.1f}"


def _p(value: float) -> str:
    return "&lt; .001" if value < 0.001 else f"{value:.3f}"


def _overview(views: Sequence[RunView]) -> str:
    head = (
        "Run", "Dataset, unit", "Pool", "Strategy", "N", "Plain Sup F1", "Sup F1 core", "Core − plain", "p",
        "Sup F1 filled", "Ceiling", "Recall@5", "Full recall@5", "Units in core", "Plain Ans F1", "Ans F1",
        "Errors",
    )  # fmt: skip
    rows = []
    for view in views:
        result, config = view.result, view.result["config"]
        ours, plain = result["metrics"], result["baseline"]
        test = result["against_baseline"].get("sup_f1_core")
        low, high = result["intervals"]["sup_f1_core"]
        cells = [
            f'<a href="#{view.anchor}">{escape(view.name)}</a>',
            f"{escape(config['dataset'])}, {escape(config['mode'])}",
            f"{escape(config['retriever'])} top-{config['pool']}",
            escape(config["strategy"] + "".join(f", w/o {part}" for part in config["ablate"])),
            f"{result['n']:,}",
            _points(plain["sup_f1_filled"]),
            f"<b>{_points(ours['sup_f1_core'])}</b> <small>{_points(low)}–{_points(high)}</small>",
            f"{100 * test['difference']:+.1f}" if test else "–",
            _p(test["p"]) if test else "–",
            _points(ours["sup_f1_filled"]),
            _points(ours["ceiling_filled"]),
            _points(ours["recall_at_5"]),
            _points(ours["full_recall_at_5"]),
            f"{result['mean_units_core']:.2f}",
            _points(plain.get("ans_f1")),
            _points(ours.get("ans_f1")),
            str(result["errors"]),
        ]
        rows.append("<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>")
    header = "".join(f"<th>{name}</th>" for name in head)
    return (
        '<section><h2>Overview</h2><div class="wide"><table class="numbers">'
        f"<thead><tr>{header}</tr></thead><tbody>{''.join(rows)}</tbody></table></div></section>"
    )


def _charts(views: Sequence[RunView]) -> str:
    groups: dict[str, list[tuple[str, str, float, tuple[float, float] | None]]] = {}
    marks = {}
    positions: dict[str, tuple[float, ...]] = {}
    for view in views:
        result = view.result
        ours, plain = result["metrics"], result["baseline"]
        groups[view.name] = [
            (
                "plain top k",
                "plain",
                plain["sup_f1_filled"],
                _ends(result["baseline_intervals"], "sup_f1_filled"),
            ),
            ("core", "core", ours["sup_f1_core"], _ends(result["intervals"], "sup_f1_core")),
            ("filled", "filled", ours["sup_f1_filled"], _ends(result["intervals"], "sup_f1_filled")),
        ]
        if ours.get("ans_f1") is not None:
            groups[view.name] += [
                ("answer F1, plain", "plain", plain["ans_f1"], _ends(result["baseline_intervals"], "ans_f1")),
                ("answer F1", "core", ours["ans_f1"], _ends(result["intervals"], "ans_f1")),
            ]
        marks[view.name] = ours["ceiling_filled"]
        positions[f"{view.name}: pool order"] = view.before
        positions[f"{view.name}: selected"] = view.after
    return (
        "<section><h2>Support F1</h2><p>The dashed line is the most that k filled units can reach.</p>"
        f"{bar_chart(groups, marks=marks)}</section>"
        "<section><h2>Where gold facts stand</h2><p>Share of gold facts at each place of the context, in per "
        f"cent; Out: not among the first five.</p>{heat_map(_PLACES, positions)}</section>"
    )


def _ends(intervals: dict[str, list[float]], name: str) -> tuple[float, float]:
    low, high = intervals[name]
    return low, high


def _pairs(pairs: Sequence[tuple[RunView, RunView, Comparison]]) -> str:
    if not pairs:
        return ""
    rows = "".join(
        f"<tr><td>{escape(first.name)}</td><td>{escape(second.name)}</td><td>{test.n:,}</td>"
        f"<td>{100 * test.difference:+.1f}</td><td>{100 * test.low:+.1f} to {100 * test.high:+.1f}</td>"
        f"<td>{_p(test.p)}</td><td>{test.wins:,} / {test.losses:,} / {test.ties:,}</td></tr>"
        for first, second, test in pairs
    )
    return (
        "<section><h2>Runs against each other</h2><p>Sup F1 core on the questions that both have; paired, "
        'with a sign-flip permutation test.</p><div class="wide"><table class="pairs"><thead><tr>'
        "<th>First</th><th>Second</th><th>N</th><th>Difference</th><th>95 % interval</th><th>p</th>"
        f"<th>Better / worse / equal</th></tr></thead><tbody>{rows}</tbody></table></div></section>"
    )


def _run(view: RunView) -> str:
    result = view.result
    wins, losses, ties = view.counts
    parts = [
        f'<section id="{view.anchor}"><h2>{escape(view.name)}</h2>',
        f"<p>{wins:,} questions won, {losses:,} lost and {ties:,} equal against the plain retriever "
        f"(Sup F1, core against its first {result['config']['k']}).</p>",
        _breakdown(view),
        "<details><summary>Configuration and versions</summary>"
        f"<pre>{escape(_config(result))}</pre></details>",
    ]
    for title, kind, cases in (("Won", "won", view.wins), ("Lost", "lost", view.losses)):
        if cases:
            parts.append(_cases(view, title, kind, cases))
    if view.errors:
        items = "".join(
            f"<li><code>{escape(row['id'])}</code> {escape(row['error']['type'])}: "
            f"{escape(row['error']['message'])}</li>"
            for row in view.errors
        )
        parts.append(f"<h3>Errors</h3><ul>{items}</ul>")
    parts.append("</section>")
    return "".join(parts)


def _breakdown(view: RunView) -> str:
    groups: dict[str, list[tuple[str, str, float, tuple[float, float] | None]]] = {}
    for title, part in (("hops", "by_hops"), ("type", "by_type"), ("gold", "by_gold_reach")):
        for label, group in view.result[part].items():
            groups[f"{title}: {label} (N = {group['n']:,})"] = [
                ("plain top k", "plain", group["baseline"]["sup_f1_filled"], None),
                ("core", "core", group["metrics"]["sup_f1_core"], None),
            ]
    return (
        "<details><summary>By hop count, question type and reach of the pool</summary>"
        f"{bar_chart(groups)}</details>"
    )


def _config(result: dict[str, Any]) -> str:
    import json

    kept = {name: result[name] for name in ("config", "versions", "commit", "sha256", "states", "gold_reach")}
    return json.dumps(kept, indent=2, ensure_ascii=False)


def _cases(view: RunView, title: str, kind: str, cases: Sequence[Case]) -> str:
    index = "".join(
        f'<tr><td>{100 * case.change:+.0f}</td><td><a href="#{view.anchor}-{escape(case.row["id"])}">'
        f"{escape(case.row['question'])}</a></td><td>{escape(case.row['type'])}</td><td>{case.row['hops']}</td>"
        f"<td>{escape(case.row['state'] or '')}</td></tr>"
        for case in cases
    )
    total = view.counts[0 if kind == "won" else 1]
    shown = f"the {len(cases)} largest of {total:,}" if total > len(cases) else f"{total:,}"
    return (
        f'<h3 class="{kind}">{title} ({shown})</h3>'
        f'<input class="find" placeholder="filter these questions" aria-label="filter">'
        '<div class="wide scroll"><table class="cases"><thead><tr><th>Change</th><th>Question</th>'
        f"<th>Type</th><th>Hops</th><th>State</th></tr></thead><tbody>{index}</tbody></table></div>"
        f'<div class="cards">{"".join(_card(view, kind, case) for case in cases)}</div>'
    )


def _card(view: RunView, kind: str, case: Case) -> str:
    row = case.row
    texts = row.get("texts", {})
    answers = ""
    if row["answer"] is not None:
        answers = (
            f"<p>Answer <b>{escape(_short(row['answer'], 160)) or '–'}</b>, from the plain context "
            f"<b>{escape(_short(row['baseline']['answer'] or '', 160)) or '–'}</b></p>"
        )
    trace = (
        f"<details><summary>Explanation</summary><pre>{escape(row['explanation'])}</pre></details>"
        if row.get("explanation")
        else ""
    )
    missing = [key for key, rank in row["gold_rank_after"].items() if rank is None]
    lost = f'<p class="missing">Gold not in the context: {escape(", ".join(missing))}</p>' if missing else ""
    return (
        f'<article class="{kind}" id="{view.anchor}-{escape(row["id"])}"><h4>{escape(row["question"])}</h4>'
        f"<p>Accepted: <b>{escape(' · '.join(row['answers']) or '–')}</b> · Sup F1 "
        f"{_points(row['metrics']['sup_f1_core'])} against {_points(row['baseline']['metrics']['sup_f1_filled'])} · "
        f"{escape(row['state'] or '')} · "
        f"<code>{escape(row['id'])}</code></p>{answers}"
        f'<div class="two"><div><h5>Selected</h5>{_units(row, row["context"], texts, set(row["core"]))}</div>'
        f"<div><h5>Plain</h5>{_units(row, row['baseline']['context'], texts, None)}</div></div>"
        f"{lost}{trace}</article>"
    )


def _units(row: dict[str, Any], ids: Sequence[str], texts: dict[str, Any], core: set[str] | None) -> str:
    gold = set(row["gold"])
    items = []
    for unit in ids:
        title, text = texts.get(unit, (None, None))
        marks = []
        if unit in gold:
            marks.append('<span class="gold">gold</span>')
        if core is not None:
            marks.append('<span class="in">core</span>' if unit in core else '<span class="fill">fill</span>')
        words = f"<b>{escape(title)}</b> {escape(_short(text))}" if text else escape(unit)
        if text and not title:
            words = escape(_short(text))
        items.append(f"<li>{''.join(marks)} {words}</li>")
    return f"<ol>{''.join(items)}</ol>"


def _short(text: str, most: int = 320) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"
