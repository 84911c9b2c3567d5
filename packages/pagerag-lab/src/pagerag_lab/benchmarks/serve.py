"""Measure the server: throughput, latency at half load, its own overhead, overload, stopping.

    python -m pagerag_lab.benchmarks.serve [--seconds 8] [--documents 20] [--support none]

The load comes from this process over plain sockets, so that it takes little of the processors it measures.
Everything is printed beside a yardstick of the same run: the library call in this process. The efficiency of
two workers is told by the clock, which needs two idle cores besides the one that this process uses, and by
the processor time of a request, which neighbours on the machine change little.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from urllib.parse import urlsplit

from pagerag.cli.demo import CORPUS
from pagerag.pipeline import promoter_of
from pagerag.serve.dialects import RequestLimits, rank, read_request
from pagerag.settings import Settings

QUESTION = "Which city was the composer of Interstellar born in?"


@dataclass
class Outcome:
    """What a load saw: statuses, seconds of each answered request, and connections that broke."""

    statuses: Counter[int] = field(default_factory=Counter)
    seconds: list[float] = field(default_factory=list)
    broken: int = 0

    def at(self, share: float) -> float:
        """Return a percentile of the accepted requests' times, in milliseconds."""
        ordered = sorted(self.seconds)
        return 1000 * ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else float("nan")


class Connection:
    """One kept-alive HTTP/1.1 connection; opened again when the server closes it."""

    def __init__(self, url: str, path: str, body: bytes) -> None:
        place = urlsplit(url)
        self.host, self.port = place.hostname, place.port
        head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n\r\n"
        self.request = head.encode() + body
        self.streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def send(self) -> int:
        """Send the request and return the status of the answer."""
        if self.streams is None:
            self.streams = await asyncio.open_connection(self.host, self.port)
        reader, writer = self.streams
        writer.write(self.request)
        head = await reader.readuntil(b"\r\n\r\n")
        lines = head.decode("latin-1").lower().split("\r\n")
        fields = dict(line.split(": ", 1) for line in lines[1:] if ": " in line)
        await reader.readexactly(int(fields["content-length"]))
        if fields.get("connection") == "close":
            self.close()
        return int(lines[0].split()[1])

    def close(self) -> None:
        """Close the connection."""
        if self.streams is not None:
            self.streams[1].close()
            self.streams = None


async def closed_loop(url: str, path: str, body: bytes, clients: int, seconds: float) -> Outcome:
    """Keep ``clients`` requests under way, each client sending its next when it has its answer."""
    outcome, end = Outcome(), time.perf_counter() + seconds

    async def client(place: int) -> None:
        await asyncio.sleep(0.05 * place)  # connections that come one by one spread over the workers
        connection = Connection(url, path, body)
        while time.perf_counter() < end:
            await one(connection, outcome)
        connection.close()

    await asyncio.gather(*(client(place) for place in range(clients)))
    return outcome


async def open_loop(url: str, path: str, body: bytes, rate: float, seconds: float) -> Outcome:
    """Send ``rate`` requests a second, whether or not earlier ones are answered."""
    outcome = Outcome()
    free: list[Connection] = []
    running: set[asyncio.Task[None]] = set()

    async def single() -> None:
        connection = free.pop() if free else Connection(url, path, body)
        await one(connection, outcome)
        free.append(connection)

    started = time.perf_counter()
    for number in range(int(rate * seconds)):
        wait = started + number / rate - time.perf_counter()
        if wait > 0:
            await asyncio.sleep(wait)
        task = asyncio.create_task(single())
        running.add(task)
        task.add_done_callback(running.discard)
    await asyncio.gather(*running)
    for connection in free:
        connection.close()
    return outcome


async def one(connection: Connection, outcome: Outcome) -> None:
    """Send one request and note what came of it."""
    started = time.perf_counter()
    try:
        status = await connection.send()
    except (OSError, asyncio.IncompleteReadError):
        outcome.broken += 1
        connection.close()
        return
    outcome.statuses[status] += 1
    if status == 200:
        outcome.seconds.append(time.perf_counter() - started)


