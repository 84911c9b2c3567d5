"""``pagerag evaluate``: measure on a benchmark file."""

from __future__ import annotations

import argparse
import os
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pagerag.cli.console import OK, PARTIAL, UsageError, note, paint, print_json
from pagerag.cli.options import add_engine, hands_of
from pagerag.errors import MissingExtraError

if TYPE_CHECKING:
    from pagerag_lab.runs.engine import Task

HELP = "Measure promotion (or a rival) on a benchmark file; resumable, and every number can be traced."

EXAMPLES = """\
examples:
  pagerag evaluate --dataset hotpotqa --data dev.json --retriever minilm --mode sentence --out runs/hotpotqa
  pagerag evaluate --dataset musique --data dev.jsonl --retriever bm25 --strategy plain --out runs/bm25
  pagerag evaluate --dataset open --data q.jsonl --corpus corpus.jsonl --retriever hybrid --out runs/open
  pagerag evaluate --dataset hotpotqa --data dev.json --corpus contexts --mode document --out runs/pooled
  pagerag evaluate --dataset pools --data wide/dev --retriever bm25 --out runs/pools
  pagerag evaluate --dataset documents --data documents/dev --out runs/documents

retrievers: bm25, wordllama, minilm, minilm-fp32, hybrid, A+B (fused), late:minilm, openai:MODEL@URL,
  sentence-transformers:MODEL, file:POOLS.jsonl
strategies: default, learned, formula (promotion); plain, plain:N, adaptive-k, mmr, mmr:L, linking, ppr,
  cross-encoder:MODEL
exit code: 0, or 3 when some questions failed (each is a row of predictions.jsonl with its error)
"""

ABLATIONS = (
    "support_scoring",
    "minimal_selection",
    "query_alignment",
    "provenance_reliability",
    "bridge_specificity",
    "path_quality",
)


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    add = parser.add_argument
    add(
        "--dataset",
        required=True,
        help="hotpotqa, musique, 2wikimultihopqa, flashrag, beir, open, pools (questions with their own "
        "pools) or documents (corpora of files with questions about them)",
    )
    add(
        "--data",
        required=True,
        metavar="FILE",
        help="the benchmark's file, plain or .gz (BEIR, documents: its folder; pools: a file or a folder)",
    )
    add(
        "--retriever",
        default="minilm",
        help="who makes the pool (default: minilm; pools: given keeps its order)",
    )
    add("--mode", choices=("sentence", "paragraph", "document"), help="the unit (default: the dataset's own)")
    add("--pool", type=int, default=20, metavar="N", help="units in the expanded pool (default: 20)")
    add("--k", type=int, default=5, help="the reader's budget in units (default: 5)")
    add("--limit", type=int, metavar="N", help="only the first N questions")
    add("--strategy", default="default", help="who chooses from the pool (default: promotion's default)")
    add(
        "--ablate",
        action="append",
        default=[],
        choices=ABLATIONS,
        help="remove a part of promotion; repeatable",
    )
    add(
        "--support",
        metavar="NAME",
        help="a support encoder as one more signal: 'default' is ours with all networks that are installed, "
        "'small' its small network alone, as pagerag ask takes it; else a folder of models",
    )
    add(
        "--reader",
        metavar="NAME",
        help="also answer and score: extractive, smollm2, chat, ... (default: no answers)",
    )
    add("--read", choices=("auto", "core", "filled"), default="auto", help="the context that the reader sees")
    add("--corpus", metavar="FILE", help="open setting: a corpus file, a BEIR folder, or 'contexts'")
    add("--noise", type=int, default=0, metavar="M", help="append M distractor documents to each pool")
    add("--seed", type=int, default=20, help="for the distractors (default: 20)")
    add("--no-explain", action="store_true", help="keep no texts and explanations for pagerag report")
    add("--out", required=True, metavar="DIR", help="where the run lives; start again to resume")
    add("--fresh", action="store_true", help="discard what DIR holds")
    add_engine(parser)
    add(
        "--chunk", type=int, default=32, metavar="N", help="questions per file of finished work (default: 32)"
    )
    add("--json", action="store_true", help="print result.json instead of a summary")


def run(args: argparse.Namespace) -> int:
    """Run, then print the summary."""
    if args.dataset == "pools":
        return _run_pools(args)
    if args.dataset == "documents":
        return _run_documents(args)
    from pagerag_lab.datasets.registry import dataset
    from pagerag_lab.runs.benchmark import run as run_all
    from pagerag_lab.runs.config import RunConfig

    config = RunConfig(
        dataset=args.dataset,
        data=os.fspath(args.data),
        retriever=args.retriever,
        mode=args.mode or dataset(args.dataset).mode,
        pool=args.pool,
        k=args.k,
        limit=args.limit,
        strategy=args.strategy,
        ablate=tuple(args.ablate),
        support=_support(args),
        reader=args.reader,
        read=args.read,
        corpus=args.corpus,
        noise=args.noise,
        seed=args.seed,
        explain=not args.no_explain,
        chunk=args.chunk,
    )
    with hands_of(args) as hands:
        result = run_all(
            config, args.out, workers=hands, fresh=args.fresh, progress=Meter("evaluate"), say=note
        )
    if args.json:
        print_json(result)
    else:
        print(summary(result))
        note(f"written: {args.out}/result.json, predictions.jsonl, official.json(l)")
    return PARTIAL if result["errors"] else OK


