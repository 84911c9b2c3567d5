"""From finished chunks to what others read: predictions.jsonl, the official prediction file, result.json.

Everything written here is a function of the chunks, so it comes out the same however often a run was
interrupted. Scores are fractions of 1.
"""

from __future__ import annotations

import json
import os
import re
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pagerag.errors import FormatError
from pagerag_lab.datasets.registry import dataset
from pagerag_lab.metrics.statistics import bootstrap_many, compare_many
from pagerag_lab.product import sync_folder, write_atomic
from pagerag_lab.runs.config import RunConfig

__all__ = ["SCHEMA", "finish", "read_result", "read_rows"]

SCHEMA = 1

Row = dict[str, Any]

_COMPARED = (
    # ours, the plain retriever's
    ("sup_f1_core", "sup_f1_filled"),
    ("sup_f1_filled", "sup_f1_filled"),
    ("recall_at_5", "recall_at_5"),
    ("full_recall_at_5", "full_recall_at_5"),
    ("ans_f1", "ans_f1"),
)


@dataclass(slots=True)
class _Tally:
    """The numbers of each question, and nothing else of it: this is all that grows with a run."""

    ours: dict[str, list[float]] = field(default_factory=dict)
    plain: dict[str, list[float]] = field(default_factory=dict)
    hops: list[str] = field(default_factory=list)
    types: list[str] = field(default_factory=list)
    reach: list[str] = field(default_factory=list)
    units: list[int] = field(default_factory=list)
    filled: list[int] = field(default_factory=list)
    ceilings: list[float] = field(default_factory=list)
    states: Counter[str] = field(default_factory=Counter)
    errors: Counter[str] = field(default_factory=Counter)

    def add(self, row: Row) -> None:
        for into, scores in ((self.ours, row["metrics"]), (self.plain, row["baseline"]["metrics"])):
            for name, value in scores.items():
                into.setdefault(name, []).append(value)
        self.hops.append(str(row["hops"]))
        self.types.append(row["type"] or "-")
        wanted, present = len(row["gold"]), row["gold_in_pool"]
        self.reach.append(
            "no gold"
            if not wanted
            else "all in pool"
            if present == wanted
            else "part in pool"
            if present
            else "none in pool"
        )
        self.units.append(len(row["core"]))
        self.filled.append(len(row["context"]))
        self.ceilings.append(row["ceiling"])
        if row["state"] is not None:
            self.states[row["state"]] += 1
        if row["error"] is not None:
            self.errors[row["error"]["type"]] += 1


def finish(
    config: RunConfig, folder: Path, described: Mapping[str, Any], lines: Iterator[str]
) -> dict[str, Any]:
    """Write the run's final files from its rows and return the result."""
    tally = _Tally()
    official = _official(config)
    with _Replaced(folder / "predictions.jsonl") as predictions:
        for line in lines:
            row = json.loads(line)
            tally.add(row)
            official.add(row)
            predictions(line)
    official.write(folder)
    result = _result(tally, described)
    write_atomic(folder / "result.json", json.dumps(result, ensure_ascii=False, indent=2) + "\n")
    return result


def _result(tally: _Tally, described: Mapping[str, Any]) -> dict[str, Any]:
    n = len(tally.hops)
    metrics = _means(tally.ours) | {"ceiling_filled": _mean(tally.ceilings)}
    metrics.setdefault("ans_f1", None)
    baseline = _means(tally.plain)
    baseline.setdefault("ans_f1", None)
    sides = ((True, tally.ours), (False, tally.plain))
    ends = bootstrap_many({(ours, name): values for ours, side in sides for name, values in side.items()})
    compared = {
        ours: (tally.ours[ours], tally.plain[plain]) for ours, plain in _COMPARED if n and ours in tally.ours
    }
    return {
        "schema": SCHEMA,
        "n": n,
        "errors": sum(tally.errors.values()),
        "error_types": dict(sorted(tally.errors.items())),
        "metrics": metrics,
        "baseline": baseline,
        "mean_units_core": _mean([float(size) for size in tally.units]),
        "mean_units_filled": _mean([float(size) for size in tally.filled]),
        "intervals": {name: list(ends[True, name]) for name in tally.ours},
        "baseline_intervals": {name: list(ends[False, name]) for name in tally.plain},
        "against_baseline": {name: found.to_dict() for name, found in compare_many(compared).items()},
        "states": dict(sorted(tally.states.items())),
        "gold_reach": dict(sorted(Counter(tally.reach).items())),
        "by_hops": _broken_down(tally, tally.hops),
        "by_type": _broken_down(tally, tally.types),
        "by_gold_reach": _broken_down(tally, tally.reach),
        **{name: value for name, value in described.items() if name != "n"},
        "timings": "timings.json",
    }


