"""What a run is made of, in plain values: enough to make its parts in any process, and to tell runs apart."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from pagerag.errors import InputError
from pagerag.models import LARGER
from pagerag.units import Mode
from pagerag_lab.datasets.registry import dataset

__all__ = ["RunConfig", "check_counts"]


def check_counts(config: object, *names: str, least: int = 1) -> None:
    """Refuse a configuration in which one of these fields is less than ``least``; None is no bound."""
    for name in names:
        value = getattr(config, name)
        if value is not None and value < least:
            raise InputError(f"--{name} is {value}; it must be at least {least}")


@dataclass(frozen=True, slots=True)
class RunConfig:
    """A run's settings. ``strategy`` names a selector, ``retriever`` a ranker, ``reader`` a reader or None.

    ``corpus`` is None for per-question pools, ``contexts`` for all contexts of the file as one corpus, or a
    corpus file. ``noise`` appends that many distractor documents to each pool. ``read`` says which context
    the reader sees: ``filled``, ``core``, or ``auto`` for what the reader itself prefers.
    """

    dataset: str
    data: str
    retriever: str = "minilm"
    mode: Mode = "sentence"
    pool: int = 20
    k: int = 5
    limit: int | None = None
    strategy: str = "default"
    ablate: tuple[str, ...] = ()
    support: str | None = None
    reader: str | None = None
    read: Literal["auto", "core", "filled"] = "auto"
    corpus: str | None = None
    noise: int = 0
    seed: int = 20
    explain: bool = False
    chunk: int = 32

    def __post_init__(self) -> None:
        one = dataset(self.dataset)
        object.__setattr__(self, "dataset", one.name)
        check_counts(self, "pool", "k", "chunk", "limit")
        check_counts(self, "noise", least=0)
        if self.mode not in one.modes:
            raise InputError(
                f"{one.title} has no gold for mode {self.mode!r}; use --mode {' or '.join(one.modes)}"
            )
        if self.pool < self.k:
            raise InputError(f"the pool ({self.pool}) is smaller than the budget k ({self.k}); raise --pool")
        if self.read not in ("auto", "core", "filled"):
            raise InputError(f"--read is {self.read!r}; one of: auto, core, filled")
        if self.support is not None and self.support not in LARGER and not Path(self.support).is_dir():
            raise InputError(
                f"there is no support encoder {self.support!r}; say {', '.join(LARGER)} for ours, "
                "or name a folder of models"
            )
        if one.format == "beir" and self.corpus is None:
            object.__setattr__(self, "corpus", self.data)
        needs_corpus = one.format == "open"
        if needs_corpus and self.corpus is None:
            raise InputError(f"{one.title} questions have no context of their own; give --corpus FILE")
        if self.corpus is not None and self.mode == "sentence":
            raise InputError("an open corpus is made of passages; use --mode paragraph or document")
        if self.noise and self.corpus is not None:
            raise InputError("--noise is for per-question pools; an open corpus brings its own distractors")

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-able copy; files are named without their folder, their hashes say which they are."""
        values = asdict(self)
        values["data"] = Path(self.data).name
        values["ablate"] = list(self.ablate)
        if self.corpus not in (None, "contexts"):
            values["corpus"] = Path(str(self.corpus)).name
        return values
