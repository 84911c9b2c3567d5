"""What the fault suite shares: how much of it is run, and the log of faults that is printed at its end.

``make test`` runs a short form, each fault once; ``make test-faults`` runs it at more moments.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest

FULL = os.environ.get("PAGERAG_FAULTS") == "full"

_LOG: list[Fault] = []


@dataclass(slots=True)
class Fault:
    """One row of the log: what was done to what, when, and what became of the work that was acknowledged."""

    fault: str
    moment: str
    acknowledged: int = 0
    lost: int = 0
    refused: str = "–"
    recovered: float | None = None
    _struck: float = field(default=0.0, repr=False)

    def strikes(self) -> None:
        """Start the clock: the fault happens now."""
        self._struck = time.monotonic()

    def works_again(self) -> None:
        """Stop the clock at the first success after the fault."""
        if self._struck and self.recovered is None:
            self.recovered = time.monotonic() - self._struck


@pytest.fixture
def fault_log() -> Iterator[list[Fault]]:
    """Rows appended here are printed when all tests have run; a row that lost something fails the test."""
    mine: list[Fault] = []
    yield mine
    _LOG.extend(mine)
    assert all(row.lost == 0 for row in mine)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if not _LOG:
        return
    terminalreporter.section("fault log")
    write = terminalreporter.write_line
    write("| fault | moment | acknowledged | lost | refused meanwhile | recovered after, s |")
    write("|---|---|---|---|---|---|")
    for row in _LOG:
        after = "–" if row.recovered is None else f"{row.recovered:.1f}"
        write(f"| {row.fault} | {row.moment} | {row.acknowledged:,} | {row.lost} | {row.refused} | {after} |")
