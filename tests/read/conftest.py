from __future__ import annotations

import sys
from pathlib import Path

import pytest

from pagerag.units import Candidate

sys.path.insert(0, str(Path(__file__).parent))  # for the faulty server, shared with other folders


@pytest.fixture
def question() -> str:
    return "Which city was the composer of Interstellar born in?"


@pytest.fixture
def context() -> tuple[Candidate, ...]:
    return (
        Candidate("score", "The score of Interstellar was composed by Hans Zimmer.", title="Interstellar"),
        Candidate("zimmer", "Zimmer was born in Frankfurt and grew up near it.", title="Hans Zimmer"),
        Candidate("nolan", "Christopher Nolan was born in London.", title="Christopher Nolan"),
    )
