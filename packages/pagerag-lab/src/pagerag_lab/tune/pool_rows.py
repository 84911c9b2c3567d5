"""Make the rows of one train question: its pools, one without its evidence, one of another question."""

from __future__ import annotations

import re
import unicodedata
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cache
from random import Random
from typing import Any

from pagerag.protocols import Encoder
from pagerag.retrieve import BM25Retriever, DenseRetriever
from pagerag.retrieve.encoders import encoder
from pagerag.retrieve.retrievers import reciprocal_rank_fusion
from pagerag.units import Candidate

__all__ = ["SIZE", "Row", "as_units", "chance", "minilm", "plain", "pool_rows", "ranked"]

SIZE = 20
"""Units of a pool."""
_STOP = frozenset(
    ("a", "an", "the", "is", "are", "was", "were", "be", "been", "do", "does", "did", "of", "in", "on", "at",
     "to", "for", "and", "or", "with", "by", "from", "that", "which", "who")
)  # fmt: skip

Row = dict[str, Any]


@cache
def minilm() -> Encoder:
    """Return the encoder of the dense pools, opened once."""
    return encoder("minilm", cache=True)


def chance(*key: object) -> Random:
    """Return a source of chance that depends on ``key`` alone."""
    return Random(zlib.crc32(":".join(map(str, key)).encode()))


def plain(text: str) -> str:
    """Return a question in the form in which two spellings of it meet."""
    folded = unicodedata.normalize("NFKC", text).lower()
    return " ".join(re.findall(r"[^\W_]+", folded))


def as_dict(unit: Candidate) -> Row:
    """Return what a row keeps of a candidate."""
    return {
        "id": unit.id,
        "title": unit.title,
        "text": unit.text,
        "source": unit.source,
        "position": unit.position,
        "score": unit.score,
    }


def as_units(rows: Iterable[Row]) -> list[Candidate]:
    """Return the candidates of a row."""
    return [Candidate(r["id"], r["text"], r.get("title"), r.get("source"), r.get("position")) for r in rows]


def ranked(question: str, units: Sequence[Candidate], by: str) -> list[Candidate]:
    """Order units as BM25, MiniLM or both together would; BM25 leaves what shares no word at the end."""
    if by == "minilm":
        return list(DenseRetriever(units, minilm()).retrieve(question, len(units)).candidates)
    found = BM25Retriever(units).retrieve(question, len(units)).candidates
    seen = {unit.id for unit in found}
    lexical = [*found, *(replace(unit, score=0.0) for unit in units if unit.id not in seen)]
    if by == "bm25":
        return lexical
    dense = ranked(question, units, "minilm")
    fused = reciprocal_rank_fusion([[u.id for u in lexical], [u.id for u in dense]])
    known = {unit.id: unit for unit in units}
    return [replace(known[key], score=value) for key, value in fused.items()]


def keywords(question: str) -> str:
    """Return a question as people type it into a search box."""
    words = [w for w in plain(question).split() if w not in _STOP]
    return " ".join(words) or question


def dressed(row: Row) -> Row:
    """Vary how a pool looks: without titles, without scores, the question as key words."""
    rng = chance("dress", row["id"])
    row = dict(row, candidates=[dict(c) for c in row["candidates"]])
    if rng.random() < 0.2:
        for unit in row["candidates"]:
            unit["title"] = None
    if rng.random() < 0.2:
        for unit in row["candidates"]:
            unit["score"] = None
        row["encoder"] = None
    if rng.random() < 0.12:
        row["question"] = keywords(row["question"])
    elif rng.random() < 0.1:
        row["question"] = row["question"].lower().rstrip("?")
    return row


def pool_rows(base: Row, orders: dict[str, list[Candidate]], stranger: list[Candidate]) -> Iterator[Row]:
    """Make the rows of one question.

    A pool for each retriever, one without evidence, one of another question.
    """
    gold = set(base["ids"])
    rng = chance("rows", base["id"])
    names = sorted(orders)
    for name in names:
        chosen = orders[name][: base.get("size", SIZE)]
        row = _row(base, f"{base['id']}~{name}", name, chosen, gold)
        yield row if name == names[0] else dressed(row)
    name = rng.choice(names)
    rest = [unit for unit in orders[name] if unit.id not in gold][: base.get("size", SIZE)]
    if gold and len(rest) > 1:
        yield dressed(_row(base, f"{base['id']}~removed", name, rest, set()))
    if stranger:
        yield _row(
            base, f"{base['id']}~stranger", "none", [replace(u, score=None) for u in stranger[:SIZE]], set()
        )


def _row(base: Row, key: str, retriever: str, units: Sequence[Candidate], gold: set[str]) -> Row:
    inside = [unit.id for unit in units if unit.id in gold]
    facts = base.get("facts")
    total = len(facts) if facts is not None else base["total"]
    present = set(inside)
    whole = all(present & set(f["ids"]) for f in facts) if facts is not None else len(inside) >= total
    if facts is None and base.get("sets"):
        whole = any(set(one) <= present for one in base["sets"])
    return {
        "id": key,
        "base": base["base"],
        "set": base["set"],
        "question": base["question"],
        "unit": base["unit"],
        "kind": base["kind"],
        "retriever": retriever,
        "encoder": retriever if retriever in ("minilm",) else None,
        "candidates": [as_dict(unit) for unit in units],
        "gold": inside,
        "total": total,
        "complete": bool(total and whole),
        **({"facts": facts} if facts is not None else {}),
        **({"answer": base["answer"], "answer_re": base.get("answer_re")} if "answer" in base else {}),
    }
