"""The documentation runs: every Python and console block of these pages, in order, in an empty folder.

A block under ``<!-- not run: why -->`` is left out. Console blocks hold ``$ command`` lines; the lines under
a command are its expected output, in which ``...`` stands for anything.
"""

from __future__ import annotations

import doctest
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = (
    "docs/index.md",
    "docs/tour.md",
    "docs/commands.md",
    "docs/settings.md",
    "docs/readers.md",
    "README.md",
)
_BLOCK = re.compile(
    r"(?P<skip><!-- not run:[^\n]*-->\n)?^```(?P<kind>\w+)\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL
)

pytestmark = pytest.mark.integration


@dataclass(frozen=True)
class Snippet:
    kind: str
    body: str
    line: int


def snippets(text: str) -> list[Snippet]:
    """The blocks of a page that are to be run."""
    return [
        Snippet(found["kind"], found["body"], text[: found.start()].count("\n") + 1)
        for found in _BLOCK.finditer(text)
        if not found["skip"] and found["kind"] in {"python", "console"}
    ]


def commands(body: str) -> list[tuple[str, str]]:
    """The commands of a console block with the output that each should print."""
    pairs: list[tuple[str, str]] = []
    for line in body.splitlines():
        if line.startswith("$ "):
            pairs.append((line[2:], ""))
        elif pairs:
            pairs[-1] = (pairs[-1][0], f"{pairs[-1][1]}{line}\n")
    return pairs


def run_console(snippet: Snippet, folder: Path, page: str) -> None:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    env = {**os.environ, "PATH": path, "NO_COLOR": "1", "COLUMNS": "100", "HOME": str(folder)}
    checker = doctest.OutputChecker()
    for command, expected in commands(snippet.body):
        done = subprocess.run(
            ["bash", "-c", command],
            cwd=folder,
            env=env,
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )
        place = f"{page}, block at line {snippet.line}: $ {command}"
        assert done.returncode == 0, f"{place}\nexit {done.returncode}\n{done.stdout}\n{done.stderr}"
        # A leading or trailing "..." line means that anything may stand there.
        wanted = expected if expected else "..."
        flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
        assert checker.check_output(wanted, done.stdout, flags), (
            f"{place}\nexpected\n{wanted}\ngot\n{done.stdout}"
        )


@pytest.mark.parametrize("page", PAGES)
def test_a_page_runs(page, tmp_path, monkeypatch, capsys):
    pytest.importorskip("lancedb")
    pytest.importorskip("wordllama")
    from pagerag.cli.demo import CORPUS

    file = ROOT / page
    shutil.copytree(CORPUS, tmp_path / "documents")
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"__name__": "snippet"}
    for snippet in snippets(file.read_text(encoding="utf-8")):
        if snippet.kind == "console":
            run_console(snippet, tmp_path, page)
        else:
            code = compile("\n" * snippet.line + snippet.body, str(file), "exec")
            exec(code, names)  # noqa: S102 - our own documentation


def test_the_settings_page_lists_every_setting():
    from pagerag.settings import Settings, variable

    page = (ROOT / "docs/settings.md").read_text(encoding="utf-8")
    missing = [name for name, _ in Settings.fields() if f"| `{name}` |" not in page]
    assert not missing, f"run python docs/make_settings_table.py; missing: {missing}"
    assert all(variable(name) for name, _ in Settings.fields())


def test_every_page_is_in_the_site_and_every_link_leads_somewhere():
    listed = re.findall(r": (\w+\.md)", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"))
    for name in listed:
        page = ROOT / "docs" / name
        assert page.exists(), f"mkdocs.yml lists {name}, which does not exist"
        for target in re.findall(r"\]\(([\w./-]+\.md)\)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{name} links to {target}, which does not exist"


def test_the_runner_can_fail(tmp_path):
    text = "```console\n$ echo one\ntwo\n```\n<!-- not run: no -->\n```python\n1/0\n```\n"
    (only,) = snippets(text)
    with pytest.raises(AssertionError, match="expected"):
        run_console(only, tmp_path, "page")
    with pytest.raises(AssertionError, match="exit 3"):
        run_console(Snippet("console", "$ exit 3\n", 1), tmp_path, "page")
