"""Embeddings kept on disk, by encoder and by the content of the text.

One file per encoder. A run that is killed and started again encodes only what is missing.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pagerag._sqlite_files import CacheFile
from pagerag._user import cache_folder
from pagerag.errors import StoreError
from pagerag.protocols import Encoder

_SCHEMA = 1
_ASKED = 500  # keys in one query; SQLite allows 999 of old
_CHUNK = 512  # texts encoded between two commits


class CachedEncoder:
    """Any encoder, with its vectors kept in ``folder`` (the user's cache folder by default).

    Vectors come back bit for bit as the encoder gave them. The key is the SHA-256 of the text and
    whether it was a query or a passage; the file is named by the encoder's name and dimension.
    """

    def __init__(self, encoder: Encoder, folder: str | os.PathLike[str] | None = None) -> None:
        self.encoder = encoder
        self.name = encoder.name
        self.dimension = encoder.dimension
        place = Path(folder) if folder is not None else cache_folder("embeddings")
        # What cannot stand in a file's name is told apart by a hash.
        plain = re.sub(r"[^A-Za-z0-9._-]+", "_", self.name)[:80]
        mark = "" if plain == self.name else f"-{hashlib.sha256(self.name.encode()).hexdigest()[:10]}"
        self.path = place / f"{plain}{mark}-{encoder.dimension}-{_SCHEMA}.sqlite"
        table = "vectors (key BLOB PRIMARY KEY, row BLOB) WITHOUT ROWID"
        self._file = CacheFile(self.path, table, self._broken)

    def __reduce__(self) -> tuple[Any, ...]:
        return CachedEncoder, (self.encoder, self.path.parent)

    def encode_queries(self, texts: Sequence[str], /) -> NDArray[np.float32]:
        """Return what the encoder returns, remembered."""
        return self._encode("q", texts, self.encoder.encode_queries)

    def encode_passages(self, texts: Sequence[str], /) -> NDArray[np.float32]:
        """Return what the encoder returns, remembered."""
        return self._encode("p", texts, self.encoder.encode_passages)

    def _encode(
        self, kind: str, texts: Sequence[str], encode: Callable[[Sequence[str]], NDArray[np.float32]]
    ) -> NDArray[np.float32]:
        keys = [hashlib.sha256(f"{kind}\0{text}".encode("utf-8", "surrogatepass")).digest() for text in texts]
        known = self._read(list(dict.fromkeys(keys)))
        waiting = list({key: text for key, text in zip(keys, texts, strict=True) if key not in known}.items())
        for start in range(0, len(waiting), _CHUNK):
            chunk = waiting[start : start + _CHUNK]
            rows = np.asarray(encode([text for _, text in chunk]), dtype=np.float32)
            fresh = {key: row for (key, _), row in zip(chunk, rows, strict=True)}
            with self._file.connection() as connection:
                connection.executemany(
                    "INSERT OR IGNORE INTO vectors (key, row) VALUES (?, ?)",
                    [(key, row.astype("<f4").tobytes()) for key, row in fresh.items()],
                )
            known.update(fresh)
        if not keys:
            return np.empty((0, self.dimension), dtype=np.float32)
        return np.stack([known[key] for key in keys])

    def _read(self, keys: Sequence[bytes]) -> dict[bytes, NDArray[np.float32]]:
        found: dict[bytes, NDArray[np.float32]] = {}
        with self._file.connection() as connection:
            for start in range(0, len(keys), _ASKED):
                part = keys[start : start + _ASKED]
                marks = ",".join("?" * len(part))
                rows = connection.execute(f"SELECT key, row FROM vectors WHERE key IN ({marks})", part)  # noqa: S608
                for key, row in rows:
                    vector = np.frombuffer(row, dtype="<f4")
                    if vector.shape != (self.dimension,):
                        raise self._broken("a row has the wrong length")
                    found[key] = vector
        return found

    def _broken(self, why: str) -> StoreError:
        return StoreError(
            f"the embedding cache {self.path} cannot be used ({why}); "
            "delete the file to have the embeddings computed again, or set PAGERAG_CACHE to another folder"
        )

    def __len__(self) -> int:
        """Return how many vectors are kept."""
        with self._file.connection() as connection:
            return int(connection.execute("SELECT count(*) FROM vectors").fetchone()[0])
