"""A process that has everything imported and forks a child for each job: tests kill children by the dozen,
and importing the store's libraries anew each time would take longer than the tests.

Jobs come as JSON lines on stdin. Everything that a child says goes to stdout as JSON lines; the last one
of each job is {"job": n, "exit": code}, written by this process when the child is gone, however it went.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import time
import warnings
from typing import Any

from pagerag.errors import PageRAGError
from pagerag.ingest import Event, IngestSettings, index_paths
from pagerag.store import open_store
from pagerag.testing import FakeEncoder

warnings.simplefilter("ignore")


def say(**words: Any) -> None:
    os.write(1, (json.dumps(words) + "\n").encode())  # one write: lines of several children do not mix


def index(job: dict[str, Any]) -> int:
    """Index a folder; every acknowledgement is said."""

    def tell(event: Event) -> None:
        say(job=job["job"], kind=event.kind, path=event.path, units=event.units, message=event.message)

    store = open_store(job["store"], FakeEncoder(32), create=True)
    settings = IngestSettings(**job.get("settings", {}))
    report = index_paths(job["paths"], store, settings, prune=job.get("prune", False), listener=tell)
    say(job=job["job"], report=report.to_dict())
    return 0


def read(job: dict[str, Any]) -> int:
    """Read a store while another process writes to it, and check that no document is ever half there."""
    signal.alarm(int(job["seconds"]) + 20)  # a search that never comes back must not outlive its test
    store = open_store(job["store"], FakeEncoder(32))
    seen: list[int] = []
    until = time.monotonic() + job["seconds"]
    while time.monotonic() < until:
        found = store.search_text(job["question"], 20)
        texts = {c.source: set() for c in found}
        for candidate in store.search_text(job["question"], 200):
            texts.setdefault(candidate.source, set()).add(candidate.text.split()[-1])
        # A document's passages all end with the edition they belong to: two editions are never mixed.
        mixed = [source for source, editions in texts.items() if len(editions) > 1]
        if mixed:
            say(job=job["job"], mixed=mixed)
            return 1
        store.lookup_title("shared title")
        store.analyses(found)
        if not seen or seen[-1] != len(store):
            seen.append(len(store))
        say(job=job["job"], units=seen[-1])
        if os.path.exists(job["stop"]):  # noqa: PTH110
            break
        time.sleep(0.01)  # the writer is to get on, too
    say(
        job=job["job"],
        seen=seen,
        final=len(store),
        best=[c.id for c in store.search_text(job["question"], 5)],
    )
    return 0


WORK = {"index": index, "read": read}


def child(job: dict[str, Any]) -> int:
    if "largest_file" in job:
        resource.setrlimit(resource.RLIMIT_FSIZE, (job["largest_file"], job["largest_file"]))
    if "user" in job:
        os.setgroups([])
        os.setgid(job["user"])
        os.setuid(job["user"])
    try:
        return WORK[job["work"]](job)
    except PageRAGError as problem:
        say(job=job["job"], error=type(problem).__name__, message=str(problem))
        return 1


def main() -> None:
    running: dict[int, int] = {}
    readers: list[subprocess.Popen[bytes]] = []
    for line in sys.stdin:
        job = json.loads(line)
        if job["work"] == "wait":
            pid = next(pid for pid, number in running.items() if number == job["job"])
            _, status = os.waitpid(pid, 0)
            del running[pid]
            say(job=job["job"], exit=os.waitstatus_to_exitcode(status))
            continue
        if job["work"] == "read":
            # A reader lives long and searches with many threads: a process of its own, not a fork.
            reader = subprocess.Popen([sys.executable, __file__, json.dumps(job)], stdin=subprocess.DEVNULL)
            readers.append(reader)
            running[reader.pid] = job["job"]
            say(job=job["job"], pid=reader.pid)
            continue
        pid = os.fork()
        if pid == 0:
            code = 70
            try:
                code = child(job)
            finally:
                os._exit(code)
        running[pid] = job["job"]
        say(job=job["job"], pid=pid)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        sys.exit(child(json.loads(sys.argv[1])))
    main()
