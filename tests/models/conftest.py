from __future__ import annotations

import pytest

from pagerag import Candidate


@pytest.fixture
def context() -> list[Candidate]:
    """The paper's example: two hops, and a distractor that is connected but supports nothing."""
    return [
        Candidate(
            "i0", "Interstellar is a 2014 film directed by Christopher Nolan.", "Interstellar", position=0
        ),
        Candidate("i1", "Its score was composed by Hans Zimmer.", "Interstellar", position=1),
        Candidate("n0", "Christopher Nolan was born in London.", "Christopher Nolan", position=0),
        Candidate("z0", "Hans Zimmer was born in Frankfurt.", "Hans Zimmer", position=0),
        Candidate("f0", "Hesse is a state of Germany.", "Hesse", position=0),
    ]
