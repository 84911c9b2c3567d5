"""Product and laboratory: the product's wheel holds nothing of the laboratory, which enters by public names."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import pagerag
import pagerag_lab
from pagerag_lab.reproduce import paper

REPOSITORY = Path(__file__).parents[3]
LAB = Path(pagerag_lab.__file__).parent

ALLOWED = {"product.py"}
"""The one module that imports helpers without a public name."""


def private(file: Path) -> Iterator[str]:
    """The private modules and names of the product that a file imports."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        names: list[tuple[str, str]] = []
        if isinstance(node, ast.ImportFrom) and node.module:
            names = [(node.module, alias.name) for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [(alias.name, "") for alias in node.names]
        for module, name in names:
            inside = module == "pagerag" or module.startswith("pagerag.")
            hidden = any(
                part.startswith("_") and part != "__version__" for part in (*module.split("."), name)
            )
            if inside and hidden:
                yield f"{module} {name}".strip()


def test_the_laboratory_enters_by_public_names() -> None:
    found = {}
    for file in LAB.rglob("*.py"):
        name = file.relative_to(LAB).as_posix()
        if name not in ALLOWED and (reached := list(private(file))):
            found[name] = reached
    assert found == {}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """The files of the product's wheel, as they would be published."""
    pytest.importorskip("hatchling")
    if not (REPOSITORY / "src" / "pagerag").is_dir():
        pytest.skip("runs from a checkout")
    out = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(out)]
    subprocess.run(command, cwd=REPOSITORY, check=True, capture_output=True, timeout=120)
    (built,) = out.glob("*.whl")
    with zipfile.ZipFile(built) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def test_the_wheel_holds_the_product_alone(wheel: dict[str, bytes]) -> None:
    assert "pagerag/__init__.py" in wheel
    tops = {name.split("/")[0] for name in wheel}
    assert tops == {"pagerag", f"pagerag-{pagerag.__version__}.dist-info"}
    rooms = {folder.name for folder in LAB.iterdir() if folder.is_dir() and folder.name != "__pycache__"}
    assert not {part for name in wheel for part in name.split("/")[1:-1]} & (rooms | {"evaluate"})
    python = {name: body.decode() for name, body in wheel.items() if name.endswith(".py")}
    assert not [
        name for name, text in python.items() if re.search(r"^\s*(from|import) pagerag_lab\b", text, re.M)
    ]


def figures(value: Any) -> Iterator[str]:
    """Every figure of the paper with two digits behind the point, as it would be written."""
    if isinstance(value, float):
        yield f"{value:.2f}"
    elif isinstance(value, dict):
        for one in value.values():
            yield from figures(one)
    elif isinstance(value, tuple | list):
        for one in value:
            yield from figures(one)


def test_the_wheel_holds_no_figure_of_the_paper(wheel: dict[str, bytes]) -> None:
    known = {one for name in paper.__all__ for one in figures(getattr(paper, name)) if float(one) > 10}
    assert len(known) > 100
    for name, body in wheel.items():
        if name.endswith((".py", ".json", ".toml", ".html", ".txt")):
            told = set(re.findall(r"(?<![\d.])\d\d\.\d\d(?!\d)", body.decode("utf-8", "replace")))
            # One number may meet another by chance; a row of a table does not.
            assert len(told & known) < 3, name


def test_the_check_itself_finds_figures() -> None:
    known = {one for name in paper.__all__ for one in figures(getattr(paper, name))}
    assert {"65.42", "35.12", "46.62"} <= known
