"""The shipped models, opened once; without them these tests are skipped with the reason."""

from __future__ import annotations

import pytest

from pagerag import Candidate


@pytest.fixture(scope="session")
def reader():
    for module in ("onnxruntime", "tokenizers", "pagerag_models"):
        pytest.importorskip(module, reason=f"{module} is not installed")
    from pagerag.models import extractive_reader

    return extractive_reader(threads=1)


@pytest.fixture(scope="session")
def support():
    for module in ("onnxruntime", "tokenizers", "pagerag_models"):
        pytest.importorskip(module, reason=f"{module} is not installed")
    from pagerag.models import support_encoder

    return support_encoder(threads=1)


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
