"""LanceDB's errors in our words: what failed, on which store, and what to do."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from pagerag.errors import PageRAGError, StoreError

__all__ = ["explained"]

# What the operating system says (its words, or "os error N" in LanceDB's) and what helps.
_REMEDIES = (
    (("No space left", "os error 28", "StorageFull"), "the disk is full: free some space and run it again"),
    (("quota", "os error 122"), "the disk quota is used up: free some space and run it again"),
    (("File too large", "os error 27"), "the file-size limit is reached: raise it and run it again"),
    (
        ("Permission denied", "os error 13", "Operation not permitted", "os error 1)"),
        "this user may not write there: change the folder's permissions or choose another --store",
    ),
    (("Read-only file system", "os error 30"), "the file system is read-only: choose another --store"),
    (("Too many open files", "os error 24"), "raise the limit on open files (ulimit -n)"),
)


@contextmanager
def explained(doing: str, location: str) -> Iterator[None]:
    """Turn whatever the engine raises inside into a StoreError; ours pass through."""
    try:
        yield
    except PageRAGError:
        raise
    except (OSError, RuntimeError, ValueError) as problem:
        # What the engine raises for everything from a full disk to a missing index.
        text = " ".join(str(problem).split())
        remedy = next((advice for marks, advice in _REMEDIES if any(mark in text for mark in marks)), None)
        what = f"{doing} the store {location} failed: {remedy or text[:400]}"
        raise StoreError(f"{what}. What was acknowledged before is safe." if remedy else what) from problem
