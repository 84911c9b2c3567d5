"""Prometheus metrics, one set for each app; of several workers they are added up."""

from __future__ import annotations

import os

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest, multiprocess

_SECONDS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 120.0)
_COUNTS = (1, 5, 10, 20, 50, 100, 200, 500, 1000)


class Metrics:
    """What the server counts. The labels are routes and statuses; nothing of a request is in them."""

    def __init__(self) -> None:
        self._registry = made = CollectorRegistry()
        self._shared = bool(os.environ.get("PROMETHEUS_MULTIPROC_DIR"))
        self.requests = Counter(
            "pagerag_requests",
            "Requests by route, method and status.",
            ("route", "method", "status"),
            registry=made,
        )
        self.seconds = Histogram(
            "pagerag_request_seconds",
            "Time to answer, by route.",
            ("route",),
            registry=made,
            buckets=_SECONDS,
        )
        self.stages = Histogram(
            "pagerag_stage_seconds", "Time in each stage.", ("stage",), registry=made, buckets=_SECONDS
        )
        self.documents = Histogram(
            "pagerag_documents", "Documents or candidates in a request.", registry=made, buckets=_COUNTS
        )
        self.states = Counter(
            "pagerag_verdicts",
            "Promotions by verdict: enough, ambiguous, insufficient.",
            ("state",),
            registry=made,
        )
        self.inside = Gauge(
            "pagerag_in_flight", "Jobs that run or wait, by gate.", ("gate",), registry=made,
            multiprocess_mode="livesum",
        )  # fmt: skip

    def text(self) -> bytes:
        """Return the exposition format."""
        if not self._shared:
            return bytes(generate_latest(self._registry))
        everyone = CollectorRegistry()
        multiprocess.MultiProcessCollector(everyone)  # type: ignore[no-untyped-call]
        return bytes(generate_latest(everyone))
