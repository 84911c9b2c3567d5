"""What readers that answer at once have in common."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pagerag.units import Answer, Candidate, State

__all__ = ["AtOnce"]


class AtOnce:
    """``aread`` and ``stream`` of a reader whose ``read`` is a few milliseconds of the calling thread."""

    def read(self, question: str, context: Sequence[Candidate], *, state: State = "enough") -> Answer:
        """The answer; the reader's own."""
        raise NotImplementedError

    async def aread(self, question: str, context: Sequence[Candidate], *, state: State = "enough") -> Answer:
        """The same; there is nothing to wait for."""
        return self.read(question, context, state=state)

    def stream(
        self, question: str, context: Sequence[Candidate], *, state: State = "enough"
    ) -> Iterator[str | Answer]:
        """The text in one piece, then the answer."""
        answer = self.read(question, context, state=state)
        if answer.text:
            yield answer.text
        yield answer
