"""``pagerag demo``: index a small corpus, ask four questions, show and explain every step."""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import textwrap
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from pagerag._extras import need_app
from pagerag._files import write_atomic
from pagerag.cli.console import OK, note, paint, print_json
from pagerag.cli.options import add_json, add_reader, add_settings, settings_of
from pagerag.errors import InputError

HELP = (
    "Index a small corpus that comes with pagerag; ask three questions that need two documents each, and one "
    "that the corpus cannot answer."
)

EXAMPLES = """\
examples:
  pagerag demo                          with the best local reader that is installed
  pagerag demo --reader evidence        no model at all
  pagerag demo --keep demo-store        keep the store, then: pagerag ask --store demo-store
  pagerag demo --html demo.html         the first explanation as a page with pictures
"""

CORPUS = Path(__file__).parent / "demo_corpus"

QUESTIONS = (
    ("Which city was the composer of Interstellar born in?", "Frankfurt"),
    ("Which river flows through the city where Marie Curie was born?", "Vistula"),
    ("In which year was the architect who designed Park Güell born?", "1852"),
)

UNANSWERABLE = "What did a tram ticket in Barcelona cost in 1926?"
"""The corpus has the city, a tram and the year, and says nothing of a price."""

WORDS = {
    "core": "what promotion selected: units that together support an answer, and no more",
    "fill": "the best of the rest, to fill the context up to k units (5 by default)",
    "evidence": "how far the core seems to answer: enough, ambiguous or insufficient; the reader decides for "
    "itself whether it answers",
}


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    add_settings(parser)
    add_reader(parser)
    parser.add_argument("--keep", metavar="DIR", help="keep the store here (default: a temporary folder)")
    parser.add_argument("--html", metavar="FILE", help="also write the first explanation as a page")
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Index the corpus, ask the questions, show everything."""
    from pagerag.ingest import index_paths
    from pagerag.pipeline import PageRAG
    from pagerag.read import reader as make_reader
    from pagerag.retrieve import encoder
    from pagerag.store import open_store

    started = time.perf_counter()
    settings = settings_of(args)
    need_app("wordllama", "markdown_it", purpose="for the demo")
    reader = make_reader(settings.read.reader, settings)  # first: a wrong name should not cost an index
    with ExitStack() as stack:
        store = _place(args.keep, stack)
        report = index_paths(
            [CORPUS], open_store(store, encoder(settings.store.encoder or "wordllama"), create=True)
        )
        if report.failed and not args.json:
            note(f"not indexed: {report.failed}")
        pipeline = stack.enter_context(PageRAG.open(store, settings, reader=reader))
        if not args.json:
            files, seconds = len(list(CORPUS.glob("*.md"))), time.perf_counter() - started
            print(f"{paint('indexed', 'bold')} {files} documents, {report.units} passages in {seconds:.1f} s")
        results: list[Any] = []
        for question, wanted in QUESTIONS:
            results.append(_ask(pipeline, question, wanted, args))
            if len(results) == 1 and not args.json:
                _explain_words()
        last = _ask(pipeline, UNANSWERABLE, None, args)
        if args.html:
            write_atomic(args.html, results[0].to_html())
            note(f"wrote {args.html}")
    found = [wanted.lower() in one.text.lower() for one, (_, wanted) in zip(results, QUESTIONS, strict=True)]
    refused = last.answer.abstained or last.state == "insufficient"
    total = time.perf_counter() - started
    if args.json:
        told = {"reader": results[0].answer.reader, "seconds": round(total, 3), "right": sum(found)}
        whole = [result.to_dict() for result in (*results, last)]
        print_json({**told, "refused": refused, "results": whole})
    else:
        right = paint(f"{sum(found)} of {len(found)} right", "bold")
        without = "not answered, as it should be" if refused else "answered all the same"
        print(f"\n{right} with {results[0].answer.reader}, {total:.1f} s; the last question was {without}")
        if args.keep:
            print(f"the store is kept: pagerag ask --store {args.keep}")
    return OK


def _place(keep: str | None, stack: ExitStack) -> Path:
    if keep is None:
        made = tempfile.TemporaryDirectory(prefix="pagerag-demo-", ignore_cleanup_errors=True)
        return Path(stack.enter_context(made)) / "store"
    place = Path(keep)
    if place.exists() and any(place.iterdir()) and not (place / ".pagerag-demo").exists():
        raise InputError(f"{place} exists and is not the demo's; name another folder")
    if place.exists():
        shutil.rmtree(place)
    place.mkdir(parents=True)
    (place / ".pagerag-demo").touch()
    return place


def _explain_words() -> None:
    """Say what the words of the first result mean."""
    from pagerag.cli._show import width

    print()
    for word, meaning in WORDS.items():
        for number, line in enumerate(textwrap.wrap(meaning, width() - 12)):
            print(f"  {'         ' if number else paint(f'{word:9}', 'bold')} {paint(line, 'dim')}")


def _ask(pipeline: Any, question: str, wanted: str | None, args: argparse.Namespace) -> Any:
    """Ask and show; ``wanted`` is what the documents say, None where they say nothing."""
    from pagerag.cli._show import show_pool, show_rejected, show_result, show_verdict, width

    result = pipeline.ask(question)
    if args.json:
        return result
    print(f"\n{paint('─' * width(), 'dim')}\n{paint('? ' + question, 'bold', 'blue')}\n")
    sys.stdout.write(paint("answer: ", "bold"))
    show_result(result)
    show_rejected(result, 2)
    show_pool(result)
    show_verdict(result)
    if wanted is None:
        print(paint("(the documents do not say)", "yellow"))
    elif wanted.lower() not in result.text.lower():
        print(paint(f"(the documents say: {wanted})", "yellow"))
    return result
