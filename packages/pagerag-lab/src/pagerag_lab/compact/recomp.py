"""RECOMP's extractive compressor, re-implemented from its description: sentences scored by a dual encoder.

Question and sentences go through the same encoder; the score is their dot product, and the best n sentences
are the compressed context. Xu et al., ICLR 2024. Ours: any encoder in place of the trained compressors.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from pagerag.protocols import Encoder, Retriever
from pagerag.text import split_sentences
from pagerag.units import Candidate, Pool
from pagerag_lab.compact._base import CompactSystem

__all__ = ["RECOMP"]


class RECOMP(CompactSystem):
    """``split`` cuts the retriever's units into sentences; leave it off when they are sentences already.

    ``depth`` is how many units are retrieved and compressed.
    """

    label = "RECOMP"
    unit = "sentence"

    def __init__(
        self, retriever: Retriever, encoder: Encoder, *, depth: int = 20, split: bool = False
    ) -> None:
        super().__init__(retriever)
        self.encoder, self.depth, self.split = encoder, depth, split

    def _retrieve(self, question: str, k: int) -> Pool:
        first = self.retriever.retrieve(question, max(self.depth, k))
        units = list(_sentences(first.candidates)) if self.split else list(first.candidates)
        if not units:
            return self._pool(question, [], k, first)
        asked = self.encoder.encode_queries([question])[0]
        texts = [f"{unit.title}. {unit.text}" if unit.title else unit.text for unit in units]
        vectors = self.encoder.encode_passages(texts)
        scores = np.asarray(vectors, dtype=np.float64) @ np.asarray(asked, dtype=np.float64)
        order = np.argsort(-scores, kind="stable")
        ranked = [replace(units[i], score=float(scores[i]), vector=vectors[i]) for i in order]
        pool = self._pool(question, ranked, k, first)
        return replace(pool, vector=asked)


def _sentences(units: Sequence[Candidate]) -> Iterator[Candidate]:
    for unit in units:
        for position, (start, end) in enumerate(split_sentences(unit.text)):
            text = unit.text[start:end].strip()
            if text:
                yield replace(
                    unit,
                    id=f"{unit.id}#{position}",
                    text=text,
                    source=unit.document,
                    position=position,
                    relations=None,
                    entities=None,
                    vector=None,
                )
