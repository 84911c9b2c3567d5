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
        "manifest.json": "b1d0102d2715c8aaaed9161188f86430298d14bd119bc69909808494a41b72d2",
        "reader.onnx": "9c87c23f730fa955dea5fa5840b7cec37d1d1381f7d214d1b5379653974e9cb4",
        "support.onnx": "771a4aec76e1d54f5db50e051739e305f5574f3db9e73959375c54eb1d4abee1",
        "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
    }
)

RELEASED_READER: Mapping[str, str] = MappingProxyType(
    {
        "manifest.json": "8085f84dfb6374491092a6fd97d5ce80872933237ef65d5db8ac97b403edc954",
        "reader.onnx": "2acc0a7c17c4673f214bb88854324113256ed1636e9e19c38147e100e45538b8",
        "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
    }
)
