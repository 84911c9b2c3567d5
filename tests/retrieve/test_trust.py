"""What opening a store may build, and what loading a model may run."""

from __future__ import annotations

import sys
import types
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pagerag import PageRAG, Settings
from pagerag.errors import InputError, StoreError, StoreMismatchError
from pagerag.retrieve import encoders
from pagerag.retrieve.encoders.transformers import SentenceTransformersEncoder, model_place
from pagerag.store import open_store
from pagerag.testing import FakeEncoder, ScriptedChat

HOSTILE = ("sentence-transformers:nvidia/NV-Embed-v2", "sentence-transformers:./here", "pylate:x", "mine")


@pytest.fixture
def built(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of encoders that were built."""
    names: list[str] = []

    def make(name: str, options: Any) -> FakeEncoder:
        names.append(name)
        return FakeEncoder(32, name)

    monkeypatch.setattr(encoders, "_make", make)
    return names


@pytest.mark.parametrize("name", HOSTILE)
def test_a_store_does_not_choose_what_is_built(tmp_path: Path, built: list[str], name: str) -> None:
    open_store(tmp_path / "s", FakeEncoder(32, name), create=True).close()
    with pytest.raises(StoreError, match="not built in; if you trust it, name it yourself: --encoder"):
        PageRAG.open(tmp_path / "s", reader="evidence")
    assert built == []
    settings = Settings().updated({"store.encoder": name})
    assert PageRAG.open(tmp_path / "s", settings, reader="evidence").encoder is not None
    assert built == [name]
    with pytest.raises(StoreMismatchError, match="was made with the encoder"):
        PageRAG.open(tmp_path / "s", Settings().updated({"store.encoder": "another"}), reader="evidence")


def test_a_store_may_name_what_is_built_in(tmp_path: Path, built: list[str]) -> None:
    open_store(tmp_path / "s", FakeEncoder(32, "minilm"), create=True).close()
    assert PageRAG.open(tmp_path / "s", reader="evidence").encoder is not None
    assert built == ["minilm"]


def test_a_foreign_store_sends_nothing_to_its_endpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    with ScriptedChat() as chat:
        name = f"openai:model@{chat.url}"
        open_store(tmp_path / "s", FakeEncoder(32, name), create=True).close()
        with pytest.raises(StoreError, match="not built in"):
            PageRAG.open(tmp_path / "s", reader="evidence")
        assert not chat.requests


class Library:
    """Stands for sentence-transformers; records what would be loaded."""

    def __init__(self) -> None:
        self.loaded: list[tuple[str, bool]] = []

    def SentenceTransformer(self, model: str, *, device: Any, trust_remote_code: bool) -> Any:  # noqa: N802
        self.loaded.append((model, trust_remote_code))
        return types.SimpleNamespace(
            get_embedding_dimension=lambda: 8, tokenizer=types.SimpleNamespace(padding_side="left")
        )


def test_code_of_a_model_runs_only_when_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    library = Library()
    monkeypatch.setitem(sys.modules, "sentence_transformers", library)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="trust_remote_code=True"):
        SentenceTransformersEncoder("nvidia/NV-Embed-v2")
    assert library.loaded == []
    SentenceTransformersEncoder("nvidia/NV-Embed-v2", trust_remote_code=True)
    SentenceTransformersEncoder("facebook/contriever")
    assert library.loaded == [("nvidia/NV-Embed-v2", True), ("facebook/contriever", False)]


def test_a_folder_is_not_taken_for_a_hub_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "nvidia" / "NV-Embed-v2").mkdir(parents=True)
    with pytest.raises(InputError, match=r"write \./nvidia/NV-Embed-v2"):
        model_place("nvidia/NV-Embed-v2")
    assert model_place("./nvidia/NV-Embed-v2") == str(tmp_path / "nvidia" / "NV-Embed-v2")
    assert model_place("facebook/contriever") == "facebook/contriever"
    with pytest.raises(InputError, match="there is no folder"):
        model_place("./nowhere")


def test_wordllama_without_its_package_is_the_package(pages: Any) -> None:
    package = pytest.importorskip("wordllama")
    model = package.WordLlama.load(cache_dir=Path(package.__file__).parent, disable_download=True)
    texts = [page.text for page in pages] + ["東京は日本の首都です。", "a", "x" * 3000]
    want = model.embed(texts, norm=False)
    want /= np.linalg.norm(want, axis=1, keepdims=True)
    made = encoders.encoder("wordllama")
    assert np.array_equal(made.encode_passages(texts), want)
    assert not made.encode_passages(["", " \n"]).any()
