"""kill -9 in the middle of indexing: nothing acknowledged is lost, and the next run completes the work."""

from __future__ import annotations

import json
import random
import shutil
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pagerag.store import SqliteCorpus, open_store
from pagerag.testing import FakeEncoder

KILLS = 20
SETTINGS = {"batch_units": 6, "passage_chars": 80}


def write(folder: Path, number: int, edition: str) -> None:
    text = "\n\n".join(
        f"Town {number} has a river called Stream {part}, said {edition}." for part in range(4)
    )
    (folder / f"{number:03d}.txt").write_text(text, encoding="utf-8")


def write_records(path: Path, edition: str, count: int) -> None:
    lines = (
        json.dumps({"id": n, "title": f"Record {n}", "text": f"Record {n} of {edition if n % 3 else 'all'}."})
        for n in range(count)
    )
    path.write_text("\n".join(lines), encoding="utf-8")


def check(place: Path, acknowledged: dict[str, int], removed: set[str], encoder: FakeEncoder) -> None:
    """The store opens, and whatever a child said is there."""
    if not acknowledged and not (place / "corpus.sqlite").is_file():
        return  # killed before the store existed; nothing was promised
    store = open_store(place, encoder)
    ledger = store.ledger()
    counts = Counter(document.path for document in store.documents().values() for _ in range(document.units))
    for path, units in acknowledged.items():
        assert ledger[path].units == units
        assert counts[path] == units
    for path in removed:
        assert path not in ledger
        assert counts[path] == 0
    for candidate in store.search_text("river town record", 10):
        assert candidate.text


def test_killed_twenty_times(
    children: Any,
    folder: Path,
    tmp_path: Path,
    encoder: FakeEncoder,
    contents: Callable[[SqliteCorpus], Any],
) -> None:
    place = tmp_path / "killed"
    work = {"paths": [str(folder)], "store": str(place), "settings": SETTINGS}
    chance = random.Random(20)
    kills = 0
    moments: list[str] = []

    def torment(times: int, prune: bool) -> None:
        """Index again and again, each time killed a little after some thing that the child says."""
        nonlocal kills
        acknowledged: dict[str, int] = {}
        removed: set[str] = set()
        for _ in range(times):
            job = children.start(
                "index", paths=[str(folder)], store=str(place), prune=prune, settings=SETTINGS
            )
            patience = chance.choice([0, 1, 2, 8, 16])
            while patience:
                said = children.hear()
                assert "report" not in said, "the run was over before it could be killed"
                patience -= 1
            time.sleep(chance.choice([0, 0.002, 0.01, 0.03, 0.08]))
            children.kill(job)
            code, heard = children.wait(job)
            assert code == -9
            kills += 1
            moments.append(heard[-2].get("kind", "start"))
            for said in heard:
                if said.get("kind") in ("indexed", "unchanged"):
                    acknowledged[said["path"]] = said["units"]
                elif said.get("kind") == "removed":
                    removed.add(said["path"])
            check(place, acknowledged, removed, encoder)

    def complete(prune: bool) -> None:
        code, heard = children.run("index", **work, prune=prune)
        assert (code, heard[-2]["report"]["failed"]) == (0, [])

    for number in range(60):
        write(folder, number, "the first")
    write_records(folder / "records.jsonl", "the first", 90)
    torment(KILLS // 2, prune=False)
    complete(prune=False)

    for number in range(0, 60, 2):
        write(folder, number, "the second")
    for number in (1, 31, 59):
        (folder / f"{number:03d}.txt").unlink()
    write_records(folder / "records.jsonl", "the second", 80)
    torment(KILLS - KILLS // 2, prune=True)
    complete(prune=True)
    assert kills == KILLS
    assert len(set(moments)) > 1, "all kills hit the same moment"

    undisturbed = tmp_path / "undisturbed"
    code, _ = children.run("index", paths=[str(folder)], store=str(undisturbed), settings=SETTINGS)
    assert code == 0
    rows, ledger = contents(open_store(place, encoder))
    want_rows, want_ledger = contents(open_store(undisturbed, encoder))
    assert len(rows) == 57 * 4 + 80
    assert rows == want_rows
    assert ledger == want_ledger
    shutil.rmtree(place)
