"""One self-contained HTML page: answer, evidence paths, context, what was rejected, the graph, the pool."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from pagerag.explain.graph import graph_svg
from pagerag.explain.paths import paths_svg
from pagerag.explain.style import STYLE
from pagerag.promotion import Promotion
from pagerag.units import Answer, Candidate, Citation

__all__ = ["page"]

# No script, no image, no font from anywhere: what a document says cannot make the page do anything.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"


def page(
    promotion: Promotion,
    *,
    answer: Answer | None = None,
    statement: str | None = None,
    units: Sequence[Candidate] = (),
    timings: Mapping[str, float] | None = None,
    trace: Mapping[str, Any] | None = None,
) -> str:
    """The page as text. ``units`` are what the reader saw, in its numbering; the context when not given."""
    shown = tuple(units) or tuple(promotion.context)
    sections = [
        _head(promotion, statement, timings),
        _section("Evidence paths", _figure(paths_svg(promotion, answer, shown), _PATH_LEGEND)),
        _section("What the reader sees", _context(promotion, shown, answer)),
        _rejected(promotion),
        _section("The query-local graph", _figure(graph_svg(promotion), _GRAPH_LEGEND)),
        _section("The pool", _pool(promotion)),
    ]
    if trace is not None:
        told = escape(json.dumps(trace, ensure_ascii=False, indent=1, default=str))
        sections.append(f"<details><summary>The whole trace as JSON</summary><pre>{told}</pre></details>")
    title = escape(promotion.question)
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{title}</title><style>{STYLE}</style></head><body><main>{''.join(sections)}</main></body></html>\n"
    )


_CITED = '<span class="tag cited">cited</span>'
_PATH_LEGEND = (
    ("core", "kept: the core"),
    ("fill", "fills the budget"),
    ("pool", "rejected: connected, but no support"),
)
_GRAPH_LEGEND = (
    ("core", "sentence of the core (number: place in the pool)"),
    ("fill", "fills the budget"),
    ("pool", "other sentence"),
    ("asked", "name in the question"),
    ("named", "other name"),
)


def _head(promotion: Promotion, statement: str | None, timings: Mapping[str, float] | None) -> str:
    clock = ""
    if timings:
        clock = " · ".join(f"{escape(name)} {seconds * 1000:,.0f} ms" for name, seconds in timings.items())
    share = round(100 * float(promotion.sufficiency))
    said = f'<p class="answer">{escape(statement)}</p>' if statement else ""
    return (
        f"<header><h1>{escape(promotion.question)}</h1>{said}"
        f'<p class="meta"><span class="state {promotion.state}">{promotion.state}</span>'
        f'<span class="meter" title="sufficiency {share} %"><i style="width:{share}%"></i></span>'
        f"sufficiency {promotion.sufficiency:.2f} · {len(promotion.core)} of {len(promotion.pool)} units in "
        f"the core, {len(promotion.context)} in the context (k = {promotion.k}) · {promotion.mode} mode · "
        f"{escape(str(promotion.strategy))} strategy{f' · {clock}' if clock else ''}</p></header>"
    )


def _section(title: str, body: str) -> str:
    return f"<section><h2>{escape(title)}</h2>{body}</section>"


def _figure(svg: str, legend: Sequence[tuple[str, str]]) -> str:
    keys = "".join(f'<span><i class="key {kind}"></i>{escape(text)}</span>' for kind, text in legend)
    return f'<figure><div class="scroll">{svg}</div><figcaption>{keys}</figcaption></figure>'


def _context(promotion: Promotion, units: Sequence[Candidate], answer: Answer | None) -> str:
    core = {unit.id for unit in promotion.core}
    scores = {unit.id: float(s) for unit, s in zip(promotion.pool, promotion.scores, strict=True)}
    cited: dict[int, list[Citation]] = {}
    for citation in answer.citations if answer is not None else ():
        cited.setdefault(citation.number, []).append(citation)
    rows = []
    for number, unit in enumerate(units, 1):
        role = "core" if unit.id in core else "fill"
        rows.append(
            f'<li class="{role}"><div><b>[{number}]</b> <b>{escape(unit.title or "")}</b> '
            f'<span class="tag {role}">{role} {scores.get(unit.id, 0.0):.2f}</span>'
            f"{_CITED if number in cited else ''}</div>"
            f"<p>{_marked(unit, cited.get(number, []))}</p>"
            f'<p class="place">{escape(_place(unit))}</p></li>'
        )
    return f'<ol class="units">{"".join(rows)}</ol>'


def _marked(unit: Candidate, citations: Sequence[Citation]) -> str:
    """The unit's text without a heading that repeats its title, the cited places marked."""
    heading = f"{unit.title}\n" if unit.title else ""
    at = len(heading) if heading and unit.text.startswith(heading) else 0
    told = []
    spans = sorted((c.start, c.end) for c in citations if c.start is not None and c.end is not None)
    for start, end in spans:
        if start >= at:
            told += [escape(unit.text[at:start]), f"<mark>{escape(unit.text[start:end])}</mark>"]
            at = end
    return "".join([*told, escape(unit.text[at:])])


def _place(unit: Candidate) -> str:
    path, page_number = unit.metadata.get("path"), unit.metadata.get("page")
    parts = [str(path or unit.source or unit.id)]
    if page_number is not None:
        parts.append(f"page {page_number}")
    if "start" in unit.metadata:
        parts.append(f"characters {unit.metadata['start']:,}–{unit.metadata['end']:,}")
    return ", ".join(parts)


def _rejected(promotion: Promotion) -> str:
    paths = [path for path in promotion.paths if path.verdict != "kept" and len(path.units) > 1][:6]
    if not paths:
        return ""
    rows = "".join(
        f"<tr><td>{path.score:+.2f}</td><td>{_steps(path)}</td><td>{escape(path.reason)}</td></tr>"
        for path in paths
    )
    table = f"<table><tr><th>score</th><th>path</th><th>what it lacks</th></tr>{rows}</table>"
    return _section("Connected, but not support", f'<div class="scroll">{table}</div>')


def _steps(path: Any) -> str:
    told = [escape(path.units[0].title or path.units[0].id)]
    for edge, unit in zip(path.edges, path.units[1:], strict=True):
        via = escape(", ".join(edge.trig[:2]) or edge.kind)
        told.append(f'<span class="via">{via}</span> {escape(unit.title or unit.id)}')
    return " ".join(told)


def _pool(promotion: Promotion) -> str:
    core = {unit.id for unit in promotion.core}
    context = {unit.id for unit in promotion.context}
    rows = []
    for number, (unit, score) in enumerate(zip(promotion.pool, promotion.scores, strict=True), 1):
        role = "core" if unit.id in core else "fill" if unit.id in context else "pool"
        share = max(0, min(100, round(100 * float(score))))
        rows.append(
            f'<tr class="{role}"><td>{number}</td><td class="bar"><i style="width:{share}%"></i>'
            f"<span>{float(score):.2f}</span></td>"
            f"<td><b>{escape(unit.title or '')}</b> {_marked(unit, ())}</td></tr>"
        )
    head = "<tr><th>retrieved</th><th>promotion</th><th>unit</th></tr>"
    return f'<div class="scroll"><table class="pool">{head}{"".join(rows)}</table></div>'
