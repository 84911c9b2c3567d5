"""Every regular expression of every room takes linear time on hostile text, wherever it stands in the code.

Patterns are found twice: as attributes of the modules, alone, in collections or as bound methods, and in the
source, where each call of ``re`` is evaluated in its module. What can only be made at run time is named here.
"""

from __future__ import annotations

import ast
import importlib
import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import ModuleType

import pytest
from tests.sweep import assert_linear

from pagerag.read import amounts, dates

ROOT = Path(__file__).parents[2]
SOURCES = {"pagerag": ROOT / "src", "pagerag_lab": ROOT / "packages/pagerag-lab/src"}
CALLS = frozenset(["compile", "sub", "subn", "search", "match", "fullmatch", "findall", "finditer", "split"])
ANCHORED = frozenset(["match", "fullmatch"])

AT_RUN_TIME: dict[str, str] = {
    "pagerag._visible:_mark_runs": "classes of marks; tests/read/test_linear.py sweeps composed",
    "pagerag.text.wording:has_literally": "a word of at most 60 letters, escaped, a blank at most between two",
    "pagerag.ingest.formats.markdown_mask:_element_end": "a tag's name, escaped: no repetition",
    "pagerag.read.citations:_find": "words of an answer, escaped, with three characters between them at most",
    "pagerag.read.dates:compare": "one of the words of the module's own table: no repetition",
    "pagerag_lab.datasets.document_sets:_question": "the pattern of an answer in a data set that the user named",
    "pagerag_lab.tune.claim_pools:": "rules of the module's own table, which is looked through as well",
    "pagerag_lab.runs.documents:_judged": "the pattern of an answer in a data set that the user named",
}
"""Calls whose pattern is made of what is known only then, and why they are linear."""

BOUNDED: dict[str, str] = {
    pattern.pattern: "its input is cut to 400 characters" for pattern in (dates._ASKS, amounts._ASKED)
}
"""Patterns that are not linear, and what bounds the text that they see."""


def modules() -> Iterator[tuple[str, Path]]:
    for package, folder in SOURCES.items():
        for file in sorted((folder / package).rglob("*.py")):
            name = ".".join(file.relative_to(folder).with_suffix("").parts).removesuffix(".__init__")
            if not name.startswith("pagerag_lab.training"):  # reads its own training data and nothing else
                yield name, file


def imported(name: str) -> ModuleType | None:
    if name.endswith("__main__"):
        return None
    try:
        return importlib.import_module(name)
    except ImportError:  # an extra, or training's torch: its literals are read from the source
        return None


def inside(value: object) -> Iterator[tuple[re.Pattern[str], str]]:
    """The patterns in a value, each with the method that it is bound to, if it is."""
    owner = getattr(value, "__self__", None)
    if isinstance(value, re.Pattern):
        yield value, ""
    elif isinstance(owner, re.Pattern) and callable(value):
        yield owner, str(value.__name__)
    elif isinstance(value, dict):
        for item in (*value.keys(), *value.values()):
            yield from inside(item)
    elif isinstance(value, list | tuple | set | frozenset):
        for item in value:
            yield from inside(item)


class Calls(ast.NodeVisitor):
    """The calls of ``re`` in a file, with the function they stand in; and how names of patterns are used."""

    def __init__(self) -> None:
        self.found: list[tuple[str, ast.Call]] = []
        self.uses: defaultdict[str, set[str]] = defaultdict(set)
        self._within: list[str] = []

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        self._within.append(node.name)
        self.generic_visit(node)
        self._within.pop()

    visit_AsyncFunctionDef = visit_FunctionDef  # noqa: N815

    def visit_Call(self, node: ast.Call) -> None:
        made = node.func
        if isinstance(made, ast.Attribute) and made.attr in CALLS and ast.unparse(made.value) == "re":
            self.found.append((".".join(self._within), node))
        self.generic_visit(node)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        if isinstance(node.value, ast.Name | ast.Attribute):
            self.uses[node.value.id if isinstance(node.value, ast.Name) else node.value.attr].add(node.attr)
        self.generic_visit(node)


def evaluated(part: ast.expr, space: dict[str, object]) -> object:
    """Evaluate an argument of ours as it stands in the module."""
    return eval(compile(ast.Expression(part), "pattern", "eval"), dict(space))  # noqa: S307


@cache
def collected() -> tuple[dict[str, tuple[re.Pattern[str], str]], list[str], int]:
    """All patterns by name with the method they are used by, calls that could not be evaluated, and all calls."""
    found: dict[str, tuple[re.Pattern[str], str]] = {}
    unknown: list[str] = []
    parsed = {}
    uses: defaultdict[str, set[str]] = defaultdict(set)
    for name, file in modules():
        calls = Calls()
        calls.visit(ast.parse(file.read_text(encoding="utf-8")))
        parsed[name] = calls
        for one, methods in calls.uses.items():
            uses[one] |= methods & CALLS
    for name, calls in parsed.items():
        module = imported(name)
        space = vars(module) if module else {"re": re}
        for attribute, value in list(space.items()):
            for pattern, method in inside(value):
                if not isinstance(pattern.pattern, str):
                    continue
                anchored = uses[attribute] <= ANCHORED and uses[attribute]
                way = method or (sorted(anchored)[0] if anchored else "")
                found.setdefault(pattern.pattern + way, (pattern, way))
        for where, call in calls.found:
            method = call.func.attr
            flags = [word.value for word in call.keywords if word.arg == "flags"]
            flags += call.args[1:2] if method == "compile" else []
            try:
                pattern, *given = (evaluated(part, space) for part in (call.args[0], *flags))
            except NameError:  # a local variable
                unknown.append(f"{name}:{where}")
                continue
            way = method if method in ANCHORED else ""
            if isinstance(pattern, str) and not any(key.startswith(pattern) for key in found):
                found[pattern + way] = (re.compile(pattern, *given), way)
    return found, unknown, sum(len(calls.found) for calls in parsed.values())


def test_no_call_is_overlooked():
    found, unknown, calls = collected()
    assert calls > 200
    assert len(found) > 150
    assert sorted(set(unknown)) == sorted(AT_RUN_TIME)


def named(key: str) -> str:
    """Return a name for a pattern that is the same in every process: some hold a random mark."""
    return re.sub(r"\W+", "-", re.sub(r"[0-9a-f]{16}", "mark", key))[:50]


@pytest.mark.parametrize("key", sorted(collected()[0]), ids=named)
def test_every_pattern_is_linear(key):
    pattern, way = collected()[0][key]
    if pattern.pattern in BOUNDED:
        pytest.skip(BOUNDED[pattern.pattern])
    if way in ANCHORED:
        assert_linear(getattr(pattern, way), words_of=pattern)
    else:
        assert_linear(pattern)
