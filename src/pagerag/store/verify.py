"""Check one stored unit against what an engine's indexes hold of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from pagerag.errors import FormatError
from pagerag.store.bm25 import counted
from pagerag.store.schema import id_number, unpack_unit
from pagerag.text.keys import name_numbers
from pagerag.text.terms import encoded_text
from pagerag.units import Analysis

MOST_PROBLEMS = 20
"""So many problems are told; a store that has more is told apart by none of them."""


def unit_problem(
    body: bytes,
    document: tuple[str, str, str],
    number: int,
    indexed: Callable[[Mapping[str, int]], bool],
    named: Callable[[Sequence[int]], bool],
) -> str:
    """Return what is wrong with a unit; empty when nothing is.

    ``document`` is its source, path and digest, ``number`` its id's; ``indexed`` tells whether the index
    agrees with its terms and their counts, ``named`` whether all of its title's keys are there.
    """
    try:
        unit = unpack_unit(body, *document)
        if unit.analysis is not None:
            Analysis.from_bytes(unit.analysis)
    except FormatError as problem:
        return "" if "version" in str(problem) else str(problem)  # ``stats`` tells of another version
    except ValueError as problem:
        return f"it cannot be read ({problem})"
    if id_number(unit.id) != number or not indexed(counted(encoded_text(unit.title, unit.text))):
        return "the indexes do not agree with its text"
    return "" if named(name_numbers(unit.title, unit.names)) else "it cannot be found by its title"
