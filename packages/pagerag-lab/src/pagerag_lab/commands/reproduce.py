"""``pagerag reproduce``: regenerate the paper's tables and figures on the data at hand."""

from __future__ import annotations

import argparse
import time
from pathlib import Path

from pagerag.cli.console import OK, note

HELP = "Regenerate a table or figure of the paper on the data at hand, with the paper's figures beside ours."

EXAMPLES = """\
examples:
  pagerag reproduce all --data ../shared/data --quick       a first look, about five minutes
  pagerag reproduce sentence-table --data ../shared/data    Table 1
  pagerag reproduce all --data ../shared/data               everything, under an hour on two cores

Tables are written as Markdown and LaTeX, figures as PNG; the runs behind them are kept, so that a second
call continues where the first one stopped.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    from pagerag_lab.reproduce import EXPERIMENTS

    add = parser.add_argument
    add(
        "what",
        choices=[*EXPERIMENTS, "all"],
        help="; ".join(f"{k}: {v}" for k, (_, v) in EXPERIMENTS.items()),
    )
    add(
        "--data",
        required=True,
        type=Path,
        metavar="DIR",
        help="the folder with hotpotqa/, musique/, 2wikimultihopqa/",
    )
    add("--out", type=Path, default=Path("runs/reproduce"), metavar="DIR", help="default: runs/reproduce")
    add("--retriever", default="minilm", help="the pool of all but the retriever tables (default: minilm)")
    add("--quick", action="store_true", help="few questions: five minutes instead of an hour")
    add(
        "--reader",
        default="auto",
        help="answers by this reader; 'none' leaves them out (default: the best local)",
    )
    add("--limit", type=int, metavar="N", help="at most N questions of each dataset in every experiment")
    add("--answers", type=int, metavar="N", help="questions that the reader answers per row (default: 200)")
    add(
        "--chat",
        metavar="NAME",
        help="a chat model for IRCoT, SelfRAG, EfficientRAG, KG2RAG: smollm2 or chat",
    )
    add("--workers", type=int, metavar="N", help="processes (default: all cores)")
    add("--fresh", action="store_true", help="discard earlier runs")


def run(args: argparse.Namespace) -> int:
    """Run the experiments and print their tables."""
    from dataclasses import replace

    from pagerag_lab.product import write_atomic
    from pagerag_lab.reproduce import Bench, Limits, reproduce
    from pagerag_lab.runs.benchmark import Workers

    limits = Limits.quick() if args.quick else Limits()
    if args.limit is not None:
        side = args.limit if limits.side is None else min(limits.side, args.limit)
        main = args.limit if limits.main is None else min(limits.main, args.limit)
        slow, answers = min(limits.slow, args.limit), min(limits.answers, args.limit)
        limits = replace(limits, main=main, side=side, slow=slow, answers=answers)
    if args.answers is not None:
        limits = replace(limits, answers=args.answers)
    started = time.monotonic()
    with Workers(args.workers) as workers:
        bench = Bench(
            data=args.data,
            out=args.out / "quick" if args.quick else args.out,
            limits=limits,
            reader=None if args.reader == "none" else local_reader(args.reader),
            retriever=args.retriever,
            chat=args.chat,
            workers=workers,
            fresh=args.fresh,
            options=_options(args),
            say=lambda text: note(f"[{time.monotonic() - started:6.0f} s] {text}"),
        )
        tables = reproduce(args.what, bench)
    text = "\n".join(table.to_markdown() for table in tables)
    if args.what == "all":
        write_atomic(bench.out / "all.md", text)
    print(text)
    note(f"written to {bench.out} in {time.monotonic() - started:.0f} s")
    return OK


def _options(args: argparse.Namespace) -> str:
    """Return what was asked for beside the data, as it was written."""
    words = [" --quick"] if args.quick else []
    for name, usual in (
        ("retriever", "minilm"),
        ("reader", "auto"),
        ("limit", None),
        ("answers", None),
        ("chat", None),
    ):
        value = getattr(args, name)
        if value != usual:
            words.append(f" --{name} {value}")
    return "".join(words)


def local_reader(name: str) -> str:
    """Return ``auto`` as the name of the reader that it stands for, so that runs record which one it was."""
    if name != "auto":
        return name
    from pagerag.read import best_local

    return best_local().name
