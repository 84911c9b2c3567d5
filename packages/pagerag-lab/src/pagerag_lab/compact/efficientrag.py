"""EfficientRAG, re-implemented from its description: a labeler and a filter in a loop.

Each chunk found is labelled: is it useful, and which of its words answer a part of the question. The filter
rewrites the query: what is solved goes out, what was found comes in. Until nothing useful is found, or four
rounds. Zhuang et al., EMNLP 2024. Ours: a chat model does the labelling and the filtering; the trained
token classifiers were never published.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from pagerag.protocols import Retriever
from pagerag.units import Candidate, Pool
from pagerag_lab.compact._base import CompactSystem, shown
from pagerag_lab.compact.chat import Chat, all_replies, json_in, user

__all__ = ["EfficientRAG"]

_LABELER = (
    "You are given a query and a paragraph. Decide whether the paragraph helps to answer the query or a part "
    "of it, and copy from the paragraph the words that do, unchanged and in their order. "
    'Reply with JSON: {"useful": true or false, "words": "..."}'
)
_FILTER = (
    "You are given a query and facts that were found. Rewrite the query so that it asks only for what is "
    "still unknown: take out the part that is solved, put in what was found, and add no other words. "
    'Reply with JSON: {"query": "..."}'
)


@dataclass(frozen=True, slots=True)
class _Label:
    useful: bool
    words: str
    readable: bool


class EfficientRAG(CompactSystem):
    """Useful chunks come first, in the order in which they were found; then those labelled useless.

    The pool's metadata says which queries were asked, and how many replies of the model had no JSON
    (``malformed``; such a chunk counts as useless, such a filter ends the loop).
    """

    label = "EfficientRAG"

    def __init__(
        self,
        retriever: Retriever,
        chat: Chat,
        *,
        per_step: int = 10,
        steps: int = 4,
        words: int = 250,
        workers: int = 8,
    ) -> None:
        super().__init__(retriever)
        self.chat, self.per_step, self.steps = chat, per_step, steps
        self.words, self.workers = words, workers

    def _retrieve(self, question: str, k: int) -> Pool:
        query, queries, malformed = question, [question], 0
        useful: dict[str, Candidate] = {}
        useless: dict[str, Candidate] = {}
        first: Pool | None = None
        for _ in range(self.steps):
            found = self.retriever.retrieve(query, max(self.per_step, k) if first is None else self.per_step)
            first = first or found
            chunks = found.candidates[: self.per_step]
            labels = self._labels(query, chunks)
            malformed += sum(not label.readable for label in labels)
            infos = []
            for unit, label in zip(chunks, labels, strict=True):
                unscored = replace(unit, score=None)
                if not label.useful:
                    useless.setdefault(unit.id, unscored)
                    continue
                useful.setdefault(unit.id, unscored)
                useless.pop(unit.id, None)
                if label.words:
                    infos.append(label.words)
            if not infos:
                break
            following = self._next(query, infos)
            if following is None:
                malformed += 1
                break
            if following in queries:
                break
            query = following
            queries.append(query)
        assert first is not None  # noqa: S101 - steps is at least 1, told to the type checker
        rest = {u.id: replace(u, score=None) for u in first.candidates}
        units = list({**useful, **{i: u for i, u in useless.items() if i not in useful}, **rest}.values())
        units.sort(key=lambda unit: (unit.id not in useful, unit.id not in useless))
        return self._pool(
            question, units, k, first, queries=tuple(queries), useful=len(useful), malformed=malformed
        )

    def _labels(self, query: str, chunks: Sequence[Candidate]) -> list[_Label]:
        def label(unit: Candidate) -> _Label:
            asked = f"Query: {query}\n\nParagraph: {shown(unit, self.words)}"
            said = self._json(asked, _LABELER)
            if said is None:
                return _Label(useful=False, words="", readable=False)
            words = said.get("words")
            text = " ".join(map(str, words)) if isinstance(words, list) else str(words or "")
            return _Label(said.get("useful") in (True, "true", "True", "yes"), text.strip(), readable=True)

        labels: list[_Label] = all_replies(label, chunks, self.workers, self.chat)
        return labels

    def _next(self, query: str, infos: Sequence[str]) -> str | None:
        known = "\n".join(f"- {info}" for info in infos)
        said = self._json(f"Query: {query}\n\nFound:\n{known}", _FILTER)
        text = said.get("query") if said is not None else None
        return text.strip() if isinstance(text, str) and text.strip() else None

    def _json(self, asked: str, system: str) -> dict[str, Any] | None:
        """Return the object in the reply, which may end with it: what comes behind it costs time alone."""
        said = self.chat.complete(user(asked, system), max_tokens=96, stop=("}",)).text
        return json_in(said) or json_in(said + "}")
