"""The documentation runs: every Python and console block of these pages, in order, in an empty folder.

A block under ``<!-- not run: why -->`` is left out. Console blocks hold ``$ command`` lines; the lines under
a command are its expected output, in which ``...`` stands for anything.
"""

from __future__ import annotations

import doctest
import importlib.util
import io
import re
import runpy
import shlex
import shutil
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path

import pytest

from pagerag.cli import main

ROOT = Path(__file__).parents[2]
PAGES = (
    "docs/index.md",
    "docs/tour.md",
    "docs/commands.md",
    "docs/settings.md",
    "docs/readers.md",
    "docs/promotion.md",
    "docs/indexing.md",
    "docs/models.md",
    "docs/retrieval.md",
    "README.md",
)
_BLOCK = re.compile(
    r"(?P<skip><!-- not run:[^\n]*-->\n)?^```(?P<kind>\w+)\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL
)

# A command that would run this very test.
NOT_HERE = ("make ",)

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
    checker = doctest.OutputChecker()
    for command, expected in commands(snippet.body):
        if command.startswith(NOT_HERE):
            continue
        code, out, err = execute(command, folder)
        place = f"{page}, block at line {snippet.line}: $ {command}"
        assert code == 0, f"{place}\nexit {code}\n{out}\n{err}"
        wanted = expected or "..."
        flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
        assert checker.check_output(wanted, out, flags), f"{place}\nexpected\n{wanted}\ngot\n{out}"


_OURS = re.compile(r"(?P<env>(?:[A-Z_]+=\S+ )*)pagerag (?P<words>[^|<>;&]*)(?:> (?P<file>\S+))?")


def execute(command: str, folder: Path) -> tuple[int, str, str]:
    """Exit code, stdout and stderr. Our own command runs in this process, which spares its imports."""
    ours = _OURS.fullmatch(command)
    if ours is None:
        done = subprocess.run(
            ["bash", "-c", command], cwd=folder, capture_output=True, text=True, check=False, timeout=300
        )
        return done.returncode, done.stdout, done.stderr
    out, err = io.StringIO(), io.StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
        patch.setenv("NO_COLOR", "1")
        patch.setenv("COLUMNS", "100")
        patch.setenv("HOME", str(folder))
        for name, value in (pair.split("=", 1) for pair in ours["env"].split()):
            patch.setenv(name, value)
        try:
            code = main(shlex.split(ours["words"]))
        except SystemExit as left:
            code = int(left.code or 0)
    if ours["file"]:
        (folder / ours["file"]).write_text(out.getvalue(), encoding="utf-8")
        return code, "", err.getvalue()
    return code, out.getvalue(), err.getvalue()


@pytest.mark.parametrize("page", PAGES)
def test_a_page_runs(page, tmp_path, monkeypatch, capsys):
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


_CODE = re.compile(r"^```(?:console|bash|sh|text)?\n(.*?)^```$|`([^`\n]+)`", re.MULTILINE | re.DOTALL)
_NAMED = re.compile(
    r"(?:\$ )?(?:[A-Z_]+=\S+ )*(?:python -m (?P<module>pagerag\w*[\w.]+)|(?:\S*/)?pagerag (?P<command>[a-z]+)\b)"
    r"(?P<rest>[^|;<>]*)"
)
_FLAG = re.compile(r"(?<![^\s\[])--[a-z][\w-]*")
TEXTS = sorted(path.relative_to(ROOT).as_posix() for path in (*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")))


def named_commands(text: str) -> set[tuple[str, str]]:
    """The commands that lines of code on a page open with, and the flags and reproductions named with them."""
    found: set[tuple[str, str]] = set()
    for code in _CODE.finditer(text):
        for line in (code[1] or code[2]).replace("\\\n", " ").splitlines():
            named = _NAMED.match(line)
            if named is None:
                continue
            name = named["module"] or named["command"]
            words = _FLAG.findall(named["rest"])
            if name == "reproduce" and (table := re.match(r" ([a-z][\w-]+)", named["rest"])):
                words.append(table[1])
            found |= {(name, word) for word in ("", *words)}
    return found


def help_of(name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> str:
    """What ``--help`` says of a command or a module; of a module that needs torch, its source instead."""
    if "." not in name:
        with pytest.raises(SystemExit) as left:
            main([name, "--help"])
    else:
        monkeypatch.setattr(sys, "argv", [name, "--help"])
        try:
            with pytest.raises(SystemExit) as left:
                runpy.run_module(name, run_name="__main__")
        except ModuleNotFoundError as missing:
            if missing.name not in {"torch", "transformers"}:
                raise
            source = importlib.util.find_spec(name)
            assert source is not None
            assert source.origin is not None
            return Path(source.origin).read_text(encoding="utf-8")
    assert left.value.code == 0, f"{name} --help fails"
    return capsys.readouterr().out


@pytest.mark.filterwarnings("ignore:.*found in sys.modules after import:RuntimeWarning")
@pytest.mark.parametrize("page", TEXTS)
def test_the_commands_that_a_page_names_are_there(page, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    helps: dict[str, str] = {}
    for name, word in sorted(named_commands((ROOT / page).read_text(encoding="utf-8"))):
        if name not in helps:
            helps[name] = help_of(name, capsys, monkeypatch)
        assert word in helps[name], f"{page}: {name} has no {word}"


def test_a_command_that_is_not_there_is_found_out(capsys, monkeypatch):
    page = "`pagerag ask --no-such-flag`, from pagerag import promote\n```console\n$ python -m pagerag_lab.none\n```\n"
    assert named_commands(page) == {
        ("ask", ""),
        ("ask", "--no-such-flag"),
        ("pagerag_lab.none", ""),
    }
    assert "--no-such-flag" not in help_of("ask", capsys, monkeypatch)
    with pytest.raises(ImportError):
        help_of("pagerag_lab.none", capsys, monkeypatch)


def test_the_runner_can_fail(tmp_path):
    text = "```console\n$ echo one\ntwo\n```\n<!-- not run: no -->\n```python\n1/0\n```\n"
    (only,) = snippets(text)
    with pytest.raises(AssertionError, match="expected"):
        run_console(only, tmp_path, "page")
    with pytest.raises(AssertionError, match="exit 3"):
        run_console(Snippet("console", "$ exit 3\n", 1), tmp_path, "page")
