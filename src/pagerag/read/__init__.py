"""Context to Answer: chat endpoints, local models, or the evidence itself."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from pagerag.errors import InputError, MissingExtraError, SettingsError
from pagerag.protocols import Reader, load, names
from pagerag.read.base import AtOnceReader
from pagerag.settings import Settings

__all__ = ["AtOnceReader", "best_local", "reader", "readers"]


def reader(name: str = "auto", settings: Settings | None = None) -> Reader:
    """Return the reader of this name, as ``settings`` describe it.

    ``evidence`` needs nothing; ``extractive`` is the small span reader of ``pagerag-models``, together with
    the larger one where ``pagerag-reader`` is installed; ``extractive-small`` is always the small one;
    ``smollm2`` and ``gguf`` are local models; ``chat`` is any OpenAI-compatible endpoint; ``auto`` is the
    best local one that is installed. Other names are looked up among installed entry points, which are
    called without arguments. To set more than settings can, make the reader by its own class.
    """
    settings = settings or Settings()
    if name == "auto":
        return best_local(settings)
    if name in _MADE:
        return _MADE[name](settings)
    if name in names("reader"):
        made: Reader = load("reader", name)()
        return made
    raise InputError(f"there is no reader named {name!r}; there are: {', '.join(readers())}")


def readers() -> list[str]:
    """Return every name that ``reader`` knows."""
    return sorted({*_MADE, *names("reader"), "auto"})


def best_local(settings: Settings | None = None) -> Reader:
    """Return the best installed reader that needs no endpoint: extractive, else SmolLM2, else evidence."""
    for name in ("extractive", "smollm2"):
        try:
            return _MADE[name](settings or Settings())
        except MissingExtraError:
            continue
    return _evidence(settings or Settings())


def _evidence(settings: Settings) -> Reader:  # noqa: ARG001
    from pagerag.read.evidence import EvidenceReader

    return EvidenceReader()


def _chat(settings: Settings) -> Reader:
    from pagerag._extras import need
    from pagerag.read.chat import ChatReader

    need("httpx", "httpx", "chat", "the chat reader")
    return ChatReader(settings.chat)


def _gguf(settings: Settings) -> Reader:
    from pagerag._extras import need
    from pagerag.read.gguf import GgufReader

    need("xllamacpp", "xllamacpp", "gguf", "local gguf models")
    local = settings.gguf
    if not local.path:
        raise SettingsError("the gguf reader needs a model file: set gguf.path, or use the reader smollm2")
    return GgufReader(
        local.path,
        context=local.context,
        max_tokens=local.max_tokens,
        threads=local.threads,
        small=local.small,
    )


def _smollm2(settings: Settings) -> Reader:
    from pagerag._extras import need
    from pagerag.read.gguf import SmolLM2Reader

    need("xllamacpp", "xllamacpp", "gguf", "local gguf models")
    local = settings.gguf
    return SmolLM2Reader(
        context=local.context, max_tokens=local.max_tokens, threads=local.threads, small=local.small
    )


def _extractive(settings: Settings) -> Reader:
    return _spans(None, settings)


def _extractive_small(settings: Settings) -> Reader:
    from pagerag.models.files import package_folder

    return _spans(package_folder(), settings)


def _spans(folder: Path | None, settings: Settings) -> Reader:
    from pagerag.read.extractive import extractive_reader

    least = settings.read.least_confidence
    return extractive_reader(folder=folder, least_confidence=None if least < 0 else least)


_MADE: dict[str, Callable[[Settings], Reader]] = {
    "evidence": _evidence,
    "extractive": _extractive,
    "extractive-small": _extractive_small,
    "smollm2": _smollm2,
    "gguf": _gguf,
    "chat": _chat,
}
