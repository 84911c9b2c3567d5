"""What the adapters share: titles inside passages, weights as confidences, and complaints about versions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

from pagerag.errors import BackendError, InputError
from pagerag.units import Pool, Relation, SupportChoice

if TYPE_CHECKING:
    from pagerag import Promoter

_LONGEST_TITLE = 200


def expect(system: Any, name: str, package: str, tested: str) -> Any:
    """Return the attribute ``name`` of ``system``, or a BackendError that says which release has it."""
    found = getattr(system, name, None)
    if found is None:
        try:
            installed = f"{package} {version(package)} is installed"
        except PackageNotFoundError:
            installed = f"{package} is not installed"
        raise BackendError(
            f"{type(system).__name__} has no {name!r}, which this adapter calls; {installed}, and the "
            f"adapter was made for {package} {tested}. Pass the object of that release."
        )
    return found


def split_title(passage: str) -> tuple[str | None, str]:
    """Return the title and the text of a passage that was indexed as ``title``, newline, ``text``.

    A first line that is long, or that ends like a sentence, is text and not a title.
    """
    head, newline, rest = passage.partition("\n")
    title = head.strip()
    if not newline or not rest.strip() or not title or len(title) > _LONGEST_TITLE:
        return None, passage
    if title.endswith((".", "?", "!")) and len(title.split()) > 8:
        return None, passage
    return title, rest.strip()


def confidences(weights: Sequence[float | None]) -> list[float]:
    """Turn the weights of one pool's relations into confidences in [0.5, 1]; none counts as the lightest.

    Backends count mentions in that number: a relation seen once is still an extracted relation, so the
    scale starts at one half, and the heaviest of the pool gets 1.
    """
    heaviest = max((w for w in weights if w is not None), default=0.0)
    if heaviest <= 0:
        return [1.0 for _ in weights]
    return [0.5 + 0.5 * max(w or 0.0, 0.0) / heaviest for w in weights]


def triples(rows: Iterable[Any], unit: str) -> list[Relation]:
    """Return the relations of one unit from ``[head, relation, tail]`` rows; other rows are no triples."""
    found = []
    for row in rows:
        whole = isinstance(row, list | tuple) and len(row) == 3
        if whole and all(isinstance(x, str) and x.strip() for x in row):
            head, relation, tail = (str(x).strip() for x in row)
            if head != tail:
                found.append(Relation(head, relation, tail, (unit,)))
    return found


def or_default(promoter: Promoter | None, support: SupportChoice = "auto") -> Promoter:
    """Return the promoter that was given, or one with the default weights and this support encoder."""
    if promoter is None:
        from pagerag import Promoter as Default

        return Default(support=support)
    if support != "auto":
        raise InputError(
            f"support={support!r} has no effect on a promoter of your own; "
            "give Promoter(support=...) its encoder, and leave support out here"
        )
    return promoter


def checked(k: int) -> None:
    """Refuse a size that no pool has."""
    if k < 1:
        raise InputError(f"a pool has at least one unit; k is {k}")


def first(pool: Pool, k: int) -> Pool:
    """Return the pool's first ``k`` units; relations keep the units that are left."""
    if len(pool) <= k:
        return pool
    kept = pool.candidates[:k]
    ids = {unit.id for unit in kept}
    cut = [replace(fact, units=tuple(unit for unit in fact.units if unit in ids)) for fact in pool.relations]
    return replace(pool, candidates=kept, relations=tuple(fact for fact in cut if fact.units))