def _broken_down(tally: _Tally, labels: list[str]) -> dict[str, Any]:
    groups: dict[str, Any] = {}
    for label in sorted(set(labels)):
        places = [place for place, one in enumerate(labels) if one == label]
        groups[label] = {
            "n": len(places),
            "metrics": _means({name: [values[p] for p in places] for name, values in tally.ours.items()})
            | {"ceiling_filled": _mean([tally.ceilings[p] for p in places])},
            "baseline": _means({name: [values[p] for p in places] for name, values in tally.plain.items()}),
        }
    return groups


def _means(columns: Mapping[str, list[float]]) -> dict[str, float | None]:
    return {name: _mean(values) for name, values in columns.items()}


def _mean(values: list[float]) -> float:
    return sum(values) / len(values) if values else 0.0


def read_rows(folder: str | os.PathLike[str]) -> Iterator[Row]:
    """Yield the rows of a finished run's predictions.jsonl, one at a time."""
    file = Path(folder) / "predictions.jsonl"
    if not file.is_file():
        raise FormatError("there is no finished run here; pagerag evaluate --out makes one", file=file)
    with file.open(encoding="utf-8") as stream:
        for number, line in enumerate(stream, start=1):
            try:
                yield json.loads(line)
            except json.JSONDecodeError as problem:
                raise FormatError("not JSON; run pagerag evaluate again", file=file, line=number) from problem


def read_result(folder: str | os.PathLike[str]) -> dict[str, Any]:
    """Return the result.json of a finished run."""
    file = Path(folder) / "result.json"
    if not file.is_file():
        raise FormatError("there is no finished run here; pagerag evaluate --out makes one", file=file)
    try:
        result = json.loads(file.read_text(encoding="utf-8"))
    except json.JSONDecodeError as problem:
        raise FormatError("not JSON; run pagerag evaluate again", file=file) from problem
    if not isinstance(result, dict) or result.get("schema") != SCHEMA:
        raise FormatError(f"not a result of schema {SCHEMA}; run pagerag evaluate again", file=file)
    return result


class _Replaced:
    """A large file written line by line beside its place, synced, then renamed."""

    def __init__(self, target: Path) -> None:
        self.target = target

    def __enter__(self) -> Callable[[str], object]:
        handle, name = tempfile.mkstemp(
            dir=self.target.parent, prefix=f".{self.target.name}.", suffix=".part"
        )
        self.temporary = Path(name)
        self.stream = os.fdopen(handle, "w", encoding="utf-8", newline="\n")
        return self.stream.write

    def __exit__(self, kind: object, *_: object) -> None:
        self.stream.flush()
        os.fsync(self.stream.fileno())
        self.stream.close()
        if kind is not None:
            self.temporary.unlink(missing_ok=True)
            return
        self.temporary.chmod(0o644)
        self.temporary.replace(self.target)
        sync_folder(self.target.parent)


_SENTENCE = re.compile(r"(?P<title>.*)#(?P<index>\d+)", re.DOTALL)


class _HotpotOfficial:
    """``{"answer": {id: text}, "sp": {id: [[title, index]]}}``; 2Wiki's script also asks for evidence."""

    def __init__(self, config: RunConfig) -> None:
        self.answer: dict[str, str] = {}
        self.sp: dict[str, list[list[Any]]] = {}
        self.evidence = config.dataset == "2wikimultihopqa"

    def add(self, row: Row) -> None:
        self.answer[row["id"]] = row["answer"] or ""
        self.sp[row["id"]] = [
            [spelled["title"], int(spelled["index"])] if (spelled := _SENTENCE.fullmatch(unit)) else [unit, 0]
            for unit in dict.fromkeys(row["core_keys"] if "core_keys" in row else row["core"])
        ]

    def write(self, folder: Path) -> None:
        content: dict[str, Any] = {"answer": self.answer, "sp": self.sp}
        if self.evidence:
            content["evidence"] = {name: [] for name in self.answer}
        write_atomic(folder / "official.json", json.dumps(content, ensure_ascii=False) + "\n")


class _MusiqueOfficial:
    """One line per question: id, predicted_answer, predicted_support_idxs, predicted_answerable."""

    def __init__(self, config: RunConfig) -> None:  # noqa: ARG002
        self.lines: list[str] = []

    def add(self, row: Row) -> None:
        line = {
            "id": row["id"],
            "predicted_answer": row["answer"] or "",
            "predicted_support_idxs": [int(unit[1:]) for unit in row["core"] if re.fullmatch(r"p\d+", unit)],
            "predicted_answerable": True,
        }
        self.lines.append(json.dumps(line, ensure_ascii=False) + "\n")

    def write(self, folder: Path) -> None:
        write_atomic(folder / "official.jsonl", "".join(self.lines))


def _official(config: RunConfig) -> _HotpotOfficial | _MusiqueOfficial:
    return (
        _MusiqueOfficial(config) if dataset(config.dataset).format == "musique" else _HotpotOfficial(config)
    )
