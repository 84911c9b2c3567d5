"""Run the server: one process or several on one socket, stopped without losing what it has taken on."""

from __future__ import annotations

import asyncio
import contextlib
import json
import multiprocessing
import os
import shutil
import signal
import socket
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from multiprocessing.process import BaseProcess
from types import FrameType

import uvicorn

from pagerag.errors import SettingsError
from pagerag.serve.keys import Keys, check_exposure
from pagerag.serve.operation import Operation
from pagerag.serve.telemetry import log, set_up
from pagerag.settings import Settings

# Seconds between the order to stop and the end of accepting: kept-alive connections are told to close, and a
# load balancer sees /ready fail, before the socket is gone.
NOTICE = 0.5
_BACKLOG = 2048


class DrainingServer(uvicorn.Server):
    """A server that, told to stop, first answers "Connection: close" for a moment, then stops accepting."""

    def __init__(self, config: uvicorn.Config, app: Operation) -> None:
        super().__init__(config)
        self.served = app
        self._asked = False

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:  # noqa: ARG002
        """Begin the drain; a second signal ends at once."""
        if self._asked:
            self.should_exit = self.force_exit = True
            return
        self._asked = True
        self.served.service.stopping = True
        log("stopping", drain=self.served.service.settings.serve.drain)
        threading.Timer(NOTICE, setattr, (self, "should_exit", True)).start()


def run(settings: Settings, stores: Mapping[str, str], *, announce: bool = False) -> int:
    """Serve until told to stop; return the exit code. ``announce`` prints the address as JSON on stdout."""
    from pagerag.serve.app import create_app  # the tools' server has no FastAPI

    if settings.serve.workers == 1:
        return run_app(lambda: create_app(settings, dict(stores)), settings, list(stores), announce=announce)
    return _supervise(settings, dict(stores), _listen(settings, list(stores), announce=announce))


def run_app(
    make: Callable[[], Operation], settings: Settings, stores: list[str], *, announce: bool = False
) -> int:
    """Serve one application in this process until told to stop; return the exit code."""
    return _serve(make, settings, _listen(settings, stores, announce=announce))


def _listen(settings: Settings, stores: list[str], *, announce: bool) -> socket.socket:
    """Check who could reach the address, bind it and say where it is."""
    serve = settings.serve
    check_exposure(serve.host, Keys(serve.api_key_file), insecure=serve.insecure)
    set_up(serve.log_level)
    listening = bind(serve.host, serve.port)
    host, port = listening.getsockname()[:2]
    url = f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
    if announce:
        print(json.dumps({"url": url, "pid": os.getpid(), "stores": stores}), flush=True)
    log("listening", url=url, workers=serve.workers, stores=stores)
    if sys.stderr.isatty():
        print(f"pagerag is at {url}/  (Ctrl-C stops it)", file=sys.stderr)
    return listening


def bind(host: str, port: int) -> socket.socket:
    """Return a socket that listens on the address."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # The protocol is named because asyncio turns Nagle's algorithm off only then: a reply would wait 40 ms.
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host.strip("[]"), port))
    except OSError as problem:
        listening.close()
        raise SettingsError(f"cannot listen on {host}:{port}: {problem.strerror or problem}") from problem
    listening.listen(_BACKLOG)
    listening.setblocking(False)
    return listening


def server_config(app: Operation, settings: Settings) -> uvicorn.Config:
    """Return how uvicorn serves the application.

    h11 is chosen because it bounds the size of headers; the faster parser takes as many as a client sends.
    """
    return uvicorn.Config(
        app, http="h11", ws="none", log_config=None, access_log=False, lifespan="on", server_header=False,
        backlog=_BACKLOG, timeout_keep_alive=30, h11_max_incomplete_event_size=64 * 1024,
        timeout_graceful_shutdown=int(settings.serve.drain) or None,
    )  # fmt: skip


def _serve(make: Callable[[], Operation], settings: Settings, listening: socket.socket) -> int:
    app = make()
    server = DrainingServer(server_config(app, settings), app)
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(server.serve(sockets=[listening]))
    return 0 if server.started else 1


def _work(settings: Settings, stores: dict[str, str], listening: socket.socket) -> None:
    """Serve in a worker process."""
    from pagerag.serve.app import create_app

    set_up(settings.serve.log_level)
    sys.exit(_serve(lambda: create_app(settings, stores), settings, listening))


def _supervise(settings: Settings, stores: dict[str, str], listening: socket.socket) -> int:
    """Keep the workers alive until told to stop, then wait for them to drain."""
    counters = tempfile.mkdtemp(prefix="pagerag-metrics-")
    os.environ["PROMETHEUS_MULTIPROC_DIR"] = counters  # before a worker imports prometheus_client
    spawn = multiprocessing.get_context("spawn")
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())

    def start() -> BaseProcess:
        worker = spawn.Process(target=_work, args=(settings, stores, listening), name="pagerag-worker")
        worker.start()
        return worker

    workers = [start() for _ in range(settings.serve.workers)]
    failures = 0
    try:
        while not stop.wait(0.25):
            for place, worker in enumerate(workers):
                if worker.is_alive():
                    continue
                failures += 1
                log("a worker ended", level=40, pid=worker.pid, code=worker.exitcode)
                if failures > 5 * settings.serve.workers:
                    return 1
                time.sleep(min(0.1 * 2**failures, 5.0))
                workers[place] = start()
    finally:
        for worker in workers:
            with contextlib.suppress(ProcessLookupError, AttributeError):
                worker.terminate()
        last = time.monotonic() + settings.serve.drain + NOTICE + 5.0
        for worker in workers:
            worker.join(max(0.1, last - time.monotonic()))
            if worker.is_alive():
                log("a worker did not end in time", level=40, pid=worker.pid)
                worker.kill()
        listening.close()
        shutil.rmtree(counters, ignore_errors=True)
    return 0
