"""Print results on a terminal."""

from __future__ import annotations

import shutil
import textwrap
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from pagerag.cli.console import how_many, link, paint
from pagerag.pipeline import Result
from pagerag.places import Place

if TYPE_CHECKING:
    from pagerag.promotion.trace import SupportPath

STATE_COLOURS = {"enough": "green", "ambiguous": "yellow", "insufficient": "red"}
_TONE_COLOURS = {"good": "green", "unsure": "yellow", "bad": "red"}


def width() -> int:
    """Return the columns to use: the terminal's, between 60 and 110."""
    return max(60, min(110, shutil.get_terminal_size((100, 24)).columns))


def show_result(result: Result, *, verbose: bool = False) -> None:
    """Print the answer, the verdict in a line, citations with their places and the evidence path.

    ``verbose`` adds timings.
    """
    told = result.verdict
    colour = _TONE_COLOURS[told.tone]
    quoted = result.answer.quotes and result.text  # its text is its citations, shown below
    print(paint("supported by these sentences" if quoted else result.statement, "bold", colour))
    print(paint(told.words, colour))
    if result.nearest:
        print(paint("\nnearest passages", "bold"))
    elif result.citations and not verbose:
        print()
    for citation, said in result.sentences:
        unit = result.units[citation.number - 1]
        print(f"  {paint(f'[{citation.number}]', 'cyan')} {paint(unit.title or unit.id, 'bold')}")
        for line in textwrap.wrap(said, width() - 6) or [""]:
            print(f"      {line}")
        place = result.place(citation)
        shown = paint(str(_from_here(place)), "dim")
        print(f"      {link(shown, place.path, place.line) if place.path else shown}")
    if kept := list(dict.fromkeys(_line(path) for path in result.evidence_paths)):
        print(paint("\nevidence path", "bold"))
        print(*(f"  {line}" for line in kept[:2]), sep="\n")
    if verbose:
        _, followed, lines = result.explain().partition("Found by following up:\n")
        if followed:
            print(paint("\nfound by following up", "bold"), lines, sep="\n")
        show_verdict(result)


def show_verdict(result: Result) -> None:
    """Print state, sufficiency and what each stage took.

    Where the reader kept silent, the state is told as what it was: a judgement from before the reading.
    """
    state = paint(result.state, STATE_COLOURS[result.state])
    stages = " · ".join(f"{name} {1000 * seconds:,.0f} ms" for name, seconds in result.timings.items())
    head, tail = "evidence", ""
    if result.answer.abstained:
        head, tail = "evidence, before it was read", " found no answer in it"
    print(f"\n{head}: {state} ({result.promotion.sufficiency:.2f}) · reader {result.answer.reader}{tail}")
    print(paint(stages, "dim"))


def show_rejected(result: Result, most: int = 3) -> None:
    """Print paths that are connected and were not promoted, with what they lack."""
    rejected = [path for path in result.promotion.paths if path.verdict != "kept" and len(path.units) > 1]
    if not rejected:
        return
    print(paint("\nconnected, but not support", "bold"))
    told = {_line(path, "red"): path.reason for path in reversed(rejected)}
    for line, reason in list(reversed(told.items()))[:most]:
        print(f"  {line}")
        print(paint(f"      {reason}", "dim"))


def show_pool(result: Result) -> None:
    """Print the best candidates with their scores and what became of them."""
    promotion = result.promotion
    core = {unit.id for unit in promotion.core}
    context = {unit.id for unit in promotion.context}
    ranked = sorted(zip(promotion.pool, promotion.scores, strict=True), key=lambda pair: -float(pair[1]))
    retrieved = how_many(len(result.pool), "unit")
    print(paint(f"\npool: {retrieved} retrieved, {len(promotion.pool)} weighed", "bold"))
    for unit, score in ranked[:12]:
        kind = "core" if unit.id in core else "fill" if unit.id in context else "    "
        colour = {"core": "green", "fill": "yellow"}.get(kind, "dim")
        bar = ("█" * round(10 * float(score))).ljust(10, "·")
        first, _, rest = unit.text.partition("\n")  # a first line that only repeats the title is left out
        body = rest.strip() if unit.title and first.strip() == unit.title and rest.strip() else unit.text
        text = f"{unit.title}: {body}" if unit.title else body
        line = textwrap.shorten(text, width() - 26, placeholder="…")
        print(f"  {paint(kind, colour)} {float(score):.2f} {paint(bar, colour)} {line}")
    if len(ranked) > 12:
        print(paint(f"  … and {len(ranked) - 12} more", "dim"))


def _line(path: SupportPath, colour: str = "green") -> str:
    first, *others = path.labels
    steps = [paint(first, "bold")]
    for edge, label in zip(path.edges, others, strict=True):
        via = ", ".join(edge.trig[:2]) or edge.kind
        steps.append(f"{paint(f'—[{via}]→', colour)} {paint(label, 'bold')}")
    return " ".join(steps)


def _from_here(place: Place) -> Place:
    """Return ``place`` with its path as one types it in the current folder, where the file lies below it."""
    path = Path(place.path) if place.path else None
    if path is None or not path.is_absolute() or not path.is_relative_to(Path.cwd()):
        return place
    return replace(place, path=str(path.relative_to(Path.cwd())))
