"""Every training question as token ids, made once and kept in a cache file.

The exclusion check against MuSiQue dev runs here, so no training command can go round it.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import zlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer

from pagerag._files import write_atomic
from pagerag_lab.training import synthetic
from pagerag_lab.training.dated import dated
from pagerag_lab.training.examples import Example, load_multihop, load_reading
from pagerag_lab.training.exclusion import Exclusion

__all__ = ["Corpus", "Recipe", "Row", "build", "fold_of", "tokenizer_at"]

FOLDS = 5
CAPS = {"question": 80, "title": 20, "text": 220}


@dataclass(frozen=True)
class Recipe:
    """How many questions of each synthetic kind to make, and from which seed."""

    comparison: int = 8000
    triple: int = 15000
    cloze: int = 50000
    bridge: int = 30000
    dated: int = 0
    units: int = 20
    seed: int = 17


@dataclass(slots=True)
class Row:
    """One question as token ids. ``units`` holds (title, text) places in the corpus's string table."""

    id: str
    source: str
    kind: str
    weight: float
    labelled: bool
    question: list[int]
    titles: list[int]
    texts: list[int]
    positions: list[int]
    support: list[bool]
    answers: list[list[int]]
    unit_ids: list[str] = field(default_factory=list)
    order: list[int] = field(default_factory=list)
    """Unit indices by similarity to the question, best first; set by ``training.ranking``."""
    hard: list[tuple[int, int]] = field(default_factory=list)
    """(title, text) of sentences of other passages that look relevant; set by ``training.ranking``."""


@dataclass
class Corpus:
    """The string table and the rows; ``whole`` keeps the unfiltered train questions for prediction."""

    table: list[list[int]]
    rows: list[Row]
    whole: list[Row]
    report: dict[str, Any]
    strings: list[str] = field(default_factory=list)
    """The table again, a character for each token: a string is searched faster than a list."""

    def string(self, place: int) -> str:
        """The tokens at a place of the table as characters."""
        for tokens in self.table[len(self.strings) :]:
            self.strings.append("".join(map(chr, tokens)))
        return self.strings[place]


def fold_of(key: str) -> int:
    """The fold of a question, the same on every machine."""
    return zlib.crc32(key.encode()) % FOLDS


def tokenizer_at(path: Path) -> Tokenizer:
    """The base's tokenizer; control words inside text are read as text."""
    tokenizer = Tokenizer.from_file(str(path))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    tokenizer.encode_special_tokens = True
    return tokenizer


def build(data: Path, tokenizer: Path, recipe: Recipe, cache: Path) -> Corpus:
    """Load, exclude, make synthetic questions, tokenize; from the cache when nothing changed."""
    stamp = hashlib.sha256(json.dumps([asdict(recipe), CAPS, 4]).encode()).hexdigest()[:12]
    file = cache / f"corpus-{stamp}.json.gz"
    if not file.exists():
        cache.mkdir(parents=True, exist_ok=True)
        made = _make(data, tokenizer_at(tokenizer), recipe)
        packed = json.dumps(made, separators=(",", ":"), ensure_ascii=False).encode()
        write_atomic(file, gzip.compress(packed, 6, mtime=0))
    with gzip.open(file, "rt", encoding="utf-8") as handle:
        raw = json.load(handle)
    return Corpus(
        raw["table"], [Row(**r) for r in raw["rows"]], [Row(**r) for r in raw["whole"]], raw["report"]
    )


def _make(data: Path, tokenizer: Tokenizer, recipe: Recipe) -> dict[str, Any]:
    exclusion = Exclusion(data)
    whole = load_multihop(data)
    multihop = exclusion.keep(whole)
    reading = exclusion.keep(load_reading(data))
    wiki = [x for x in multihop if x.source == "2wiki"]
    musique = [x for x in multihop if x.source == "musique"]
    passages = [x for x in reading if x.source in {"nq", "xquad"} and len(x.units) > 3]
    seed = recipe.seed
    made: list[Example] = [
        *synthetic.steps(musique),
        *synthetic.wiki_steps(wiki),
        *synthetic.comparisons(wiki, recipe.comparison, seed),
        *synthetic.triples(data / "musique/train_openie.jsonl", musique, recipe.triple, seed),
        *synthetic.cloze([*multihop, *passages], recipe.cloze, seed),
        *synthetic.two_hop_cloze(multihop, recipe.bridge, seed),
        *dated([x for x in multihop if x.source != "musique"], recipe.dated, seed),
    ]
    kept = [*multihop, *reading, *(_trim(x, recipe.units) for x in exclusion.keep(made))]
    table = _Table()
    rows = [table.row(x) for x in kept]
    whole_rows = [table.row(x) for x in whole]
    counts: dict[str, int] = {}
    for row in rows:
        counts[row["source"]] = counts.get(row["source"], 0) + 1
    report = {"rows": counts, "excluded": {k: len(v) for k, v in sorted(exclusion.dropped.items())}}
    return {"table": table.encode(tokenizer), "rows": rows, "whole": whole_rows, "report": report} | (
        _questions(tokenizer, rows, whole_rows)
    )


def _trim(example: Example, limit: int) -> Example:
    """Keep the gold and, evenly, so many of the others that ``limit`` units are left."""
    from dataclasses import replace

    if len(example.units) <= limit:
        return example
    others = [u for u in example.units if not u.support]
    step = max(1, len(others) // max(1, limit - (len(example.units) - len(others))))
    kept = {u.id for u in others[::step]} | {u.id for u in example.units if u.support}
    return replace(example, units=tuple(u for u in example.units if u.id in kept))


class _Table:
    """Strings met so far, each once."""

    def __init__(self) -> None:
        self.places: dict[str, int] = {}

    def place(self, text: str) -> int:
        return self.places.setdefault(text, len(self.places))

    def row(self, x: Example) -> dict[str, Any]:
        return {
            "id": x.id,
            "source": x.source,
            "kind": x.kind,
            "weight": x.weight,
            "labelled": x.labelled,
            "question": x.question,
            "titles": [self.place(u.title) for u in x.units],
            "texts": [self.place(u.text) for u in x.units],
            "positions": [u.position for u in x.units],
            "support": [u.support for u in x.units],
            "answers": list(dict.fromkeys(x.answers)),
            "unit_ids": [u.id for u in x.units]
            if x.labelled and x.source in {"hotpotqa", "2wiki", "musique"}
            else [],
        }

    def encode(self, tokenizer: Tokenizer) -> list[list[int]]:
        return _encode(tokenizer, list(self.places), CAPS["text"])


def _encode(tokenizer: Tokenizer, texts: Sequence[str], cap: int) -> list[list[int]]:
    found: list[list[int]] = []
    for start in range(0, len(texts), 4096):
        batch = tokenizer.encode_batch(list(texts[start : start + 4096]), add_special_tokens=False)
        found.extend(encoding.ids[:cap] for encoding in batch)
    return found


def _questions(tokenizer: Tokenizer, *groups: list[dict[str, Any]]) -> dict[str, Any]:
    for rows in groups:
        ids = _encode(
            tokenizer, [row["question"].replace("[MASK]", "what") for row in rows], CAPS["question"]
        )
        for row, tokens in zip(rows, ids, strict=True):
            row["question"] = tokens
            row["answers"] = [a for a in _encode(tokenizer, row["answers"], 40) if a]
    return {}
