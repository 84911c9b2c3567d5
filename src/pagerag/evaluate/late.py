"""Late interaction over given units: each word of the question finds its nearest word in the unit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pagerag._extras import need
from pagerag.errors import InputError
from pagerag.evaluate.pools import Ranking, unit_text
from pagerag.retrieve.encoders import encoder
from pagerag.units import Candidate

__all__ = ["LateRanker"]

_OURS = ("minilm", "minilm-fp32")


class LateRanker:
    """A unit's score is Σ over question tokens of the largest cosine with a token of the unit (MaxSim).

    ``minilm`` uses the token vectors of our own encoder; any other name is a ColBERT model, by name or path,
    through the ``pylate`` library.
    """

    def __init__(self, model: str) -> None:
        if not model:
            raise InputError("name the model: late:minilm, or late:MODEL for a ColBERT model")
        self.name = f"late:{model}"
        self._encoder: Any
        if model in _OURS:
            self._encoder = encoder(model)
        else:
            library = need("pylate.models", "pylate", "late-interaction", "ColBERT models")
            self._encoder = _PyLate(library.ColBERT(model_name_or_path=model))

    def rank(self, question: str, units: Sequence[Candidate]) -> Ranking:
        """MaxSim of every unit."""
        texts = [unit_text(unit) for unit in units]
        if isinstance(self._encoder, _PyLate):
            (asked,), rows = self._encoder.queries([question]), self._encoder.passages(texts)
        else:
            (asked,), rows = self._encoder.encode_tokens([question]), self._encoder.encode_tokens(texts)
        scores = [
            float((asked @ row.T).max(axis=1).sum()) if len(asked) and len(row) else 0.0 for row in rows
        ]
        return Ranking(scores=np.array(scores, dtype=np.float64))


class _PyLate:
    """Token vectors by PyLate, which marks queries and passages differently."""

    def __init__(self, model: Any) -> None:
        self.model = model

    def queries(self, texts: Sequence[str]) -> list[Any]:
        return [np.asarray(row) for row in self.model.encode(list(texts), is_query=True)]

    def passages(self, texts: Sequence[str]) -> list[Any]:
        return [np.asarray(row) for row in self.model.encode(list(texts), is_query=False)]
