"""Other people's entity recognition behind our protocol: a function from a sentence to the names in it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

_NAME_LABELS = ("person", "organization", "location", "event", "work of art", "product", "date")


class SpacyExtractor:
    """Entities of a loaded spaCy pipeline: ``Analyzer(SpacyExtractor(spacy.load("en_core_web_sm")))``.

    ``without`` names labels to leave out; the default leaves out what is counted rather than named.
    """

    def __init__(
        self, pipeline: Any, *, without: Iterable[str] = ("CARDINAL", "ORDINAL", "PERCENT", "QUANTITY")
    ) -> None:
        self._pipeline = pipeline
        self._without = frozenset(without)

    def __call__(self, text: str, /) -> Sequence[str]:
        """Return the names in a sentence."""
        # spaCy stores strings as UTF-8, which has no place for half of a surrogate pair.
        readable = text.encode("utf-8", "replace").decode("utf-8")
        return [entity.text for entity in self._pipeline(readable).ents if entity.label_ not in self._without]


class GlinerExtractor:
    """Entities of a GLiNER-style model: anything with ``predict_entities(text, labels, threshold=...)``."""

    def __init__(self, model: Any, labels: Sequence[str] = _NAME_LABELS, *, threshold: float = 0.5) -> None:
        self._model = model
        self._labels = list(labels)
        self._threshold = threshold

    def __call__(self, text: str, /) -> Sequence[str]:
        """Return the names in a sentence."""
        found = self._model.predict_entities(text, self._labels, threshold=self._threshold)
        return [entity["text"] for entity in sorted(found, key=lambda entity: entity.get("start", 0))]
