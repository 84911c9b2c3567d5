"""What operators watch: structured logs, Prometheus metrics, OpenTelemetry spans.

Nothing of what clients sent is in them, unless that is asked for (setting ``serve.log_text``).
"""

from __future__ import annotations

import json
import logging
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest, multiprocess

from pagerag._extras import need

LOG = logging.getLogger("pagerag.serve")
_SECONDS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 120.0)
_COUNTS = (1, 5, 10, 20, 50, 100, 200, 500, 1000)


class _Lines(logging.Formatter):
    """Write a record and its fields as one line of JSON."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        said: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "event": record.getMessage(),
            **getattr(record, "fields", {}),
        }
        if record.exc_info:
            said["traceback"] = self.formatException(record.exc_info)
        return json.dumps(said, ensure_ascii=False, default=str)


def set_up(level: str) -> None:
    """Send our records, and the server library's warnings, to stderr."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Lines())
    own = {"pagerag.serve": level.upper(), "uvicorn": "WARNING", "uvicorn.error": "WARNING"}
    for name, least in own.items():
        logger = logging.getLogger(name)
        logger.handlers = [handler] if name != "uvicorn.error" else []
        logger.setLevel(least)
        logger.propagate = name == "uvicorn.error"


def log(event: str, *, level: int = logging.INFO, error: BaseException | None = None, **fields: Any) -> None:
    """Log one event with its fields."""
    LOG.log(level, event, extra={"fields": fields}, exc_info=error)


class Metrics:
    """What the server counts, one set for each app; of several workers they are added up.

    The labels are routes and statuses; nothing of a request is in them.
    """

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self._shared = bool(os.environ.get("PROMETHEUS_MULTIPROC_DIR"))
        count = partial(Counter, registry=self._registry)
        measure = partial(Histogram, registry=self._registry)
        words = "Requests by route, method and status."
        self.requests = count("pagerag_requests", words, ("route", "method", "status"))
        words = "Time to answer, by route."
        self.seconds = measure("pagerag_request_seconds", words, ("route",), buckets=_SECONDS)
        self.stages = measure("pagerag_stage_seconds", "Time in each stage.", ("stage",), buckets=_SECONDS)
        words = "Documents or candidates in a request."
        self.documents = measure("pagerag_documents", words, buckets=_COUNTS)
        words = "Promotions by verdict: enough, ambiguous, insufficient."
        self.states = count("pagerag_verdicts", words, ("state",))
        self.inside = Gauge(
            "pagerag_in_flight", "Jobs that run or wait, by gate.", ("gate",), registry=self._registry,
            multiprocess_mode="livesum",
        )  # fmt: skip

    def text(self) -> bytes:
        """Return the exposition format."""
        registry = self._registry
        if self._shared:
            registry = CollectorRegistry()
            multiprocess.MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
        return bytes(generate_latest(registry))


class Telemetry:
    """Makes one span with OpenInference's attributes for each request that works.

    Off, it does nothing and imports nothing. Texts are attributes only where ``texts`` says so.
    """

    def __init__(self, *, on: bool = False, texts: bool = False, exporter: Any = None) -> None:
        self.texts = texts
        self._tracer: Any = None
        self._provider: Any = None
        if not on:
            return
        sdk = need("opentelemetry.sdk.trace", "opentelemetry-sdk", "otel", "setting serve.telemetry")
        export = need("opentelemetry.sdk.trace.export", "opentelemetry-sdk", "otel")
        resources = need("opentelemetry.sdk.resources", "opentelemetry-sdk", "otel")
        if exporter is None:
            otlp = need(
                "opentelemetry.exporter.otlp.proto.http.trace_exporter", "opentelemetry-exporter-otlp", "otel"
            )
            processor = export.BatchSpanProcessor(otlp.OTLPSpanExporter())
        else:
            processor = export.SimpleSpanProcessor(exporter)
        self._provider = sdk.TracerProvider(resource=resources.Resource.create({"service.name": "pagerag"}))
        self._provider.add_span_processor(processor)
        self._tracer = self._provider.get_tracer("pagerag.serve")

    @contextmanager
    def span(self, name: str, kind: str, headers: Mapping[str, str]) -> Iterator[TraceSpan]:
        """Open a span; ``kind`` is OpenInference's: RERANKER, CHAIN, RETRIEVER. A caller's trace goes on."""
        if self._tracer is None:
            yield TraceSpan(None, texts=False)
            return
        propagate = need("opentelemetry.trace.propagation.tracecontext", "opentelemetry-api", "otel")
        parent = propagate.TraceContextTextMapPropagator().extract(dict(headers))
        with self._tracer.start_as_current_span(name, context=parent) as span:
            span.set_attribute("openinference.span.kind", kind)
            yield TraceSpan(span, texts=self.texts)

    def close(self) -> None:
        """Send what is left."""
        if self._provider is not None:
            self._provider.shutdown()


class TraceSpan:
    """What handlers tell a span."""

    def __init__(self, span: Any, *, texts: bool) -> None:
        self._span, self._texts = span, texts

    def set(self, **values: Any) -> None:
        """Set attributes; ``a__b`` means ``a.b``, None is left out."""
        if self._span is not None:
            for name, value in values.items():
                if value is not None:
                    self._span.set_attribute(name.replace("__", "."), value)

    def say(self, question: str, answer: str | None = None) -> None:
        """Set the question and its answer, where texts may be told."""
        if self._texts:
            self.set(input__value=question, reranker__query=question, output__value=answer)

    def documents(self, name: str, items: Sequence[tuple[str, str, float | None]]) -> None:
        """Set a list of documents ``(id, text, score)`` under OpenInference's names."""
        for place, (identity, text, score) in enumerate(items if self._span is not None else ()):
            content = text if self._texts else None
            told = {"id": identity, "score": score, "content": content}
            self.set(**{f"{name}.{place}.document.{key}": value for key, value in told.items()})
