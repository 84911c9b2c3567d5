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
        "manifest.json": "90ea498c08e7de46d8812c49e25d7aec7d525d3a81caa26b67b306e97a45b7d4",
        "reader.onnx": "3013dd3b2889a716cfd6808f1fc5d17f20868c41d209f96ec6fe2566f5e45f41",
        "support.onnx": "1a35eed087aacccae91444bcc71e82f4b317445fc9e331b53a0c5aa8a7aa71de",
        "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
    }
)
