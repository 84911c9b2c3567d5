"""Structured logs: one JSON object a line on stderr, without what clients sent unless that is asked for."""

from __future__ import annotations

import json
import logging
import sys
from datetime import UTC, datetime
from typing import Any

LOG = logging.getLogger("pagerag.serve")


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
    for name, least in (
        ("pagerag.serve", level.upper()),
        ("uvicorn", "WARNING"),
        ("uvicorn.error", "WARNING"),
    ):
        logger = logging.getLogger(name)
        logger.handlers = [handler] if name != "uvicorn.error" else []
        logger.setLevel(least)
        logger.propagate = name == "uvicorn.error"


def log(event: str, *, level: int = logging.INFO, error: BaseException | None = None, **fields: Any) -> None:
    """Log one event with its fields."""
    LOG.log(level, event, extra={"fields": fields}, exc_info=error)
