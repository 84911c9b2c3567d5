"""docs/extending.md runs as it stands, and components become known by entry points."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from pagerag.errors import InputError
from pagerag.protocols import GROUPS, load, names

PAGE = Path(__file__).parents[2] / "docs" / "extending.md"
BLOCKS = re.findall(r"^```python\n(.*?)^```", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("code", BLOCKS, ids=range(1, len(BLOCKS) + 1))
def test_an_example_runs(code):
    exec(compile(code, str(PAGE), "exec"), {"__name__": "__main__"})  # noqa: S102 - our own page


@pytest.fixture
def package(tmp_path, monkeypatch):
    """An installed package that brings one component of every kind."""
    lines = [f"[{group}]\nstranger-{kind} = strangers_package:{kind}\n" for kind, group in GROUPS.items()]
    info = tmp_path / "strangers_package-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: strangers-package\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("\n".join(lines))
    code = """
from pagerag.testing import FakeBackend, FakeEncoder, FakeReader, FakeRetriever

def extractor(text):
    return [word for word in text.split() if word.istitle()]

encoder, reader, retriever, backend = FakeEncoder, FakeReader, FakeRetriever, FakeBackend
"""
    (tmp_path / "strangers_package.py").write_text(code)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield
    sys.modules.pop("strangers_package", None)


@pytest.mark.parametrize("kind", sorted(GROUPS))
def test_a_strangers_component_is_found_by_name(package, kind):
    assert f"stranger-{kind}" in names(kind)
    assert callable(load(kind, f"stranger-{kind}"))
    with pytest.raises(InputError, match=f"no {kind} named 'nobody'.*stranger-{kind}"):
        load(kind, "nobody")


def test_commands_know_a_strangers_reader_and_encoder(package):
    from pagerag.read import reader, readers
    from pagerag.retrieve import encoder

    assert "stranger-reader" in readers()
    assert reader("stranger-reader").name == "fake-reader"
    assert encoder("stranger-encoder", dimension=8).dimension == 8


def test_an_unknown_kind_is_refused():
    with pytest.raises(InputError, match="unknown kind 'printer'; one of: backend"):
        names("printer")
