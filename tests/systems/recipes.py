"""The recipes of docs/backends.md, by name, and how to run one."""

from __future__ import annotations

import ast
import asyncio
import inspect
import re
from pathlib import Path
from typing import Any

PAGE = Path(__file__).parents[2] / "docs" / "backends.md"
_BLOCK = re.compile(
    r"^<!-- recipe: (?P<name>\S+) -->\n```python\n(?P<code>.*?)^```", re.MULTILINE | re.DOTALL
)
RECIPES = {found["name"]: found["code"] for found in _BLOCK.finditer(PAGE.read_text("utf-8"))}


async def arun(name: str, **given: Any) -> dict[str, Any]:
    """Run a recipe with what it takes as given; returns its variables."""
    names: dict[str, Any] = {"__name__": "recipe", **given}
    code = compile(RECIPES[name], f"{PAGE.name}:{name}", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    result = eval(code, names)  # noqa: S307 - our own page
    if inspect.isawaitable(result):
        await result
    return names


def run(name: str, **given: Any) -> dict[str, Any]:
    return asyncio.run(arun(name, **given))