@contextmanager
def served(*flags: str) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """Run ``pagerag serve`` until the block ends."""
    command = [
        sys.executable,
        "-m",
        "pagerag",
        "serve",
        "--port",
        "0",
        "--set",
        "serve.log_level=info",
        *flags,
    ]
    log = tempfile.NamedTemporaryFile("w+", suffix=".log", delete=False)  # noqa: SIM115 - the child writes it
    process = subprocess.Popen(command, stderr=log, text=True)
    try:
        url = ""
        while not url:
            time.sleep(0.1)
            assert process.poll() is None, Path(log.name).read_text()
            for line in Path(log.name).read_text().splitlines():
                told = json.loads(line)
                url = told["url"] if told["event"] == "listening" else url
        workers = int(flags[flags.index("--workers") + 1]) if "--workers" in flags else 1
        ready = Counter[int]()
        deadline = time.monotonic() + 120
        while ready[200] < 8 * workers and time.monotonic() < deadline:  # several times: each worker answers
            ready[asyncio.run(_get(url, "/ready"))] += 1
            time.sleep(0.1)
        yield url, process
    finally:
        if process.poll() is None:
            process.terminate()
            process.wait(60)
        Path(log.name).unlink()


async def _get(url: str, path: str) -> int:
    connection = Connection(url, path, b"")
    connection.request = f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode()
    try:
        return await connection.send()
    except (OSError, asyncio.IncompleteReadError):
        return 0
    finally:
        connection.close()


def memory(process: subprocess.Popen[str]) -> float:
    """Return the resident MiB of a process and its children."""
    pages = sum(int((folder / "statm").read_text().split()[1]) for folder, _ in _family(process))
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def processor_seconds(process: subprocess.Popen[str]) -> float:
    """Return the processor time that a process and its living children have used."""
    ticks = sum(int(fields[11]) + int(fields[12]) for _, fields in _family(process))
    return ticks / os.sysconf("SC_CLK_TCK")


def _family(process: subprocess.Popen[str]) -> list[tuple[Path, list[str]]]:
    """Return the folders in /proc of a process and its children, with the fields of ``stat``."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdecimal():
            try:
                fields = (folder / "stat").read_text().rsplit(")", 1)[1].split()
            except (OSError, IndexError):
                continue
            if int(folder.name) == process.pid or int(fields[1]) == process.pid:
                found.append((folder, fields))
    return found


def library(documents: list[str], seconds: float, support: str) -> tuple[float, float]:
    """Return the median milliseconds of the call that the endpoint makes: by the clock, of processor time."""
    promoter = promoter_of(Settings().updated({"promote.support": support}))
    request = read_request(
        {"query": QUESTION, "documents": documents}, RequestLimits(1000, 10**7), default_model="pagerag"
    )
    times: list[float] = []
    used: list[float] = []
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or len(times) < 5:
        started, before = time.perf_counter(), time.process_time()
        rank(promoter, request, 5)
        times.append(time.perf_counter() - started)
        used.append(time.process_time() - before)
    warm = len(times) // 10 + 1
    return 1000 * median(times[warm:]), 1000 * median(used[warm:])


def main() -> None:
    """Run all measurements and print them."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=8.0, help="length of each load")
    parser.add_argument("--documents", type=int, default=20, help="documents in a rerank request")
    parser.add_argument("--support", default="none", help="setting promote.support: none, auto or default")
    parser.add_argument(
        "--library", action="store_true", help="only the library call, with and without support encoder"
    )
    args = parser.parse_args()
    texts = [path.read_text(encoding="utf-8") for path in sorted(CORPUS.glob("*.md"))][: args.documents]
    body = json.dumps({"query": QUESTION, "documents": texts}).encode()
    ask = json.dumps({"question": QUESTION}).encode()
    if args.library:
        for support in ("none", "default"):
            call_of_library(texts, args.seconds, support)
        return
    with tempfile.TemporaryDirectory() as folder:
        store = str(Path(folder) / "store")
        subprocess.run(
            [sys.executable, "-m", "pagerag", "index", str(CORPUS), "--store", store],
            check=True,
            capture_output=True,
        )
        measure(args.seconds, texts, body, ask, store, args.support)


def call_of_library(texts: list[str], seconds: float, support: str) -> float:
    """Print and return what the library call takes."""
    yard, used = library(texts, seconds, support)
    print(
        f"library call, {len(texts)} documents, support {support}: p50 {yard:.2f} ms, {used:.2f} of processor"
    )
    return yard


