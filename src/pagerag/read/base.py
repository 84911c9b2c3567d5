"""The base of readers that answer at once."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import replace

from pagerag.protocols import ContextPreference
from pagerag.units import Answer, Candidate, State

__all__ = ["AtOnceReader", "bounded"]

LONGEST_TITLE = 1_000


def bounded(context: Sequence[Candidate], *, unit: int, total: int) -> tuple[Candidate, ...]:
    """Return ``context`` with at most ``unit`` characters of each unit's text and ``total`` of all.

    What is over is cut off the end, so that places in the texts stay true; so are titles over 1,000
    characters.
    """
    left = total
    cut = []
    for one in context:
        most = max(0, min(unit, left))
        if len(one.text) > most:
            one = replace(one, text=one.text[:most])
        if one.title is not None and len(one.title) > LONGEST_TITLE:
            one = replace(one, title=one.title[:LONGEST_TITLE])
        cut.append(one)
        left -= len(one.text)
    return tuple(cut)


class AtOnceReader(ABC):
    """The Reader protocol for a reader that waits for nobody and does not stream.

    A subclass sets ``name`` and writes ``read``; it changes ``prefers`` and ``identity`` where they differ.
    """

    name: str
    prefers: ContextPreference = "context"

    @property
    def identity(self) -> str:
        """Everything that decides an answer besides the question and the context: here the name."""
        return self.name

    @abstractmethod
    def read(self, question: str, context: Sequence[Candidate], *, state: State = "enough") -> Answer:
        """Return the answer."""

    async def aread(self, question: str, context: Sequence[Candidate], *, state: State = "enough") -> Answer:
        """Return the answer of ``read``, made in a thread: a long context must not hold up an event loop."""
        from asyncio import to_thread  # 20 ms, and one question of the command never needs it

        return await to_thread(self.read, question, tuple(context), state=state)

    def stream(
        self, question: str, context: Sequence[Candidate], *, state: State = "enough"
    ) -> Iterator[str | Answer]:
        """Yield the text in one piece, then the answer."""
        answer = self.read(question, context, state=state)
        if answer.text:
            yield answer.text
        yield answer

    def close(self) -> None:  # noqa: B027 - most of these readers hold nothing
        """Give back what the reader holds: nothing here."""
