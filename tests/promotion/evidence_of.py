"""Small pools whose numbers can be checked by hand."""

from __future__ import annotations

from typing import Any

from pagerag import Candidate, Promoter
from pagerag.promotion.evidence import Evidence

QUESTION = "Which city was the composer of Interstellar born in?"
FILM = Candidate("film", "Interstellar was composed by Hans Zimmer.", "Interstellar", "Interstellar", 0)
MAN = Candidate("man", "Hans Zimmer was born in Frankfurt.", "Hans Zimmer", "Hans Zimmer", 0)
HOUSE = Candidate("house", "His house stands in London.", "Hans Zimmer", "Hans Zimmer", 1)
RIVER = Candidate("river", "The Oder flows past Breslau.", "Oder", "Oder", 0)
POOL = (FILM, MAN, HOUSE, RIVER)


def evidence_of(pool: tuple[Candidate, ...] = POOL, question: str = QUESTION, **options: Any) -> Evidence:
    """The evidence of a pool by the formula, without a support encoder."""
    return Promoter(strategy="formula", support=None).evidence(question, pool, **options)
