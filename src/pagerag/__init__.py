"""Promote evidence for retrieval-augmented generation: a pool goes in, a small supported context comes out.

>>> from pagerag import promote
>>> result = promote("Which city was the composer of Interstellar born in?", [
...     {"title": "Interstellar", "text": "Interstellar has a score composed by Hans Zimmer."},
...     {"title": "Christopher Nolan", "text": "Nolan, who directed Interstellar, was born in London."},
...     {"title": "Hans Zimmer", "text": "Zimmer was born in Frankfurt."}])
>>> result.state in {"enough", "ambiguous", "insufficient"}
True
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from pagerag.errors import (
    BackendError,
    CandidateError,
    EmptyPoolError,
    EndpointError,
    EndpointTimeoutError,
    FormatError,
    InputError,
    MissingExtraError,
    PageRAGError,
    ReaderEndpointError,
    ReaderError,
    ReaderTimeoutError,
    SettingsError,
    StoreError,
    StoreMismatchError,
    WeightsError,
    WorkerLostError,
)

if TYPE_CHECKING:
    from pagerag.pipeline import PageRAG
    from pagerag.promotion import Promoter, Promotion, Weights, promote
    from pagerag.result import Failure, Result
    from pagerag.settings import Settings
    from pagerag.units import Answer, Candidate, Citation, Pool, Relation

__version__ = "0.1.0"

__all__ = [
    "Answer",
    "BackendError",
    "Candidate",
    "CandidateError",
    "Citation",
    "EmptyPoolError",
    "EndpointError",
    "EndpointTimeoutError",
    "Failure",
    "FormatError",
    "InputError",
    "MissingExtraError",
    "PageRAG",
    "PageRAGError",
    "Pool",
    "Promoter",
    "Promotion",
    "ReaderEndpointError",
    "ReaderError",
    "ReaderTimeoutError",
    "Relation",
    "Result",
    "Settings",
    "SettingsError",
    "StoreError",
    "StoreMismatchError",
    "Weights",
    "WeightsError",
    "WorkerLostError",
    "__version__",
    "promote",
]

# Imported on first use: NumPy takes 0.1 s, and each dataclass of the nouns half a millisecond.
_LAZY = {
    "PageRAG": "pagerag.pipeline",
    "Settings": "pagerag.settings",
    **dict.fromkeys(("Promoter", "Promotion", "Weights", "promote"), "pagerag.promotion"),
    **dict.fromkeys(("Failure", "Result"), "pagerag.result"),
    **dict.fromkeys(("Answer", "Candidate", "Citation", "Pool", "Relation"), "pagerag.units"),
}


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_LAZY[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
