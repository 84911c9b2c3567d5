"""The recipes of docs/plugins.md: short, and they run, wherever their framework is installed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from pagerag.errors import MissingExtraError

PAGE = Path(__file__).parents[2] / "docs" / "plugins.md"
SECTION = re.compile(r"^## (.+?)$(.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)

RECIPES = [
    pytest.param(code, id=f"{title} {number}")
    for title, body in SECTION.findall(PAGE.read_text("utf-8"))
    for number, code in enumerate(BLOCK.findall(body), 1)
]


def test_every_framework_has_a_recipe():
    named = {param.id.rsplit(" ", 1)[0] for param in RECIPES}
    assert {"LangChain", "LlamaIndex", "Haystack", "DSPy", "rerankers", "FlashRAG", "txtai"} <= named


@pytest.mark.parametrize("code", RECIPES)
def test_a_recipe_has_at_most_fifteen_lines(code):
    assert len([line for line in code.splitlines() if line.strip()]) <= 15


@pytest.mark.integration
@pytest.mark.parametrize("code", RECIPES)
def test_a_recipe_runs_and_prints_its_evidence(code, capsys):
    try:
        exec(compile(code, str(PAGE), "exec"), {"__name__": "__main__"})  # noqa: S102 - our own page
    except MissingExtraError as missing:
        pytest.skip(str(missing))
    except ModuleNotFoundError as missing:
        if missing.name and missing.name.startswith("pagerag"):
            raise
        pytest.skip(f"{missing.name} is not installed")
    assert "Tarkovsky" in capsys.readouterr().out
