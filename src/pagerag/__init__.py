"""pagerag: provenance-aware graph evidence promotion. Connectivity is not support.

>>> from pagerag import promote
>>> result = promote("Which city was the composer of Interstellar born in?", [
...     {"title": "Interstellar", "text": "Interstellar has a score composed by Hans Zimmer."},
...     {"title": "Christopher Nolan", "text": "Nolan, who directed Interstellar, was born in London."},
...     {"title": "Hans Zimmer", "text": "Zimmer was born in Frankfurt."}])
>>> result.state in {"enough", "ambiguous", "insufficient"}
True
"""

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

from pagerag.errors import PageRAGError
from pagerag.units import Answer, Candidate, Citation, Pool, Relation

if TYPE_CHECKING:
    from pagerag.promote import Promoter, Promotion, Weights, promote

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


class _Package(ModuleType):
    """NumPy is most of what importing costs, so promotion is imported when it is first asked for.

    ``promote`` is a function here and a package inside; a property keeps the import system from putting
    the package in the function's place.
    """

    @property
    def promote(self) -> Any:
        return import_module("pagerag.promote.promoter").promote

    @promote.setter
    def promote(self, _: ModuleType) -> None:
        pass


def __getattr__(name: str) -> Any:
    if name in {"Promoter", "Promotion", "Weights"}:
        value = getattr(import_module("pagerag.promote"), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


sys.modules[__name__].__class__ = _Package
