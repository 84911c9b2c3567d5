"""One self-contained HTML page for a view, and the page that asks a server. Neither loads anything."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping
from functools import cache
from html import escape
from typing import Any

from pagerag.explain.paths import asset


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
