"""The contracts of an encoder, a support encoder and an entity extractor."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pagerag.protocols import Encoder, EntityExtractor, SupportEncoder
from pagerag.testing._check import BLANK_TEXTS, ODD_TEXTS, PLAIN_TEXTS, Checker, in_threads
from pagerag.units import Candidate


def check_encoder(
    encoder: Encoder,
    *,
    texts: Sequence[str] = PLAIN_TEXTS,
    tolerance: float = 1e-3,
    batch_tolerance: float = 0.05,
) -> None:
    """Check that ``encoder`` turns texts into unit-length float32 rows.

    - ``name`` is a text, ``dimension`` a positive whole number;
    - ``encode_queries`` and ``encode_passages`` give a float32 array of shape (texts, dimension), one row
      a text in the order given, and (0, dimension) for no text;
    - rows are finite and of length 1 (a text without any token may give a row of zeros);
    - the same texts give the same rows, from any thread; a text's row depends little on what else is in the
      batch (``batch_tolerance`` bounds the largest difference: quantised models are not exact);
    - texts that differ do not all get the same row; odd texts do not raise.
    """
    check = Checker("check_encoder", encoder)
    check.name()
    contract = "dimension is a whole number above 0"
    dimension: int = check.member("dimension", int, contract)
    check.expect(dimension > 0, contract, dimension)
    for method in ("encode_queries", "encode_passages"):
        encode: Callable[[Sequence[str]], Any] = check.method(method, f"{method} is a method")
        given = list(texts)

        def rows_of(
            some: list[str], zeros: bool = False, method: str = method, encode: Any = encode
        ) -> NDArray[np.float32]:
            label = f"{method} of {len(some)} texts"
            rows = check.array(check.call(label, lambda: encode(some)), (len(some), dimension), label)
            lengths = np.linalg.norm(rows, axis=1)
            good = (np.abs(lengths - 1) <= tolerance) | (zeros & (lengths == 0))
            check.expect(good.all(), f"rows of {label} have length 1", lengths[~good][:3])
            return rows

        rows = rows_of(given)
        check.equal(given, list(texts), f"{method} leaves the list of texts as it is")
        same = f"{method} gives the same rows for the same texts"
        check.expect(np.allclose(rows, rows_of(given), atol=tolerance), same, "other rows the second time")
        alone = f"{method}: a text's row does not depend on the others, and rows keep the order of the texts"
        for row, text in zip(rows, texts, strict=True):
            gap = np.abs(rows_of([text])[0] - row).max()
            check.expect(gap <= batch_tolerance, alone, f"{text!r} alone and in a batch differ by {gap:.4f}")
        apart = len({row.tobytes() for row in rows}) > 1 or len(set(texts)) < 2
        check.expect(apart, f"{method} tells different texts apart", "the same row for all of them")
        rows_of([])
        rows_of([*BLANK_TEXTS.values(), *ODD_TEXTS.values()], zeros=True)
        for other in in_threads(partial(encode, given)):
            equal = np.allclose(rows, np.asarray(other), atol=tolerance)
            check.expect(equal, f"{method}: threads get the same rows", "other rows")


def check_support_encoder(
    encoder: SupportEncoder,
    *,
    question: str = "Where was Marie Curie born?",
    units: Sequence[Candidate] | None = None,
    prefers: int | None = None,
    joint: bool = False,
    tolerance: float = 0.05,
) -> None:
    """Check that ``encoder`` gives one row of support signals per unit.

    - ``name`` is a text; ``signals`` is a tuple of names, at least one, none twice;
    - ``support(question, units)`` gives a float32 array (units, signals), finite, (0, signals) for no unit;
    - the same input gives the same rows, from any thread, and a unit keeps its row when the order of the
      units changes (within ``tolerance``), unless the encoder is ``joint``: one that reads the units
      together, side by side, may give rows that depend on who stands beside whom;
    - odd texts do not raise.

    ``prefers`` is the place of the unit that supports the question best: its first signal must then be
    the highest.
    """
    check = Checker("check_support_encoder", encoder)
    check.name()
    contract = "signals is a tuple of names, at least one, none twice"
    signals: tuple[str, ...] = check.member("signals", tuple, contract)
    names = all(isinstance(s, str) and s for s in signals) and len(set(signals)) == len(signals)
    check.expect(signals and names, contract, signals)
    support = check.method("support", "support is a method")

    def rows_of(some: Sequence[Candidate], label: str, question: str = question) -> NDArray[np.float32]:
        what = f"support of {label}"
        rows = check.call(what, lambda: support(question, some))
        return check.array(rows, (len(some), len(encoder.signals)), what)

    given = _units(PLAIN_TEXTS) if units is None else list(units)
    rows, again = rows_of(given, "plain units"), rows_of(given, "the same units")
    check.expect(np.allclose(rows, again, atol=1e-5), "the same input gives the same rows", "other rows")
    turned = rows_of(given[::-1], "units in reverse order")[::-1]
    gap = f"a difference of {np.abs(rows - turned).max() if rows.size else 0:.4f}"
    keeps = joint or np.allclose(rows, turned, atol=tolerance)
    check.expect(keeps, "a unit keeps its row when the order changes", gap)
    rows_of([], "no units")
    rows_of(_units(ODD_TEXTS.values()), "odd units")
    for label, text in ODD_TEXTS.items():
        rows_of(given[:1], f"an odd question ({label})", text)
    for other in in_threads(lambda: np.asarray(support(question, given))):
        check.expect(np.allclose(rows, other, atol=tolerance), "threads get the same rows", "other rows")
    if prefers is not None:
        best = int(np.argmax(rows[:, 0]))
        contract = f"unit {prefers} supports the question best"
        check.expect(best == prefers, contract, f"unit {best}: {rows[:, 0]}")


def _units(texts: Iterable[str]) -> list[Candidate]:
    return [Candidate(f"u{n}", text) for n, text in enumerate(texts)]


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
