"""The promotion stage, wired: question → pool → analysis → graph → scores → paths → selection."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from itertools import islice
from typing import Any, TypedDict, Unpack

import numpy as np
from numpy.typing import NDArray

from pagerag.errors import CandidateError, InputError
from pagerag.promotion.admission import WIDTH, admit_best, admit_reached
from pagerag.promotion.budget import Budget, count_characters
from pagerag.promotion.candidates import (
    as_candidates,
    budget_of,
    check_analyses,
    check_budget,
    check_callable,
    check_flag,
    check_question,
    check_relations,
    shown,
)
from pagerag.promotion.evidence import Evidence
from pagerag.promotion.features import ABLATED_FEATURES
from pagerag.promotion.learned import LearnedModel, LearnedStrategy
from pagerag.promotion.near_duplicates import Statements
from pagerag.promotion.parts import Part, with_parts
from pagerag.promotion.reading import read_pool
from pagerag.promotion.result import Promotion
from pagerag.promotion.signals import (
    canonical_order,
    combined_worth,
    gather_signals,
    probabilities,
    retrieved_scores,
)
from pagerag.promotion.strategy import FormulaStrategy, Judgement, Strategy
from pagerag.promotion.weights import ABLATIONS, Weights
from pagerag.protocols import SupportEncoder, TokenCounter
from pagerag.text.analysis import Analysis, Analyzer, codes_of
from pagerag.text.questions import read_question
from pagerag.text.sub_questions import separate_questions
from pagerag.units import (
    SUPPORT_CHOICES,
    Candidate,
    Mode,
    Pool,
    Relation,
    SupportChoice,
    SupportKind,
)

__all__ = ["STRATEGIES", "Promoter", "promote"]

STRATEGIES = ("learned", "formula")
COMPONENTS = ("support_scoring", "minimal_selection")

CandidateLike = str | Mapping[str, Any] | Candidate | Any
"""A text, a mapping with ``text``, a Candidate, or a document of LangChain, LlamaIndex or Haystack."""


class PromoteOptions(TypedDict, total=False):
    """The options of ``Promoter.promote`` beside question, candidates, k and mode."""

    top_n: int | None
    top_k: int | None
    max_tokens: int | None
    count_tokens: TokenCounter | None
    vector: NDArray[np.floating[Any]] | Sequence[float] | None
    relations: Iterable[Relation]
    analyses: Sequence[Analysis | None] | None
    strategy: str | Strategy | None
    fill_by_score: bool


_CHUNK = 16
_LONGEST_QUESTION = 4_000  # characters


class Promoter:
    """Turns pools into supported contexts. Make one, keep it, share it between threads.

    ``weights`` replaces the tuned ones (one set for all modes, or one per mode); ``analyzer`` brings its own
    entity extraction; ``strategy`` is "learned" or "formula", or an object with ``judge`` (by default the
    learned one, unless weights are given, which are the formula's); ``support`` is a model's own judgement as
    one more signal: a SupportEncoder, or the name of ours ("auto", "default", "small" or "none": what each
    means is told by ``pagerag.models.support_named``); ``ablate`` removes components ("support_scoring",
    "minimal_selection") or feature groups ("query_alignment", ...), for experiments.

    >>> result = Promoter().promote("Where was the composer of Interstellar born?", [
    ...     {"title": "Interstellar", "text": "Hans Zimmer composed the score of Interstellar."},
    ...     {"title": "Hans Zimmer", "text": "Zimmer was born in Frankfurt."}])
    >>> [unit.title for unit in result.core]
    ['Interstellar', 'Hans Zimmer']
    """

    def __init__(
        self,
        weights: Weights | Mapping[Mode, Weights] | None = None,
        analyzer: Analyzer | None = None,
        *,
        strategy: str | Strategy | None = None,
        support: SupportEncoder | SupportChoice | None = None,
        ablate: Iterable[str] = (),
    ) -> None:
        self.analyzer = analyzer or Analyzer()
        self.support: SupportEncoder | None = _support(support)
        self.ablate = (ablate,) if isinstance(ablate, str) else tuple(sorted(set(ablate)))
        if not (weights is None or isinstance(weights, Weights | Mapping)):
            raise InputError(
                f"weights must be Weights, or a mapping from mode to Weights, not {type(weights).__name__}; "
                "Weights.load(path) reads a file"
            )
        known = (*COMPONENTS, *ABLATIONS)
        for name in self.ablate:
            if name not in known:
                raise InputError(f"cannot ablate {name!r}; one of: {', '.join(known)}")
        self._weights = weights
        self._strategy = strategy
        self._strategies: dict[tuple[Mode, str | None], Strategy] = {}
        if isinstance(strategy, str) and strategy not in STRATEGIES:
            raise InputError(f"strategy is {strategy!r}; it must be one of: {', '.join(STRATEGIES)}")

    def weights(self, mode: Mode) -> Weights:
        """Return the weights in force for ``mode``, ablations applied."""
        chosen = self._weights
        if isinstance(chosen, Mapping):
            if mode not in chosen:
                raise InputError(f"weights were given per mode, but not for mode {mode!r}")
            chosen = chosen[mode]
        elif chosen is None:
            chosen = Weights.shipped(mode)
        groups = [name for name in self.ablate if name in ABLATIONS]
        return chosen.ablate(*groups) if groups else chosen

    def strategy(self, mode: Mode, name: str | Strategy | None = None) -> Strategy:
        """Return the strategy in force for ``mode``."""
        chosen = name if name is not None else self._strategy
        if chosen is not None and not isinstance(chosen, str):
            if not callable(getattr(chosen, "judge", None)):
                raise InputError(
                    f"strategy is {shown(chosen)}; "
                    f"it must be one of: {', '.join(STRATEGIES)}, or have judge()"
                )
            return chosen
        key = (mode, chosen)
        if key not in self._strategies:
            # Two threads may both make it; they make the same.
            self._strategies[key] = self._make_strategy(mode, chosen)
        return self._strategies[key]

    def _make_strategy(self, mode: Mode, chosen: str | None) -> Strategy:
        if chosen not in {None, *STRATEGIES}:
            raise InputError(f"strategy is {chosen!r}; it must be one of: {', '.join(STRATEGIES)}")
        minimal = "minimal_selection" not in self.ablate
        scoring = "support_scoring" not in self.ablate
        # Scoring removed leaves bare connectivity, for which there is nothing to learn.
        model = beside = None
        if scoring and (chosen == "learned" or (chosen is None and self._weights is None)):
            if self.support is not None:
                kind: SupportKind = getattr(self.support, "fitted", "support")
                model = LearnedModel.shipped(mode, support=kind)
                # Over documents it completes fewer contexts (documents/dev: 66 of 96 instead of 70).
                beside = LearnedModel.shipped(mode) if model is not None and mode == "sentence" else None
            model = model or LearnedModel.shipped(mode)
            if model is None and chosen == "learned":
                raise InputError(f"there is no learned model for mode {mode!r}; use strategy='formula'")
        if model is not None:
            off = frozenset(name for group in self.ablate for name in ABLATED_FEATURES.get(group, ()))
            return LearnedStrategy(model, mode, beside=beside, off=off, minimal_selection=minimal)
        return FormulaStrategy(support_scoring=scoring, minimal_selection=minimal)

    def analyze(self, candidate: Candidate | str, mode: Mode = "document") -> Analysis:
        """Read one unit ahead of time, to be passed to ``promote(analyses=...)``."""
        text = candidate if isinstance(candidate, str) else candidate.text
        analysis = self.analyzer.analyze(text, whole=mode != "document")
        codes_of([analysis])  # what every promotion of the unit needs is made ahead of time as well
        return analysis

    def promote(
        self,
        question: str,
        candidates: Iterable[CandidateLike] | Pool,
        k: int | None = None,
        mode: Mode = "sentence",
        *,
        top_n: int | None = None,
        top_k: int | None = None,
        max_tokens: int | None = None,
        count_tokens: TokenCounter | None = None,
        vector: NDArray[np.floating[Any]] | Sequence[float] | None = None,
        relations: Iterable[Relation] = (),
        analyses: Sequence[Analysis | None] | None = None,
        strategy: str | Strategy | None = None,
        fill_by_score: bool = False,
    ) -> Promotion:
        """Select at most ``k`` units (and at most ``max_tokens`` tokens) that jointly support an answer.

        ``k`` is 5 by default; ``top_n`` and ``top_k`` are other names for it. The candidates are texts,
        mappings, Candidates, or documents of LangChain, LlamaIndex and Haystack.
        The pool is best first when it has no scores. ``vector`` is the question's own embedding, used when
        the candidates have vectors of the same encoder. ``analyses`` are earlier ``analyze`` results,
        aligned with the candidates; None where there is none. ``fill_by_score`` says that the candidates'
        scores are probabilities, as promotion's own are: what the core leaves of the budget is then filled by
        the log-odds of both, promotion's twice.
        """
        check_question(question)
        k = budget_of(k, top_n, top_k)
        check_budget(k, mode, max_tokens)
        check_callable(count_tokens, "count_tokens")
        fill_by_score = check_flag(fill_by_score, "fill_by_score")
        facts = check_relations(relations)
        if isinstance(candidates, Pool):
            vector = candidates.vector if vector is None else vector
            facts = (*check_relations(candidates.relations), *facts)
        given = as_candidates(candidates)
        order = canonical_order(given)
        pool = tuple(given[i] for i in order)
        if analyses is not None:
            earlier = check_analyses(analyses, len(given))
            analyses = [earlier[i] for i in order]
        judge = self.strategy(mode, strategy)
        reads = judge.reads or mode
        if analyses is None:  # the first units are read before they are looked through for copies, not twice
            first = self._analyses(pool, range(min(WIDTH, len(pool))), None, reads)
            analyses = [*first, *[None] * (len(pool) - len(first))]
        statements = Statements(pool, analyses)
        budget = Budget(pool, k, max_tokens, count_tokens or count_characters, statements)
        # Some builds of NumPy's matrix product raise the invalid flag for finite single-precision input;
        # what comes out is finite, as the tests check for any pool.
        with np.errstate(invalid="ignore"):
            read = partial(
                self.evidence,
                pool=pool,
                mode=reads,
                relations=facts,
                analyses=analyses,
                statements=statements,
            )
            evidence = read(question, vector=vector, weights=judge.weights)
            parts: list[Part] = []
            if mode == "document" and k > 1 and (separate := separate_questions(question)):
                # A part is judged without the whole question's vector.
                for one in separate:
                    told = read(one.text, weights=judge.weights)
                    parts.append(Part(one.asked, judge.judge(told, budget.fits)))
            judgement, placed = with_parts(judge.judge(evidence, budget.fits), parts, budget.fits)
        judgement = _with_copies(judgement, statements)
        core = judgement.core
        worth = judgement.scores
        if fill_by_score:
            worth = combined_worth(worth, probabilities(pool))
        # By worth, for those who read only the first; the core itself stays in the order of the argument.
        ranking = judgement.ranking or tuple(np.argsort(-judgement.scores, kind="stable").tolist())
        places = {unit: place for place, unit in enumerate(ranking)}
        best_first = sorted(core, key=lambda unit: places.get(unit, len(places)))

        def after() -> Iterator[int]:
            if judgement.ranking and not fill_by_score:
                yield from ranking
            yield from np.argsort(-worth, kind="stable").tolist()

        context = (*best_first, *budget.fill(core, after()))
        return Promotion(
            question=question,
            k=k,
            mode=mode,
            strategy=judge.name,
            candidates=given,
            evidence=evidence,
            judgement=judgement,
            order=tuple(order),
            core_places=tuple(order[i] for i in core),
            context_places=tuple(order[i] for i in context),
            state=judgement.state,
            copies={order[unit]: order[first] for unit, first in statements.copies().items()},
            parts={order[unit]: part for unit, part in placed.items()},
        )

    def evidence(
        self,
        question: str,
        pool: tuple[Candidate, ...],
        mode: Mode = "sentence",
        *,
        vector: NDArray[np.floating[Any]] | Sequence[float] | None = None,
        relations: Iterable[Relation] = (),
        analyses: Sequence[Analysis | None] | None = None,
        weights: Weights | None = None,
        statements: Statements | None = None,
    ) -> Evidence:
        """Return what a strategy judges by: the pool read, linked and scored, before anything is selected."""
        statements = statements or Statements(pool, analyses)
        facts = check_relations(relations)
        asked = read_question(question[:_LONGEST_QUESTION])
        retrieved = retrieved_scores(pool)
        units = admit_best(retrieved, statements)
        readings = self._analyses(pool, units, analyses, mode)
        reached = admit_reached(asked, pool, units, readings, statements)
        if reached:
            readings += self._analyses(pool, reached, analyses, mode)
            units += reached
        signals = gather_signals(question, pool, vector, retrieved, units, self.support)
        reading = read_pool(asked, pool, readings, units, facts, signals.retrieved)
        return Evidence(reading, signals, weights or self.weights(mode), mode)

    async def apromote(
        self,
        question: str,
        candidates: Iterable[CandidateLike] | Pool,
        k: int | None = None,
        mode: Mode = "sentence",
        **options: Unpack[PromoteOptions],
    ) -> Promotion:
        """Run ``promote`` in a worker thread, so that an event loop stays free."""
        import asyncio  # with the executor below a third of the package's import time, and seldom needed

        return await asyncio.to_thread(self.promote, question, candidates, k, mode, **options)

    def promote_many(
        self,
        items: Iterable[Pool | tuple[str, Iterable[CandidateLike]]],
        workers: int | None = None,
        k: int | None = None,
        mode: Mode = "sentence",
        **options: Unpack[PromoteOptions],
    ) -> Iterator[Promotion]:
        """Run ``promote`` for each pool, or (question, candidates) pair, in order.

        ``workers`` > 1 spreads the work over processes; the results are the same. Items are taken as they
        are needed, so a generator of any length is fine.
        """
        pairs = (_pair(item) for item in items)
        if workers is None or workers <= 1:
            for question, candidates in pairs:
                yield self.promote(question, candidates, k, mode, **options)
            return
        from concurrent.futures import ProcessPoolExecutor

        with ProcessPoolExecutor(max_workers=workers) as executor:
            stream = iter(pairs)
            while batch := list(islice(stream, _CHUNK * workers)):
                jobs = [
                    executor.submit(_promote_batch, self, batch[i : i + _CHUNK], k, mode, options)
                    for i in range(0, len(batch), _CHUNK)
                ]
                for job in jobs:
                    yield from job.result()

    def _analyses(
        self,
        pool: tuple[Candidate, ...],
        units: Sequence[int],
        analyses: Sequence[Analysis | None] | None,
        mode: Mode,
    ) -> list[Analysis]:
        """Return the analyses of the pool's ``units``: stored ones where they serve, else new ones."""
        whole = mode != "document"
        analyze = self.analyzer.analyze
        if analyses is None:
            return [analyze(pool[place].text, whole=whole) for place in units]
        found = []
        for place in units:
            text, analysis = pool[place].text, analyses[place]
            if analysis is not None and analysis.spans and analysis.spans[-1][1] > len(text):
                name = pool[place].id
                raise CandidateError(
                    f"the stored analysis of candidate {name!r} is of a longer text; index it again",
                    item=name,
                )
            usable = analysis is not None and analysis.whole == whole
            found.append(analysis if usable and analysis is not None else analyze(text, whole=whole))
        return found


def _pair(item: object) -> tuple[str, Iterable[CandidateLike] | Pool]:
    if isinstance(item, Pool):
        return item.question, item
    if isinstance(item, tuple | list) and len(item) == 2:
        return item[0], item[1]
    raise InputError(f"promote_many takes Pools or (question, candidates) pairs, not {type(item).__name__}")


def _support(choice: SupportEncoder | SupportChoice | None) -> SupportEncoder | None:
    if choice is None:
        return None
    if isinstance(choice, str):
        from pagerag.models import support_named  # onnxruntime behind it: only for those who ask for it

        return support_named(choice)
    if not isinstance(choice, SupportEncoder):
        raise InputError(
            f"support is {choice!r}; "
            f"it must be {', '.join(SUPPORT_CHOICES)}, or an object with name, signals and support()"
        )
    return choice


def _with_copies(judgement: Judgement, statements: Statements) -> Judgement:
    """Give each copy of a unit the score of the unit that stands for it."""
    copies = statements.copies()
    if not copies:
        return judgement
    scores = judgement.scores.copy()
    for unit, first in copies.items():
        scores[unit] = scores[first]
    return replace(judgement, scores=scores)


def _promote_batch(
    promoter: Promoter,
    batch: Sequence[tuple[str, Iterable[CandidateLike] | Pool]],
    k: int | None,
    mode: Mode,
    options: PromoteOptions,
) -> list[Promotion]:
    return [promoter.promote(question, candidates, k, mode, **options) for question, candidates in batch]


@cache
def _shared(support: SupportChoice | None) -> Promoter:
    """Return the promoter of all who name this support encoder; it holds no state of any question."""
    return Promoter(support=support)


def promote(
    question: str,
    candidates: Iterable[CandidateLike] | Pool,
    k: int | None = None,
    mode: Mode = "sentence",
    *,
    support: SupportEncoder | SupportChoice | None = None,
    **options: Unpack[PromoteOptions],
) -> Promotion:
    """Promote with a shared ``Promoter``; see ``Promoter.promote`` for the options.

    ``support`` is the Promoter's: none unless told, and one that is named is loaded once.
    """
    promoter = _shared(support) if support is None or isinstance(support, str) else Promoter(support=support)
    return promoter.promote(question, candidates, k, mode, **options)
