"""Every training question as token ids, made once and kept in a cache file.

The exclusion check against dev files runs here, so no training command can go round it.
"""

from __future__ import annotations

import hashlib
import json
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from tokenizers import Tokenizer

from pagerag.models.excerpts import Body, parts_of
from pagerag_lab.training import synthetic
from pagerag_lab.training.columns import Table, ragged, read_columns, split, write_columns
from pagerag_lab.training.dated import dated
from pagerag_lab.training.examples import Example, load_multihop, load_pools, load_reading, load_wide
from pagerag_lab.training.exclusion import Exclusion
from pagerag_lab.training.joined import joined
from pagerag_lab.training.spans import Place

__all__ = ["Corpus", "Recipe", "Row", "build", "fold_of", "load", "tokenizer_at"]

CAPS = {"question": 80, "title": 20, "text": 320}


@dataclass(frozen=True)
class Recipe:
    """How many questions of each synthetic kind to make, from which seed; whether ``wide`` data is read."""

    comparison: int = 8000
    triple: int = 15000
    cloze: int = 50000
    bridge: int = 30000
    dated: int = 0
    units: int = 20
    joined: bool = False
    """Whether pairs of questions are joined into one."""
    seed: int = 17
    wide: bool = True


@dataclass(slots=True)
class Row:
    """One question as token ids. ``titles`` and ``texts`` are places in the corpus's table.

    ``groups`` says which units are of one document, ``bearing`` which hold the answer (empty: where the
    answer stands; -1: unknown), ``hidden`` which are not shown in training. ``source`` is empty where the row
    is only predicted.
    """

    id: str
    source: str
    base: str
    kind: str
    weight: float
    labelled: bool
    complete: bool
    question: list[int]
    titles: list[int]
    texts: list[int]
    positions: list[int]
    groups: list[int]
    support: list[int]
    bearing: list[int]
    hidden: list[int]
    spots: list[int]
    """Where the answer stands, if known: unit, first and last token, part of the answer; place by place."""
    answers: list[list[int]]
    order: list[int] = field(default_factory=list)
    """Unit indices by similarity to the question, best first; set by ``training.ranking``."""
    hard: list[tuple[int, int]] = field(default_factory=list)
    """(title, text) of sentences of other passages that look relevant; set by ``training.ranking``."""


NUMBERS = {
    "question": np.uint16,
    "titles": np.int32,
    "texts": np.int32,
    "positions": np.int32,
    "groups": np.int16,
    "support": np.int8,
    "bearing": np.int8,
    "hidden": np.int16,
    "spots": np.int16,
}
"""The columns of a row that are lists of numbers."""


@dataclass
class Corpus:
    """The table of texts and the rows.

    ``whole`` keeps the unfiltered questions of the benchmarks, ``pools`` the pools that are predicted, file
    by file.
    """

    table: Table
    parts: Table
    rows: list[Row]
    whole: list[Row]
    pools: list[Row]
    report: dict[str, Any]
    strings: dict[int, str] = field(default_factory=dict)
    """Texts of the table with a character for each token: a string is searched faster than a list."""

    def string(self, place: int) -> str:
        """Return the tokens at a place of the table as characters."""
        if place not in self.strings:
            self.strings[place] = "".join(map(chr, self.table[place]))
        return self.strings[place]

    def body(self, place: int) -> Body:
        """Return a text with its parts."""
        return Body(self.table[place], self.parts[place])

    def add(self, places: Sequence[int]) -> int:
        """Add the text that these texts make one behind the other; returns its place."""
        ids: list[int] = []
        parts: list[int] = []
        for place in places:
            parts += [len(ids) + part for part in self.parts[place]]
            ids += self.table[place]
        cap = CAPS["text"]
        self.parts.append([part for part in parts if part < cap] or [0])
        return self.table.append(ids[:cap])


def fold_of(base: str, folds: int) -> int:
    """Return the fold of a question, the same on every machine."""
    return zlib.crc32(base.encode()) % folds


def tokenizer_at(path: Path) -> Tokenizer:
    """Return the base's tokenizer; control words inside text are read as text."""
    tokenizer = Tokenizer.from_file(str(path))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    tokenizer.encode_special_tokens = True
    return tokenizer


