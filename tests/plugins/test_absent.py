"""Without its framework a plug-in says which extra to install; nothing else of pagerag minds."""

from __future__ import annotations

import subprocess
import sys

import pytest

# In a process of its own: the import system is told that the package does not exist.
PROGRAM = """
import sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {blocked!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Absent())
from pagerag.errors import MissingExtraError
import pagerag.plugins
try:
    import pagerag.plugins.{module}
except MissingExtraError as missing:
    assert isinstance(missing, ImportError)
    print(missing)
else:
    print("imported")
"""


def run(module: str, *blocked: str) -> str:
    code = PROGRAM.format(module=module, blocked=set(blocked))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.parametrize(
    ("module", "blocked", "extra"),
    [
        ("langchain", "langchain_core", "langchain"),
        ("llamaindex", "llama_index", "llamaindex"),
        ("haystack", "haystack", "haystack"),
        ("dspy", "dspy", "dspy"),
        ("rerankers", "rerankers", "rerankers"),
    ],
)
def test_the_missing_extra_is_named(module, blocked, extra):
    said = run(module, blocked)
    assert f"pip install 'pagerag[{extra}]'" in said
    assert f"pagerag.plugins.{module}" in said


@pytest.mark.parametrize("module", ["flashrag", "txtai"])
def test_the_duck_typed_ones_need_nothing(module):
    said = run(module, "flashrag", "txtai", "torch", "pydantic", "langchain_core", "haystack", "dspy")
    assert said == "imported"
