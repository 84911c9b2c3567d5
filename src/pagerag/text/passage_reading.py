"""Read a passage for search, once: its title keys or opening name, the names in it, and its terms."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

from pagerag._remember import Recent
from pagerag.text.entities import extract_entities
from pagerag.text.keys import key_number, title_keys
from pagerag.text.names import MAX_READ, NameReading, opening_name, read_names
from pagerag.text.terms import terms, terms_of
from pagerag.text.tokens import all_words
from pagerag.units import Candidate

_MOST_BYTES = 32 << 20  # of a cache: some six hundred passages of a thousand characters
_ENTRY, _PER_CHARACTER = 1000, 50  # bytes of a reading: words, names and terms take fifty times the text
_READ_FOR_NAMES = 20_000  # characters of a passage; a corpus in memory may hold units of any length


@dataclass(frozen=True)
class PassageReading:
    """What search reads of a passage: what it goes by, the names in it, and its terms.

    ``keys`` are those of its title, or of the name that it opens with where it has none; an Analysis, which
    promotion works on, goes by sentences and is stored with the index.
    """

    unit: Candidate
    reading: NameReading
    keys: tuple[str, ...]
    key_numbers: tuple[int, ...]
    terms: frozenset[str]
    title_terms: frozenset[str]

    @classmethod
    def of(cls, unit: Candidate) -> PassageReading:
        """Read a candidate."""
        name = unit.title or opening_name(unit.text)
        keys = title_keys(name) if name else ()
        reading = read_names(unit.text)
        return cls(
            unit=unit,
            reading=reading,
            keys=keys,
            key_numbers=tuple(map(key_number, keys)),
            terms=frozenset(terms_of(reading.words) if reading.length < MAX_READ else terms(unit.text)),
            title_terms=frozenset(terms(name)) if name else frozenset(),
        )

    @cached_property
    def entity_keys(self) -> tuple[str, ...]:
        """Return the keys of the text's entities that are no numbers, in order; read when first asked for.

        An Analysis has the entities of each sentence by itself; here names may run on over a sentence's end,
        as the rankers were trained.
        """
        found = (" ".join(all_words(name)) for name in extract_entities(self.unit.text[:_READ_FOR_NAMES]))
        return tuple(key for key in found if key and not key[0].isdigit())


class PassageCache:
    """The last passages that were read, so that one that many questions find is read once. Thread-safe."""

    def __init__(self, most_bytes: int = _MOST_BYTES) -> None:
        self._recent = Recent[tuple[str, str | None, str], PassageReading](most_bytes)

    def __reduce__(self) -> tuple[type[PassageCache], tuple[int]]:
        return PassageCache, (self._recent.most_bytes,)  # empty: a copy in another process reads for itself

    def of(self, unit: Candidate) -> PassageReading:
        """Return the unit's reading."""
        key = (unit.id, unit.title, unit.text)
        kept = self._recent.get((key,)).get(key)
        if kept is None:
            kept = PassageReading.of(unit)
            self._recent.put([(key, kept, _ENTRY + _PER_CHARACTER * len(unit.text))])
        elif kept.unit.vector is None and unit.vector is not None:
            kept = replace(kept, unit=unit)
        return kept