def build(data: Path, tokenizer: Path, recipe: Recipe, cache: Path, pools: Path | None = None) -> Corpus:
    """Load, exclude, make synthetic questions, tokenize; from the cache when nothing changed.

    ``pools`` is the folder that ``pagerag_lab.tune.train_pools`` wrote.
    """
    files = [] if pools is None else [(p.name, p.stat().st_size) for p in sorted(pools.glob("*.jsonl.gz"))]
    stamp = hashlib.sha256(json.dumps([asdict(recipe), CAPS, files, 10]).encode()).hexdigest()[:12]
    file = cache / f"corpus-{stamp}.xz"
    if not file.exists():
        cache.mkdir(parents=True, exist_ok=True)
        _make(data, tokenizer_at(tokenizer), recipe, pools, file)
    return load(file)


def load(file: Path) -> Corpus:
    """Read a corpus that ``build`` wrote."""
    columns, facts = read_columns(file)
    groups: dict[str, list[Row]] = {}
    for name in ("rows", "whole", "pools"):
        kept = [n for n in NUMBERS if f"{name}.{n}" in columns]  # a file of before has no spots
        lists = {n: split(columns[f"{name}.{n}"], columns[f"{name}.{n}.length"]) for n in kept}
        lists |= {n: [[] for _ in facts[name]] for n in NUMBERS if n not in lists}
        groups[name] = [
            Row(*told, **dict[str, Any]({n: lists[n][i] for n in NUMBERS} | {"answers": answers}))
            for i, (*told, answers) in enumerate(facts[name])
        ]
    table, parts = (Table(columns[n], columns[f"{n}.length"]) for n in ("table", "parts"))
    # A part's beginning is kept as the length of the part before it: small numbers travel well.
    starts = np.concatenate([[0], np.cumsum(parts.flat, dtype=np.int64)])
    counts = np.diff(parts.ends, prepend=0)
    parts.flat = (starts[:-1] - np.repeat(starts[parts.ends - counts], counts)).astype(np.uint16)
    return Corpus(table, parts, groups["rows"], groups["whole"], groups["pools"], facts["report"])


def _make(data: Path, tokenizer: Tokenizer, recipe: Recipe, pools: Path | None, file: Path) -> None:
    exclusion = Exclusion(data)
    whole = load_multihop(data)
    multihop = exclusion.keep(whole)
    reading = exclusion.keep(load_reading(data, exclusion.questions))
    wide = exclusion.keep(load_wide(data)) if recipe.wide else []
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
    kept = [*multihop, *reading, *wide, *(_trim(x, recipe.units) for x in exclusion.keep(made))]
    found = list(load_pools(pools)) if pools else []
    if recipe.joined:
        found += joined([x for x in found if x.source and not exclusion.touches(x)], seed)
    writer = _Writer()
    groups = {
        "rows": [writer.row(x) for x in kept],
        "whole": [writer.row(x) for x in whole],
        "pools": [writer.row(*_seen(x, exclusion)) for x in found],
    }
    counts = Counter(row["source"] or "predicted" for name in ("rows", "pools") for row in groups[name])
    excluded = {k: len(v) for k, v in sorted(exclusion.dropped.items())}
    report = {"rows": dict(counts), "excluded": excluded}
    writer.write(tokenizer, groups, report, file)


def _seen(example: Example, exclusion: Exclusion) -> tuple[Example, list[int]]:
    """Return a pool and the places of units that training may not show.

    Without a source where none of it may be.
    """
    if example.source and exclusion.touches(example):
        exclusion.dropped.setdefault(f"{example.source}: pool", []).append(example.id)
        example = replace(example, source="")
    return example, [i for i, u in enumerate(example.units) if not u.support and exclusion.known(u.text)]


