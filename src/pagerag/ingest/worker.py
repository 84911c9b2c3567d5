"""The process that reads files: requests come in as JSON, documents go out, one frame each.

It is started by ``pagerag.ingest.isolation`` as ``python -m pagerag.ingest.worker``, takes one file after
the other, and may be ended at any moment.
"""

from __future__ import annotations

import json
import os
import re
import struct
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

from pagerag.errors import FormatError, MissingExtraError, PageRAGError
from pagerag.ingest.documents import BadRecord, Document, IngestSettings, Section, SourceFile
from pagerag.ingest.formats import FORMATS, read_documents
from pagerag.places import Run, SourceMap

_HEADER = struct.Struct("<I")
_SPARE_SECONDS = 30
_LIMIT_EVERY = 256


def write_frame(stream: IO[bytes], message: Mapping[str, Any]) -> None:
    """Write a message: the number of its bytes, then JSON."""
    body = json.dumps(message, separators=(",", ":")).encode("ascii")
    stream.write(_HEADER.pack(len(body)) + body)
    stream.flush()


def read_frame(stream: IO[bytes]) -> dict[str, Any] | None:
    """Read a message; None when the other side is gone."""
    header = stream.read(_HEADER.size)
    if len(header) < _HEADER.size:
        return None
    (size,) = _HEADER.unpack(header)
    body = stream.read(size)
    return json.loads(body) if len(body) == size else None


def packed(document: Document) -> dict[str, Any]:
    """Return a document as plain values."""
    origin = document.origin
    flat = [number for run in origin.runs for number in run]
    return {
        **{name: getattr(document, name) for name in Document.__dataclass_fields__},
        "fields": dict(document.fields),
        "origin": [flat, origin.newlines, origin.line, origin.parts],
    }


def document_from(values: Mapping[str, Any]) -> Document:
    """Return the document that ``packed`` made plain."""
    flat, newlines, line, parts = values["origin"]
    runs = tuple(map(Run, flat[0::4], flat[1::4], flat[2::4], flat[3::4]))
    given = {
        "pages": tuple(values["pages"]),
        "sections": tuple(Section(*section) for section in values["sections"]),
        "atoms": tuple((start, end) for start, end in values["atoms"]),
        "origin": SourceMap(runs, tuple(newlines), line, tuple((start, name) for start, name in parts)),
    }
    return Document(**{**values, **given})


def main() -> None:
    """Serve requests from standard input until it ends."""
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever a library prints must not stand between the frames
    first = read_frame(sys.stdin.buffer)
    if first is None:
        return
    settings = IngestSettings(**first["settings"])
    _limit_memory(settings.max_memory_bytes)
    while (request := read_frame(sys.stdin.buffer)) is not None:
        if not _serve(out, request, settings):
            return


def _serve(out: IO[bytes], request: Mapping[str, Any], settings: IngestSettings) -> bool:
    """Read one file; returns whether this process can go on."""
    number = request["number"]
    file = SourceFile(Path(os.fsdecode(request["path"].encode("utf-8", "surrogateescape"))), request["name"])
    known = next(known for known in FORMATS if known.name == request["format"])
    sane = True
    _limit_time(settings.max_seconds)
    try:
        write_frame(out, {"number": number, "kind": "begun", "stamp": file.stamp()})
        for count, item in enumerate(read_documents(file, settings, known), start=1):
            if count % _LIMIT_EVERY == 0:
                _limit_time(settings.max_seconds)
            if isinstance(item, BadRecord):
                write_frame(out, {"number": number, "kind": "bad", "problem": _problem(item.problem)})
            else:
                write_frame(out, {"number": number, "kind": "document", "document": packed(item)})
    except PageRAGError as problem:
        # What ran out of memory may have left the process short of it.
        sane = not isinstance(problem.__cause__, MemoryError)
        write_frame(out, {"number": number, "kind": "failed", "problem": _problem(problem), "ends": not sane})
    else:
        write_frame(out, {"number": number, "kind": "done"})
    return sane


def _problem(problem: PageRAGError) -> dict[str, Any]:
    if isinstance(problem, MissingExtraError):
        return {"extra": [problem.package, problem.extra], "message": str(problem)}
    place: dict[str, Any] = {"file": None, "line": None, "field": None}
    if isinstance(problem, FormatError):
        place = {"file": problem.file, "line": problem.line, "field": problem.field}
    # The place stands before the message; whoever makes the error again adds it again.
    return {"message": str(problem).removeprefix(str(FormatError("", **place))), **place}


def _limit_memory(size: int) -> None:
    """Bound the memory that this process can take; only Linux counts it usefully."""
    if sys.platform != "linux":
        return
    import resource

    status = Path("/proc/self/status").read_text(encoding="utf-8", errors="replace")
    used = next((int(kb) * 1024 for kb in re.findall(r"^VmData:\s*(\d+)", status, re.MULTILINE)), 0)
    _limit(resource.RLIMIT_DATA, used + size)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _limit_time(seconds: float) -> None:
    """Bound the processor time from here on, in case the process that asked is gone."""
    if os.name == "nt":
        return
    import resource

    used = resource.getrusage(resource.RUSAGE_SELF)
    _limit(resource.RLIMIT_CPU, int(used.ru_utime + used.ru_stime + seconds) + _SPARE_SECONDS)


def _limit(kind: int, most: int) -> None:
    """Lower a limit of the operating system, within the one that this process cannot raise."""
    import resource

    _, hard = resource.getrlimit(kind)
    resource.setrlimit(kind, (most if hard < 0 else min(most, hard), hard))


if __name__ == "__main__":
    main()
