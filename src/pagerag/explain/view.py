"""One document with everything that a promotion shows, and the HTML pages that draw it, offline."""

from __future__ import annotations

import base64
import hashlib
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache
from html import escape
from typing import Any

from pagerag.explain.paths import asset, paths_svg
from pagerag.explain.reasons import (
    arguments,
    cited,
    naming_asked,
    path_reason,
    selection_steps,
    sentences_of,
)
from pagerag.explain.verdict import verdict
from pagerag.places import place_of
from pagerag.promotion import Promotion
from pagerag.promotion.trace import unit_label
from pagerag.units import Answer, Candidate

VERSION = 1
_Found = Mapping[str, Mapping[str, Any]]
_MOST_PATHS = 24
_MOST_TEXT = 20_000  # characters of one unit that a view carries


def view(
    promotion: Promotion,
    *,
    answer: Answer | None = None,
    units: Sequence[Candidate] = (),
    timings: Mapping[str, float] | None = None,
    found: _Found | None = None,
) -> dict[str, Any]:
    """Return a JSON-able document of a promotion.

    ``units`` are what the reader saw, in its numbering; the context when not given. ``found`` says by unit id
    how follow-up retrieval came to it.
    """
    shown = tuple(units) or tuple(promotion.context)
    return {
        "version": VERSION, "question": promotion.question, "mode": promotion.mode,
        "strategy": str(promotion.strategy), "k": int(promotion.k), "state": promotion.state,
        "sufficiency": round(float(promotion.sufficiency), 4),
        "verdict": verdict(promotion, answer).to_dict(),
        "answer": _answer(answer, shown),
        "shown": [unit.id for unit in shown],
        "core": [unit.id for unit in promotion.core],
        "context": [unit.id for unit in promotion.context],
        "candidates": _candidates(promotion, shown, answer, found or {}),
        "argument": _argument(promotion), "paths": _paths(promotion), "steps": selection_steps(promotion),
        "graph": _graph(promotion), "picture": paths_svg(promotion, answer, shown),
        "timings": {name: round(float(seconds), 6) for name, seconds in (timings or {}).items()},
    }  # fmt: skip


def _answer(answer: Answer | None, shown: Sequence[Candidate]) -> dict[str, Any] | None:
    if answer is None:
        return None
    return {
        "text": answer.text,
        "reader": answer.reader,
        "abstained": answer.abstained or not answer.text,
        "confidence": answer.confidence,
        "quotes": answer.quotes,
        "citations": [
            {
                "number": citation.number, "id": unit.id, "title": unit.title, "quote": citation.quote,
                "start": citation.start, "end": citation.end,
            }
            for citation, unit in cited(answer, shown)
        ],
    }  # fmt: skip


def _candidates(
    promotion: Promotion, shown: Sequence[Candidate], answer: Answer | None, found: _Found
) -> list[dict[str, Any]]:
    core, context = set(promotion.core_places), set(promotion.context_places)
    numbers = {unit.id: number for number, unit in enumerate(shown, 1)}
    marks: dict[str, list[dict[str, Any]]] = {}  # cited spans of units' texts, in their sentences
    for citation, unit in cited(answer, shown):
        if citation.start is not None and citation.end is not None:
            spans = sentences_of(citation, unit) or [(citation.start, citation.end)]
            mark = {"start": citation.start, "end": citation.end, "from": spans[0][0], "to": spans[-1][1]}
            marks.setdefault(unit.id, []).append(mark)
    retrieved = {place: rank for rank, place in enumerate(promotion.order, 1)}
    rows = []
    for place, unit in enumerate(promotion.pool):
        passage = str(unit.metadata.get("passage", unit.id))
        known = {} if unit.metadata.get("path") is None else place_of(unit).to_dict()
        rows.append(
            {
                "id": unit.id, "passage": passage, "title": unit.title,
                "label": unit_label(unit) if unit.title else None,
                "text": unit.text[:_MOST_TEXT], "cut": max(0, len(unit.text) - _MOST_TEXT),
                "skip": _heading(unit), "score": round(float(promotion.scores[place]), 4),
                "retrieved": retrieved[place],
                "retrieved_score": None if unit.score is None else round(float(unit.score), 4),
                "role": "core" if place in core else "fill" if place in context else "pool",
                "number": numbers.get(unit.id),
                "why": list(promotion.why(place)) if place in context else [],
                "marks": marks.get(unit.id, []),
                "place": {key: value for key, value in known.items() if value not in (None, [])},
                **({"found": dict(found[passage])} if passage in found else {}),
            }
        )  # fmt: skip
    return rows


