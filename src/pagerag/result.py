"""The result of a question: the answer, what it rests on, and how it was found."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pagerag.promotion.near_duplicates import says_the_same
from pagerag.promotion.trace import unit_label
from pagerag.store import Place, place_of
from pagerag.text.tokens import all_words
from pagerag.units import Answer, Candidate, Citation, Pool, State

if TYPE_CHECKING:
    from pagerag.explain.verdict import Verdict
    from pagerag.promotion import Promotion
    from pagerag.promotion.trace import SupportPath

__all__ = ["Failure", "Result"]

NOT_ENOUGH = "Not enough evidence was found to answer this question."
NO_ANSWER = "No sure answer was found in the evidence."
NEAREST = 3
"""Units whose nearest sentences are shown where a reader keeps silent."""


@dataclass(frozen=True, slots=True)
class Failure:
    """A question of a batch that ended in an error."""

    question: str
    error: Exception

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-able copy."""
        return {"question": self.question, "error": str(self.error), "kind": type(self.error).__name__}


@dataclass(frozen=True, slots=True)
class Result:
    """An answer with its evidence.

    ``units`` are what the answer rests on, numbered from 1 as its citations number them: the core, or the
    context filled to k; a reader that read on beyond the core and cites nothing there shows the core. Where
    the reader kept silent they are filled up with the nearest evidence that it did not read.
    ``promotion`` holds the graph, the paths and every decision.
    """

    question: str
    answer: Answer
    units: tuple[Candidate, ...]
    promotion: Promotion = field(repr=False)
    pool: Pool = field(repr=False)
    timings: Mapping[str, float] = field(default_factory=dict, compare=False)

    @property
    def text(self) -> str:
        """The short answer; empty when the reader abstained."""
        return self.answer.text

    @property
    def statement(self) -> str:
        """The answer as a person should hear it: with its doubt, and with its citations' numbers."""
        marks = "".join(f"[{number}]" for number in sorted({citation.number for citation in self.citations}))
        quoted = marks and not any(f"[{c.number}]" in self.text for c in self.citations)
        said = f"{self.text} {marks}" if quoted else self.text
        said += self.answer.left_open
        if self.state == "insufficient":
            return f"{NOT_ENOUGH} Tentatively: {said}" if self.text else NOT_ENOUGH
        return said if self.text else NO_ANSWER

    @property
    def state(self) -> State:
        """Promotion's verdict on the evidence: enough, ambiguous or insufficient."""
        return self.promotion.state

    @property
    def verdict(self) -> Verdict:
        """What to take from this in one line: what the evidence speaks of, and what is missing."""
        from pagerag.explain.verdict import verdict

        return verdict(self.promotion, self.answer)

    @property
    def missing(self) -> tuple[str, ...]:
        """The phrases of the question that the evidence does not speak of.

        Where it is enough, only numbers, versions, ordinals and names: other words may be paraphrased.
        """
        return self.verdict.missing

    @property
    def citations(self) -> tuple[Citation, ...]:
        """What the answer cites, checked against ``units``."""
        return self.answer.citations

    @property
    def nearest(self) -> tuple[Citation, ...]:
        """Where the reader kept silent: the sentences of ``units`` nearest to the question; else nothing.

        "What is the difference between A and B?" has no short answer, but its evidence is there to be read.
        What two files say in the same words, such as a manual and a chapter of it, is there once.
        """
        if self.text or self.answer.citations:
            return () if self.text else _once(self.answer.citations)
        from pagerag.read.evidence import quotations

        return _once(quotations(self.question, self.units[:NEAREST]))

    @property
    def sentences(self) -> tuple[tuple[Citation, str], ...]:
        """What is cited or nearest, by number and place, with the sentences in which it stands, in one line.

        Each of them is there once; a citation that names no place stands for the beginning of its unit.
        """
        found: dict[tuple[int, str], Citation] = {}
        for citation in sorted(self.nearest or self.citations, key=lambda one: (one.number, one.start or 0)):
            found.setdefault((citation.number, _around(self.units[citation.number - 1], citation)), citation)
        return tuple((citation, said) for (_, said), citation in found.items())

    @property
    def context(self) -> tuple[Candidate, ...]:
        """The promoted context, filled to k."""
        return tuple(self.promotion.context)

    @property
    def core(self) -> tuple[Candidate, ...]:
        """The minimal set that selection kept."""
        return tuple(self.promotion.core)

    @property
    def evidence_paths(self) -> tuple[SupportPath, ...]:
        """The kept paths of two units and more, the one with the strongest weakest unit first."""
        from pagerag.explain.reasons import arguments

        kept = arguments(self.promotion)
        by_units = {frozenset(unit.id for unit in path.units): path for path in reversed(kept)}
        return tuple(reversed(by_units.values()))

    def place(self, citation: Citation) -> Place:
        """Return file, line or page, section and characters of a citation."""
        unit = self.units[citation.number - 1]
        return place_of(unit, citation.start or 0, citation.end)

    @property
    def trace(self) -> dict[str, Any]:
        """Every step, JSON-able: what each round retrieved, what was promoted and why, what was read."""
        return {
            "retrieve": {
                "origin": self.pool.origin,
                "units": [
                    {"id": unit.id, "title": unit.title, "score": unit.score} for unit in self.pool.candidates
                ],
                **{name: value for name, value in self.pool.metadata.items() if name == "rounds"},
            },
            "promote": self.promotion.to_dict(),
            "read": {
                "reader": self.answer.reader,
                "units": [unit.id for unit in self.units],
                "usage": dict(self.answer.usage),
                "raw": self.answer.raw,
            },
        }

    @property
    def found(self) -> dict[str, dict[str, Any]]:
        """How follow-up retrieval came to each unit of the pool, by id.

        In which round (0 is the search for the question), by search, title, words or nearness, from which
        unit, by which name. Empty for other retrievers.
        """
        return {
            str(unit["id"]): {"round": step["round"], **{k: v for k, v in unit.items() if k != "id"}}
            for step in self.pool.metadata.get("rounds", ())
            for unit in step["kept"]
        }

    def explain(self) -> str:
        """Return in words why these units were chosen, and how follow-up search found them."""
        steps = [(unit, self.found.get(_passage(unit))) for unit in self.units]
        lines = [self._told(unit, step) for unit, step in steps if step and step["by"] != "search"]
        followed = ["", "Found by following up:", *lines] if lines else []
        return "\n".join([self.promotion.explain(), *followed])

    def _told(self, unit: Candidate, step: Mapping[str, Any]) -> str:
        titles: dict[str | None, str] = {one.id: unit_label(one) for one in self.pool.candidates}
        origin, name = step.get("from"), step.get("name", "")
        source = titles.get(origin, origin or "the question")
        how = {
            "title": f"{name!r} is named in {source}",
            "words": f"search for {name!r}, named in {source}",
            "nearness": f"near the question and {source} together",
        }[step["by"]]
        return f"  {unit_label(unit)}: round {step['round']}, {how}"

    def to_html(self) -> str:
        """Return one self-contained page with the evidence paths and the graph as pictures."""
        from pagerag.explain import page, view

        return page(
            view(self.promotion, answer=self.answer, units=self.units, timings=self.timings, found=self.found)
        )

    def to_svg(self) -> str:
        """Return the evidence paths as one picture."""
        from pagerag.explain import paths_svg

        return paths_svg(self.promotion, self.answer, self.units, alone=True)

    def to_dict(self, *, trace: bool = False) -> dict[str, Any]:
        """Return a JSON-able copy; ``trace`` adds every step."""
        told, found = self.verdict, self.found
        result: dict[str, Any] = {
            "version": 1,
            "question": self.question,
            "answer": self.answer.to_dict(),
            "statement": self.statement,
            "state": self.state,
            "sufficiency": float(self.promotion.sufficiency),
            "verdict": told.words,
            "missing": list(told.missing),
            "citations": [self._cited(citation) for citation in self.citations],
            "nearest": [self._cited(citation) for citation in self.nearest],
            "context": [
                {
                    "number": number,
                    "id": unit.id,
                    "title": unit.title,
                    "text": unit.text,
                    **place_of(unit).to_dict(),
                    **({"found": found[_passage(unit)]} if _passage(unit) in found else {}),
                }
                for number, unit in enumerate(self.units, 1)
            ],
            "core": [unit.id for unit in self.core],
            "pool": len(self.pool),
            "timings": {name: round(value, 6) for name, value in self.timings.items()},
        }
        return {**result, "trace": self.trace} if trace else result

    def _cited(self, citation: Citation) -> dict[str, Any]:
        title = self.units[citation.number - 1].title
        told = {"number": citation.number, "id": citation.candidate_id, "title": title}
        return {**told, "quote": citation.quote, **self.place(citation).to_dict()}


def _once(citations: Iterable[Citation]) -> tuple[Citation, ...]:
    """Return the citations without those that say the same as an earlier one."""
    kept: list[Citation] = []
    said: list[list[str]] = []
    for citation in citations:
        words = all_words(citation.quote or "")
        if not words or not any(says_the_same(words, other) for other in said):
            kept.append(citation)
            said.append(words)
    return tuple(kept)


def _around(unit: Candidate, citation: Citation) -> str:
    from pagerag.explain.reasons import clip, sentences_of

    if citation.start is None or citation.end is None:
        return clip(unit.text, 240)
    spans = sentences_of(citation, unit) or [(citation.start, citation.end)]
    return " ".join(unit.text[spans[0][0] : spans[-1][1]].split())


def _passage(unit: Candidate) -> str:
    """Return the id of the passage that a unit is, or is a sentence of."""
    return str(unit.metadata.get("passage", unit.id))