def _run_pools(args: argparse.Namespace) -> int:
    """Run over questions with their own pools, then print one row per set."""
    from pagerag_lab.reproduce.breadth import draw_reliability, sets_table, summary_table
    from pagerag_lab.runs.pool_sets import PoolSetsTask

    _refuse(args, "pools", ("mode", "reader", "corpus", "noise"))
    task = PoolSetsTask(
        data=os.fspath(args.data),
        retriever=args.retriever,
        strategy=args.strategy,
        support=_support(args),
        pool=args.pool,
        k=args.k,
        limit=args.limit,
        ablate=tuple(args.ablate),
        chunk=args.chunk,
    )
    result = _execute(args, task)
    label = args.strategy if task.support is None else f"{args.strategy} + support"
    drawn = ", reliability.svg"
    try:
        draw_reliability(result, Path(args.out, "reliability.svg"), f"{label}, {args.retriever} order")
    except MissingExtraError:  # the figures are the same without their picture
        drawn = ""
    if args.json:
        print_json(result)
    else:
        print(sets_table({label: result}).to_markdown())
        print(summary_table({label: result}).to_markdown())
        note(f"written: {args.out}/result.json, predictions.jsonl{drawn}")
    return _told_failures(result)


def _execute(args: argparse.Namespace, task: Task) -> dict[str, Any]:
    """Run a task as the options say: where, by how many hands, anew or going on."""
    from pagerag_lab.runs.engine import execute

    with hands_of(args) as hands:
        return execute(task, args.out, workers=hands, fresh=args.fresh, progress=Meter("evaluate"), say=note)


def _told_failures(result: dict[str, Any]) -> int:
    """Say how many questions failed: a table alone would show them as not found. Return the exit code."""
    if result["errors"]:
        note(f"{result['errors']} questions failed; predictions.jsonl has each one's error")
        return PARTIAL
    return OK


def _run_documents(args: argparse.Namespace) -> int:
    """Index corpora of files, ask their questions, then print evidence by stage and answers."""
    from pagerag_lab.reproduce.documents import document_tables
    from pagerag_lab.runs.documents import DocumentsTask, index_corpora

    _refuse(args, "documents", ("mode", "corpus", "noise", "ablate"))
    data = os.fspath(args.data)
    wanted = DocumentsTask(
        data=data,
        stores="",
        reader=args.reader or "auto",
        support=args.support or "auto",
        pool=args.pool,
        k=args.k,
        limit=args.limit,
        chunk=min(args.chunk, 8),
    )
    task = replace(wanted, stores=os.fspath(index_corpora(data, say=note)))
    result = _execute(args, task)
    if args.json:
        print_json(result)
    else:
        print("\n".join(table.to_markdown() for table in document_tables(result)))
        note(f"written: {args.out}/result.json, predictions.jsonl")
    return _told_failures(result)


def _support(args: argparse.Namespace) -> str | None:
    """Return the support encoder that was named; ``none`` is the same as naming none."""
    return None if args.support in (None, "none") else str(args.support)


def _refuse(args: argparse.Namespace, dataset: str, options: tuple[str, ...]) -> None:
    """Refuse options that mean nothing for a dataset, instead of passing over them."""
    for name in options:
        if getattr(args, name):
            raise UsageError(f"--{name} says nothing for --dataset {dataset}; leave it out")


class Meter:
    """Progress on stderr: count, rate and time left."""

    def __init__(self, label: str) -> None:
        self.label, self.start, self.shown = label, time.monotonic(), 0.0

    def __call__(self, done: int, total: int) -> None:
        """Show how far the run is."""
        now = time.monotonic()
        live = sys.stderr.isatty()
        if done < total and now - self.shown < (0.1 if live else 10.0):
            return
        self.shown = now
        rate = max(done, 1) / max(now - self.start, 1e-9)
        text = f"{self.label}: {done:,}/{total:,} questions · {rate:,.1f}/s"
        if done < total:
            left = round((total - done) / rate)
            text += f" · {left // 60}:{left % 60:02d} left"
        sys.stderr.write(f"\r\033[K{text}" + ("\n" if done >= total else "") if live else f"{text}\n")
        sys.stderr.flush()


def summary(result: dict[str, object]) -> str:
    """Return the result as a short table."""
    metrics, baseline = result["metrics"], result["baseline"]
    assert isinstance(metrics, dict)  # noqa: S101 - our own result
    assert isinstance(baseline, dict)  # noqa: S101
    config = result["config"]
    assert isinstance(config, dict)  # noqa: S101
    lines = [
        paint(
            f"{config['dataset']} · {config['mode']} units · pool {config['retriever']} top-{config['pool']}"
            f" · {config['strategy']} · N = {result['n']}",
            "bold",
        ),
        f"{'':22}{'plain top-k':>12}{'selected':>12}",
    ]
    shown = (
        ("Sup F1, core", "sup_f1_filled", "sup_f1_core"),
        ("Sup F1, filled", "sup_f1_filled", "sup_f1_filled"),
        ("Recall@5", "recall_at_5", "recall_at_5"),
        ("Full recall@5", "full_recall_at_5", "full_recall_at_5"),
        ("Ans F1", "ans_f1", "ans_f1"),
    )
    for label, plain, ours in shown:
        if metrics.get(ours) is not None:
            lines.append(f"{label:22}{100 * baseline[plain]:12.2f}{100 * metrics[ours]:12.2f}")
    lines.append(
        f"ceiling of filled {100 * metrics['ceiling_filled']:.2f}"
        f" · mean units in core {result['mean_units_core']:.2f} · errors {result['errors']}"
    )
    return "\n".join(lines)
