"""Run a benchmark: questions of a file, a pool for each, a selection, its scores."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pagerag.batch import Hands
from pagerag_lab.datasets.questions import Question
from pagerag_lab.datasets.registry import read_questions
from pagerag_lab.runs.config import RunConfig
from pagerag_lab.runs.engine import Progress, Say, Workers, execute
from pagerag_lab.runs.results import finish
from pagerag_lab.runs.versions import identity
from pagerag_lab.runs.worker import Worker

__all__ = ["BenchmarkTask", "Progress", "Workers", "run"]


@dataclass(frozen=True, slots=True)
class BenchmarkTask:
    """A benchmark run as the engine does it."""

    config: RunConfig

    @property
    def chunk(self) -> int:
        """Return how many questions a file of finished work holds."""
        return self.config.chunk

    def items(self) -> Iterator[Question]:
        """Yield the questions, in the file's order."""
        return read_questions(self.config.dataset, self.config.data, limit=self.config.limit)

    def identity(self) -> dict[str, Any]:
        """Return the settings, the data's hash and the versions."""
        return identity(self.config)

    def worker(self) -> Worker:
        """Return the parts of the run for one process."""
        return Worker(self.config)

    def finish(self, folder: Path, described: Mapping[str, Any], lines: Iterator[str]) -> dict[str, Any]:
        """Write predictions, the official file and the result."""
        return finish(self.config, folder, described, lines)


def run(
    config: RunConfig,
    out: str | os.PathLike[str],
    *,
    workers: int | Hands | None = None,
    fresh: bool = False,
    progress: Progress | None = None,
    say: Say | None = None,
) -> dict[str, Any]:
    """Run or resume ``config`` in the folder ``out`` and return the content of its result.json.

    The whole data file is read first, so that a malformed record is told before any work. A folder with
    another run's files is refused unless ``fresh`` discards them.
    """
    return execute(BenchmarkTask(config), out, workers=workers, fresh=fresh, progress=progress, say=say)
