"""Keep results of functions that see the same texts again and again, within a bound of bytes."""

from __future__ import annotations

import sys
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields, is_dataclass
from typing import Any, Generic, TypeVar

Key = TypeVar("Key")
Value = TypeVar("Value")

LARGEST_SHARE = 16
"""An entry that takes more than this part of a cache's bytes is made again each time."""
_WHOLE = frozenset({str, bytes, int, float, bool, type(None)})  # most values, and they have no parts
_ENTRY = 104  # bytes of a dict's slot: hash, key, value and index, in a table that is two thirds full


class Remembered(dict[Key, Value], Generic[Key, Value]):
    """A mapping that makes what it lacks and holds about ``most_bytes`` at most.

    ``functools.lru_cache`` counts entries, and 65,536 entries may be words or megabytes. A full mapping is
    emptied, not thinned: what is needed comes back at once, and no order of use has to be kept. Threads may
    share it; at worst two of them make the same value.
    """

    def __init__(self, make: Callable[[Key], Value], most_bytes: int) -> None:
        super().__init__()
        self.make = make
        self.most_bytes = most_bytes
        self.bytes = 0

    def __missing__(self, key: Key) -> Value:
        value = self.make(key)
        size = _ENTRY + size_of(key) + size_of(value)
        if size * LARGEST_SHARE <= self.most_bytes:
            if self.bytes + size > self.most_bytes:
                self.clear()
                self.bytes = 0
            self.bytes += size
            self[key] = value
        return value


def remember(most_bytes: int) -> Callable[[Callable[[Key], Value]], Callable[[Key], Value]]:
    """Decorate a pure function of one hashable argument: its results are kept in about ``most_bytes``.

    What is called is the mapping's own subscription, in C: as fast as ``lru_cache``.
    """

    def decorate(make: Callable[[Key], Value]) -> Callable[[Key], Value]:
        return Remembered(make, most_bytes).__getitem__

    return decorate


class Recent(Generic[Key, Value]):
    """Keep what was used last, in about ``most_bytes``; whoever puts something in says how large it is.

    Thread-safe. The newest entry is kept whatever its size.
    """

    def __init__(self, most_bytes: int) -> None:
        self.most_bytes = most_bytes
        self.bytes = 0
        self._kept: OrderedDict[Key, tuple[Value, int]] = OrderedDict()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._kept)

    def get(self, keys: Iterable[Key]) -> dict[Key, Value]:
        """Return those of these that are kept."""
        with self._lock:
            found = {key: self._kept[key][0] for key in keys if key in self._kept}
            for key in found:
                self._kept.move_to_end(key)
        return found

    def put(self, entries: Iterable[tuple[Key, Value, int]]) -> None:
        """Keep values, each with its key and its size in bytes, and let go of the oldest."""
        with self._lock:
            for key, value, size in entries:
                self.bytes += size - self._kept.pop(key, (None, 0))[1]
                self._kept[key] = (value, size)
            while self.bytes > self.most_bytes and len(self._kept) > 1:
                self.bytes -= self._kept.popitem(last=False)[1][1]


def size_of(value: Any) -> int:
    """Return about how many bytes a value holds; parts that are shared are counted each time."""
    size = sys.getsizeof(value, 64)
    if type(value) in _WHOLE:
        return size
    if isinstance(value, tuple | list | frozenset | set):
        return size + sum(map(size_of, value))
    if isinstance(value, Mapping):
        return size + sum(size_of(key) + size_of(item) for key, item in value.items())
    if is_dataclass(value):
        return size + sum(size_of(getattr(value, field.name)) for field in fields(value))
    slots = getattr(type(value), "__slots__", ())
    return size + sum(size_of(getattr(value, name, None)) for name in slots)
