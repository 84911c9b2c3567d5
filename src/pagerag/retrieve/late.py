"""Late interaction (ColBERT): a passage is scored token by token.

The score of a passage is Σ over the question's tokens of the greatest similarity to any token of the
passage (MaxSim). Any encoder of token vectors will do:

=========================== ==========================================================================
``colbertv2``               ColBERTv2 through PyLate (extra ``late-interaction``)
``pylate:MODEL``            any model that PyLate loads, name or path
``minilm``, ``minilm-fp32`` the token outputs of MiniLM's graph
``sentence-transformers:M`` the token outputs of any sentence-transformers model
=========================== ==========================================================================
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from pagerag._extras import need
from pagerag.errors import InputError
from pagerag.retrieve.encoders import encoder
from pagerag.retrieve.encoders.transformers import model_place
from pagerag.store.ranking import best
from pagerag.text.terms import encoded_text
from pagerag.units import Candidate, Pool

COLBERT_V2 = "colbert-ir/colbertv2.0"
_BLOCK = 1 << 16  # passage tokens compared at a time


@runtime_checkable
class TokenEncoder(Protocol):
    """Texts to one unit-length row per token. Queries and passages may be encoded differently."""

    name: str

    def query_tokens(self, texts: Sequence[str], /) -> list[NDArray[np.float32]]:
        """Return the token rows of each question."""
        ...

    def passage_tokens(self, texts: Sequence[str], /) -> list[NDArray[np.float32]]:
        """Return the token rows of each passage."""
        ...


class PyLateEncoder:
    """A ColBERT model through PyLate: its query and document markers, query expansion and projection."""

    def __init__(self, model: str = COLBERT_V2, *, batch: int = 32, device: str | None = None) -> None:
        models = need("pylate.models", "pylate", "late-interaction", f"to load {model}")
        self.name = f"late:pylate:{model}"
        self.batch = batch
        self._model = models.ColBERT(model_name_or_path=model_place(model), device=device)

    def query_tokens(self, texts: Sequence[str], /) -> list[NDArray[np.float32]]:
        """Return token rows of questions."""
        return self._encode(texts, is_query=True)

    def passage_tokens(self, texts: Sequence[str], /) -> list[NDArray[np.float32]]:
        """Return token rows of passages."""
        return self._encode(texts, is_query=False)

    def _encode(self, texts: Sequence[str], *, is_query: bool) -> list[NDArray[np.float32]]:
        if not len(texts):
            return []
        options = {"batch_size": self.batch, "is_query": is_query, "show_progress_bar": False}
        return [np.asarray(rows, dtype=np.float32) for rows in self._model.encode(list(texts), **options)]


@runtime_checkable
class _HasTokens(Protocol):
    """An ordinary encoder that also gives token rows."""

    name: str

    def encode_tokens(self, texts: Sequence[str], /) -> list[NDArray[np.float32]]: ...


class _Tokens:
    """The token outputs of an ordinary encoder."""

    def __init__(self, inner: _HasTokens) -> None:
        self.name = f"late:{inner.name}"
        self.query_tokens = self.passage_tokens = inner.encode_tokens


def token_encoder(name: str, **options: Any) -> TokenEncoder:
    """Return the token encoder of this name (see the table above)."""
    if name in ("colbertv2", "colbert"):
        return PyLateEncoder(COLBERT_V2, **options)
    if name.startswith("pylate:"):
        return PyLateEncoder(name.removeprefix("pylate:"), **options)
    inner = encoder(name, **options)
    if not isinstance(inner, _HasTokens):
        raise InputError(
            f"encoder {name!r} has no token vectors; use minilm, sentence-transformers:MODEL, "
            "pylate:MODEL or colbertv2"
        )
    return _Tokens(inner)


def max_sim(
    question: NDArray[np.float32], tokens: NDArray[np.float32], starts: NDArray[np.int64]
) -> NDArray[np.float32]:
    """Return MaxSim of one question with passages whose token rows lie one after another in ``tokens``.

    ``starts`` has each passage's first row, and the total at its end. A passage without tokens scores 0.
    """
    scores = np.zeros(len(starts) - 1, dtype=np.float32)
    if not len(question):
        return scores
    filled = np.flatnonzero(np.diff(starts))  # reduceat cannot express an empty passage
    place = 0
    while place < len(filled):
        first = starts[filled[place]]
        stop = int(np.searchsorted(starts[filled], first + _BLOCK, side="left"))
        block = filled[place : max(stop, place + 1)]
        last = starts[block[-1] + 1]
        similar = question @ tokens[first:last].T
        scores[block] = np.maximum.reduceat(similar, starts[block] - first, axis=1).sum(axis=0)
        place += len(block)
    return scores


class LateInteractionRetriever:
    """MaxSim over a list of units, exact and in memory; their text is read as ``title. text``."""

    def __init__(self, candidates: Sequence[Candidate], encoder: TokenEncoder) -> None:
        self.candidates, self.encoder, self.name = tuple(candidates), encoder, encoder.name
        rows = encoder.passage_tokens([encoded_text(unit.title, unit.text) for unit in self.candidates])
        self.starts = np.concatenate([[0], np.cumsum([len(row) for row in rows])]).astype(np.int64)
        self.tokens = np.concatenate(rows) if rows else np.empty((0, 1), dtype=np.float32)

    def retrieve(self, question: str, k: int = 20) -> Pool:
        """Return the ``k`` best units, best first, each with its score."""
        (tokens,) = self.encoder.query_tokens([question])
        scores = max_sim(tokens, self.tokens, self.starts)
        chosen = [replace(self.candidates[place], score=float(scores[place])) for place in best(scores, k)]
        return Pool(question, tuple(chosen), origin=self.name)
