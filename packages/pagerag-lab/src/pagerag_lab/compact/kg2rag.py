"""KG2RAG, re-implemented from a description of its algorithm, without its code.

Seeds from a retriever; one hop over the triples of the seeds to documents they name; the triples of the pool
as a graph weighted by unit scores; of each component a maximum spanning tree, whose units are read together;
the components best for the question first. Zhu et al., NAACL 2025.
Ours: any scorer in place of the cross-encoder; triples from an OpenIE dump or a chat model.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

from pagerag.protocols import Retriever
from pagerag.text import tokenize
from pagerag.units import Candidate, Pool, Relation
from pagerag_lab.compact._base import CompactSystem, shown
from pagerag_lab.compact.chat import Chat, user

__all__ = ["KG2RAG", "ChatTriples", "OpenTriples"]

Triple = tuple[str, str, str]
Extractor = Callable[[Candidate], Sequence[Triple]]
Scorer = Callable[[str, str], float]
_TRIPLE = re.compile(r"<([^<>#]+)##([^<>#]+)##([^<>#]+)>")
_NOTHING = frozenset({"no", "unknown", "null", "none"})


class OpenTriples:
    """Triples that were extracted before: of a unit's title and text, as in an OpenIE dump."""

    def __init__(self, rows: Mapping[tuple[str, str], Sequence[Sequence[str]]]) -> None:
        self.rows = rows

    def __call__(self, unit: Candidate) -> list[Triple]:
        """Return the triples of a unit."""
        found = self.rows.get((unit.title or "", unit.text), ())
        return [(str(h), str(r), str(t)) for h, r, t in (row for row in found if len(row) == 3)]


class ChatTriples:
    """Triples a chat model extracts from a unit, once; a triple must be in the words of the text."""

    def __init__(self, chat: Chat, *, words: int = 250, most: int = 128) -> None:
        """Take a chat model; ``most`` tokens are generated for a unit: about eight triples."""
        self.chat, self.words, self.most = chat, words, most
        self._known: dict[tuple[str | None, str], list[Triple]] = {}

    def __call__(self, unit: Candidate) -> list[Triple]:
        """Return the triples that the model finds in a unit."""
        key = (unit.title, unit.text)
        if key not in self._known:
            text = shown(unit, self.words)
            asked = (
                "Extract the facts that the text states, as triples <head##relation##tail>, one a line.\n"
                f"Text: {text}"
            )
            said = self.chat.complete(user(asked), max_tokens=self.most, stop=("\n\n",)).text
            self._known[key] = [t for t in _triples(said) if _stated(t, text)]
        return self._known[key]


@dataclass(frozen=True, slots=True)
class _Edge:
    head: str
    tail: str
    unit: str | None
    weight: float


class KG2RAG(CompactSystem):
    """``extract`` gives a unit's triples; ``lookup`` the units of a title (a store and MemoryCorpus have it).

    ``scorer`` stands for the cross-encoder: (question, text) to a number. The default is the share of the
    question's words that the text has.
    """

    label = "KG2RAG"

    def __init__(
        self,
        retriever: Retriever,
        extract: Extractor,
        *,
        lookup: Callable[[str], Sequence[Candidate]] | None = None,
        scorer: Scorer | None = None,
        seeds: int = 10,
        k: int = 5,
    ) -> None:
        super().__init__(retriever)
        self.extract, self.scorer, self.seeds, self.k = extract, scorer or coverage, seeds, k
        self.lookup = lookup or getattr(retriever, "lookup_title", None)

    def _retrieve(self, question: str, k: int) -> Pool:
        first = self.retriever.retrieve(question, max(self.seeds, k))
        seeds = _scored(first.candidates[: self.seeds])
        facts: dict[str, Sequence[Triple]] = {}
        pool = self._expand(seeds, facts)
        for unit in first.candidates[self.seeds :]:
            pool.setdefault(unit.id, replace(unit, score=0.0))
        for unit in pool.values():
            facts.setdefault(unit.id, self.extract(unit))
        chosen = self._organise(question, pool, facts)
        rest = sorted((u for u in pool.values() if u.id not in chosen), key=lambda u: -(u.score or 0.0))
        # The order is no longer one of scores: units stand with the facts they share.
        units = [replace(u, score=None) for u in (*(pool[i] for i in chosen), *rest)]
        made = self._pool(question, units, k, first, organised=len(chosen))
        kept = {u.id for u in made.candidates}
        relations = [
            Relation(h, r, t, (i,)) for i, rows in facts.items() if i in kept for h, r, t in rows if h != t
        ]
        return replace(made, relations=tuple(relations))

    def _expand(self, seeds: Sequence[Candidate], facts: dict[str, Sequence[Triple]]) -> dict[str, Candidate]:
        """Return the seeds and the units of documents that their triples name, scored by the seeds."""
        pool = {unit.id: unit for unit in seeds}
        if self.lookup is None:
            return pool
        have = {_key(unit.title) for unit in seeds if unit.title}
        named: dict[str, tuple[str, list[float]]] = {}
        for unit in seeds:
            facts[unit.id] = self.extract(unit)
            for name in {end for head, _, tail in facts[unit.id] for end in (head, tail)}:
                if _key(name) and _key(name) not in have:
                    named.setdefault(_key(name), (name, []))[1].append(unit.score or 0.0)
        mean = sum(unit.score or 0.0 for unit in seeds) / len(seeds) if seeds else 0.0
        for name, scores in named.values():
            for unit in self.lookup(name):
                score = (sum(scores) + mean) / (len(scores) + 1)
                pool.setdefault(unit.id, replace(unit, score=score))
        return pool

    def _organise(
        self, question: str, pool: Mapping[str, Candidate], facts: Mapping[str, Sequence[Triple]]
    ) -> list[str]:
        """Return the ids of the spanning trees, best component first, while they fit; then single units."""
        edges = [
            _Edge(_key(h), _key(t), name, pool[name].score or 0.0)
            for name in pool
            for h, _, t in facts.get(name, ())
            if _key(h) and _key(t) and _key(h) != _key(t)
        ]
        asked = sorted({end for e in edges for end in (e.head, e.tail) if mentioned(end, question)})
        edges += [_Edge(a, b, None, 0.0) for a, b in pairwise(asked)]
        components = []
        for tree in spanning_trees(edges):
            units = list(dict.fromkeys(edge.unit for edge in tree if edge.unit is not None))
            if units:
                text = " ".join(shown(pool[name], 10_000) for name in units)
                components.append((self.scorer(question, text), units))
        components.sort(key=lambda item: -item[0])
        chosen: dict[str, None] = {}
        for _, units in components:
            if len(chosen.keys() | set(units)) > self.k:
                break
            chosen |= dict.fromkeys(units)
        if len(chosen) < self.k // 2:
            single = sorted(pool.values(), key=lambda u: -self.scorer(question, shown(u, 10_000)))
            for unit in single:
                if len(chosen) >= self.k:
                    break
                chosen[unit.id] = None
        return list(chosen)


