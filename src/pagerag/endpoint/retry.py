"""When to try again, how long to wait, and when to give up."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from pagerag.errors import SettingsError

RETRIED_STATUS = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 520, 522, 524, 529})
"""HTTP states that may pass by themselves. Everything else of 400 and above will not."""


class TransientError(Exception):
    """One try failed in a way that may pass; ``retry_after`` is the wait in seconds the server asked for."""

    def __init__(self, message: str, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """Try at most ``attempts`` times; waits double from ``first_wait`` to ``longest_wait``, with full jitter.

    Jitter spreads the clients of an endpoint that just came back. A server's own Retry-After is a lower
    bound that jitter never undercuts.
    """

    attempts: int = 6
    first_wait: float = 0.5
    longest_wait: float = 20.0

    def __post_init__(self) -> None:
        if self.attempts < 1 or self.first_wait < 0 or self.longest_wait < self.first_wait:
            raise SettingsError(
                f"impossible retry policy {self}: attempts must be at least 1 and "
                "0 <= first_wait <= longest_wait"
            )

    def wait(self, attempt: int, asked: float | None, chance: random.Random) -> float:
        """Return the seconds to wait after the failed try number ``attempt`` (from 1).

        ``asked`` is what the server asked for, ``chance`` makes the jitter.
        """
        ceiling = min(self.longest_wait, self.first_wait * 2 ** (attempt - 1))
        jitter = chance.uniform(0, ceiling)
        return jitter if asked is None else asked + min(jitter, 0.25 * self.first_wait)


def retry_after(headers: Mapping[str, str], now: datetime | None = None) -> float | None:
    """Return the seconds that Retry-After (seconds or a date) asks to wait; None if unreadable."""
    value = headers.get("retry-after", "").strip()
    if not value:
        return None
    try:
        seconds = float(value)
    except ValueError:
        pass
    else:
        return seconds if 0 <= seconds < float("inf") else None
    try:
        moment = parsedate_to_datetime(value)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return max(0.0, (moment - (now or datetime.now(UTC))).total_seconds())