def _heading(unit: Candidate) -> int:
    """Return how many characters at the start of a unit's text only repeat its title."""
    title = (unit.title or "").strip()
    start = len(unit.text) - len(unit.text.lstrip("# \n"))
    if not title or not unit.text[start:].startswith(f"{title}\n"):
        return 0
    rest = unit.text[start + len(title) :]
    return len(unit.text) - len(rest.lstrip()) if rest.strip() else 0


def _argument(promotion: Promotion) -> dict[str, Any] | None:
    """Return the kept path of several units whose weakest unit is the strongest."""
    best = next(iter(arguments(promotion)), None)
    if best is None:
        return None
    names = naming_asked(promotion)
    told = best.to_dict() | {"labels": list(best.labels)}
    if told["units"][-1] in names and told["units"][0] not in names:  # it begins with what the question names
        for key in ("units", "labels", "sentences", "edges"):
            told[key] = told[key][::-1]
    return told


def _paths(promotion: Promotion) -> list[dict[str, Any]]:
    several = [path for path in promotion.paths if path.verdict == "kept" and len(path.units) > 1][:4]
    chosen = {path.rank: path for path in (*promotion.paths[:_MOST_PATHS], *several)}
    return [
        path.to_dict() | {"labels": list(path.labels), "reason": path_reason(promotion, path)}
        for _, path in sorted(chosen.items())
    ]


def _graph(promotion: Promotion) -> dict[str, Any]:
    """Return the graph without what says nothing: names that occur once and join nothing."""
    graph = promotion.graph.to_dict()
    telling = [edge for edge in graph["edges"] if edge["kind"] in {"mention", "relation"}]
    degree = Counter(end for edge in telling for end in (edge["from"], edge["to"]))
    kept = {
        node["id"]
        for node in graph["nodes"]
        if node["kind"] != "entity" or node.get("asked") or degree[node["id"]] > 1
    }
    return {
        "nodes": [node for node in graph["nodes"] if node["id"] in kept],
        "edges": [edge for edge in graph["edges"] if edge["from"] in kept and edge["to"] in kept],
    }


def page(view: Mapping[str, Any]) -> str:
    """Return a view as one HTML file that draws itself, offline.

    The only script that may run is ours, known by its hash: what a document says cannot make the page do
    anything. Without scripts the file still tells the answer, the verdict and the passages.
    """
    # "<" never stands in the data, so that no text can end the element it is in.
    data = json.dumps(view, ensure_ascii=False, default=str).replace("<", "\\u003c")
    body = (
        '<header class="top"><span class="brand">page<span>rag</span></span></header>'
        f'<main><div id="result">{_plain(view)}</div></main>'
        f'<script type="application/json" id="view">{data}</script>'
    )
    return _document(str(view["question"]), body, "file.js")[0]


@cache
def app_page() -> tuple[str, str]:
    """Return the page that asks a server, and the Content-Security-Policy to send with it."""
    html, policy = _document("pagerag", asset("app.html"), "app.js", '<link rel="icon" href="data:,">')
    return html, (
        f"{policy}; connect-src 'self'; "
        "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )


def _document(title: str, body: str, script: str, icon: str = "") -> tuple[str, str]:
    """Return a page and its policy; without an icon it is a file, and has the policy in it."""
    script = asset("draw.js") + asset(script)
    style = asset("drawing.css") + asset("page.css")
    policy = f"default-src 'none'; style-src {_hash(style)}; script-src {_hash(script)}"
    inside = "" if icon else f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8">{inside}'
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><title>{escape(title)}</title>'
        f"{icon}<style>{style}</style></head><body>{body}<script>{script}</script></body></html>\n"
    ), policy


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


def _plain(view: Mapping[str, Any]) -> str:
    """Return the view without pictures, for browsers without scripts; the script replaces it."""
    answer = (view.get("answer") or {}).get("text")
    units = {unit["id"]: unit for unit in view["candidates"]}
    said = f'<p class="answer">{escape(answer)}</p>' if answer else ""
    lacking = "".join(f"<li>{escape(line)}</li>" for line in view["verdict"]["missing"])
    passages = "".join(
        f"<li><b>{escape(unit['title'] or '')}</b><p>{escape(unit['text'])}</p></li>"
        for unit in (units[name] for name in view["shown"])
    )
    return (
        f"<h1>{escape(view['question'])}</h1>{said}<p><b>{escape(view['verdict']['label'])}</b> "
        f"{escape(view['verdict']['words'])}</p>{f'<ul>{lacking}</ul>' if lacking else ''}"
        f'<figure class="picture"><div class="scroll">{view["picture"]}</div></figure>'
        f'<ol class="units">{passages}</ol>'
    )
