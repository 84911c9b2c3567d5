"""Work on a Ray cluster: one that runs already, or one that is started on this machine for this work.

Workers get a function and its arguments and give back a value: they need the same version of pagerag, and no
disk in common with this machine. Ray itself does the work of a killed worker or machine again elsewhere.
"""

from __future__ import annotations

import logging
import os
import platform
import socket
from collections.abc import Callable
from concurrent.futures import Future
from importlib.metadata import version
from typing import Any, Self, TypeVar
from urllib.parse import urlsplit

from pagerag._extras import need
from pagerag.errors import InputError, PageRAGError, WorkerLostError
from pagerag.units import ANALYSIS_VERSION

Result = TypeVar("Result")

_TRIES = 4
"""How often a piece is begun again whose worker or machine went: a piece that takes its worker down each time
(out of memory) must come to an end."""
_ENVIRONMENT = {
    "RAY_USAGE_STATS_ENABLED": "0",  # pagerag calls nobody
    "RAY_agent_register_timeout_ms": "120000",  # Ray's own helpers are slow to start on a busy machine
    # Ray's workers wait behind all other work of a machine (nice 15); those of our own cluster do not, as our
    # processes do not: on a busy machine they were four times as slow.
    "RAY_worker_niceness": "0",
}
_STORE_BYTES = 192 * 2**20  # of a cluster that we start; chunks are small
_REACH_SECONDS = 10.0
_STARTS = 2  # Ray gives a local cluster 30 s to start, which a busy machine may miss once


class Cluster:
    """Workers of a Ray cluster, one CPU each."""

    def __init__(self, count: int | None = None, address: str | None = None) -> None:
        for name, value in _ENVIRONMENT.items():
            os.environ.setdefault(name, value)  # Ray reads them when it is imported
        self._ray = need("ray", "ray", "ray", "for --engine ray")
        self._address = address or os.environ.get("RAY_ADDRESS") or None
        self._asked = count
        self._run: Any = None
        self.count = count or os.cpu_count() or 1

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def start(self) -> None:
        """Join the cluster, or start one on this machine."""
        if self._run is not None:
            return
        if self._ray.is_initialized():
            raise InputError("this process has joined a Ray cluster already; call ray.shutdown() first")
        self._join() if self._address else self._start_here()
        cpus = int(self._ray.cluster_resources().get("CPU", 0))
        try:
            if cpus < 1:
                raise WorkerLostError(f"the Ray cluster {self._name()} has no CPU to work on; add a node")
            self.count = self._asked or cpus
            self._check_nodes()
        except BaseException:
            self._ray.shutdown()
            raise
        self._run = self._remote(_call)

    def _remote(self, function: Callable[..., Any]) -> Any:
        return self._ray.remote(num_cpus=1, max_retries=_TRIES)(function)

    def _start_here(self) -> None:
        for left in reversed(range(_STARTS)):
            try:
                self._ray.init(
                    address="local",
                    num_cpus=self.count,
                    object_store_memory=_STORE_BYTES,
                    include_dashboard=False,
                    log_to_driver=False,
                    logging_level=logging.ERROR,
                )
            except Exception as problem:  # Ray raises bare Exception where it gives up waiting
                self._ray.shutdown()
                if not left:
                    raise WorkerLostError(
                        f"Ray could not be started on this machine ({_short(problem)}); use --engine local, "
                        "or start Ray yourself and name it with --address"
                    ) from problem
            else:
                return

    def _join(self) -> None:
        try:
            _reach(self._address or "")  # Ray itself waits two minutes for a cluster that is not there
            self._ray.init(address=self._address, log_to_driver=False, logging_level=logging.ERROR)
        except (OSError, RuntimeError, ValueError, AssertionError, self._ray.exceptions.RayError) as problem:
            self._ray.shutdown()
            raise WorkerLostError(
                f"there is no Ray cluster at {self._name()} that can be joined ({_short(problem)}); check "
                "--address (HOST:PORT on a machine of the cluster, ray://HOST:10001 from outside), and that "
                "Ray has the same version on both sides"
            ) from problem

    def _check_nodes(self) -> None:
        """Refuse nodes with another version: their results might differ, or their functions be missing."""
        if not self._address:
            return
        affinity = need("ray.util.scheduling_strategies", "ray", "ray").NodeAffinitySchedulingStrategy
        about, here, found = self._remote(_about), _about(), {}
        for node in self._ray.nodes():
            if node["Alive"] and node["Resources"].get("CPU"):
                there = affinity(node_id=node["NodeID"], soft=False)
                found[node["NodeManagerAddress"]] = about.options(scheduling_strategy=there).remote()
        for name, reference in found.items():
            told = self.result(reference.future())
            if told != here:
                raise InputError(
                    f"node {name} of the Ray cluster has {told}, and this machine {here}; install the same "
                    "versions everywhere"
                )

    def submit(self, function: Callable[..., Result], /, *arguments: Any) -> Future[Result]:
        """Have a module's function called with these arguments on some machine of the cluster."""
        self.start()
        try:
            return self._run.remote(function, arguments).future()  # type: ignore[no-any-return]
        except (self._ray.exceptions.RayError, RuntimeError) as problem:
            raise self._lost(problem) from problem

    def result(self, future: Future[Result]) -> Result:
        """Return what the function returned, or raise what it raised; waits."""
        failures = self._ray.exceptions
        try:
            return future.result()
        except failures.RayTaskError as problem:
            cause = problem.cause
            if isinstance(cause, ModuleNotFoundError):
                raise WorkerLostError(
                    f"a node of the Ray cluster {self._name()} lacks {cause.name}; install the same pagerag "
                    "with the same extras on every node"
                ) from problem
            raise cause if isinstance(cause, PageRAGError) else problem from None
        except failures.RayError as problem:
            raise self._lost(problem) from problem

    def _lost(self, problem: Exception) -> WorkerLostError:
        return WorkerLostError(
            f"the Ray cluster {self._name()} lost a piece of work for good ({_short(problem)}); what is "
            "finished is kept: run the same command again, with fewer --workers if memory is short"
        )

    def close(self) -> None:
        """Leave the cluster; one that was started here ends."""
        if self._run is not None:
            self._run = None
            self._ray.shutdown()

    def _name(self) -> str:
        return self._address or "on this machine"


def _call(function: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
    return function(*arguments)


def _about() -> str:
    """Return what must be the same on every machine for results to be the same."""
    python = ".".join(platform.python_version_tuple()[:2])
    return f"pagerag {version('pagerag')} (analysis {ANALYSIS_VERSION}, Python {python})"


def _reach(address: str) -> None:
    """Open a connection to the address; OSError where nobody answers, ValueError where it is none."""
    if address == "auto":
        return
    parts = urlsplit(address if "://" in address else f"//{address}")
    if not parts.hostname or not parts.port:
        raise ValueError("an address is HOST:PORT")
    socket.create_connection((parts.hostname, parts.port), timeout=_REACH_SECONDS).close()


def _short(problem: Exception) -> str:
    return " ".join(str(problem).split())[:200] or type(problem).__name__
