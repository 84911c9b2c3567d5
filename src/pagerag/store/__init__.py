"""Where passages live: in memory, in the embedded store of a folder, in PostgreSQL, or in an object store."""

from __future__ import annotations

from pathlib import Path

from pagerag.errors import InputError
from pagerag.places import Place, place_of
from pagerag.protocols import Corpus, Encoder
from pagerag.store.memory import MemoryCorpus
from pagerag.store.places import sentences_of
from pagerag.store.problems import explained
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
    "upgrade_store",
]

POSTGRES = ("postgresql", "postgres")
S3 = "s3"


def open_store(location: str | Path, encoder: Encoder | None = None, *, create: bool = False) -> Corpus:
    """Open the store at a location; ``create`` makes it when it is not there.

    A location is a folder on a local disk, or an address whose scheme names the engine: ``postgresql://``,
    and several of them, separated by blanks or commas, for a store that is spread over databases;
    ``s3://BUCKET/PREFIX`` for an object store.

    Without an encoder the store serves lexical search, look-up, fetching and statistics. With one, its name
    and dimension must be those the store was made with.
    """
    folder = local_folder(str(location))
    if folder is not None:
        return SqliteCorpus(folder, encoder, create=create)
    scheme = _scheme(location)
    if scheme in POSTGRES:
        from pagerag.store.postgres import PostgresCorpus

        return PostgresCorpus(str(location), encoder, create=create)
    if scheme == S3:
        from pagerag.store.s3 import S3Corpus

        return S3Corpus(str(location), encoder, create=create)
    raise InputError(
        f"there is no engine for {scheme}:// stores in this version; name a folder on a local disk, a "
        "postgresql:// or an s3:// address"
    )


def _scheme(location: str | Path) -> str:
    return str(location).strip().partition("://")[0].lower()


def local_folder(location: str) -> Path | None:
    """Return the folder of a local store; None when the location is another kind of address."""
    if not location.strip():  # a path of nothing is the current folder, which nobody named
        raise InputError("the store's location is empty; name a folder or an address")
    if "://" not in location:
        return Path(location)
    scheme, _, rest = location.partition("://")
    return Path(rest) if scheme == "file" else None


def upgrade_store(location: str | Path) -> None:
    """Bring a store of an older schema version up to date, where its engine can."""
    if _scheme(location) in POSTGRES:
        from pagerag.store.postgres import migrate

        migrate(str(location))


def store_exists(location: str | Path) -> bool:
    """Return whether there is a store at the location, of this version of pagerag or another."""
    folder = local_folder(str(location))
    if folder is not None:
        with explained("opening", str(folder)):
            return any((folder / name).exists() for name in (FILE_NAME, OLD_NAME))
    if _scheme(location) in POSTGRES:
        from pagerag.store.postgres import exists

        return exists(str(location))
    if _scheme(location) == S3:
        from pagerag.store.s3 import exists as s3_exists

        return s3_exists(str(location))
    return True  # open_store says what is wrong with it
