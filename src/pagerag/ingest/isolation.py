"""Files read in a process of their own, which has a budget of time and memory and can be ended."""

from __future__ import annotations

import contextlib
import os
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from pagerag.errors import FormatError, MissingExtraError, PageRAGError
from pagerag.ingest.documents import BadRecord, IngestSettings, SourceFile
from pagerag.ingest.formats import Format, Reading, read_documents
from pagerag.ingest.worker import document_from, read_frame, write_frame

_FRAMES = 16
"""Documents that may wait between the two processes; then the reading one waits."""
_START_SECONDS = 60.0


class FileReader:
    """Reads files, one after the other, in one process that is started when it is needed.

    A file that takes too long or too much memory ends that process, is named, and the next one gets a
    new process. With ``ahead`` the process goes on with the next files while this one is being indexed.
    """

    def __init__(self, settings: IngestSettings) -> None:
        self.settings = settings
        self._worker: _Worker | None = None
        self._asked: dict[str, int] = {}
        self.isolated = settings.isolated
        self.stamps: dict[str, tuple[int, int]] = {}

    def __enter__(self) -> FileReader:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def start(self) -> None:
        """Start the process, so that it is ready when the first file is asked for."""
        if self.isolated and self._worker is None:
            self._asked = {}
            try:
                self._worker = _Worker(self.settings)
            except OSError:
                # This user may not start processes: files are read here, and the report says so.
                self.isolated = False

    def close(self) -> None:
        """End the process."""
        if self._worker is not None:
            self._worker.end()
            self._worker = None

    def read(
        self, file: SourceFile, known: Format, ahead: Sequence[tuple[SourceFile, Format]] = ()
    ) -> Reading:
        """Yield the documents of a file; ``ahead`` are the files that will be asked for next."""
        self.start()
        worker = self._worker
        if worker is None:
            self.stamps[file.name] = file.stamp()
            yield from read_documents(file, self.settings, known)
            return
        alive = False  # whether the process can go on with other files
        try:
            number = self._ask(worker, file, known)
            for following in ahead:
                self._ask(worker, *following)
            while True:
                frame = worker.hear(self.settings.max_seconds, file)
                if frame["number"] != number:
                    continue
                if frame["kind"] == "begun":
                    self.stamps[file.name] = (frame["stamp"][0], frame["stamp"][1])
                elif frame["kind"] == "bad":
                    yield BadRecord(_format_error(frame["problem"], file))
                elif frame["kind"] == "document":
                    yield document_from(frame["document"])
                else:
                    self._asked.pop(file.name, None)
                    alive = not frame.get("ends")
                    if frame["kind"] == "failed":
                        raise _problem(frame["problem"], file)
                    return
        finally:
            if not alive:
                self.close()

    def _ask(self, worker: _Worker, file: SourceFile, known: Format) -> int:
        number = self._asked.pop(file.name, None)
        self._asked[file.name] = worker.ask(file, known) if number is None else number
        return self._asked[file.name]


class _Worker:
    """One reading process, and a thread that listens to it."""

    def __init__(self, settings: IngestSettings) -> None:
        paths = [path for path in sys.path if path]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "PYTHONIOENCODING": "utf-8"}
        self.process = subprocess.Popen(
            # -P: modules are not looked for in the current folder, which may be somebody else's.
            [sys.executable, "-P", "-m", "pagerag.ingest.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment,
        )
        self.number = 0
        self.frames: queue.Queue[dict[str, Any] | None] = queue.Queue(_FRAMES)
        self.heard = False
        self.closing = False
        self._send({"settings": {**asdict(settings), "fields": dict(settings.fields)}})
        self.thread = threading.Thread(target=self._listen, daemon=True)
        self.thread.start()

    def ask(self, file: SourceFile, known: Format) -> int:
        """Request a file; returns the number that its frames carry."""
        self.number += 1
        path = os.fsencode(file.path).decode("utf-8", "surrogateescape")
        self._send({"number": self.number, "path": path, "name": file.name, "format": known.name})
        return self.number

    def _send(self, message: dict[str, Any]) -> None:
        with contextlib.suppress(OSError, ValueError):  # it has ended: what it says next is nothing
            if self.process.stdin is not None:
                write_frame(self.process.stdin, message)

    def _listen(self) -> None:
        frame: dict[str, Any] | None = {}
        while frame is not None:
            try:
                frame = read_frame(self.process.stdout) if self.process.stdout else None
            except (OSError, ValueError):
                frame = None
            while True:
                try:
                    self.frames.put(frame, timeout=0.5)
                    break
                except queue.Full:
                    if self.closing:
                        return

    def hear(self, seconds: float, file: SourceFile) -> dict[str, Any]:
        """Return the next frame; the end of the process and too long a silence are errors."""
        try:
            # The first frame may have to wait for the process to start.
            frame = self.frames.get(timeout=seconds + (0 if self.heard else _START_SECONDS))
        except queue.Empty:
            self.end()
            raise file.bad(
                f"took more than {seconds:g} s to read; split it, or raise --max-seconds"
            ) from None
        self.heard = True
        if frame is None:
            raise file.bad(f"cannot be read: {self._fate()}; split it, or leave it out")
        return frame

    def _fate(self) -> str:
        """Return how the process ended, in words."""
        try:
            code = self.process.wait(5)
        except subprocess.TimeoutExpired:
            return "the process that reads files does not answer"
        if code < 0:
            with contextlib.suppress(ValueError):
                return f"it ended the process that reads files ({signal.Signals(-code).name})"
        return f"it ended the process that reads files (exit code {code})"

    def end(self) -> None:
        """End the process, whatever it is doing."""
        self.closing = True
        if self.process.poll() is None:
            self.process.kill()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(10)
        for stream in (self.process.stdin, self.process.stdout):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()


def _problem(values: dict[str, Any], file: SourceFile) -> PageRAGError:
    if "extra" in values:
        missing = MissingExtraError(*values["extra"])
        missing.args = (values["message"],)
        return missing
    return _format_error(values, file)


def _format_error(values: dict[str, Any], file: SourceFile) -> FormatError:
    return FormatError(
        values["message"], file=values["file"] or file.name, line=values["line"], field=values["field"]
    )
