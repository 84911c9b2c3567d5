"""What an indexing run says while it works and when it is done."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from time import perf_counter
from typing import Any, Literal

Kind = Literal["indexed", "unchanged", "duplicate", "empty", "removed", "failed", "progress"]


@dataclass(frozen=True, slots=True)
class Event:
    """Something happened.

    ``indexed``, ``duplicate``, ``empty`` and ``removed`` are acknowledgements: what they say is on disk.
    ``done`` and ``total`` count bytes of input; ``units`` those of this file, or of the run so far in a
    ``progress`` event.
    """

    kind: Kind
    path: str = ""
    units: int = 0
    message: str = ""
    done: int = 0
    total: int = 0


Listener = Callable[[Event], None]


def empty_message(path: str) -> str:
    """Return what is said of a file without text, with the remedy for a PDF, which is often a scan."""
    return "holds no text (a scan needs OCR first)" if path.lower().endswith(".pdf") else "holds no text"


@contextmanager
def timed(seconds: dict[str, float], stage: str) -> Iterator[None]:
    """Add the time that the body takes to the seconds of a stage."""
    start = perf_counter()
    try:
        yield
    finally:
        seconds[stage] = seconds.get(stage, 0.0) + perf_counter() - start


@dataclass(slots=True)
class IngestReport:
    """The outcome of a run: every file is in exactly one of its counts or lists.

    ``unsupported`` are files of unknown formats, ``outside`` links that lead out of the given folder.
    ``isolated`` is False when files were read without a process of their own, and so without its limits.
    """

    indexed: int = 0
    unchanged: int = 0
    duplicates: int = 0
    empty: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    vanished: list[str] = field(default_factory=list)
    unsupported: list[str] = field(default_factory=list)
    outside: list[str] = field(default_factory=list)
    failed: list[tuple[str, str]] = field(default_factory=list)
    bad_records: list[str] = field(default_factory=list)
    isolated: bool = True
    documents: int = 0
    units: int = 0
    bytes: int = 0
    seconds: float = 0.0
    stages: dict[str, float] = field(default_factory=dict)

    @property
    def taken(self) -> int:
        """How many files the store holds now, by this run or an earlier one."""
        return self.indexed + self.unchanged + self.duplicates

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-able copy."""
        return {
            **asdict(self),
            "failed": [{"path": path, "problem": problem} for path, problem in self.failed],
            "seconds": round(self.seconds, 3),
            "stages": {name: round(seconds, 3) for name, seconds in self.stages.items()},
            "units_per_second": {
                name: round(self.units / seconds, 1) for name, seconds in self.stages.items() if seconds > 0
            },
        }
