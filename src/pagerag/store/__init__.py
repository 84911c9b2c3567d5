"""Where passages live: the corpus in memory, and the embedded store in a folder."""

from __future__ import annotations

from pathlib import Path

from pagerag.errors import InputError
from pagerag.protocols import Encoder
from pagerag.store.memory import MemoryCorpus
from pagerag.store.places import Place, place_of, sentences_of
from pagerag.store.schema import SCHEMA_VERSION
from pagerag.store.sqlite import FILE_NAME, OLD_NAME, SqliteCorpus
from pagerag.text.terms import encoded_text
from pagerag.units import FileRecord, StoredDocument, StoreStats, Unit

__all__ = [
    "SCHEMA_VERSION",
    "FileRecord",
    "MemoryCorpus",
    "Place",
    "SqliteCorpus",
    "StoreStats",
    "StoredDocument",
    "Unit",
    "encoded_text",
    "local_folder",
    "open_store",
    "place_of",
    "sentences_of",
    "store_exists",
]


def open_store(location: str | Path, encoder: Encoder | None = None, *, create: bool = False) -> SqliteCorpus:
    """Open the store at a folder; ``create`` makes it when it is not there.

    Without an encoder the store serves lexical search, look-up, fetching and statistics. With one, its name
    and dimension must be those the store was made with.
    """
    folder = local_folder(str(location))
    if folder is None:
        scheme = str(location).partition("://")[0]
        raise InputError(
            f"there is no engine for {scheme}:// stores in this version; name a folder on a local disk"
        )
    return SqliteCorpus(folder, encoder, create=create)


def local_folder(location: str) -> Path | None:
    """Return the folder of a local store; None when the location is another kind of address."""
    if "://" not in location:
        return Path(location)
    scheme, _, rest = location.partition("://")
    return Path(rest) if scheme == "file" else None


def store_exists(folder: Path) -> bool:
    """Return whether the folder holds a store, of this version of pagerag or another."""
    return any((folder / name).exists() for name in (FILE_NAME, OLD_NAME))
