"""The contracts of an encoder and of a support encoder."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from pagerag.protocols import Encoder, SupportEncoder
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
    check.name(encoder)
    contract = "dimension is a whole number above 0"
    dimension: int = check.member(encoder, "dimension", int, contract)
    check.expect(dimension > 0, contract, dimension)
    for method in ("encode_queries", "encode_passages"):
        check.method(encoder, method, f"{method} is a method")
        encode: Callable[[Sequence[str]], Any] = getattr(encoder, method)
        given = list(texts)
        rows_of = partial(_rows, check, method, encode, dimension, tolerance)
        rows = rows_of(given)
        check.equal(given, list(texts), f"{method} leaves the list of texts as it is")
        same = f"{method} gives the same rows for the same texts"
        check.expect(np.allclose(rows, rows_of(given), atol=tolerance), same, "other rows the second time")
        for row, text in zip(rows, texts, strict=True):
            gap = np.abs(rows_of([text])[0] - row).max()
            check.expect(
                gap <= batch_tolerance,
                f"{method}: a text's row does not depend on the others, and rows keep the order of the texts",
                f"{text!r} alone and in a batch differ by {gap:.4f}",
            )
        check.expect(
            len({row.tobytes() for row in rows}) > 1 or len(set(texts)) < 2,
            f"{method} tells different texts apart",
            "the same row for all of them",
        )
        rows_of([])
        rows_of([*BLANK_TEXTS.values(), *ODD_TEXTS.values()], zeros=True)
        for other in in_threads(lambda encode=encode, given=given: np.asarray(encode(given))):  # type: ignore[misc]
            check.expect(
                np.allclose(rows, other, atol=tolerance), f"{method}: threads get the same rows", "other rows"
            )


def _rows(
    check: Checker,
    method: str,
    encode: Callable[[Sequence[str]], Any],
    dimension: int,
    tolerance: float,
    texts: list[str],
    zeros: bool = False,
) -> Any:
    label = f"{method} of {len(texts)} texts"
    rows = check.array(check.call(label, lambda: encode(texts)), (len(texts), dimension), label)
    lengths = np.linalg.norm(rows, axis=1)
    good = np.abs(lengths - 1) <= tolerance
    if zeros:
        good |= lengths == 0
    check.expect(good.all(), f"rows of {label} have length 1", lengths[~good][:3])
    return rows


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
    check.name(encoder)
    contract = "signals is a tuple of names, at least one, none twice"
    signals: tuple[str, ...] = check.member(encoder, "signals", tuple, contract)
    check.expect(
        signals and all(isinstance(s, str) and s for s in signals) and len(set(signals)) == len(signals),
        contract,
        signals,
    )
    check.method(encoder, "support", "support is a method")
    given = _units(PLAIN_TEXTS) if units is None else list(units)
    rows = _support(check, encoder, question, given, "plain units")
    again = _support(check, encoder, question, given, "the same units")
    check.expect(np.allclose(rows, again, atol=1e-5), "the same input gives the same rows", "other rows")
    turned = _support(check, encoder, question, given[::-1], "units in reverse order")[::-1]
    check.expect(
        joint or np.allclose(rows, turned, atol=tolerance),
        "a unit keeps its row when the order changes",
        f"a difference of {np.abs(rows - turned).max() if rows.size else 0:.4f}",
    )
    _support(check, encoder, question, [], "no units")
    _support(check, encoder, question, _units(list(ODD_TEXTS.values())), "odd units")
    for label, text in ODD_TEXTS.items():
        _support(check, encoder, text, given[:1], f"an odd question ({label})")
    for other in in_threads(lambda: np.asarray(encoder.support(question, given))):
        check.expect(np.allclose(rows, other, atol=tolerance), "threads get the same rows", "other rows")
    if prefers is not None:
        best = int(np.argmax(rows[:, 0]))
        check.expect(
            best == prefers, f"unit {prefers} supports the question best", f"unit {best}: {rows[:, 0]}"
        )


def _support(
    check: Checker, encoder: SupportEncoder, question: str, units: Sequence[Candidate], label: str
) -> Any:
    what = f"support of {label}"
    rows = check.call(what, lambda: encoder.support(question, units))
    return check.array(rows, (len(units), len(encoder.signals)), what)


def _units(texts: Sequence[str]) -> list[Candidate]:
    return [Candidate(f"u{n}", text) for n, text in enumerate(texts)]
