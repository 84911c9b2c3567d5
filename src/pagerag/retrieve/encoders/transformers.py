"""Any sentence-transformers model, with what the paper's retrievers need beyond the library's defaults."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pagerag._extras import need
from pagerag.errors import InputError
from pagerag.retrieve.encoders._shared import encodable, unit_rows


@dataclass(frozen=True, slots=True)
class Preset:
    """How a model wants its texts.

    Prefixes, an end-of-sequence token after each text, the longest text it reads, the side that is padded,
    and whether it comes with code of its own, which runs only when the caller says so.
    """

    query_prefix: str = ""
    passage_prefix: str = ""
    add_eos: bool = False
    max_tokens: int | None = None
    padding_side: str | None = None
    own_code: bool = False


PRESETS: dict[str, Preset] = {
    # Contriever is a plain BERT; the library pools the mean of its tokens, which is what it was trained for.
    "facebook/contriever": Preset(),
    "facebook/contriever-msmarco": Preset(),
    "nvidia/NV-Embed-v2": Preset(
        query_prefix="Instruct: Given a question, retrieve passages that answer the question\nQuery: ",
        add_eos=True,
        max_tokens=32768,
        padding_side="right",
        own_code=True,
    ),
    "intfloat/e5-base-v2": Preset(query_prefix="query: ", passage_prefix="passage: "),
    "intfloat/e5-large-v2": Preset(query_prefix="query: ", passage_prefix="passage: "),
    "BAAI/bge-base-en-v1.5": Preset(query_prefix="Represent this sentence for searching relevant passages: "),
    "BAAI/bge-large-en-v1.5": Preset(
        query_prefix="Represent this sentence for searching relevant passages: "
    ),
}


class SentenceTransformersEncoder:
    """The model of this hub name, or of a folder.

    Models listed in ``PRESETS`` are used as their authors say; every part of a preset can be overridden by
    keyword (``query_prefix=...``). A folder is named as one: ``./my-model``, ``~/my-model`` or an absolute
    path. Code that comes with a model runs with this user's rights; it is loaded with
    ``trust_remote_code=True`` only.
    """

    def __init__(
        self,
        model: str,
        *,
        preset: str | None = None,
        batch: int = 32,
        device: str | None = None,
        trust_remote_code: bool = False,
        **changes: Any,
    ) -> None:
        place = model_place(model)
        library = need(
            "sentence_transformers", "sentence-transformers", "sentence-transformers", f"to load {model}"
        )
        self.preset = replace(PRESETS.get(preset or model, Preset()), **changes)
        marks = (self.preset.query_prefix, self.preset.passage_prefix)
        default = PRESETS.get(model, Preset())
        changed = marks != (default.query_prefix, default.passage_prefix)
        self.name = f"sentence-transformers:{model}" + (f"#{marks[0]}|{marks[1]}" if changed else "")
        self.batch = batch
        made = partial(SentenceTransformersEncoder, model, preset=preset, batch=batch, **changes)
        self._again = partial(made, device=device, trust_remote_code=trust_remote_code)
        if self.preset.own_code and not trust_remote_code:
            raise InputError(
                f"{model} comes with code of its own, which would run with your rights; if you trust it, "
                "pass trust_remote_code=True, or serve the model behind an endpoint (openai:MODEL@URL)"
            )
        self._model = library.SentenceTransformer(place, device=device, trust_remote_code=trust_remote_code)
        if self.preset.max_tokens is not None:
            self._model.max_seq_length = self.preset.max_tokens
        if self.preset.padding_side is not None:
            self._model.tokenizer.padding_side = self.preset.padding_side
        ask = (
            getattr(self._model, "get_embedding_dimension", None)
            or self._model.get_sentence_embedding_dimension
        )
        self.dimension = int(ask() or self._encode([""], "").shape[1])

    def __reduce__(self) -> tuple[Any, ...]:
        return self._again, ()

    def encode_queries(self, texts: Sequence[str], /) -> NDArray[np.float32]:
        """Return unit-length rows, one per text, encoded with the query prefix."""
        return self._encode(texts, self.preset.query_prefix)

    def encode_passages(self, texts: Sequence[str], /) -> NDArray[np.float32]:
        """Return unit-length rows, one per text, encoded with the passage prefix."""
        return self._encode(texts, self.preset.passage_prefix)

    def encode_tokens(self, texts: Sequence[str], /) -> list[NDArray[np.float32]]:
        """Return unit-length rows for the word pieces of each text, for late interaction."""
        found = self._run(texts, output_value="token_embeddings", convert_to_numpy=False)
        return [unit_rows(np.array(item.detach().cpu().float(), dtype=np.float32)) for item in found]

    def _encode(self, texts: Sequence[str], prefix: str) -> NDArray[np.float32]:
        if not len(texts):
            return np.empty((0, self.dimension), dtype=np.float32)
        # The library leaves a prompt's tokens out of the mean where the model says so.
        rows = self._run(texts, prompt=prefix or None, normalize_embeddings=True, convert_to_numpy=True)
        return np.asarray(rows, dtype=np.float32)

    def _run(self, texts: Sequence[str], **options: Any) -> Any:
        end = self._model.tokenizer.eos_token if self.preset.add_eos else ""
        ended = [text + end for text in encodable(texts)]
        return self._model.encode(ended, batch_size=self.batch, show_progress_bar=False, **options)


def model_place(model: str) -> str:
    """Return a hub name as it is, and a folder's absolute path where ``model`` is written as a path.

    Libraries take a folder of the current directory for a hub name without a word: whoever can put a folder
    named ``nvidia/NV-Embed-v2`` there would choose the model. That is refused.
    """
    if model.startswith((".", "/", "~", "\\")) or Path(model).is_absolute():
        place = Path(model).expanduser().resolve()
        if not place.is_dir():
            raise InputError(f"there is no folder {model} to load a model from")
        return str(place)
    if Path(model).exists():
        raise InputError(
            f"{model!r} is the name of a model and of a folder here; write ./{model} for the folder, or go "
            "to another directory for the model"
        )
    return model
