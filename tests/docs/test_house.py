"""The house as docs/architecture.md describes it: one name for one thing, and docstrings that say what to do."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PRODUCT = ROOT / "src/pagerag"
LAB = ROOT / "packages/pagerag-lab/src/pagerag_lab"

SHARED_CLASSES = {
    "PageRAG": "the pipeline, and DSPy's module, which its users import from their plug-in",
    "PageRAGRanker": "Haystack's and rerankers' word for what they load: one for each framework",
    "Reading": "a pool read by promotion; how much of a pool the support encoder reads",
    "Reply": "testing: what a scripted model says; read: an answer taken apart",
}
"""Public names of classes that two rooms of the product have, and why."""

SHARED_FILES = {
    "base.py": "what the rooms' own classes inherit",
    "chat.py": "read: the reader; testing: the scripted model",
    "client.py": "serve: of our server; endpoint: of other people's",
    "evidence.py": "promotion: the scored graph; read: the reader that shows it",
    "files.py": "whole or absent files; models: the weights' files",
    "keys.py": "text: of titles; serve: of clients",
    "names.py": "text: names in running text; promotion: of one pool",
    "passages.py": "ingest: documents cut; systems/formats: files of passages",
    "paths.py": "promotion: the search; explain: the picture",
    "places.py": "from characters to places; store: to sentences",
    "problems.py": "serve: of HTTP; store: of engines",
    "records.py": "ingest: records of files; systems: rows of their files",
    "result.py": "of the pipeline; of promotion",
    "units.py": "the nouns; plugins: frameworks' documents",
}
"""Files that two rooms of the product have (an opening underscore apart), and what each holds."""


def modules(root: Path) -> Iterator[tuple[Path, ast.Module]]:
    for file in sorted(root.rglob("*.py")):
        yield file, ast.parse(file.read_text(encoding="utf-8"))


def twice(found: dict[str, list[str]]) -> set[str]:
    return {name for name, places in found.items() if len(places) > 1}


def test_a_class_name_stands_in_one_room_or_has_its_reason() -> None:
    found: dict[str, list[str]] = defaultdict(list)
    for file, tree in modules(PRODUCT):
        for node in tree.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                found[node.name].append(str(file.relative_to(PRODUCT)))
    assert twice(found) == set(SHARED_CLASSES), {name: found[name] for name in twice(found)}


def test_a_file_name_stands_in_one_room_or_has_its_reason() -> None:
    found: dict[str, list[str]] = defaultdict(list)
    for file, _ in modules(PRODUCT):
        if file.name != "__init__.py":
            found[file.name.lstrip("_")].append(str(file.relative_to(PRODUCT)))
    assert twice(found) == set(SHARED_FILES), {name: found[name] for name in twice(found)}


NO_VERBS = frozenset(
    """a about all an any as at by each every for from how if in into it its of on one or over some that the their
    there these they this those under what when where whether which who whose why with""".split()
)
"""Words that open a phrase, not a command; ruff's D401 finds verbs in other forms ("Returns", "Returning")."""


def functions(tree: ast.Module) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not any(
            ast.unparse(one).endswith(("property", ".setter")) for one in node.decorator_list
        ):
            yield node


def is_command(docstring: str) -> bool:
    """Whether it opens with a capitalised word that can be a verb."""
    word = docstring.split()[0].rstrip(",;.")
    return word.isalpha() and word[0].isupper() and word[1:].islower() and word.lower() not in NO_VERBS


@pytest.mark.parametrize("root", [PRODUCT, LAB], ids=["product", "laboratory"])
def test_the_docstring_of_a_function_opens_with_a_command(root: Path) -> None:
    wrong = [
        f"{file.relative_to(root)}:{node.lineno} {node.name}: {text.splitlines()[0]}"
        for file, tree in modules(root)
        for node in functions(tree)
        if (text := ast.get_docstring(node)) and not is_command(text)
    ]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("text", ["Return it.", "Write, then rename.", "Kill every writer."])
def test_commands(text: str) -> None:
    assert is_command(text)


@pytest.mark.parametrize(
    "text", ["The path.", "``x`` cut.", "Lex(a, b) = 0.", "Whether it is so.", "0 or 1."]
)
def test_no_commands(text: str) -> None:
    assert not is_command(text)


@pytest.mark.parametrize("room", ["promotion", "text"])
def test_each_module_of_the_heart_has_tests_of_its_own(room: str) -> None:
    trees = [tree for folder in (room, "properties") for _, tree in modules(ROOT / "tests" / folder)]
    imports = [node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    named = {f"{node.module}.{one.name}" for node in imports for one in node.names}
    named |= {node.module for node in imports if node.module}
    # words; what Promoter.evidence returns; Promoter and split_sentences, imported from their rooms
    others = {"__init__", "lexicon", "reading", "promoter", "sentences"}
    missing = {file.stem for file, _ in modules(PRODUCT / room)} - others
    assert not {name for name in missing if f"pagerag.{room}.{name}" not in named}
