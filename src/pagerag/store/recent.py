"""Keep units that were read lately, and their analyses, so that neither is read from the store again."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from pagerag._remember import Recent
from pagerag.errors import FormatError
from pagerag.store.places import SENTENCE_MARK
from pagerag.units import Analysis, Candidate, Unit

_MOST_BYTES = 16 << 20  # of each cache: some thousand passages
_ENTRY = 1000  # bytes of a unit without its text, its analysis and its vector
_DECODED = 8  # bytes of an analysis in memory for each byte of its stored form


class UnitCache:
    """Units that were read lately, by epoch and row: a row's content never changes. Thread-safe."""

    def __init__(self, most_bytes: int = _MOST_BYTES) -> None:
        self._recent = Recent[tuple[int, int], Unit](most_bytes)

    def read(
        self, epoch: int, rows: Sequence[int], fetch: Callable[[list[int]], Mapping[int, Unit]]
    ) -> dict[int, Unit]:
        """Return the units of these rows; ``fetch`` brings what is not kept. Damage raises ValueError."""
        units = {row: unit for (_, row), unit in self._recent.get((epoch, row) for row in rows).items()}
        missing = [row for row in dict.fromkeys(rows) if row not in units]
        if missing:
            fresh = fetch(missing)
            gone = [row for row in missing if row not in fresh]
            if gone:
                raise ValueError(f"an index names unit {gone[0]}, which is not there")
            self._recent.put(((epoch, row), unit, _size(unit)) for row, unit in fresh.items())
            units |= fresh
        return units


def _size(unit: Unit) -> int:
    vector = 0 if unit.vector is None else unit.vector.nbytes
    return _ENTRY + 2 * len(unit.text) + len(unit.analysis or b"") + vector


class AnalysisCache:
    """Texts and analyses of units that were asked for lately, by id. Thread-safe."""

    def __init__(self, most_bytes: int = _MOST_BYTES) -> None:
        self._recent = Recent[str, tuple[str, Analysis | None]](most_bytes)

    def of(
        self, candidates: Sequence[Candidate], fetch: Callable[[Sequence[str]], Mapping[str, Unit]]
    ) -> list[Analysis | None]:
        """Return one analysis for each candidate; ``fetch`` brings the units that are not remembered."""
        owners = [str(c.metadata.get("passage", c.id)) for c in candidates]
        known = self._recent.get(owners)
        missing = [owner for owner in dict.fromkeys(owners) if owner not in known]
        if missing:
            units = fetch(missing)
            fresh = {name: (unit.text, _decoded(unit.analysis)) for name, unit in units.items()}
            known |= fresh
            self._recent.put(
                (name, entry, 2 * len(entry[0]) + _ENTRY + _DECODED * len(units[name].analysis or b""))
                for name, entry in fresh.items()
            )
        pairs = zip(candidates, owners, strict=True)
        return [_of(candidate, owner, *known.get(owner, ("", None))) for candidate, owner in pairs]


def _decoded(stored: bytes | None) -> Analysis | None:
    try:
        return Analysis.from_bytes(stored) if stored else None
    except FormatError:
        # Another version, or damage: promotion reads the text itself, which is slower and right. ``stats``
        # and ``verify`` say so, and indexing again renews it.
        return None


def _of(candidate: Candidate, owner: str, text: str, analysis: Analysis | None) -> Analysis | None:
    """Return the analysis of a passage, or of one of its sentences, if it fits the candidate's text."""
    if analysis is None or candidate.id == owner:
        return analysis if text == candidate.text else None
    _, _, number = candidate.id.rpartition(SENTENCE_MARK)
    row = int(number) if number.isdecimal() else -1
    if not 0 <= row < len(analysis):
        return None
    start, end = analysis.spans[row]
    if text[start:end] != candidate.text:
        return None
    return Analysis(
        spans=((0, end - start),),
        tokens=(analysis.tokens[row],),
        entities=(analysis.entities[row],),
        surfaces=(analysis.surfaces[row],),
        relations=(analysis.relations[row],),
        flags=(analysis.flags[row],),
        whole=True,
    )
