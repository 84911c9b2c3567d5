"""SHA-256 of the released files of pagerag-models.

The manifest that lies beside the files shows damage; somebody who can write there can change both. These
digests come with pagerag itself. Releasing other weights means changing them here; the test
``tests/models/test_files.py::test_the_released_digests_are_those_of_the_files`` prints the new ones.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

__all__ = ["RELEASED"]

RELEASED: Mapping[str, str] = MappingProxyType(
    {
        "manifest.json": "59e1f1324dc9972abd0357fdd50150c86b3d3fd83690abb4aaecbe64f73895c9",
        "reader.onnx": "1d0239a0aac6e032153ee6d4857412ef22710b894fb954180b9ca101a6e61129",
        "support.onnx": "3ab800c5c1e9ecb8b37d9fd68d71a259f36f923e6ee7bf0734756aebcef97cc7",
        "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
    }
)
