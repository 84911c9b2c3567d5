"""Write the walk of one question into docs/architecture.md:  python docs/make_walk.py

Runs ``pagerag ask`` on the demo corpus and notes each file of the package when it is first entered, with the
function by which it is entered and what its docstring says.
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


def main() -> None:
    """Replace everything after the mark."""
    rows = ["| | file | function | what it does |", "|---|---|---|---|"]
    for number, (file, function, said) in enumerate(walk(), 1):
        rows.append(f"| {number} | `{file}` | `{function}` | {said} |")
    page = Path(__file__).parent / "architecture.md"
    head = page.read_text(encoding="utf-8").split(MARK)[0]
    write_atomic(page, head + MARK + "\n\n" + "\n".join(rows) + "\n")


def walk() -> list[tuple[str, str, str]]:
    """Return file, function and first line of its docstring for each file, in the order of first entry."""
    hops: list[tuple[str, str, str]] = []
    seen: set[str] = set()

    def note(frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        file = Path(code.co_filename)
        inside = event == "call" and ROOT in file.parents and "<" not in code.co_qualname
        private = (
            code.co_qualname.rpartition(".")[2].startswith("_") or not code.co_flags & inspect.CO_NEWLOCALS
        )
        if not inside or private or not code.co_flags & inspect.CO_OPTIMIZED:
            return
        name = file.relative_to(ROOT).as_posix()
        if name not in seen:
            seen.add(name)
            said = code.co_consts[0] if code.co_consts and isinstance(code.co_consts[0], str) else ""
            hops.append((name, code.co_qualname, said.strip().split("\n")[0].replace("|", "\\|")))

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
