"""Context to Answer: chat endpoints, local models, or the evidence itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pagerag.errors import InputError, MissingExtraError, SettingsError
from pagerag.protocols import Reader, load, names
from pagerag.settings import Settings

__all__ = ["best_local", "reader", "readers"]


def reader(name: str = "auto", settings: Settings | None = None, **options: Any) -> Reader:
    """The reader of this name.

    ``evidence`` needs nothing; ``extractive`` is the small span reader of ``pagerag-models``;
    ``smollm2`` and ``gguf`` are local models; ``chat`` is any OpenAI-compatible endpoint; ``auto`` is the
    best local one that is installed. Other names are looked up among installed entry points.
    ``options`` go to the reader's constructor and win over ``settings``.
    """
    settings = settings or Settings()
    if name == "auto":
        return best_local(settings)
    if name in _MADE:
        return _MADE[name](settings, options)
    if name in names("reader"):
        return load("reader", name)(**options)  # type: ignore[no-any-return]
    raise InputError(f"there is no reader named {name!r}; there are: {', '.join(readers())}")


def readers() -> list[str]:
    """Every name that ``reader`` knows."""
    return sorted({*_MADE, *names("reader"), "auto"})


def best_local(settings: Settings | None = None) -> Reader:
    """The best reader that is installed and needs no endpoint: extractive, else SmolLM2, else evidence."""
    for name in ("extractive", "smollm2"):
        try:
            return _MADE[name](settings or Settings(), {})
        except MissingExtraError:
            continue
    return _evidence(settings or Settings(), {})


def _evidence(settings: Settings, options: dict[str, Any]) -> Reader:  # noqa: ARG001
    from pagerag.read.evidence import EvidenceReader

    return EvidenceReader(**options)


def _chat(settings: Settings, options: dict[str, Any]) -> Reader:
    from pagerag._extras import need
    from pagerag.read.chat import ChatReader

    need("httpx", "httpx", "chat", "the chat reader")
    return ChatReader(settings.chat, **options)


def _gguf(settings: Settings, options: dict[str, Any]) -> Reader:
    from pagerag._extras import need
    from pagerag.read.gguf import GgufReader

    need("xllamacpp", "xllamacpp", "gguf", "local gguf models")
    path = options.pop("path", settings.gguf.path)
    if not path:
        raise SettingsError("the gguf reader needs a model file: set gguf.path, or use the reader smollm2")
    return GgufReader(path, **{**_gguf_options(settings), **options})


def _smollm2(settings: Settings, options: dict[str, Any]) -> Reader:
    from pagerag._extras import need
    from pagerag.read.gguf import SmolLM2Reader

    need("xllamacpp", "xllamacpp", "gguf", "local gguf models")
    return SmolLM2Reader(**{**_gguf_options(settings), **options})


def _gguf_options(settings: Settings) -> dict[str, Any]:
    local = settings.gguf
    return {
        "context": local.context,
        "max_tokens": local.max_tokens,
        "threads": local.threads,
        "small": local.small,
    }


def _extractive(settings: Settings, options: dict[str, Any]) -> Reader:  # noqa: ARG001
    from pagerag._extras import need
    from pagerag.read.extractive import extractive_reader

    need("pagerag_models", "pagerag-models", "models", "the extractive reader")
    return extractive_reader(**options)


_MADE: dict[str, Callable[[Settings, dict[str, Any]], Reader]] = {
    "evidence": _evidence,
    "extractive": _extractive,
    "smollm2": _smollm2,
    "gguf": _gguf,
    "chat": _chat,
}
