"""A folder of finished chunks: one file each, whole or absent, with its own check sum.

The first line of a chunk file says how many rows follow and what their SHA-256 is. A chunk that was emptied,
cut short, edited or exchanged for another is noticed when the work is resumed, and done again. ``run.json``
says whose work it is: other settings, data or code are refused.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from pagerag._files import locked, write_atomic
from pagerag.errors import InputError

_IDENTITY = "run.json"
_CHUNKS = "chunks"


class OtherWorkError(InputError):
    """The folder holds work with other settings, data or code."""


class Journal:
    """The finished chunks of one piece of work, in a folder. ``option`` is the flag that named the folder."""

    def __init__(self, folder: Path, *, option: str = "--out") -> None:
        self.folder, self.option = folder, option
        self._chunks = folder / _CHUNKS

    @contextmanager
    def held(self) -> Iterator[None]:
        """Make the folder and hold it for one process at a time; the lock dies with its holder."""
        busy = InputError(
            f"another process is running in {self.folder}; wait for it or choose another {self.option}"
        )
        with ExitStack() as stack:
            try:
                self.folder.mkdir(parents=True, exist_ok=True)
                stack.enter_context(locked(self.folder / ".lock", lambda _: busy))
            except OSError as problem:
                raise InputError(
                    f"{self.option} {self.folder} cannot be used ({problem.strerror}); name a folder"
                ) from problem
            yield

    def claim(self, identity: dict[str, Any]) -> dict[str, Any]:
        """Make the folder this work's, or find that it is; return the identity it was first started with.

        The commit may have moved on since: as long as no code that matters changed, the first one stands.
        """
        known = self.read_json(_IDENTITY)
        if known is not None:
            if known | {"commit": None} == identity | {"commit": None}:
                for part in self._chunks.glob(".*.part"):
                    part.unlink(missing_ok=True)  # left by a killed process
                self._chunks.mkdir(exist_ok=True)
                return identity | ({"commit": known["commit"]} if "commit" in known else {})
            raise OtherWorkError(
                f"{self.folder} holds another run (it differs in: "
                f"{', '.join(_differences(known, identity))}); choose another {self.option}, or discard it "
                "with --fresh"
            )
        if self._chunks.exists():
            raise OtherWorkError(
                f"{self.folder} has chunks of an unknown run; choose another {self.option} or use --fresh"
            )
        text = json.dumps(identity, ensure_ascii=False, indent=2, sort_keys=True)
        write_atomic(self.folder / _IDENTITY, f"{text}\n")
        self._chunks.mkdir(exist_ok=True)
        return identity

    def discard(self) -> None:
        """Forget all chunks, and whose they were."""
        shutil.rmtree(self._chunks, ignore_errors=True)
        (self.folder / _IDENTITY).unlink(missing_ok=True)

    def remove(self) -> None:
        """Discard the journal, and the folder if nothing else is in it."""
        self.discard()
        (self.folder / ".lock").unlink(missing_ok=True)
        if not any(self.folder.iterdir()):
            self.folder.rmdir()

    def file(self, number: int) -> Path:
        """Return where a chunk lies."""
        return self._chunks / f"{number:06d}.jsonl"

    def write(self, number: int, rows: Sequence[Mapping[str, Any]]) -> None:
        """Keep a finished chunk; it is on disk when this returns."""
        body = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        data = body.encode("utf-8", "surrogatepass")
        file = self.file(number)
        write_atomic(file, _head(file, len(rows), data) + data)

    def fault(self, number: int, rows: int) -> str | None:
        """Return what is wrong with a chunk that should hold this many rows; None when it is whole."""
        file = self.file(number)
        try:
            head, newline, body = file.read_bytes().partition(b"\n")
        except OSError as problem:
            return f"cannot be read ({problem.strerror})"
        if not newline:
            return "is empty or cut short"
        held = body.count(b"\n")
        if held != rows:
            return f"holds {held} of {rows} rows"
        return None if head + b"\n" == _head(file, rows, body) else "was changed after it was written"

    def lines(self, number: int) -> Iterator[str]:
        """Yield the rows of a chunk as JSON, one line each."""
        with self.file(number).open(encoding="utf-8", errors="surrogatepass", newline="\n") as stream:
            next(stream)
            yield from stream

    def read_json(self, name: str) -> dict[str, Any] | None:
        """Return the content of a file of ours beside the chunks; None where there is none."""
        file = self.folder / name
        if not file.is_file():
            return None
        value: Any = None
        try:
            value = json.loads(file.read_text(encoding="utf-8"))
            wrong = "" if isinstance(value, dict) else "not an object"
        except ValueError:
            wrong = "not JSON"
        if wrong:
            raise InputError(f"{file} is not ours ({wrong}); choose another {self.option} or use --fresh")
        return dict(value)


def _head(file: Path, rows: int, body: bytes) -> bytes:
    told = {"chunk": file.stem, "rows": rows, "sha256": hashlib.sha256(body).hexdigest()}
    return (json.dumps(told) + "\n").encode()


def _differences(known: dict[str, Any], described: dict[str, Any], prefix: str = "") -> list[str]:
    names: list[str] = []
    for name in sorted({*known, *described} - {"commit"}):
        before, after = known.get(name), described.get(name)
        if isinstance(before, dict) and isinstance(after, dict):
            names.extend(_differences(before, after, f"{prefix}{name}."))
        elif before != after:
            names.append(f"{prefix}{name}")
    return names
