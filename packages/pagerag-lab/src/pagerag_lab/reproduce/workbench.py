"""What every experiment shares: the data at hand, a folder of resumable runs, and the limits of time."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pagerag import Promoter
from pagerag.errors import FormatError, InputError, MissingExtraError, StoreError, WeightsError
from pagerag.units import Mode
from pagerag_lab.datasets.registry import DATASETS, Dataset, dataset
from pagerag_lab.metrics.statistics import average
from pagerag_lab.product import write_atomic
from pagerag_lab.reproduce.tables import Table
from pagerag_lab.runs.benchmark import BenchmarkTask
from pagerag_lab.runs.config import RunConfig
from pagerag_lab.runs.engine import OtherRunError, Task, Workers, execute
from pagerag_lab.runs.results import Row, read_rows

__all__ = ["BENCHMARKS", "Bench", "Limits", "averages"]

BENCHMARKS = ("hotpotqa", "musique", "2wikimultihopqa")

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Limits:
    """How many questions of each dataset an experiment takes; None is all of them."""

    main: int | None = None
    side: int | None = 600
    answers: int = 200
    slow: int = 400
    chat: int = 15
    cases: int = 3

    @property
    def is_quick(self) -> bool:
        """Tell whether this is a first look, which leaves slow parts out."""
        return self.chat == 0

    @classmethod
    def quick(cls) -> Limits:
        """Return the limits of a first look in a few minutes."""
        return cls(main=40, side=30, answers=20, slow=20, chat=0, cases=1)


@dataclass(slots=True)
class Bench:
    """The bench that experiments run on.

    ``retriever`` makes the pools of every experiment that is not about retrievers; ``reader`` None leaves
    answers out; ``chat`` names a chat model for the systems that need one.
    """

    data: Path
    out: Path
    limits: Limits = field(default_factory=Limits)
    retriever: str = "minilm"
    reader: str | None = None
    chat: str | None = None
    workers: Workers = field(default_factory=Workers)
    fresh: bool = False
    options: str = ""  # as given on the command line, for the commands that tables show
    say: Say = lambda _: None
    _done: dict[str, dict[str, Any]] = field(default_factory=dict)

    def file(self, name: str, split: str = "dev") -> Path:
        """Return where a dataset's file is under the data folder."""
        one = dataset(name)
        path = self.data / one.files[split]
        if path.is_file():
            return path
        packed = path.with_name(path.name + ".gz")
        if packed.is_file():
            return packed
        raise FormatError(f"{one.title} {split} is not here; give the data folder with --data", file=path)

    def present(self) -> list[Dataset]:
        """Return the benchmarks whose dev files are in the data folder; at least one must be."""
        found = [DATASETS[name] for name in BENCHMARKS if self._has(name)]
        if not found:
            raise InputError(
                f"{self.data} has none of {', '.join(DATASETS[name].files['dev'] for name in BENCHMARKS)}; "
                "give the data folder with --data"
            )
        return found

    def _has(self, name: str) -> bool:
        try:
            self.file(name)
        except FormatError:
            return False
        return True

    def run(self, name: str, *, limit: int | None = None, **changes: Any) -> dict[str, Any]:
        """Return the result of one run, made or resumed in a folder of its own under ``out/runs``."""
        one = dataset(name)
        settings: dict[str, Any] = {"mode": one.mode, "limit": limit, "retriever": self.retriever} | changes
        config = RunConfig(
            dataset=one.name, data=str(settings.pop("data", None) or self.file(name)), **settings
        )
        return self.execute(BenchmarkTask(config), self.slug(config))

    def execute(self, task: Task, slug: str) -> dict[str, Any]:
        """Return the result of a task, made or resumed in ``out/runs/slug``."""
        if slug not in self._done:
            self.say(f"run {slug}")
            folder = self.out / "runs" / slug
            try:
                self._done[slug] = self._run(task, folder, fresh=self.fresh)
            except OtherRunError:
                # Made by other code or on other data: a table mixes no versions.
                self._done[slug] = self._run(task, folder, fresh=True)
        return self._done[slug]

    def _run(self, task: Task, folder: Path, *, fresh: bool) -> dict[str, Any]:
        return execute(task, folder, workers=self.workers, fresh=fresh, say=self.say)

    def rows(self, result: Mapping[str, Any]) -> Iterator[Row]:
        """Yield the rows of a run made here."""
        slug = next(slug for slug, one in self._done.items() if one is result)
        return read_rows(self.out / "runs" / slug)

    def answers(self, name: str, **changes: Any) -> dict[str, Any] | None:
        """Return the same run with the reader, on fewer questions; None when there is no reader."""
        if self.reader is None:
            return None
        return self.run(name, limit=self.limits.answers, reader=self.reader, **changes)

    @staticmethod
    def slug(config: RunConfig) -> str:
        """Return a folder name that tells the run to people."""
        parts = [config.dataset, config.mode, config.retriever, config.strategy]
        parts += [f"no-{part}" for part in config.ablate]
        parts += [f"support-{config.support}"] if config.support else []
        parts += [f"noise{config.noise}"] if config.noise else []
        parts += [f"corpus-{Path(config.corpus).stem}"] if config.corpus else []
        parts += [f"k{config.k}"] if config.k != 5 else []
        parts += [f"{config.reader}-{config.read}"] if config.reader else []
        parts += [f"first{config.limit}"] if config.limit else []
        return re.sub(r"[^A-Za-z0-9._-]+", "-", "_".join(parts))

    def attempt(self, make: Callable[[], dict[str, Any]]) -> dict[str, Any] | str:
        """Return a run's result, or "needs ..." where a package or weights are missing."""
        try:
            return make()
        except MissingExtraError as problem:
            return f"needs pip install 'pagerag[{problem.extra}]'"
        except (
            StoreError,
            WeightsError,
        ) as problem:  # weights that are missing or are not what they should be
            return f"needs weights: {problem}"

    @staticmethod
    def strategies(mode: Mode) -> list[str]:
        """Return the scorers of a mode: the formulas always, the learned one where it is shipped."""
        try:
            Promoter(strategy="learned").strategy(mode)
        except InputError:
            return ["formula"]
        return ["formula", "learned"]

    def write(self, table: Table) -> Table:
        """Write a table as Markdown and LaTeX under ``out``."""
        self.out.mkdir(parents=True, exist_ok=True)
        write_atomic(self.out / f"{table.name}.md", table.to_markdown())
        write_atomic(self.out / f"{table.name}.tex", table.to_latex())
        return table


def averages(means: Mapping[str, float], sizes: Mapping[str, int]) -> tuple[float, float, float]:
    """Return (weighted by N here, weighted by the official dev sizes, plain)."""
    weighted, plain = average(means, sizes)
    official, _ = average(means, {name: DATASETS[name].full_dev for name in means})
    return weighted, official, plain