def spanning_trees(edges: Sequence[_Edge]) -> list[list[_Edge]]:
    """Return a maximum spanning tree of each connected component, largest first (Kruskal)."""
    parent: dict[str, str] = {}

    def root(name: str) -> str:
        parent.setdefault(name, name)
        while parent[name] != name:
            parent[name] = parent[parent[name]]
            name = parent[name]
        return name

    kept = []
    for edge in sorted(edges, key=lambda e: -e.weight):
        a, b = root(edge.head), root(edge.tail)
        if a != b:
            parent[a] = b
            kept.append(edge)
    trees: dict[str, list[_Edge]] = {}
    for edge in kept:
        trees.setdefault(root(edge.head), []).append(edge)
    return sorted(trees.values(), key=len, reverse=True)


def mentioned(name: str, question: str, least: float = 0.9) -> bool:
    """Tell whether the question has the name: by its share of three-letter runs, blanks aside."""
    grams = _grams(name)
    return bool(grams) and len(grams & _grams(question)) / len(grams) >= least


def coverage(question: str, text: str) -> float:
    """Return the share of the question's different words that the text has."""
    asked = set(_words(question))
    return len(asked & set(_words(text))) / len(asked) if asked else 0.0


def _words(text: str) -> list[str]:
    return [str(token).lower() for token in tokenize(text)]


def _grams(text: str) -> set[str]:
    joined = "".join(text.lower().split())
    return {joined[i : i + 3] for i in range(max(len(joined) - 2, 0))} or ({joined} if joined else set())


def _key(name: str | None) -> str:
    return " ".join((name or "").lower().split())


def _scored(units: Sequence[Candidate]) -> list[Candidate]:
    """Return units with a score in [0, 1] each: their own, scaled over the seeds, or one over the rank."""
    values = [unit.score for unit in units]
    if any(value is None for value in values) or not values:
        return [replace(unit, score=1 / (rank + 1)) for rank, unit in enumerate(units)]
    numbers = [value or 0.0 for value in values]
    low, high = min(numbers), max(numbers)
    span = (high - low) or 1.0
    return [replace(unit, score=(n - low) / span) for unit, n in zip(units, numbers, strict=True)]


def _triples(text: str) -> list[Triple]:
    found = []
    for match in _TRIPLE.finditer(text):
        head, relation, tail = (part.strip() for part in match.groups())
        if head.lower() != tail.lower() and not ({head.lower(), relation.lower(), tail.lower()} & _NOTHING):
            found.append((head, relation, tail))
    return found


def _stated(triple: Triple, text: str) -> bool:
    lower = text.lower()
    return triple[1].lower() in lower or triple[2].lower() in lower


def open_triples(rows: Sequence[Mapping[str, Any]]) -> OpenTriples:
    """Read rows with ``title``, ``text`` and ``extracted_triples``."""
    return OpenTriples(
        {(str(r.get("title") or ""), str(r["text"])): r.get("extracted_triples") or () for r in rows}
    )