def measure(seconds: float, texts: list[str], body: bytes, ask: bytes, store: str, support: str) -> None:
    """Print every figure; a figure that misses its bound is marked."""
    yard = call_of_library(texts, min(seconds, 4), support)
    rates: dict[tuple[str, int], float] = {}
    costs: dict[tuple[str, int], float] = {}
    flags = (
        "--store",
        f"s={store}",
        "--reader",
        "evidence",
        "--set",
        "serve.threads=1",
        "--set",
        f"promote.support={support}",
    )
    for workers in (1, 2):
        with served(*flags, "--workers", str(workers)) as (url, process):
            for path, sent in (("/rerank", body), ("/v1/ask", ask)):
                asyncio.run(closed_loop(url, path, sent, 4, 1.5))
                used = processor_seconds(process)
                found = asyncio.run(closed_loop(url, path, sent, 4 * workers, seconds))
                used = processor_seconds(process) - used
                rates[path, workers] = found.statuses[200] / seconds
                costs[path, workers] = 1000 * used / max(found.statuses[200], 1)
                print(
                    f"{path} on {workers} worker(s): {rates[path, workers]:.1f}/s {dict(found.statuses)}; "
                    f"{costs[path, workers]:.2f} ms of processor time a request, {used / seconds:.2f} cores"
                )
            if workers == 1:
                alone(url, body, yard, seconds)
                half(url, body, rates["/rerank", 1], seconds)
                overload(url, process, body, rates["/rerank", 1], seconds)
                stopping(url, process, body, seconds)
    for path in ("/rerank", "/v1/ask"):
        share = rates[path, 2] / (2 * rates[path, 1])
        own = costs[path, 1] / costs[path, 2]
        print(
            f"{path}: efficiency of two workers {share:.2f} by the clock {mark(share >= 0.85)}, "
            f"{own:.2f} by processor time {mark(own >= 0.85)}"
        )


def alone(url: str, body: bytes, yard: float, seconds: float) -> None:
    """Print the server's overhead: one client, one request at a time."""
    found = asyncio.run(closed_loop(url, "/rerank", body, 1, seconds))
    over = found.at(0.5) - yard
    print(f"one client: p50 {found.at(0.5):.2f} ms, {over:+.2f} ms over the library call {mark(over <= 2)}")


def half(url: str, body: bytes, rate: float, seconds: float) -> None:
    """Print latency at half of the measured capacity."""
    found = asyncio.run(open_loop(url, "/rerank", body, rate / 2, seconds))
    print(
        f"half load ({rate / 2:.0f}/s): p50 {found.at(0.5):.1f} ms, p99 {found.at(0.99):.1f} ms "
        f"{dict(found.statuses)}"
    )


def overload(url: str, process: subprocess.Popen[str], body: bytes, rate: float, seconds: float) -> None:
    """Print what happens at three times the capacity."""
    asyncio.run(open_loop(url, "/rerank", body, 3 * rate, seconds / 2))  # buffers grow once
    before = memory(process)
    found = asyncio.run(open_loop(url, "/rerank", body, 3 * rate, seconds))
    grown = memory(process) - before
    only = set(found.statuses) <= {200, 429} and not found.broken
    print(
        f"three times capacity ({3 * rate:.0f}/s): {dict(found.statuses)}, "
        f"{found.broken} broken {mark(only)}; "
        f"accepted p99 {found.at(0.99):.0f} ms of 30,000 {mark(found.at(0.99) < 30_000)}; "
        f"memory {before:.0f} MiB, {grown:+.1f} {mark(grown < 16)}"
    )


def stopping(url: str, process: subprocess.Popen[str], body: bytes, seconds: float) -> None:
    """Print what becomes of requests under way when the server is told to stop."""

    async def scene() -> Outcome:
        load = asyncio.create_task(closed_loop(url, "/rerank", body, 8, min(seconds, 3)))
        await asyncio.sleep(1.5)
        process.send_signal(signal.SIGTERM)
        return await load

    found = asyncio.run(scene())
    code = process.wait(60)
    print(
        f"SIGTERM under load: {dict(found.statuses)}, exit code {code}; "
        f"connections refused afterwards: {found.broken}"
    )


def mark(good: bool) -> str:
    """Return a mark for a bound that is kept or missed."""
    return "(kept)" if good else "(MISSED)"


if __name__ == "__main__":
    main()
