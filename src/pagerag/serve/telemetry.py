"""OpenTelemetry spans with OpenInference attributes, where they are switched on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from pagerag._extras import need


class Telemetry:
    """Makes one span for each request that works. Off, it does nothing and imports nothing.

    Texts are attributes only where ``texts`` says so (setting ``serve.log_text``).
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
    def span(self, name: str, kind: str, headers: Mapping[str, str] | None = None) -> Iterator[TraceSpan]:
        """Open a span; ``kind`` is OpenInference's: RERANKER, CHAIN, RETRIEVER. A caller's trace goes on."""
        if self._tracer is None:
            yield TraceSpan(None, texts=False)
            return
        propagate = need("opentelemetry.trace.propagation.tracecontext", "opentelemetry-api", "otel")
        parent = propagate.TraceContextTextMapPropagator().extract(dict(headers or {}))
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

    def question(self, text: str) -> None:
        """Set the question, where texts may be told."""
        if self._texts:
            self.set(input__value=text, reranker__query=text)

    def answer(self, text: str) -> None:
        """Set the answer, where texts may be told."""
        if self._texts:
            self.set(output__value=text)

    def documents(self, name: str, items: Sequence[tuple[str, str, float | None]]) -> None:
        """Set a list of documents ``(id, text, score)`` under OpenInference's names."""
        if self._span is None:
            return
        for place, (identity, text, score) in enumerate(items):
            head = f"{name}.{place}.document"
            self._span.set_attribute(f"{head}.id", identity)
            if score is not None:
                self._span.set_attribute(f"{head}.score", score)
            if self._texts:
                self._span.set_attribute(f"{head}.content", text)
