"""The contract of an entity extractor."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from pagerag.protocols import EntityExtractor
from pagerag.testing._check import BLANK_TEXTS, ODD_TEXTS, PLAIN_TEXTS, Checker, in_threads


def check_extractor(
    extractor: EntityExtractor,
    *,
    texts: Sequence[str] = PLAIN_TEXTS,
    finds: Mapping[str, Sequence[str]] | None = None,
) -> None:
    """Check that ``extractor`` is a function from text to the entities it names.

    - it returns a sequence of texts, none blank;
    - each is spelled as in the text, and they come in order of appearance;
    - the same text gives the same entities, from any thread;
    - it does not raise on odd text: empty, other scripts, control characters, very long.

    ``finds`` maps texts of your own to entities that must be among those found; without it an extractor
    that finds nothing passes, since what an entity is depends on the extractor.
    """
    check = Checker("check_extractor", extractor)
    check.expect(callable(extractor), "an extractor is called with a text", type(extractor).__name__)
    for label, text in {**{text: text for text in texts}, **BLANK_TEXTS, **ODD_TEXTS}.items():
        found = check.call(f"extracting from {label!r}", partial(extractor, text))
        _check_entities(check, label, text, found)
        again = list(check.call(f"extracting again from {label!r}", partial(extractor, text)) or ())
        same = f"the same text gives the same entities ({label})"
        check.expect(again == list(found or ()), same, f"{found!r}, then {again!r}")
    alone = list(extractor(texts[0]))
    for other in in_threads(lambda: list(extractor(texts[0]))):
        check.expect(other == alone, "threads get the same entities", f"{alone!r} and {other!r}")
    for text, wanted in (finds or {}).items():
        found = list(extractor(text))
        check.expect(set(wanted) <= {*found}, f"the entities {list(wanted)!r} of {text!r} are found", found)


def _check_entities(check: Checker, label: str, text: str, found: Any) -> None:
    listed = isinstance(found, Sequence) and not isinstance(found, str | bytes)
    check.expect(listed, f"entities come as a list or a tuple ({label})", type(found).__name__)
    start = 0
    for entity in found:
        check.expect(isinstance(entity, str), f"an entity is a text ({label})", entity)
        check.expect(entity.strip(), f"no entity is blank ({label})", found)
        check.expect(entity in text, f"an entity is spelled as in the text ({label})", entity)
        start = text.find(entity, start)
        check.expect(start >= 0, f"entities come in order of appearance ({label})", found)
