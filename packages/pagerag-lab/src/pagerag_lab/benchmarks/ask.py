"""How long a whole warm question over documents takes, as ``pagerag ask`` is set up.

    python -m pagerag_lab.benchmarks.ask --data ../shared/data/documents/dev

Each corpus is indexed in a temporary folder, the first questions are asked once to warm up, then all of them
are timed. Run it on idle cores.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path

import numpy as np

from pagerag import PageRAG
from pagerag.ingest import IngestSettings, index_paths
from pagerag.retrieve import encoder
from pagerag.retrieve.encoders import DEFAULT_ENCODER
from pagerag.store import open_store
from pagerag_lab.datasets.document_sets import ARCHIVE, QUESTIONS, unpack

WARM_UP = 3
STAGES = ("retrieve", "promote", "read", "total")


def timed(folder: Path) -> list[dict[str, float]]:
    """Return the seconds of each stage for every question of a corpus."""
    lines = (folder / QUESTIONS).read_text(encoding="utf-8").splitlines()
    questions = [json.loads(line)["question"] for line in lines]
    with tempfile.TemporaryDirectory() as place:
        files, store = Path(place) / "files", Path(place) / "store"
        unpack(folder / ARCHIVE, files)
        with open_store(store, encoder(DEFAULT_ENCODER), create=True) as made:
            index_paths([files], made, IngestSettings(base=str(files)))
        with PageRAG.open(store) as pipeline:
            for question in questions[:WARM_UP]:
                pipeline.ask(question)
            return [dict(pipeline.ask(question).timings) for question in questions]


def main() -> int:
    """Print a row for each corpus and one for all."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, help="a folder of corpora")
    options = parser.parse_args()
    folders = sorted(path.parent for path in options.data.glob(f"*/{ARCHIVE}"))
    if not folders:
        print(f"there is no corpus with {ARCHIVE} under {options.data}", file=sys.stderr)
        return 1
    every: list[dict[str, float]] = []
    print("| corpus | questions | " + " | ".join(f"{stage}, p50 ms" for stage in STAGES) + " | total, p90 |")
    print("|---|---:|" + "---:|" * (len(STAGES) + 1))
    for folder in [*folders, None]:
        rows = every if folder is None else timed(folder)
        cells = [1000 * float(np.median([row[stage] for row in rows])) for stage in STAGES]
        cells.append(1000 * float(np.percentile([row["total"] for row in rows], 90)))
        name = "all" if folder is None else folder.name
        print(f"| {name} | {len(rows)} | " + " | ".join(f"{cell:.0f}" for cell in cells) + " |", flush=True)
        if folder is not None:
            every += rows
    return 0


if __name__ == "__main__":
    sys.exit(main())
