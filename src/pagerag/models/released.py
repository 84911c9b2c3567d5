"""SHA-256 of the released files of pagerag-models and pagerag-reader.

The manifest that lies beside the files shows damage; somebody who can write there can change both. These
digests come with pagerag itself. Releasing other weights means changing them here; the test
``tests/models/test_files.py::test_the_released_digests_are_those_of_the_files`` prints the new ones.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

__all__ = ["RELEASED", "RELEASED_READER"]

RELEASED: Mapping[str, str] = MappingProxyType(
    {
        "manifest.json": "aeca1a35dbe0e3f719ab19ed61ba0b512046bb03b34ea9da953521e10a481073",
        "reader.onnx": "9c87c23f730fa955dea5fa5840b7cec37d1d1381f7d214d1b5379653974e9cb4",
        "support.onnx": "771a4aec76e1d54f5db50e051739e305f5574f3db9e73959375c54eb1d4abee1",
        "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
    }
)

RELEASED_READER: Mapping[str, str] = MappingProxyType(
    {
        "manifest.json": "910c71f1657ed7a47b2b98561c16fdc5e61bf86ee96a4c2e31fb9de695820b6c",
        "reader.onnx": "2acc0a7c17c4673f214bb88854324113256ed1636e9e19c38147e100e45538b8",
        "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
    }
)
