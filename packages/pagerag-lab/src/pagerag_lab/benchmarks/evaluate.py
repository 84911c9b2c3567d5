"""How fast an evaluation runs: questions per second on one and two processes, and memory.

    python -m pagerag_lab.benchmarks.evaluate --data ../shared/data

Embeddings are cached first, so that what is timed is retrieval from the cache, promotion and scoring. Each
figure is a real ``pagerag evaluate`` in a process of its own. The steady rate is the slope between a short
and a long run, which leaves the start of the processes out; the whole command's rate is given beside it.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path

_COMMAND = "import sys; from pagerag.cli import main; sys.exit(main(sys.argv[1:]))"


@dataclass(frozen=True)
class Timed:
    """One command: its wall time, its CPU time, and the most memory of it and its workers together."""

    questions: int
    seconds: float
    cpu: float
    megabytes: float


def _memory(process: int) -> float:
    """Return resident megabytes of a process and its children, from /proc."""
    total = 0.0
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit():
            continue
        try:
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
            if int(folder.name) != process and int(fields[1]) != process:
                continue
            total += int((folder / "statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6
        except (OSError, ValueError, IndexError):
            continue  # it ended while we looked
    return total


def timed(data: Path, questions: int, workers: int, strategy: str) -> Timed:
    """Run the command on the first ``questions`` questions."""
    with tempfile.TemporaryDirectory() as out:
        words = [
            "evaluate", "--dataset", "hotpotqa", "--data", str(data / "hotpotqa" / "dev.json"), "--retriever",
            "minilm", "--strategy", strategy, "--limit", str(questions), "--workers", str(workers),
            "--no-explain", "--out", str(Path(out) / "run"),
        ]  # fmt: skip
        before = os.times()
        started = time.monotonic()
        process = subprocess.Popen(
            [sys.executable, "-c", _COMMAND, *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        most = 0.0
        stop = threading.Event()

        def watch() -> None:
            nonlocal most
            while not stop.wait(0.2):
                most = max(most, _memory(process.pid))

        watcher = threading.Thread(target=watch)
        watcher.start()
        code = process.wait()
        seconds = time.monotonic() - started
        stop.set()
        watcher.join()
        after = os.times()
        if code:
            raise SystemExit(f"pagerag evaluate ended with {code}")
        cpu = after.children_user + after.children_system - before.children_user - before.children_system
        return Timed(questions, seconds, cpu, most)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--data", type=Path, required=True, help="the folder with hotpotqa/dev.json")
    parser.add_argument("--strategy", default="default")
    parser.add_argument("--short", type=int, default=400)
    parser.add_argument("--long", type=int, default=1683)
    args = parser.parse_args()
    timed(args.data, args.long, 2, "plain")  # fills the embedding cache
    rows = {
        (workers, size): timed(args.data, size, workers, args.strategy)
        for workers in (1, 2)
        for size in (args.short, args.long)
    }
    print(f"{'processes':>9} {'questions':>9} {'wall s':>8} {'q/s':>7} {'CPU s':>7} {'peak MB':>8}")
    for (workers, size), one in rows.items():
        rate = one.questions / one.seconds
        print(f"{workers:9} {size:9,} {one.seconds:8.1f} {rate:7.1f} {one.cpu:7.1f} {one.megabytes:8.0f}")
    steady = {
        workers: (args.long - args.short)
        / (rows[workers, args.long].seconds - rows[workers, args.short].seconds)
        for workers in (1, 2)
    }
    print(f"steady: {steady[1]:.1f} q/s on one process, {steady[2]:.1f} q/s on two")
    print(f"parallel efficiency on two: {steady[2] / (2 * steady[1]):.2f} (whole command: "
          f"{rows[1, args.long].seconds / (2 * rows[2, args.long].seconds):.2f})")  # fmt: skip
    growth = rows[2, args.long].megabytes / rows[2, args.short].megabytes
    print(f"memory at {args.long:,} questions: {growth:.2f} times that at {args.short:,}")
    print(f"load of the machine: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")


if __name__ == "__main__":
    main()
