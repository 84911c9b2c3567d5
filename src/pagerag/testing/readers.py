"""Check the contract of a reader."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from functools import partial
from typing import Any

from pagerag.errors import InputError
from pagerag.protocols import Reader, ReadsOn
from pagerag.testing._check import ODD_TEXTS, Checker
from pagerag.units import Answer, Candidate

QUESTION = "In which country was Marie Curie born?"
CONTEXT = (
    Candidate("curie#0", "Marie Curie was born in Warsaw in 1867.", title="Marie Curie"),
    Candidate("warsaw#0", "Warsaw is the capital of Poland.", title="Warsaw"),
    Candidate("eiffel#0", "The Eiffel Tower stands in Paris.", title="Eiffel Tower"),
)


def check_reader(
    reader: Reader,
    *,
    question: str = QUESTION,
    context: Sequence[Candidate] = CONTEXT,
    answer: str | None = None,
    abstains: bool = False,
    odd: bool = True,
) -> None:
    """Check that ``reader`` keeps the contract of ``pagerag.protocols.Reader``.

    - it is a whole Reader; ``name`` and ``identity`` are texts; ``prefers`` is "core" or "context";
    - ``read``, ``aread`` and ``stream`` give equal answers, and a stream ends in its Answer;
    - after ``close`` the reader can be used again;
    -  the answer's text is a text, empty exactly when the reader abstains;
    - confidence is None or in [0, 1]; usage is a mapping; ``to_dict()`` can be written as JSON;
    - a citation's number is a place in the context, counted from 1, and its id is that unit's; its offsets
      lie in that unit's text, and its quote stands there;
    - all three states are accepted; a context of one unit is;
    - an empty context gives an answer without citations, or raises InputError;
    - a reader that reads on (``ReadsOn``) numbers the units of the core first, then the others,
      and without others as ``read`` does;
    - odd units and odd questions do not raise.

    ``answer`` is a text that the answer must contain (upper and lower case alike). With ``abstains`` the
    reader must abstain when the state is ``insufficient``. ``odd=False`` leaves out the odd texts, each of
    which costs a call.
    """
    check = Checker("check_reader", reader)
    check.name()
    for method in ("read", "aread", "stream"):
        check.method(method, f"{method}(question, context, state=...) is a method")
    check.method("close", "close() is a method")
    check.member("identity", str, "identity is a text")
    prefers = check.member("prefers", str, 'prefers is "core" or "context"')
    check.expect(prefers in ("core", "context"), 'prefers is "core" or "context"', prefers)
    given = tuple(context)
    said = _read(check, reader, question, given, "enough", "the context")
    _same_in_every_form(check, reader, question, given, said)
    if answer is not None:
        good = said is not None and answer.casefold() in said.text.casefold()
        check.expect(good, f"the answer to {question!r} contains {answer!r}", said)
    for state in ("ambiguous", "insufficient"):
        said = _read(check, reader, question, given, state, f"state {state!r}")
        if abstains and state == "insufficient":
            silent = said is not None and said.abstained
            check.expect(silent, "the reader abstains when the state is insufficient", said)
    _read(check, reader, question, given[:1], "enough", "a context of one unit")
    _read(check, reader, question, (), "insufficient", "an empty context", InputError)
    if isinstance(reader, ReadsOn):
        for cut in (1, len(given)):
            core, others = given[:cut], given[cut:]
            said = check.call("reading on", partial(reader.read_on, question, core, others))
            _checked(check, said, given, f"a core of {cut}")
        alone = _read(check, reader, question, given, "enough", "the context again")
        check.equal(said, alone, "reading on without others is reading")
    if odd:
        units = tuple(Candidate(f"odd#{n}", text) for n, text in enumerate(ODD_TEXTS.values()))
        for unit, label in zip(units, ODD_TEXTS, strict=True):
            _read(check, reader, question, (unit, given[0]), "enough", f"an odd unit ({label})")
        _read(check, reader, ODD_TEXTS["control characters"], given, "enough", "an odd question")


def _same_in_every_form(
    check: Checker, reader: Reader, question: str, context: tuple[Candidate, ...], said: Answer | None
) -> None:
    async def awaited() -> Answer:
        return await reader.aread(question, context)

    later = check.call("awaiting aread", lambda: asyncio.run(awaited()))
    check.equal(later, said, "aread gives the answer of read")
    streamed: list[object] = check.call("streaming", lambda: list(reader.stream(question, context))) or []
    last = streamed.pop() if streamed else None
    check.expect(isinstance(last, Answer), "a stream ends in its Answer", last)
    check.expect(all(isinstance(piece, str) for piece in streamed), "a stream's pieces are texts", streamed)
    check.equal(last, said, "stream ends in the answer of read")
    check.call("closing", reader.close)


def _read(
    check: Checker,
    reader: Reader,
    question: str,
    context: tuple[Candidate, ...],
    state: Any,
    label: str,
    *allowed: type[Exception],
) -> Answer | None:
    said = check.call(f"reading {label}", lambda: reader.read(question, context, state=state), allowed)
    return None if said is None and allowed else _checked(check, said, context, label)


def _checked(check: Checker, said: object, context: tuple[Candidate, ...], label: str) -> Answer:
    check.expect(isinstance(said, Answer), f"reading {label} gives an Answer", type(said).__name__)
    assert isinstance(said, Answer)  # noqa: S101 - for the type checker; reported above
    check.expect(isinstance(said.text, str), f"the answer's text is a text ({label})", said.text)
    contract = f"the text is empty exactly when the reader abstains ({label})"
    seen = f"text {said.text!r}, abstained {said.abstained}"
    check.expect(bool(said.text.strip()) != said.abstained, contract, seen)
    sure = said.confidence
    check.expect(sure is None or 0 <= sure <= 1, f"confidence is None or in [0, 1] ({label})", sure)
    for one in said.citations:
        contract = f"a citation's number is a place in the context of {len(context)} ({label})"
        check.expect(1 <= one.number <= len(context), contract, one)
        unit, start, end = context[one.number - 1], one.start, one.end
        contract = f"citation {one.number} has its unit's id {unit.id!r} ({label})"
        check.expect(one.candidate_id == unit.id, contract, one)
        if start is not None or end is not None:
            good = start is not None and end is not None and 0 <= start <= end <= len(unit.text)
            contract = f"a citation's offsets lie in its unit's text of {len(unit.text)} characters ({label})"
            check.expect(good, contract, one)
        if one.quote is not None:
            stands = unit.text if start is None else unit.text[start:end]
            good = one.quote in stands if start is None else one.quote == stands
            contract = f"a citation's quote stands at its place ({label})"
            check.expect(good, contract, f"{one.quote!r} is not {stands!r}")
    check.call(f"writing the answer to {label} as JSON", lambda: json.dumps(said.to_dict()))
    return said
