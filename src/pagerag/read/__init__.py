"""Context to Answer: chat endpoints, local models, or the evidence itself."""

from __future__ import annotations

from pagerag._extras import need
from pagerag.errors import InputError, MissingExtraError, SettingsError
from pagerag.protocols import Reader, load, names
from pagerag.read.base import AtOnceReader
from pagerag.settings import Settings

__all__ = ["AtOnceReader", "best_local", "check_reader", "reader", "readers"]

_OURS = frozenset(["auto", "chat", "evidence", "extractive", "extractive-small", "gguf", "smollm2"])


def reader(name: str = "auto", settings: Settings | None = None) -> Reader:
    """Return the reader of this name, as ``settings`` describe it.

    ``evidence`` needs nothing; ``extractive`` is the small span reader of ``pagerag-models``, together with
    the larger one where ``pagerag-reader`` is installed; ``extractive-small`` is always the small one;
    ``smollm2`` and ``gguf`` are local models; ``chat`` is any OpenAI-compatible endpoint; ``auto`` is the
    best local one that is installed. Other names are looked up among installed entry points, which are
    called without arguments. To set more than settings can, make the reader by its own class.
    """
    check_reader(name)
    if name in _OURS:
        return _made(name, settings or Settings())
    made: Reader = load("reader", name)()
    return made


def check_reader(name: str) -> None:
    """Refuse a name that no reader has; nothing is made."""
    if name not in _OURS and name not in names("reader"):
        raise InputError(f"there is no reader named {name!r}; there are: {', '.join(readers())}")


def readers() -> list[str]:
    """Return every name that ``reader`` knows."""
    return sorted({*_OURS, *names("reader")})


def best_local(settings: Settings | None = None) -> Reader:
    """Return the best installed reader that needs no endpoint: extractive, else SmolLM2, else evidence."""
    for name in ("extractive", "smollm2"):
        try:
            return _made(name, settings or Settings())
        except MissingExtraError:
            continue
    return _made("evidence", settings or Settings())


def _made(name: str, settings: Settings) -> Reader:
    """Return one of our readers; what it needs is imported here."""
    match name:
        case "auto":
            return best_local(settings)
        case "evidence":
            from pagerag.read.evidence import EvidenceReader

            return EvidenceReader()
        case "extractive" | "extractive-small":
            from pagerag.models.files import package_folder
            from pagerag.read.extractive import ExtractiveReader

            folder = package_folder() if name == "extractive-small" else None
            least = settings.read.least_confidence
            return ExtractiveReader(folder=folder, least_confidence=None if least < 0 else least)
        case "chat":
            from pagerag.read.chat import ChatReader

            need("httpx", "httpx", "chat", "the chat reader")
            return ChatReader(settings.chat)
    from pagerag.read.gguf import GgufReader, SmolLM2Reader

    need("xllamacpp", "xllamacpp", "gguf", "local gguf models")
    local = settings.gguf
    options = {name: getattr(local, name) for name in ("context", "max_tokens", "threads", "small")}
    if name == "smollm2":
        return SmolLM2Reader(**options)
    if not local.path:
        raise SettingsError("the gguf reader needs a model file: set gguf.path, or use the reader smollm2")
    return GgufReader(local.path, **options)
