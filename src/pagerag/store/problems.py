"""SQLite's errors in our words: what failed, on which store, and what to do."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

from pagerag.errors import PageRAGError, StoreError

_DAMAGED = "it is damaged: see pagerag doctor --store, and index the documents again into a new folder"
# What SQLite and the operating system say, and what helps.
_REMEDIES = (
    (("database or disk is full", "No space left"), "the disk is full: free some space and run it again"),
    (("quota",), "the disk quota is used up: free some space and run it again"),
    (("File too large",), "the file-size limit is reached: raise it and run it again"),
    (
        ("readonly database", "Permission denied", "unable to open database file"),
        "this user may not write there: change the folder's permissions or choose another --store",
    ),
    (("Read-only file system",), "the file system is read-only: choose another --store"),
    (("Too many open files",), "raise the limit on open files (ulimit -n)"),
    (("database is locked",), "another process is writing to it; wait for it to finish"),
    (("malformed", "not a database", "no such table", "no such column", "corrupt"), _DAMAGED),
    (("disk I/O error",), "the disk cannot be read or written: check it and its free space"),
)


@contextmanager
def explained(doing: str, location: str) -> Iterator[None]:
    """Turn whatever SQLite or the operating system raises inside into a StoreError; other errors pass."""
    try:
        yield
    except (sqlite3.Error, OSError) as problem:
        text = " ".join(str(problem).split())
        remedy = next((advice for marks, advice in _REMEDIES if any(mark in text for mark in marks)), None)
        what = f"{doing} the store {location} failed: {remedy or text[:400]}"
        safe = remedy is not None and remedy is not _DAMAGED
        raise StoreError(f"{what}. What was acknowledged before is safe." if safe else what) from problem


@contextmanager
def decoding(doing: str, location: str) -> Iterator[None]:
    """Turn all that goes wrong while a store's bytes are decoded into a StoreError that says so."""
    try:
        with explained(doing, location):
            yield
    except PageRAGError:
        raise
    except (ValueError, TypeError, LookupError, OverflowError) as damage:
        raise StoreError(
            f"the store {location} is damaged: {' '.join(str(damage).split())[:300]}; "
            "see pagerag doctor --store, and index the documents again into a new folder: "
            "pagerag index PATH --store NEW_FOLDER"
        ) from damage
