"""The table of SECURITY.md names tests that exist, at least one for every attack."""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]


def rows() -> list[tuple[str, list[str]]]:
    """Each attack of the table with the tests that are named for it, "…" spelled out."""
    text = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
    table = text.split("| attack | what holds now | test that shows it |", 1)[1].split("\n\n", 1)[0]
    found = []
    file = ""
    for line in table.strip().splitlines()[1:]:
        attack, _, shown = (cell.strip() for cell in line.strip().strip("|").split(" | "))
        names = []
        for name in re.findall(r"`([^`]+)`", shown):
            if not name.startswith("…"):
                file = name.split("::")[0]
            names.append(name.replace("…", file, 1))
        found.append((attack, names))
    return found


def test_every_row_names_tests_that_exist():
    missing = []
    for attack, names in rows():
        tests = [name for name in names if "test_" in name]
        if not tests:
            missing.append(f"no test: {attack}")
        for name in tests:
            file, _, function = name.partition("::")
            path = ROOT / file
            if not path.is_file():
                missing.append(name)
                continue
            defined = {
                node.name
                for node in ast.parse(path.read_text(encoding="utf-8")).body
                if isinstance(node, ast.FunctionDef)
            }
            if function and function not in defined:
                missing.append(name)
    assert not missing
    assert len(rows()) >= 30
