"""Settings of all tests, and the shipped models, opened once."""

from __future__ import annotations

import pytest
from hypothesis import settings

# How long an example takes says more about the machine than about the code.
settings.register_profile("pagerag", deadline=None)
settings.load_profile("pagerag")

try:
    import hypothesis
except ImportError:  # the environments of other systems (make test-backends) have none
    pass
else:
    # No test fails because the machine is busy; bounds of work are tested by how it grows.
    hypothesis.settings.register_profile("pagerag", deadline=None)
    hypothesis.settings.load_profile("pagerag")


@pytest.fixture(scope="session")
def reader():
    for module in ("onnxruntime", "tokenizers", "pagerag_models"):
        pytest.importorskip(module, reason=f"{module} is not installed")
    from pagerag.read.extractive import extractive_reader

    return extractive_reader(threads=1)


@pytest.fixture(scope="session")
def support():
    for module in ("onnxruntime", "tokenizers", "pagerag_models"):
        pytest.importorskip(module, reason=f"{module} is not installed")
    from pagerag.models import support_encoder

    return support_encoder(threads=1)
