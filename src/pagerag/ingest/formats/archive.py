"""Zip archives with a bound on what they unpack to, and XML without the declarations that can explode."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator
from typing import Any
from xml.etree import ElementTree

from pagerag.ingest.documents import IngestSettings, SourceFile


class Archive:
    """The members of a zip file, which is ``whole``; one that unpacks to too much is refused.

    Reading a member twice counts twice.
    """

    def __init__(self, file: SourceFile, settings: IngestSettings) -> None:
        self.file, self.limit = file, settings.max_file_bytes
        self.whole = io.BytesIO(file.read(self.limit))
        self._zip = zipfile.ZipFile(self.whole)
        self._sizes = {part.filename: part.file_size for part in self._zip.infolist()}
        self._taken = 0
        # The sizes that an archive declares are the most that reading gives; what is longer is an error.
        unpacked = sum(self._sizes.values())
        if unpacked > self.limit:
            raise file.bad(
                f"unpacks to {unpacked:,} bytes; at most {self.limit:,} are read: raise --max-file-mb"
            )

    def __contains__(self, name: str) -> bool:
        return name in self._sizes

    def read(self, name: str) -> bytes:
        """Return the bytes of a member; one that is not there is empty."""
        if name not in self._sizes:
            return b""
        self._taken += self._sizes[name]
        if self._taken > self.limit:
            raise self.file.bad(f"gives more than {self.limit:,} bytes; raise --max-file-mb")
        return self._zip.read(name)


def parse_xml(file: SourceFile, data: bytes) -> Iterator[tuple[str, Any]]:
    """Yield the beginning and the end of every element; a document type is refused.

    Elements are emptied by the caller when they end, so that no tree grows.
    """
    if b"<!DOCTYPE" in data[:4096] or b"<!ENTITY" in data:
        raise file.bad("declares XML entities, which documents of this format do not need")
    return ElementTree.iterparse(io.BytesIO(data), events=("start", "end"))  # noqa: S314 - see above


def local(element: Any) -> str:
    """Return an element's name without its namespace."""
    return str(element.tag).rpartition("}")[2]


def attribute(element: Any, name: str) -> str:
    """Return an attribute by its name without namespace, empty when it is not there."""
    for key, value in element.attrib.items():
        if key == name or key.endswith(f"}}{name}"):
            return str(value)
    return ""
