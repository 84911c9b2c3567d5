"""Errors of stores in our words: what failed, on which store, and what to do."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pagerag.errors import PageRAGError, StoreError, StoreMismatchError

AGAIN = "index the documents again into a new store: pagerag index PATH --store NEW_FOLDER_OR_ADDRESS"
SAFE = "What was acknowledged before is safe."
_DAMAGED = f"it is damaged: see pagerag doctor --store, and {AGAIN}"
_UNREADABLE = (
    "this user may not read it: change the permissions of its folder and of the files in it, or run this as "
    "their owner"
)
_DENIED = ("readonly database", "Permission denied", "unable to open database file")
# What SQLite and the operating system say, and what helps.
_REMEDIES = (
    (("database or disk is full", "No space left"), "the disk is full: free some space and run it again"),
    (("quota",), "the disk quota is used up: free some space and run it again"),
    (("File too large",), "the file-size limit is reached: raise it and run it again"),
    (
        _DENIED,
        "this user may not write there: change the folder's permissions or choose another --store",
    ),
    (("Read-only file system",), "the file system is read-only: choose another --store"),
    (("Too many open files",), "raise the limit on open files (ulimit -n)"),
    (("database is locked",), "another process is writing to it; wait for it to finish"),
    (("malformed", "not a database", "no such table", "no such column", "corrupt"), _DAMAGED),
    (("disk I/O error",), "the disk cannot be read or written: check it and its free space"),
)


def no_store(location: str) -> StoreError:
    """Return the error of a place that holds no store."""
    return StoreError(
        f"there is no store at {location}; make one with: pagerag index PATH --store {location}"
    )


def damaged(location: str, what: object) -> StoreError:
    """Return the error of a store in which ``what`` is wrong."""
    said = " ".join(str(what).split())[:300]
    return StoreError(f"the store {location} is damaged: {said}; see pagerag doctor --store, and {AGAIN}")


def check_schema(location: str, found: int, ours: int, older: str = AGAIN) -> None:
    """Refuse a store of another schema version; ``older`` is what helps with one of an older pagerag."""
    if found != ours:
        remedy = older if found < ours else "it was written by a newer pagerag: upgrade this one"
        raise StoreMismatchError(
            f"the store {location} has schema version {found}; this pagerag reads version {ours}; {remedy}"
        )


@contextmanager
def explained(doing: str, location: str) -> Iterator[None]:
    """Turn whatever SQLite or the operating system raises inside into a StoreError; other errors pass."""
    try:
        yield
    except (sqlite3.Error, OSError) as problem:
        text = " ".join(str(problem).split())
        remedy = next((advice for marks, advice in _REMEDIES if any(mark in text for mark in marks)), None)
        if any(mark in text for mark in _DENIED) and _unreadable(location):
            remedy = _UNREADABLE
        what = f"{doing} the store {location} failed: {remedy or text[:400]}"
        safe = remedy is not None and remedy not in (_DAMAGED, _UNREADABLE)
        raise StoreError(f"{what}. {SAFE}" if safe else what) from problem


def _unreadable(location: str) -> bool:
    """Return whether there is a store in a folder that this user may not read."""
    folder = Path(location)
    try:
        if not folder.is_dir():
            return False
        return not os.access(folder, os.R_OK | os.X_OK) or not all(
            os.access(file, os.R_OK) for file in folder.glob("*.sqlite")
        )
    except PermissionError:
        return True
    except (OSError, ValueError):
        return False


@contextmanager
def decoding(doing: str, location: str) -> Iterator[None]:
    """Turn all that goes wrong while a store's bytes are decoded into a StoreError that says so."""
    try:
        with explained(doing, location):
            yield
    except PageRAGError:
        raise
    except (ValueError, TypeError, LookupError, OverflowError) as damage:
        raise damaged(location, damage) from damage
