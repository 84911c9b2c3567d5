"""The shipped models, opened once; without them these tests are skipped with the reason."""

from __future__ import annotations

import pytest


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
