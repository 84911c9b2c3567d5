"""Keep the stored analyses of recently retrieved units, so that promotion does not read their text again."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence

from pagerag.errors import FormatError
from pagerag.store.places import SENTENCE_MARK
from pagerag.units import Analysis, Candidate, Unit

__all__ = ["AnalysisCache"]


class AnalysisCache:
    """A bounded cache from unit id to its text and analysis, decoded when first asked for. Thread-safe."""

    def __init__(self, size: int = 1024) -> None:
        self.size = size
        self._kept: OrderedDict[str, tuple[str, bytes | Analysis | None]] = OrderedDict()
        self._lock = threading.Lock()

    def keep(self, units: Iterable[Unit]) -> None:
        """Remember the analyses that came with these units."""
        with self._lock:
            for unit in units:
                old = self._kept.get(unit.id)
                if old is None or old[0] != unit.text:
                    self._kept[unit.id] = (unit.text, unit.analysis)
                self._kept.move_to_end(unit.id)
            while len(self._kept) > self.size:
                self._kept.popitem(last=False)

    def of(
        self, candidates: Sequence[Candidate], fetch: Callable[[Sequence[str]], Mapping[str, Unit]]
    ) -> list[Analysis | None]:
        """Return one analysis for each candidate; ``fetch`` brings the units that are not remembered."""
        owners = [str(c.metadata.get("passage", c.id)) for c in candidates]
        missing = [owner for owner in dict.fromkeys(owners) if owner not in self._kept]
        if missing:
            self.keep(fetch(missing).values())
        return [self._one(c, owner) for c, owner in zip(candidates, owners, strict=True)]

    def _one(self, candidate: Candidate, owner: str) -> Analysis | None:
        with self._lock:
            text, stored = self._kept.get(owner, ("", None))
            if stored is None:
                return None
            if isinstance(stored, bytes):
                try:
                    analysis = Analysis.from_bytes(stored)
                except FormatError:
                    # Another version, or damage: promotion reads the text itself, which is slower and
                    # right. ``stats`` and ``verify`` say so, and indexing again renews it.
                    self._kept[owner] = (text, None)
                    return None
                self._kept[owner] = (text, analysis)
            else:
                analysis = stored
        if candidate.id == owner:
            return analysis if text == candidate.text else None
        return _sentence(analysis, text, candidate)


def _sentence(analysis: Analysis, text: str, candidate: Candidate) -> Analysis | None:
    """Return the part of a passage's analysis that belongs to one of its sentences."""
    _, _, number = candidate.id.rpartition(SENTENCE_MARK)
    row = int(number) if number.isdigit() else -1
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
