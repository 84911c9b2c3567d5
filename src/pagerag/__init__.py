"""pagerag: provenance-aware graph evidence promotion. Connectivity is not support.

>>> from pagerag import promote
>>> result = promote("Which city was the composer of Interstellar born in?", [
...     {"title": "Interstellar", "text": "Interstellar has a score composed by Hans Zimmer."},
...     {"title": "Christopher Nolan", "text": "Nolan, who directed Interstellar, was born in London."},
...     {"title": "Hans Zimmer", "text": "Zimmer was born in Frankfurt."}])
>>> result.state in {"enough", "ambiguous", "insufficient"}
True
"""

from pagerag.errors import PageRAGError
from pagerag.promote import Promoter, Promotion, Weights, promote
from pagerag.units import Answer, Candidate, Citation, Pool, Relation

__version__ = "0.1.0"

__all__ = [
    "Answer",
    "Candidate",
    "Citation",
    "PageRAGError",
    "Pool",
    "Promoter",
    "Promotion",
    "Relation",
    "Weights",
    "promote",
]
