"""Pool to selection: promotion and its rivals behind one small protocol, by name.

``learned``, ``formula``, ``default``    PAGE-RAG with that strategy (``default``: the mode's own)
``plain``, ``plain:N``                   the retriever's first k units; core is the first N
``adaptive-k``                           core ends at the largest gap between neighbouring scores
``mmr``, ``mmr:L``                       maximal marginal relevance, L between 0 (diverse) and 1 (relevant)
``linking``                              connectivity only: seeds, then whatever is linked to them
``ppr``                                  personalised PageRank over promotion's own graph
``cross-encoder:MODEL``                  a cross-encoder of sentence-transformers, name or path
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from pagerag.errors import InputError
from pagerag.models import LARGER, support_encoder
from pagerag.protocols import SupportEncoder
from pagerag.units import Candidate, Mode, Pool

__all__ = ["PROMOTIONS", "Promoted", "Selection", "Selector", "named_support", "selector"]

PROMOTIONS = ("default", "learned", "formula")


@dataclass(frozen=True, slots=True)
class Selection:
    """What a selector kept of a pool, as ids: ``core`` first, then fill up to the budget in ``context``.

    ``scores`` has one number per candidate, in the pool's order, where the selector judges all of them.
    """

    core: tuple[str, ...]
    context: tuple[str, ...]
    state: str | None = None
    sufficiency: float | None = None
    scores: tuple[float, ...] | None = None
    explanation: str | None = None


class Selector(Protocol):
    """Chooses at most ``k`` units of a pool. It sees the pool and nothing else."""

    name: str

    def select(self, pool: Pool, k: int, mode: Mode) -> Selection:
        """Return the chosen units of the pool."""
        ...


class Promoted:
    """PAGE-RAG."""

    def __init__(
        self,
        strategy: str | None = None,
        *,
        ablate: Sequence[str] = (),
        explain: bool = False,
        support: str | None = None,
    ) -> None:
        from pagerag import Promoter

        self.name = strategy or "default"
        options: dict[str, Any] = {"ablate": tuple(ablate)}
        if strategy is not None:
            options["strategy"] = strategy
        if support is not None:
            options["support"] = named_support(support)
        self.promoter = Promoter(**options)
        self.explain = explain

    def select(self, pool: Pool, k: int, mode: Mode) -> Selection:
        """Return core and context of the promotion, with its verdict."""
        by_score = pool.scores == "probability"  # as the pipeline does
        result = self.promoter.promote(pool.question, pool, k=k, mode=mode, fill_by_score=by_score)
        return Selection(
            core=tuple(unit.id for unit in result.core),
            context=tuple(unit.id for unit in result.context),
            state=result.state,
            sufficiency=float(result.sufficiency),
            scores=tuple(result.scores.tolist()),
            explanation=result.explain() if self.explain else None,
        )


def named_support(name: str = "default") -> SupportEncoder:
    """Return our support encoder, or the one whose files lie in a folder, with one thread.

    ``default`` is the larger where it is installed, ``small`` (and ``auto``) the small one.
    """
    return support_encoder(folder=None if name in LARGER else name, threads=1, larger=LARGER.get(name, False))


class Plain:
    """The retriever's own order; ``core`` may be a fixed number of units smaller than the budget."""

    def __init__(self, size: int | None = None) -> None:
        if size is not None and size < 1:
            raise InputError(f"plain:{size}: the size must be at least 1")
        self.size = size
        self.name = "plain" if size is None else f"plain:{size}"

    def select(self, pool: Pool, k: int, mode: Mode) -> Selection:  # noqa: ARG002
        """Return the first k."""
        context = _ids(pool.candidates[:k])
        return Selection(core=context[: self.size], context=context)


def _ids(units: Sequence[Candidate]) -> tuple[str, ...]:
    return tuple(unit.id for unit in units)


def selector(
    name: str, *, ablate: Sequence[str] = (), explain: bool = False, support: str | None = None
) -> Selector:
    """Return the selector of this name (see above)."""
    if name in PROMOTIONS:
        strategy = None if name == "default" else name
        return Promoted(strategy, ablate=ablate, explain=explain, support=support)
    if ablate:
        raise InputError(f"--ablate removes parts of promotion; strategy {name!r} has none of them")
    kind, _, argument = name.partition(":")
    if kind not in _RIVALS:
        raise InputError(f"unknown strategy {name!r}; one of: {', '.join([*PROMOTIONS, *_RIVALS])}")
    return _RIVALS[kind](argument)


def _plain(argument: str) -> Selector:
    return Plain(_number(argument, int, "plain:N needs a whole number") if argument else None)


def _adaptive(argument: str) -> Selector:
    from pagerag_lab.rivals.rankings import AdaptiveK

    return AdaptiveK(*_none(argument, "adaptive-k"))


def _mmr(argument: str) -> Selector:
    from pagerag_lab.rivals.rankings import MMR

    return MMR(_number(argument, float, "mmr:L needs a number in [0, 1]") if argument else 0.5)


def _linking(argument: str) -> Selector:
    from pagerag_lab.rivals.graphs import Linking

    return Linking(*_none(argument, "linking"))


def _ppr(argument: str) -> Selector:
    from pagerag_lab.rivals.graphs import PersonalisedPageRank

    return PersonalisedPageRank(*_none(argument, "ppr"))


def _cross_encoder(argument: str) -> Selector:
    from pagerag_lab.rivals.rankings import CrossEncoder

    if not argument:
        raise InputError("name the model: cross-encoder:MODEL (a name on a hub, or a folder)")
    return CrossEncoder(argument)


def _number(text: str, kind: Callable[[str], Any], message: str) -> Any:
    try:
        return kind(text)
    except ValueError as problem:
        raise InputError(f"{message}; got {text!r}") from problem


def _none(argument: str, name: str) -> tuple[()]:
    if argument:
        raise InputError(f"{name} takes no argument; got {argument!r}")
    return ()


_RIVALS: dict[str, Callable[[str], Selector]] = {
    "plain": _plain,
    "adaptive-k": _adaptive,
    "mmr": _mmr,
    "linking": _linking,
    "ppr": _ppr,
    "cross-encoder": _cross_encoder,
}