def _trim(example: Example, limit: int) -> Example:
    """Keep the gold and, evenly, so many of the others that ``limit`` units are left."""
    if len(example.units) <= limit:
        return example
    others = [u for u in example.units if not u.support]
    step = max(1, len(others) // max(1, limit - (len(example.units) - len(others))))
    kept = {u.id for u in others[::step]} | {u.id for u in example.units if u.support}
    return replace(example, units=tuple(u for u in example.units if u.id in kept))


class _Writer:
    """Strings met so far, each once, and the rows that use them."""

    def __init__(self) -> None:
        self.places: dict[str, int] = {}

    def place(self, text: str) -> int:
        return self.places.setdefault(text, len(self.places))

    def row(self, x: Example, hidden: Sequence[int] = ()) -> dict[str, Any]:
        documents: dict[str, int] = {}
        return {
            "id": x.id,
            "source": x.source,
            "base": x.base or x.id,
            "kind": x.kind,
            "weight": x.weight,
            "labelled": x.labelled,
            "complete": x.complete,
            "question": x.question.replace("[MASK]", "what"),
            "titles": [self.place(u.title) for u in x.units],
            "texts": [self.place(u.text) for u in x.units],
            "positions": [min(u.position, 1 << 30) for u in x.units],
            "groups": [documents.setdefault(u.document or u.title or u.id, len(documents)) for u in x.units],
            "support": [int(u.support) for u in x.units],
            "bearing": [u.bearing for u in x.units] if x.bearings else [],
            "hidden": list(hidden),
            "spots": [x.spots, [self.place(x.units[place.text].text) for place in x.spots]],
            "answers": list(dict.fromkeys(x.answers)),
        }

    def write(
        self, tokenizer: Tokenizer, groups: dict[str, list[dict[str, Any]]], report: Any, file: Path
    ) -> None:
        """Tokenize everything and write the file."""
        told = ("id", "source", "base", "kind", "weight", "labelled", "complete")
        table: list[list[int]] = []
        parts: list[list[int]] = []
        asked = {text for dicts in groups.values() for row in dicts for text in row["spots"][1]}
        where: dict[int, list[tuple[int, int]]] = {}
        for text, (ids, offsets) in zip(self.places, _encoded(tokenizer, self.places), strict=True):
            if len(table) in asked:
                where[len(table)] = offsets[: CAPS["text"]]
            starts = parts_of(text, offsets[: CAPS["text"]])
            table.append(ids[: CAPS["text"]])
            parts.append(np.diff([*starts, len(table[-1])]).tolist())
        columns: dict[str, Any] = {}
        for name, rows in (("table", table), ("parts", parts)):
            columns[name], columns[f"{name}.length"] = ragged(rows, np.uint16)
        facts: dict[str, Any] = {"report": report}
        for name, dicts in groups.items():
            questions = _encoded(tokenizer, [row["question"] for row in dicts])
            for row, (ids, _) in zip(dicts, questions, strict=True):
                row["question"] = ids[: CAPS["question"]]
                row["spots"] = [
                    n for place, text in zip(*row["spots"], strict=True) for n in _spot(place, text, where)
                ]
            facts[name] = [
                [*(row[n] for n in told), [i[:40] for i, _ in _encoded(tokenizer, row["answers"]) if i]]
                for row in dicts
            ]
            for column, kind in NUMBERS.items():
                flat, lengths = ragged([row[column] for row in dicts], kind)
                columns[f"{name}.{column}"], columns[f"{name}.{column}.length"] = flat, lengths
        write_columns(file, columns, facts)


def _spot(place: Place, text: int, where: dict[int, list[tuple[int, int]]]) -> list[int]:
    """Return a place as unit, first token, last token and part; nothing where the text is cut before it."""
    tokens = [n for n, (low, high) in enumerate(where[text]) if low < place.end and high > place.start]
    if not tokens or where[text][tokens[-1]][1] < place.end:
        return []
    return [place.text, tokens[0], tokens[-1], place.part]


def _encoded(tokenizer: Tokenizer, texts: Iterable[str]) -> Iterator[tuple[list[int], list[tuple[int, int]]]]:
    """Return the tokens of each text with their places."""
    given = list(texts)
    for start in range(0, len(given), 4096):
        for encoding in tokenizer.encode_batch(given[start : start + 4096], add_special_tokens=False):
            yield encoding.ids, encoding.offsets
