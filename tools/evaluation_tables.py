"""Put the tables of a run together as docs/evaluation-tables.md.

    pagerag reproduce all --data ../shared/data --out runs/reproduce
    python tools/evaluation_tables.py runs/reproduce

What stands above the first table is kept; pictures that the pages show are copied beside it.
"""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path

DOCS = Path(__file__).parents[1] / "docs"
EXPERIMENTS = (
    "sentence-table", "mixed-table", "component-ablation", "edge-types", "feature-groups", "feature-ablation",
    "noise", "positions", "cases", "open-table", "sufficiency", "breadth", "documents",
)  # fmt: skip
PARTS = (
    "open",
    "hotpotqa",
    "musique",
    "2wikimultihopqa",
    "averages",
    "bm25",
    "minilm",
    "",
    "facts",
    "evidence",
    "against-plain",
)


def place(file: Path) -> tuple[int, int, str]:
    """Return where a table stands: by experiment, then by data set."""
    name = file.stem
    first = next((n for n, one in enumerate(EXPERIMENTS) if name.startswith(one)), len(EXPERIMENTS))
    part = name.removeprefix(EXPERIMENTS[first]).lstrip("-") if first < len(EXPERIMENTS) else name
    return first, PARTS.index(part) if part in PARTS else len(PARTS), part


def main(folder: Path) -> None:
    """Put the tables together."""
    page = DOCS / "evaluation-tables.md"
    opening = page.read_text(encoding="utf-8").partition("\n## ")[0].rstrip()
    tables = []
    for file in sorted(folder.glob("*.md"), key=place):
        table = re.sub(r"--data \S+?(?=[ `])", "--data ../shared/data", file.read_text(encoding="utf-8"))
        tables.append(re.sub(r"^###", "##", table.strip(), flags=re.MULTILINE))
    if not tables:
        sys.exit(f"{folder} holds no tables; make them with: pagerag reproduce all --out {folder}")
    page.write_text("\n\n".join([opening, *tables]) + "\n", encoding="utf-8")
    for picture in DOCS.glob("figures/*.png"):
        if (made := folder / picture.name).exists():
            shutil.copyfile(made, picture)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
