"""Questions about real documents: evidence by stage, answers, and honesty, as tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pagerag.errors import FormatError
from pagerag_lab.datasets.document_sets import KINDS
from pagerag_lab.reproduce.figures import risk_coverage
from pagerag_lab.reproduce.tables import Cell, Table
from pagerag_lab.reproduce.workbench import Bench
from pagerag_lab.runs.documents import PLAIN, POOLS, DocumentsTask, index_corpora

__all__ = ["document_tables", "documents_experiment"]

ANSWERABLE = tuple(kind for kind in KINDS if kind != "unanswerable")
PLAIN_SEARCHES = ("plain BM25", "plain hybrid")
"""What the best plain search is chosen from, with hindsight, for each corpus and kind."""

Result = Mapping[str, Any]


def documents_experiment(bench: Bench) -> list[Table]:
    """Index the dev corpora, ask their questions and return the tables."""
    folder = bench.data / "documents" / "dev"
    if not folder.is_dir():
        raise FormatError("the corpora of documents are not here; check --data", file=folder)
    # Per corpus: the limit of a quick look is for all data sets together.
    limit = None if bench.limits.main is None else max(4, bench.limits.main // 4)
    task = DocumentsTask(
        str(folder),
        stores=str(index_corpora(folder, bench.say)),
        reader=bench.reader or "evidence",
        limit=limit,
    )
    slug = "-".join(["documents", task.reader, *([f"first{limit}"] if limit else [])])
    result = bench.execute(task, slug)
    command = f"pagerag reproduce documents --data {bench.data}{bench.options}"
    if len(result["all"]["risk"]) > 1:
        risk_coverage(bench.out / "documents-risk.png", _curves(result), "Real documents")
    return [bench.write(table) for table in document_tables(result, command)]


def _curves(result: Result) -> dict[str, list[tuple[float, float]]]:
    """Return for all questions and for each corpus the points (coverage, right share)."""
    parts = {"all": result["all"], **result["corpora"]}
    return {
        name: [(row["coverage"], row["precision"]) for row in part["risk"]] for name, part in parts.items()
    }


def document_tables(result: Result, command: str = "") -> list[Table]:
    """Return the tables: evidence by stage, against the best plain search, the answers, risk and coverage.

    The last is left out for a reader that gives no confidences.
    """
    tables = [_evidence(result, command), _against_plain(result, command), _answers(result, command)]
    return [*tables, _risk(result, command)] if result["all"]["risk"] else tables


def _stages(counts: Result) -> list[str]:
    return list(dict.fromkeys(label for kind in counts["kinds"].values() for label in kind["full"]))


def _kinds(counts: Result) -> list[str]:
    return [kind for kind in ANSWERABLE if kind in counts["kinds"]]


def _evidence(result: Result, command: str) -> Table:
    every = result["all"]
    kinds = _kinds(every)
    rows: list[list[Cell]] = [
        [
            label,
            *(every["kinds"][kind]["full"][label] for kind in kinds),
            sum(every["kinds"][kind]["full"][label] for kind in kinds),
            *(
                " / ".join(str(counts["kinds"][kind]["full"][label]) for kind in _kinds(counts))
                for counts in result["corpora"].values()
            ),
        ]
        for label in _stages(every)
    ]
    sizes = ", ".join(f"{kind} {every['kinds'][kind]['n']}" for kind in kinds)
    return Table(
        name="documents-evidence",
        title=f"Real documents: questions with all evidence among {result['config']['k']} passages ({sizes})",
        columns=["Stage", *kinds, "all", *result["corpora"]],
        rows=rows,
        notes=(
            "Columns of corpora: single / two / three. Promotion works on the pool of the search before "
            "the arrow; the last rows say what a perfect choice from the same pools could reach.",
        ),
        command=command,
    )


def _against_plain(result: Result, command: str) -> Table:
    cells = [
        (f"{name}, {kind}", counts["kinds"][kind]["full"])
        for name, counts in result["corpora"].items()
        for kind in _kinds(counts)
    ]
    rows: list[list[Cell]] = []
    for label in _stages(result["all"]):
        if label in PLAIN or label in POOLS:
            continue
        gaps = {where: full[label] - max(full[one] for one in PLAIN_SEARCHES) for where, full in cells}
        below = {where: gap for where, gap in gaps.items() if gap < 0}
        rows.append(
            [
                label,
                f"{len(below)} of {len(cells)}",
                f"{min(gaps.values()):+d}" if gaps else None,
                f"{sum(gaps.values()):+d}",
                "; ".join(f"{where} {gap:+d}" for where, gap in below.items()) or None,
            ]
        )
    return Table(
        name="documents-against-plain",
        title="Real documents: full evidence against the best plain search on each corpus and kind",
        columns=["Stage", "Below it on", "Worst", "Sum of differences", "Where"],
        rows=rows,
        notes=("The best plain search is the better of BM25 and hybrid, chosen with hindsight each time.",),
        command=command,
    )


def _answers(result: Result, command: str) -> Table:
    parts = {"all": result["all"], **result["corpora"]}
    rows: list[list[Cell]] = []
    for name, counts in parts.items():
        kinds = counts["kinds"]
        asked = counts["n"] - kinds.get("unanswerable", {"n": 0})["n"]
        nothing = kinds.get("unanswerable", {"n": 0})["n"]
        states = {
            state: sum(kind["states"].get(state, 0) for kind in kinds.values())
            for state in ("enough", "ambiguous", "insufficient")
        }
        rows.append(
            [
                name,
                asked,
                *(
                    " / ".join(
                        str(kinds[kind][what] if what != "silent" else _silent(kinds[kind]))
                        for kind in _kinds(counts)
                    )
                    for what in ("right", "wrong", "silent")
                ),
                counts["in_part"],
                None if counts["precision"] is None else f"{counts['precision']:.2f}",
                f"{counts['made_up']} of {nothing}, in part {counts['made_up_in_part']}",
                f"{counts['incomplete_called_enough']} of {counts['incomplete']}",
                f"{counts['complete_called_enough']} of {asked - counts['incomplete']}",
                " / ".join(map(str, states.values())),
            ]
        )
    return Table(
        name="documents-answers",
        title=f"Real documents: answers of pagerag ask, reader {result['config']['reader']}",
        columns=[
            "Corpus",
            "Answerable",
            "Right",
            "Wrong",
            "Abstained",
            "of them in part",
            "Right ÷ (right + wrong)",
            "Unanswerable, made up",
            "Incomplete evidence called enough",
            "Full evidence called enough",
            "Enough / ambiguous / insufficient",
        ],
        rows=rows,
        notes=(
            "Right, wrong, abstained: single / two / three. An answer is right when the question's pattern "
            "matches it, and an abstention when it is empty, says so in words, or the state is insufficient. "
            "In part: one of several things that are asked is told, and said which one is not found.",
        ),
        command=command,
    )


def _risk(result: Result, command: str) -> Table:
    every = result["all"]
    return Table(
        name="documents-risk",
        title="Real documents: what a least confidence costs and saves",
        columns=["Confidence at least", "Answered", "Coverage", "Right", "Right share", "Made up"],
        rows=[
            [
                f"{row['cut']:g}" if row["cut"] else "as set up",
                f"{row['answered']} of {every['n']}",
                f"{row['coverage']:.2f}",
                row["right"],
                f"{row['precision']:.2f}",
                row["made_up"],
            ]
            for row in every["risk"]
        ],
        notes=(
            "Of all questions, unanswerable ones included; an answer to one of those is wrong and counts as "
            "made up. Answers that the reader kept back as it is set up are in no row.",
        ),
        command=command,
    )


def _silent(counts: Result) -> int:
    return int(counts["n"]) - int(counts["right"]) - int(counts["wrong"])
