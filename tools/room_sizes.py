"""Count Python files and lines per room, before and after: ``python tools/room_sizes.py [BEFORE] [AFTER]``.

Prints a Markdown table of two revisions (19ace64, before the rooms were rearranged, and HEAD). A file counts
in the first row of ``ROWS`` that has a pattern for it, so that rooms are compared with what they were, under
whatever name, and storeys that are new stand apart. Lines are all lines of ``.py`` files that git knows at
the revision, without tests and the scripts of docs/ and tools/; empty files do not count.
"""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).parents[1]
LAB = "packages/pagerag-lab/src/pagerag_lab/"
NO_ROOM = {"tests", "docs", "tools", "deploy"}
NEW, OLD, LABORATORY, WEIGHTS = "new storeys", "rooms that were there", "the laboratory", "other packages"

# (group, row, files in src/pagerag/, or anywhere with a leading /)
ROWS = [
    (NEW, "`serve/`: HTTP, MCP, the page, a client", "serve/* cli/serve.py cli/mcp.py"),
    (NEW, "`batch/`: work on processes and on Ray", "batch/* cli/engines.py"),
    (NEW, "`store/`: PostgreSQL", "store/postgres*"),
    (NEW, "`store/`: an object store", "store/s3*"),
    (
        NEW,
        "`ingest/`: eight more formats",
        "ingest/formats/restructured* ingest/formats/asciidoc.py ingest/formats/slides.py "
        "ingest/formats/sheets.py ingest/formats/epub.py ingest/formats/mail.py ingest/formats/archive.py "
        "ingest/formats/zipped.py",
    ),
    (
        NEW,
        "`ingest/`: places in the original, a process with a budget",
        "places.py ingest/builder.py ingest/isolation.py ingest/worker.py ingest/reading.py "
        "ingest/formats/json_places.py ingest/formats/stretch.py ingest/formats/markup.py "
        "ingest/formats/markdown_*.py ingest/formats/encoding.py",
    ),
    (
        NEW,
        "`explain/`: the verdict, reasons in words",
        "explain/coverage.py explain/reasons.py explain/verdict.py",
    ),
    (NEW, "`testing/`: a check of corpora", "testing/corpora.py"),
    (LABORATORY, "what measures (`evaluate/`)", "evaluate/* cli/evaluate.py cli/report.py cli/reproduce.py"),
    (LABORATORY, "re-implemented systems (`backends/compact/`)", f"backends/compact/* /{LAB}compact/*"),
    (LABORATORY, "tuning (`tune/`)", f"tune/* cli/tune.py /{LAB}tune/* /{LAB}commands/tune.py"),
    (LABORATORY, "training", f"/training/* /{LAB}training/*"),
    (LABORATORY, "benchmarks, servers for them", f"/benchmarks/* /{LAB}benchmarks/* /{LAB}servers/*"),
    (LABORATORY, "what measures (`evaluate/`)", f"/{LAB}*"),
    (OLD, "`promotion/` (`promote/`)", "promote/* promotion/*"),
    (OLD, "`text/`", "text/*"),
    (OLD, "`store/` in memory and embedded, `retrieve/`", "store/* retrieve/*"),
    (OLD, "`read/`, `endpoint/`, `models/`", "read/* endpoint/* models/*"),
    (OLD, "`ingest/`", "ingest/*"),
    (OLD, "`systems/` (`backends/`)", "backends/* systems/*"),
    (OLD, "`plugins/`", "plugins/*"),
    (OLD, "`explain/` (`picture/`)", "picture/* explain/*"),
    (OLD, "`testing/`", "testing/*"),
    (OLD, "`cli/`", "cli/*"),
    (OLD, "pipeline, settings, nouns, contracts", "*.py"),
    (WEIGHTS, "`packages/`", "/packages/*"),
]
WHEEL = "in the wheel that a user installs"
Counts = Counter[tuple[str, str]]


def row_of(path: str) -> tuple[str, str] | None:
    """Return the group and the row of a file, None for what belongs to none."""
    parts = PurePosixPath(path).parts
    if NO_ROOM & set(parts) or len(parts) == 1:
        return None
    inside = path.removeprefix("src/pagerag/")
    for group, row, patterns in ROWS:
        for pattern in patterns.split():
            whole = pattern.startswith("/")
            if whole == (inside == path) and fnmatchcase(path if whole else inside, pattern.lstrip("/")):
                return group, row
    raise SystemExit(f"no row of ROWS has {path}")


def count(revision: str) -> tuple[Counts, Counts]:
    """Return files and lines per row at a revision."""
    files: Counts = Counter()
    lines: Counts = Counter()
    # -I leaves out what git takes for binary; "" matches every line, and "-c" counts them.
    for row in _git("grep", "-I", "-c", "", revision, "--", "*.py").splitlines():
        path, number = row.removeprefix(f"{revision}:").rsplit(":", 1)
        if place := row_of(path):
            for one in (place, (WHEEL, WHEEL)) if path.startswith("src/pagerag/") else (place,):
                files[one] += 1
                lines[one] += int(number)
    return files, lines


def table(before: str, after: str) -> str:
    """Return the counts of two revisions side by side, with sums for each group, the product and all."""
    counts = [count(before), count(after)]
    rows = list(dict.fromkeys((group, row) for group, row, _ in ROWS))
    shown: list[tuple[str, list[tuple[str, str]]]] = []
    for group in (OLD, NEW, LABORATORY, WEIGHTS):
        members = [row for row in rows if row[0] == group]
        shown += [(row[1], [row]) for row in members]
        shown += [(f"**{group}**", members)] if len(members) > 1 else []
        if group == NEW:
            shown.append(("**the product**", [row for row in rows if row[0] in (OLD, NEW)]))
    told = [["room", *(f"{name}, {kind}" for name in (before, after) for kind in ("files", "lines"))]]
    told.append(["---", *["---:"] * 4])
    for name, members in [*shown, ("**all**", rows), (WHEEL, [(WHEEL, WHEEL)])]:
        cells = [name]
        for files, lines in counts:
            number, total = sum(files[row] for row in members), sum(lines[row] for row in members)
            cells += [str(number), f"{total:,}"] if total else ["", ""]
        told.append(cells)
    return "\n".join(f"| {' | '.join(row)} |" for row in told)


def _git(*words: str) -> str:
    return subprocess.run(["git", *words], cwd=ROOT, check=True, capture_output=True, text=True).stdout


if __name__ == "__main__":
    given = sys.argv[1:]
    print(table(given[0] if given else "19ace64", given[1] if len(given) > 1 else "HEAD"))
