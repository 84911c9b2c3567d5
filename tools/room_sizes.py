"""Count Python files and lines per room.

``python tools/room_sizes.py [REVISION …]`` prints a Markdown table; without a revision, of HEAD. A room is a
folder of the product (``src/pagerag/text``), its loose modules together, a folder of the laboratory, or a
package beside them. Lines are all lines of ``.py`` files that git knows at the revision, without tests and
the scripts of docs/ and tools/; empty files do not count.
"""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).parents[1]
PRODUCT, LAB = ("src", "pagerag"), ("packages", "pagerag-lab", "src", "pagerag_lab")
NO_ROOM = {"tests", "docs", "tools", "deploy"}


def room_of(path: str) -> str | None:
    """Return the room of a file, None for what belongs to none."""
    parts = PurePosixPath(path).parts
    if parts[: len(PRODUCT)] == PRODUCT:
        return f"pagerag/{parts[2]}/" if len(parts) > 3 else "pagerag/*.py"
    if parts[: len(LAB)] == LAB:
        return f"pagerag_lab/{parts[4]}/" if len(parts) > 5 else "pagerag_lab/*.py"
    if NO_ROOM & set(parts) or len(parts) == 1:
        return None
    return "/".join(parts[:2]) + "/" if parts[0] == "packages" else f"{parts[0]}/"


def count(revision: str) -> tuple[Counter[str], Counter[str]]:
    """Return files and lines per room at a revision."""
    files: Counter[str] = Counter()
    lines: Counter[str] = Counter()
    # -I leaves out what git takes for binary; "" matches every line, and "-c" counts them.
    for row in _git("grep", "-I", "-c", "", revision, "--", "*.py").splitlines():
        path, number = row.removeprefix(f"{revision}:").rsplit(":", 1)
        room = room_of(path)
        if room is not None:
            files[room] += 1
            lines[room] += int(number)
    return files, lines


def table(revisions: list[str]) -> str:
    """Return the counts of all revisions side by side, with sums for the product and for all."""
    counts = [count(revision) for revision in revisions]
    rooms = sorted({room for _, lines in counts for room in lines}, key=_order)
    head = ["room", *(f"{name}, {kind}" for name in revisions for kind in ("files", "lines"))]
    rows = [head, ["---", *["---:"] * (2 * len(revisions))]]
    product = [room for room in rooms if room.startswith("pagerag/")]
    for name, members in (
        *((f"`{room}`", [room]) for room in product),
        ("**the product**", product),
        *((f"`{room}`", [room]) for room in rooms if room not in product),
        ("**all**", rooms),
    ):
        cells = [name]
        for files, lines in counts:
            total = sum(lines[room] for room in members)
            number = sum(files[room] for room in members)
            cells += [str(number), f"{total:,}"] if total else ["", ""]
        rows.append(cells)
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _order(room: str) -> tuple[int, str]:
    return (0 if room.startswith("pagerag/") else 1 if room.startswith("pagerag_lab/") else 2, room)


def _git(*words: str) -> str:
    return subprocess.run(["git", *words], cwd=ROOT, check=True, capture_output=True, text=True).stdout


if __name__ == "__main__":
    print(table(sys.argv[1:] or ["HEAD"]))
