"""Show the doctests of docstrings as code in the API reference: a griffe extension, used by mkdocs.yml."""

from __future__ import annotations

from typing import Any

import griffe


class Doctests(griffe.Extension):
    """Put fences around every doctest, so that Markdown does not read it as a quotation."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Rewrite the docstring of one object."""
        if obj.docstring is not None and ">>>" in obj.docstring.value:
            obj.docstring.value = fenced(obj.docstring.value)


def fenced(text: str) -> str:
    """Return the text with each run of lines from a prompt to the next blank line inside a fence."""
    lines: list[str] = []
    inside = False
    for line in [*text.splitlines(), ""]:
        if not inside and line.lstrip().startswith(">>>"):
            lines += ["", "```pycon"]
            inside = True
        elif inside and not line.strip():
            lines.append("```")
            inside = False
        lines.append(line)
    return "\n".join(lines)
