"""Write the walk of one question into docs/architecture.md:  python docs/make_walk.py

Runs ``pagerag ask`` on the demo corpus and notes each file of the package when it is first entered, with the
stage of the pipeline that is under way, the function by which it is entered and what its docstring says.
"""

from __future__ import annotations

import contextlib
import inspect
import io
import os
import sys
import tempfile
import threading
from pathlib import Path
from types import FrameType
from typing import Any

import pagerag
from pagerag._files import write_atomic
from pagerag.cli import main as pagerag_command
from pagerag.cli.demo import CORPUS, QUESTIONS

MARK = "<!-- walk of a question: written by docs/make_walk.py -->"
ROOT = Path(pagerag.__file__).parent
STAGES = {
    "PageRAG.open": "open",
    "AdaptiveRetriever.retrieve": "retrieve",
    "Promoter.promote": "promote",
    "AtOnceReader.stream": "read",
    "show_result": "show",
}
"""Functions with which a stage of the walk begins."""


def main() -> None:
    """Replace everything after the mark."""
    rows = ["| | stage | file | function | what it does |", "|---|---|---|---|---|"]
    for number, (stage, file, function, said) in enumerate(walk(), 1):
        rows.append(f"| {number} | {stage} | `{file}` | `{function}` | {said} |")
    page = Path(__file__).parent / "architecture.md"
    head = page.read_text(encoding="utf-8").split(MARK)[0]
    write_atomic(page, head + MARK + "\n\n" + "\n".join(rows) + "\n")


def walk() -> list[tuple[str, str, str, str]]:
    """Return stage, file, function and what it says it does for each file, in the order of first entry."""
    hops: list[tuple[str, str, str, str]] = []
    seen: set[str] = set()
    stages = ["settle"]

    def note(frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        file = Path(code.co_filename)
        inside = event == "call" and ROOT in file.parents and "<" not in code.co_qualname
        private = (
            code.co_qualname.rpartition(".")[2].startswith("_") or not code.co_flags & inspect.CO_NEWLOCALS
        )
        if not inside or private or not code.co_flags & inspect.CO_OPTIMIZED:
            return
        if code.co_qualname in STAGES and STAGES[code.co_qualname] not in stages:
            stages.append(STAGES[code.co_qualname])
        name = file.relative_to(ROOT).as_posix()
        if name not in seen:
            seen.add(name)
            said = code.co_consts[0] if code.co_consts and isinstance(code.co_consts[0], str) else ""
            hops.append((stages[-1], name, code.co_qualname, said.strip().split("\n")[0].replace("|", "\\|")))

    here = Path.cwd()
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
        os.chdir(folder)
        try:
            indexed = pagerag_command(["index", str(CORPUS), "--store", "store"])
            threading.setprofile(note)
            sys.setprofile(note)
            asked = pagerag_command(["ask", QUESTIONS[0][0], "--store", "store"])
        finally:
            sys.setprofile(None)
            threading.setprofile(None)  # type: ignore[arg-type]
            os.chdir(here)
    if indexed or asked:
        raise SystemExit("the command failed (see above): its walk is not the one to show")
    return hops


if __name__ == "__main__":
    main()
