"""Faults of Ray: a worker, a node and the driver are killed; the rows are those of an undisturbed run."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from pagerag.batch import Journal, in_order, open_hands

from .conftest import FULL, Fault
from .work import slow_squares

pytest.importorskip("ray")
pytestmark = [pytest.mark.integration, pytest.mark.slow]

CHUNKS = [[4 * n, 4 * n + 1, 4 * n + 2, 4 * n + 3] for n in range(12)]
CALM = [slow_squares(("", 0.0), chunk) for chunk in CHUNKS]


def strike(folder: Path, chunk: int, row: Fault, blow) -> threading.Thread:
    """Begin to wait for a chunk to be begun; then ``blow`` gets the process that does it."""

    def wait() -> None:
        while not (found := list(folder.glob(f"{CHUNKS[chunk][0]:04d}.*"))):
            time.sleep(0.02)
        row.strikes()
        blow(int(found[0].suffix[1:]))

    thread = threading.Thread(target=wait, daemon=True)
    thread.start()
    return thread


def check(hands, folder: Path, row: Fault, thread: threading.Thread) -> None:
    journal = Journal(folder / "journal")
    with journal.held():
        journal.claim({"work": "squares"})
        rows = []
        for _, one in in_order(hands, slow_squares, (str(folder), 0.3), CHUNKS, journal=journal):
            rows.append(one)
            if not thread.is_alive():
                row.works_again()
    thread.join()
    row.acknowledged = sum(map(len, rows))
    row.lost = sum(len(want) for want, got in zip(CALM, rows, strict=True) if want != got)
    assert rows == CALM


def test_a_worker_is_killed(tmp_path, fault_log):
    row = Fault("kill −9 of a Ray worker", "in its third chunk of twelve")
    fault_log.append(row)
    with open_hands("ray", 2) as hands:
        hands.start()
        thread = strike(tmp_path, 2, row, lambda pid: os.kill(pid, signal.SIGKILL))
        check(hands, tmp_path, row, thread)


@pytest.mark.skipif(not FULL, reason="make test-faults")
def test_a_node_is_killed(tmp_path, fault_log):
    """A cluster of two nodes; the one that does a chunk loses all its processes."""
    from ray.cluster_utils import Cluster

    row = Fault("kill −9 of a Ray node", "in the third chunk of twelve")
    fault_log.append(row)
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "object_store_memory": 100 << 20})
    try:
        second = cluster.add_node(num_cpus=1, object_store_memory=100 << 20)
        with open_hands("ray", None, cluster.address) as hands:
            hands.start()
            assert hands.count == 2
            thread = strike(tmp_path, 2, row, lambda _: cluster.remove_node(second, allow_graceful=False))
            check(hands, tmp_path, row, thread)
    finally:
        cluster.shutdown()


@pytest.mark.skipif(not FULL, reason="make test-faults")
def test_the_driver_is_killed(tmp_path, fault_log):
    """``pagerag promote --engine ray`` is killed after some chunks, and started again."""
    row = Fault("kill −9 of the driver (pagerag promote --engine ray)", "after two of seven chunks")
    fault_log.append(row)
    pools = tmp_path / "pools.jsonl"
    with pools.open("w") as out:
        for number in range(200):
            units = [
                {
                    "id": f"{n}",
                    "title": f"Film {number}",
                    "text": f"Film {number} part {n} is by Ann Lee. " * 6,
                }
                for n in range(20)
            ]
            out.write(json.dumps({"question": f"Who made Film {number}?", "candidates": units}) + "\n")
    command = [sys.executable, "-m", "pagerag", "promote", str(pools), "--with-trace"]
    calm, kept, work = tmp_path / "calm.jsonl", tmp_path / "kept.jsonl", tmp_path / "work"
    subprocess.run([*command, "--out", str(calm)], check=True, capture_output=True)
    spread = [*command, "--out", str(kept), "--engine", "ray", "--workers", "2", "--journal", str(work)]
    driver = subprocess.Popen(spread, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while len(list((work / "chunks").glob("*.jsonl"))) < 2:
        assert driver.poll() is None
        time.sleep(0.01)
    row.strikes()
    driver.kill()
    driver.wait()
    assert not kept.exists()  # nothing half-written
    before = {file.name: file.stat().st_mtime_ns for file in (work / "chunks").glob("*.jsonl")}
    assert 2 <= len(before) < 7
    # No pipes: Ray's own processes would hold them open.
    subprocess.run(spread, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    row.works_again()
    after = {file.name: file.stat().st_mtime_ns for file in (work / "chunks").glob("*.jsonl")}
    assert {name: after[name] for name in before} == before  # what was acknowledged was not done again
    row.acknowledged = 32 * len(before)
    assert kept.read_bytes() == calm.read_bytes()
