"""Packed examples made once, by many processes, and read by every run that trains at the same time.

    python -m pagerag_lab.training.shelf --config FILE --corpus FILE --base FOLDER --shelf FOLDER

Runs that train side by side would each pack their own examples, with processes that take the cores from one
another. Here the examples of a phase stand in files of a few hundred (``PHASE/pass-worker-number.npz``); a
run takes the new ones as they come, leaves out those of its held-out fold, and reads old ones again when
it is faster than the packing.
"""

from __future__ import annotations

import gc
import io
import os
import random
import time
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch.utils.data import IterableDataset, get_worker_info

from pagerag_lab.product import write_atomic
from pagerag_lab.training.batches import Batch, Item, Stream, collate, grouped
from pagerag_lab.training.columns import ragged
from pagerag_lab.training.common import CHOOSERS, arguments, log, open_corpus, setting

__all__ = ["Shelved", "main", "read_items", "write_items"]

SIZE = 512
"""Examples of one file."""
LISTS: dict[str, Any] = {
    "ids": np.uint16,
    "markers": np.uint16,
    "spans": np.uint16,
    "support": np.int8,
    "bearing": np.int8,
    "pairs": np.uint16,
    "parts": np.int8,
}
"""The fields of an example that are lists of numbers, or of pairs of them."""
NUMBERS = ("kind", "weight", "support_weight")


def write_items(path: Path, items: list[Item], rows: list[int]) -> None:
    """Write examples with the numbers of the rows they were made of; the file is whole or absent."""
    columns: dict[str, Any] = {"rows": np.array(rows, np.int32)}
    for name, kind in LISTS.items():
        flat = [np.asarray(getattr(item, name)).ravel().tolist() for item in items]
        columns[name], columns[f"{name}.length"] = ragged(flat, kind)
    columns["asked"] = np.array(
        [item.types.index(1) if 1 in item.types else len(item.types) for item in items]
    )
    for name in NUMBERS:
        columns[name] = np.array([getattr(item, name) for item in items])
    held = io.BytesIO()
    np.savez(held, **columns)
    write_atomic(path, held.getvalue())


def read_items(path: Path, allowed: NDArray[np.bool_]) -> list[Item]:
    """Read the examples whose rows are ``allowed``."""
    with np.load(path, allow_pickle=False) as held:
        columns = {name: held[name] for name in held.files}
    parts = {name: np.split(columns[name], np.cumsum(columns[f"{name}.length"])[:-1]) for name in LISTS}
    found = []
    for n in np.flatnonzero(allowed[columns["rows"]]).tolist():
        ids = parts["ids"][n]
        found.append(
            Item(
                ids=ids,
                types=(np.arange(len(ids)) >= columns["asked"][n]),
                units=[],
                markers=parts["markers"][n],
                spans=parts["spans"][n].reshape(-1, 2),
                support=parts["support"][n],
                bearing=parts["bearing"][n],
                pairs=parts["pairs"][n].reshape(-1, 2),
                kind=int(columns["kind"][n]),
                weight=float(columns["weight"][n]),
                support_weight=float(columns["support_weight"][n]),
                parts=parts["parts"][n],
            )
        )
    return found


class Shelved(IterableDataset[Batch]):
    """Batches of a phase's shelf without end: new files first, then any."""

    def __init__(self, folder: Path, allowed: NDArray[np.bool_], batch_tokens: int, seed: int) -> None:
        self.folder, self.allowed, self.batch_tokens, self.seed = folder, allowed, batch_tokens, seed

    def __iter__(self) -> Iterator[Batch]:
        worker = get_worker_info()
        number, count = (worker.id, worker.num_workers) if worker else (0, 1)
        rng = random.Random(f"{self.seed}/{number}")
        seen: list[Path] = []
        while True:
            known = set(seen)
            fresh = [
                path
                for path in sorted(self.folder.glob("*.npz"))
                if path not in known and zlib.crc32(path.name.encode()) % count == number
            ]
            if not fresh and not seen:
                time.sleep(0.2)
                continue
            chosen = fresh if fresh else [rng.choice(seen) for _ in range(8)]
            for path in chosen[:8]:
                if path not in known:
                    seen.append(path)
                items = read_items(path, self.allowed)
                if items:
                    yield from map(collate, grouped(items, self.batch_tokens, rng))


def _pack(stream: Stream, folder: Path, number: int, count: int, until: float) -> None:
    """Pack this process's share of the rows, pass after pass, each time drawn and shown anew."""
    share = list(range(number, len(stream.rows), count))
    for turn in range(1000):
        rng = random.Random(f"{stream.seed}/{turn}/{number}")
        drawn = stream.draw(share, rng)
        for start in range(0, len(drawn), SIZE):
            if time.time() > until:
                return
            rows = drawn[start : start + SIZE]
            items = [stream.item(stream.rows[row], rng) for row in rows]
            write_items(folder / f"{turn:03d}-{number:02d}-{start:06d}.npz", items, rows)


def main() -> None:
    """Fill the shelf of every phase but pretrain until the given moment."""
    parser = arguments(__doc__ or "")
    parser.add_argument("--packers", type=int, default=10, help="processes that pack")
    options = parser.parse_args()
    chosen = setting(options.config)
    corpus, _ = open_corpus(options, chosen)
    phase = next(phase for phase in chosen.plan.phases if phase.name != "pretrain")
    folder = options.shelf / phase.name
    folder.mkdir(parents=True, exist_ok=True)
    plan = chosen.plan
    stream = plan.stream(corpus, corpus.rows, phase, CHOOSERS[chosen.chooser], plan.seed)
    torch.set_num_threads(1)
    gc.freeze()  # the rows are shared with the children as long as nobody touches them
    children = []
    for number in range(options.packers):
        child = os.fork()
        if not child:
            try:
                _pack(stream, folder, number, options.packers, options.until)
            finally:
                os._exit(0)
        children.append(child)
    log(f"{len(children)} processes pack {len(stream.rows)} rows into {folder}")
    for child in children:
        os.waitpid(child, 0)


if __name__ == "__main__":
    main()
